"""`heliograph route` on every file kind, with its options."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from heliograph.model import STATS_KEYS
from tests.cli.conftest import Run
from tests.cli.files import EDGES, EVENTS, NODES, TABLE_KINDS, Rows, ndjson, save

REACHED = [("Net", "e1"), ("Adv", "e1"), ("Ad2", "e1"), ("Ad2", "e2")]


@pytest.fixture
def exchange() -> list[str]:
    return ["--nodes", save(NODES, "n.csv"), "--edges", save(EDGES, "e.csv")]


@pytest.mark.parametrize("kind", TABLE_KINDS)
def test_tables(run: Run, kind: str) -> None:
    nodes, edges, events = save(NODES, f"n.{kind}"), save(EDGES, f"e.{kind}"), save(EVENTS, f"v.{kind}")
    found = run("route", "--nodes", nodes, "--edges", edges, "--events", events)
    assert (found.code, found.err, found.pairs) == (0, "", REACHED)
    assert found.rows[0]["verb"] == "route"
    assert found.rows[0]["evidence"] is None


def test_nested_attributes_on_a_pipe(run: Run, exchange: list[str]) -> None:
    event = {"event_id": "e1", "publisher": "Pub", "attributes": {"topic": "Sports", "age": 35}}
    assert run("route", *exchange, "--events", "-", input=json.dumps(event)).pairs == REACHED[:3]


def test_an_id_may_come_again_on_a_pipe_but_not_in_files(run: Run, exchange: list[str]) -> None:
    rows = [EVENTS[1], EVENTS[1]]
    assert run("route", *exchange, "--events", "-", input=ndjson(rows)).pairs == [("Ad2", "e2")] * 2
    save(rows[:1], "v/1.csv")
    save(rows[1:], "v/2.csv")
    found = run("route", *exchange, "--events", "v")
    assert (found.code, found.pairs) == (3, [("Ad2", "e2")])
    assert (found.refused[0]["source"], found.refused[0]["item"]) == ("2.csv", "e2")


def test_a_misspelt_column_is_told(run: Run, caplog: pytest.LogCaptureFixture) -> None:
    """It opens every node: the answer is what the table says, and a warning what it may have been to say."""
    nodes = [{"node_id": node["node_id"], "targetting": node["targeting"]} for node in NODES]
    exchange = ["--nodes", save(nodes, "n.csv"), "--edges", save(EDGES, "e.csv")]
    found = run("route", *exchange, "--events", save(EVENTS, "v.csv"))
    assert (found.code, len(found.rows)) == (0, 6)
    assert [record.getMessage() for record in caplog.records] == [
        "nodes (n.csv): no column 'targeting', but 'targetting', which is ignored: is that a slip?"
    ]


def test_algorithms_agree(run: Run, exchange: list[str]) -> None:
    events = save(EVENTS, "v.csv")
    assert run("route", *exchange, "--events", events, "--algorithm", "walk").pairs == REACHED
    guessed = run("route", *exchange, "--events", events, "--algorithm", "guess")
    assert (guessed.code, "scc-skip" in guessed.err) == (2, True)


def test_subscribers_only(run: Run, exchange: list[str]) -> None:
    found = run("route", *exchange, "--events", save(EVENTS, "v.csv"), "--subscribers-only")
    assert found.pairs == [("Adv", "e1"), ("Ad2", "e1"), ("Ad2", "e2")]


def test_rank_and_limit(run: Run, exchange: list[str]) -> None:
    events = save(EVENTS, "v.csv")
    found = run("route", *exchange, "--events", events, "--rank", "cost", "--limit", "2", "--stats", "j.json")
    assert [(row["subscription_id"], row["evidence"]["cost"]) for row in found.rows] == [
        ("Ad2", 0.5),
        ("Net", 1.0),
        ("Ad2", 0.5),
    ]
    stats = json.loads(Path("j.json").read_text())
    assert tuple(stats) == (*STATS_KEYS, "slow")
    assert (stats["complete"], stats["truncated"]) == (False, 1)


def test_paths_and_hops(run: Run, exchange: list[str]) -> None:
    events = save(EVENTS[:1], "v.csv")
    found = run("route", *exchange, "--events", events, "--paths")
    assert found.rows[1]["evidence"] == {"path": ["Pub", "Net", "Adv"], "cost": 3.0}
    assert run("route", *exchange, "--events", events, "--hops", "1").pairs == [("Net", "e1"), ("Ad2", "e1")]


@pytest.mark.parametrize(
    ("match", "reached"), [("superset", ["Both"]), ("subset", ["One"]), ("intersects", ["One", "Both"])]
)
def test_labels(run: Run, match: str, reached: list[str]) -> None:
    nodes: Rows = [
        {"node_id": "Pub", "labels": None},
        {"node_id": "One", "labels": '["a"]'},
        {"node_id": "Both", "labels": '["a", "b", "c"]'},
        {"node_id": "Other", "labels": '["z"]'},
    ]
    edges = [{"source": "Pub", "target": node["node_id"]} for node in nodes[1:]]
    events = [{"event_id": "e", "publisher": "Pub", "attributes": '{"labels": ["a", "b"]}'}]
    arguments = ["--nodes", save(nodes, "n.csv"), "--edges", save(edges, "e.csv"), "--events", save(events, "v.csv")]
    found = run("route", *arguments, "--match", match)
    assert [row["subscription_id"] for row in found.rows] == reached


def test_what_if(run: Run, exchange: list[str]) -> None:
    changes = save([{"kind": "node", "op": "+", "node_id": "Net", "targeting": "age > 10"}], "c.csv")
    found = run("route", *exchange, "--events", save(EVENTS, "v.csv"), "--what-if", changes)
    assert found.code == 0
    assert found.rows == [
        {"event_id": "e2", "node_id": "Net", "before": False, "after": True},
        {"event_id": "e2", "node_id": "Adv", "before": False, "after": True},
    ]


def test_what_if_of_subscribers(run: Run, exchange: list[str]) -> None:
    changes = save([{"kind": "node", "op": "+", "node_id": "Net", "targeting": "age > 10"}], "c.csv")
    found = run("route", *exchange, "--events", save(EVENTS, "v.csv"), "--what-if", changes, "--subscribers-only")
    assert (found.code, [row["node_id"] for row in found.rows]) == (0, ["Adv"])


def test_what_if_with_a_named_edge_and_labels(run: Run, exchange: list[str]) -> None:
    change = {"kind": "edge", "op": "+", "source": "Pub", "target": "New", "edge_id": "fresh", "labels": None}
    found = run("route", *exchange, "--events", save(EVENTS, "v.csv"), "--what-if", save([change], "c.ndjson"))
    assert [(row["event_id"], row["node_id"]) for row in found.rows] == [("e1", "New"), ("e2", "New")]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--rank", "cost"], "--rank"),
        (["--limit", "0"], "--limit"),
        (["--hops", "0", "--paths"], "--hops, --paths"),
    ],
)
def test_what_if_compares_whole_answers(run: Run, exchange: list[str], options: list[str], told: str) -> None:
    changes = save([{"kind": "node", "op": "-", "node_id": "Net"}], "c.csv")
    found = run("route", *exchange, "--events", save(EVENTS, "v.csv"), "--what-if", changes, *options)
    assert (found.code, found.out) == (2, "")
    assert found.err.startswith(f"HG-037: --what-if with {told}: ")
    assert f"leave out {told}; --subscribers-only may stay" in found.err


def test_a_bad_change_is_rejected(run: Run, exchange: list[str]) -> None:
    changes = save([{"kind": "node", "op": "-", "node_id": "Ghost"}], "c.csv")
    found = run("route", *exchange, "--events", save(EVENTS, "v.csv"), "--what-if", changes, "--out", "w.csv")
    assert (found.code, found.refused[0]["source"]) == (3, "c.csv")
    assert Path("w.csv").read_text().startswith('"event_id","node_id","before","after"')


def test_a_cut_answer_is_told(run: Run, exchange: list[str]) -> None:
    asked = ["route", *exchange, "--events", save(EVENTS, "v.csv")]
    assert "a limit cut the answer" in run(*asked, "--limit", "1", "--rejected", "rejected.csv").err
    assert "a limit cut the answer" not in run(*asked, "--limit", "1").err
    assert "a limit cut the answer" not in run(*asked, "--rejected", "others.csv").err
