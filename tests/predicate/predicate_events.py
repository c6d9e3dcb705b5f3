"""Predicates and events for the index of predicates, and what it must answer by asking one after the other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hypothesis import strategies as st

from heliograph.predicate.evaluate import Attributes, accepts
from heliograph.predicate.form import to_sql
from heliograph.predicate.index import PredicateIndex
from heliograph.predicate.parser import parse_predicate
from tests.predicate.strategies import names, predicates, scalars

texts = predicates.map(to_sql)
odd = st.sampled_from([2**53 + 1, -(2**53) - 1, 10**400, -(10**400), 2**63, 1e300])
values = st.one_of(scalars, odd, st.booleans(), st.lists(st.one_of(scalars, odd, st.booleans()), max_size=3))
events = st.dictionaries(names, values, max_size=3)
plain_events = st.dictionaries(names, st.one_of(scalars, st.booleans()), max_size=3)


def expected(listed: Iterable[tuple[str, str | None]], event: Mapping[str, Any]) -> tuple[str, ...]:
    """The ids of the predicates that are true of an event."""
    attributes = Attributes(event)
    return tuple(id for id, text in listed if not text or accepts(parse_predicate(text), attributes))


def check_index(index: PredicateIndex, listed: Sequence[tuple[str, str | None]], given: Sequence[Any]) -> None:
    """The index gives, for every event, what asking each predicate gives."""
    assert list(index.match(given)) == [expected(listed, event) for event in given]
