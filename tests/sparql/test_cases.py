"""The text fixtures: each case through the public filter, and through pyoxigraph where it agrees."""

from __future__ import annotations

import pyoxigraph as ox
import pytest

from heliograph import Filter
from heliograph.errors import SparqlError
from heliograph.sparql.templates import parse_sparql
from heliograph.terms import Position, parse_cell
from tests.sparql import oxigraph
from tests.sparql.cases import Case, read_cases

CASES = read_cases()
POSITIONS = (Position.SUBJECT, Position.PROPERTY, Position.OBJECT)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    engine = Filter(case.taxonomy)
    if case.expected == "refused":
        with pytest.raises(SparqlError):
            engine.subscribe(("case", case.subscription))
        return
    engine.subscribe(("case", case.subscription))
    found = engine.publish(("publication", case.triples), bindings=100)
    assert not found.rejected
    assert [notification.subscription_id for notification in found] == ["case"] * (case.expected == "yes")
    if case.bindings:
        assert found[0].proof["bindings"] == case.bindings
    assert engine.explain("case", ("publication", case.triples)).matched is (case.expected == "yes")


@pytest.mark.parametrize("case", [case for case in CASES if case.expected != "refused"], ids=str)
def test_the_oracle_agrees_unless_the_case_says_otherwise(case: Case) -> None:
    query = parse_sparql(case.subscription)
    triples = [tuple(map(parse_cell, row, POSITIONS)) for row in case.triples]
    store = oxigraph.store(triples, [(parse_cell(child), parse_cell(parent)) for child, parent in case.taxonomy])  # type: ignore[arg-type]
    if query.counted:
        _as_written(case, store)
        return
    found = bool(oxigraph.answers(store, oxigraph.query_text(query, taxonomy=True)))
    assert (found is not (case.expected == "yes")) is case.oracle_differs


def _as_written(case: Case, store: ox.Store) -> None:
    """Counts are put to the oracle as they are written; HAVING stands behind a SELECT there."""
    text = case.subscription.replace("ASK", "SELECT (COUNT(*) AS ?n)")
    assert bool(oxigraph.answers(store, f"PREFIX : <urn:heliograph:> {text}")) is (case.expected == "yes")


def test_there_are_cases_of_every_outcome() -> None:
    assert {case.expected for case in CASES} == {"yes", "no", "refused"}
