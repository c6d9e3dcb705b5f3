"""Hypothesis strategies for predicates and events with every kind of constant and value, and what is asked of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from heliograph.compiled.growing import fixed
from heliograph.predicate.attributes import cells_of, event_cells
from heliograph.predicate.compile import Room, Targeting
from heliograph.predicate.evaluate import Attributes, accepts
from heliograph.predicate.form import Between, Comparison, In, Like, Pair, Predicate, negation
from heliograph.predicate.form import conjunction as all_of
from heliograph.predicate.form import disjunction as any_of
from heliograph.predicate.layout import LANES, Cells, Job
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


# --- what compiled code says of events ----------------------------------------------------------------------------

Trees = list[dict[str, Any]]
Expressions = dict[int, Predicate]
ALL = (1 << LANES) - 1

plain_values: st.SearchStrategy[Any] = st.one_of(
    plain.scalars, st.booleans(), st.just({}), st.sampled_from([2.0**53, -1e300, 5e-324])
)
plain_events = st.dictionaries(st.sampled_from([*plain.NAMES, "d", "e"]), plain_values)


def make_job(targeting: Targeting, trees: Trees, room: Room | None = None, cells: Cells | None = None) -> Job:
    """Up to 64 events on the board of a room, asked about with all expressions so far."""
    from heliograph.predicate.kernels import gather

    found = cells_of(event_cells(targeting.names, tree) for tree in trees) if cells is None else cells
    compiled = targeting.compiled(targeting.snapshot())
    job = (room or Room()).job(targeting, compiled, found, targeting.slow_truth(trees))
    gather(job.events.cells, fixed(np.arange(len(trees))), job.board)
    return job


def holding(job: Job, number: int, asked: int = ALL) -> int:
    """The lanes for which an expression holds, said alike by the programs and by facts code."""
    from heliograph.predicate.kernels import ask, ask_facts

    lanes = int(ask(job.events, job.board, number, np.uint64(asked)))
    assert int(ask_facts(job, number, np.uint64(asked))) == lanes
    return lanes


def check_all(job: Job, trees: Trees, expressions: Expressions, asked: int = ALL) -> None:
    """Facts code, the programs and the forms agree about every lane that is asked about, and about no other."""
    lanes = asked & ((1 << len(trees)) - 1)
    for number, form in expressions.items():
        expected = sum(1 << lane for lane, tree in enumerate(trees) if accepts(form, Attributes(tree)))
        assert holding(job, number, lanes) == expected & lanes, form


def check_holds(targeting: Targeting, expressions: Expressions, trees: Trees) -> None:
    """The code of each expression accepts the events that its form accepts."""
    for first in range(0, len(trees), LANES):
        part = trees[first : first + LANES]
        check_all(make_job(targeting, part), part, expressions)


def add_all(targeting: Targeting, several: list[Predicate]) -> Expressions:
    return {targeting.add(form): form for form in several}
