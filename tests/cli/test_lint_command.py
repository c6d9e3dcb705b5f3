"""`heliograph lint`: findings on subscriptions and on an exchange."""

from __future__ import annotations

from pathlib import Path

from tests.cli.conftest import Run, write
from tests.cli.files import CONSTRAINTS, EDGES, NODES, PATTERNS, SUBSCRIPTIONS, save


def test_subscriptions(run: Run) -> None:
    rows = [
        *SUBSCRIPTIONS,
        {"subscription_id": "again", "query": SUBSCRIPTIONS[0]["query"]},
        {"subscription_id": "adults", "query": "ASK { ?x :p 1 }"},
        {"subscription_id": "broken", "query": "ASK { ?x :p }"},
        {"subscription_id": "never", "query": "ASK { ?x :age ?a FILTER(?a > 5 && 5 >= ?a) }"},
    ]
    found = run("lint", "--subscriptions", save(rows, "s.csv"))
    assert found.code == 0
    assert [(row["subject_id"], row["related_id"]) for row in found.rows] == [
        ("again", "friends"),
        ("adults", "adults"),
        ("broken", None),
        ("never", None),
    ]
    assert [row["code"] for row in found.rows if row["subject_id"] != "broken"] == ["HG-711", "HG-501", "HG-712"]


def test_strict_fails_on_findings(run: Run) -> None:
    assert run("lint", "-s", save(SUBSCRIPTIONS, "s.csv"), "--strict").code == 0
    write("bad.rq", "nonsense")
    assert run("lint", "-s", "bad.rq", "--strict").code == 1


def test_patterns(run: Run) -> None:
    constraints = [*CONSTRAINTS, {"subscription_id": "adults", "variable": "?a", "operator": "<", "value": "18"}]
    found = run("lint", "--patterns", save(PATTERNS, "p.csv"), "--constraints", save(constraints, "c.csv"))
    assert [(row["subject_id"], row["code"]) for row in found.rows] == [("adults", "HG-712")]


def test_an_exchange(run: Run) -> None:
    nodes = save([*NODES, {"node_id": "Lonely", "targeting": "1 = 2"}], "n.csv")
    found = run("lint", "--nodes", nodes, "--edges", save(EDGES, "e.csv"), "--out", "l.csv")
    assert (found.code, found.out) == (0, "")
    text = Path("l.csv").read_text()
    assert text.startswith('"subject_id","code","message","related_id"')
    assert "Lonely" in text


def test_an_exchange_needs_both_tables(run: Run) -> None:
    assert run("lint", "--nodes", save(NODES, "n.csv")).code == 2
    assert run("lint").code == 2
