"""Hypothesis strategies for predicates and events with every kind of constant and value, and what is asked of them."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from heliograph.predicate.compile import Targeting
from heliograph.predicate.evaluate import Attributes, accepts
from heliograph.predicate.form import Between, Comparison, In, Like, Pair, Predicate, negation
from heliograph.predicate.form import conjunction as all_of
from heliograph.predicate.form import disjunction as any_of
from tests.naive_targeting import Interpreter, encode
from tests.predicate import strategies as plain

# Around 2^53 integers begin to lie between floats; the last ones lie beyond all floats.
WIDE = [2**53 + step for step in range(-2, 5)] + [2**60 + 1, 2**60 + 3, 10**400, 2.0**53, 1e300]
wide: st.SearchStrategy[int | float] = st.sampled_from(WIDE + [-number for number in WIDE] + [0.0, -0.0, 5e-324])
strange = st.sampled_from(["\x00", "\ud800", "a\U0001f600", "é", "ab\nb"])
constants = st.one_of(plain.scalars, wide, strange)
paths = st.one_of(plain.paths, st.sampled_from([("d", "e"), ("d",), ("e", "a")]))
likes = st.builds(Like, paths, st.text("ab%_é", max_size=5))
atoms: st.SearchStrategy[Predicate] = st.one_of(
    plain.atoms,
    likes,
    st.builds(Comparison, paths, st.sampled_from(plain.SIGNS), constants),
    st.builds(In, paths, st.lists(constants, min_size=1, max_size=4).map(tuple)),
    st.builds(Between, paths, constants, constants),
    st.builds(Pair, paths, st.sampled_from(plain.SIGNS), paths),
    st.builds(Like, paths, st.none()),
)
forms: st.SearchStrategy[Predicate] = st.recursive(
    atoms,
    lambda inner: st.one_of(
        inner.map(negation),
        st.lists(inner, min_size=2, max_size=4).map(all_of),
        st.lists(inner, min_size=2, max_size=4).map(any_of),
    ),
    max_leaves=8,
)
values: st.SearchStrategy[Any] = st.one_of(constants, st.booleans(), st.just({}), st.just([[1]]))
lists = st.lists(values, max_size=4)
objects = st.dictionaries(st.sampled_from(["a", "e"]), st.one_of(values, lists), max_size=2)
events: st.SearchStrategy[dict[str, Any]] = st.dictionaries(
    st.sampled_from([*plain.NAMES, "d", "e"]), st.one_of(values, lists, objects, st.lists(objects, max_size=3))
)


def check_holds(targeting: Targeting, expressions: dict[int, Predicate], trees: list[dict[str, Any]]) -> None:
    """The code of each expression, read by the naive interpreter, accepts the events that its form accepts."""
    programs, cells, slow = targeting.snapshot(), encode(targeting.names, trees), targeting.slow_truth(trees)
    for event, tree in enumerate(trees):
        interpreter = Interpreter(programs, cells, event, slow)
        for number, form in expressions.items():
            assert interpreter.holds(number) is accepts(form, Attributes(tree)), (form, tree)
