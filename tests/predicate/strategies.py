"""Hypothesis strategies for predicates and for the events that they are asked about."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from heliograph.predicate.form import (
    Between,
    Comparison,
    Constant,
    In,
    IsNull,
    Like,
    Pair,
    Predicate,
    Truth,
    conjunction,
    disjunction,
    negation,
)

NAMES = ("a", "b", "c")
SIGNS = ("=", "<>", "<", "<=", ">", ">=")

names = st.sampled_from(NAMES)
paths = names.map(lambda name: (name,))
numbers: st.SearchStrategy[int | float] = st.one_of(
    st.integers(-3, 3), st.sampled_from([0.5, -1.5, 2.0, 1e-3]), st.integers(-(10**6), 10**6)
)
texts = st.one_of(st.sampled_from(["", "a", "ab", "b", "A", "%", "a_", "it's", "é"]), st.text("ab%_'", max_size=4))
scalars: st.SearchStrategy[Any] = st.one_of(numbers, texts, st.none())
patterns = st.text("ab%_!", max_size=5)
events = st.dictionaries(
    names,
    st.one_of(scalars, st.booleans(), st.lists(st.one_of(scalars, st.booleans()), max_size=3)),
)


def _likes(path: tuple[str, ...], pattern: str, escaped: bool, fold: bool) -> Like:
    whole = pattern.rstrip("!") if escaped else pattern
    return Like(path, whole, "!" if escaped else None, fold)


atoms: st.SearchStrategy[Predicate] = st.one_of(
    st.builds(Comparison, paths, st.sampled_from(SIGNS), scalars),
    st.builds(In, paths, st.lists(scalars, min_size=1, max_size=4).map(tuple)),
    st.builds(Between, paths, scalars, scalars),
    st.builds(_likes, paths, patterns, st.booleans(), st.booleans()),
    st.builds(IsNull, paths),
    st.builds(Truth, paths, st.booleans()),
    st.builds(Pair, paths, st.sampled_from(SIGNS), paths),
    st.builds(Constant, st.sampled_from([True, False, None])),
)
predicates: st.SearchStrategy[Predicate] = st.recursive(
    atoms,
    lambda inner: st.one_of(
        inner.map(negation),
        st.lists(inner, min_size=2, max_size=3).map(conjunction),
        st.lists(inner, min_size=2, max_size=3).map(disjunction),
    ),
    max_leaves=6,
)
