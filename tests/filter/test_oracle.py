"""pyoxigraph, which nobody here wrote, finds the same matches, bindings and counts in whole workloads."""

from __future__ import annotations

import json

import pyoxigraph as ox
from hypothesis import given

from heliograph.model import Notification, Notifications
from heliograph.sparql.query import Query
from tests.filter import oxigraph
from tests.filter.conditions import TAME
from tests.filter.strategies import Workload, examples, workloads

MANY = 100_000


def check_agrees(workload: Workload, algorithm: str | None = None) -> None:
    """Each document's notifications are what the oracle finds of all subscriptions, in order of subscribing."""
    engine = workload.engine(algorithm)
    asked = {each.id: each.query for each in engine._subscriptions}
    for publication in workload.publications:
        store = oxigraph.store(publication[1], workload.taxonomy)
        found = engine.publish(publication, bindings=MANY)
        expected = {id: oxigraph.bindings(store, query) for id, query in asked.items()}
        assert [each.subscription_id for each in found] == [id for id, rows in expected.items() if rows]
        check_evidence(found, expected, asked, store)


def check_evidence(
    found: Notifications, expected: dict[str, set[oxigraph.Binding]], asked: dict[str, Query], store: ox.Store
) -> None:
    for each in found:
        query, id = asked[each.subscription_id], each.subscription_id
        if query.counted:
            assert str(_evidence(each)["value"]) in oxigraph.counts(store, query), (id, query)
        if not query.counted or query.group_by:
            rows = [frozenset(row.items()) for row in _evidence(each)["bindings"]]
            assert (len(rows), set(rows)) == (len(expected[id]), expected[id]), (id, query)


def _evidence(notification: Notification) -> dict[str, list[dict[str, str]]]:
    assert notification.evidence is not None
    shown: dict[str, list[dict[str, str]]] = json.loads(notification.evidence)
    return shown


@examples(100)
@given(workloads(TAME, most=10))
def test_pyoxigraph_agrees(workload: Workload) -> None:
    check_agrees(workload)
