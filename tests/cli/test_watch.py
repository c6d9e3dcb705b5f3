"""`heliograph watch` on every file kind, with its options."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from heliograph.model import STATS_KEYS
from tests.cli.conftest import Outcome, Run, write
from tests.cli.files import CONSTRAINTS, DOCUMENTS, PATTERNS, SUBSCRIPTIONS, TABLE_KINDS, UPDATES, save


def said(found: Outcome) -> list[tuple[str, str, str]]:
    return [(row["publication_id"], row["change"], row["subscription_id"]) for row in found.rows]


EXPECTED = [("1", "+", "friends"), ("2", "+", "adults"), ("3", "-", "friends")]


@pytest.mark.parametrize("kind", TABLE_KINDS)
def test_tables(run: Run, kind: str) -> None:
    found = run("watch", "--subscriptions", save(SUBSCRIPTIONS, f"s.{kind}"), "--updates", save(UPDATES, f"u.{kind}"))
    assert (found.code, found.err, said(found)) == (0, "", EXPECTED)
    assert found.rows[0]["verb"] == "watch"
    assert found.rows[0]["evidence"] == {"bindings": {"x": "Ann", "y": "Bob"}}


def test_patterns_and_constraints(run: Run) -> None:
    patterns, constraints = save(PATTERNS, "p.csv"), save(CONSTRAINTS, "c.csv")
    found = run("watch", "--patterns", patterns, "--constraints", constraints, "--updates", save(UPDATES, "u.csv"))
    assert (found.code, said(found)) == (0, EXPECTED)


def test_several_files_are_one_stream(run: Run) -> None:
    save(UPDATES[:1], "u/1.csv")
    save(UPDATES[1:], "u/2.ndjson")
    assert said(run("watch", "-s", save(SUBSCRIPTIONS, "s.csv"), "-u", "u")) == EXPECTED


@pytest.mark.parametrize("kind", DOCUMENTS)
def test_the_graph_at_the_start_may_be_a_document(run: Run, kind: str) -> None:
    graph = write(f"g.{kind}", DOCUMENTS[kind])
    updates = save([{"op": "-", "subject": "Ann", "property": None, "object": None}], "u.ndjson")
    found = run("watch", "-s", save(SUBSCRIPTIONS, "s.csv"), "-u", updates, "--graph", graph)
    assert (found.code, found.err, said(found)) == (0, "", [("1", "-", "friends"), ("1", "-", "adults")])


@pytest.mark.parametrize(
    "extra", [{}, {"publication_id": "p"}, {"op": "+"}], ids=["triples", "publications", "updates"]
)
@pytest.mark.parametrize("kind", TABLE_KINDS)
def test_the_graph_at_the_start_may_be_a_table(run: Run, kind: str, extra: dict[str, str]) -> None:
    graph = save([{**extra, "subject": "Ann", "property": "knows", "object": "Bob"}], f"g.{kind}")
    found = run("watch", "-s", save(SUBSCRIPTIONS, "s.csv"), "-u", save(UPDATES[2:], "u.csv"), "--graph", graph)
    assert (found.code, said(found)) == (0, [("1", "-", "friends")])


def test_a_bad_row_of_the_graph_is_rejected(run: Run) -> None:
    rows = [{"subject": "Ann", "property": "knows", "object": "Bob"}, {"subject": "5", "property": "p", "object": "x"}]
    found = run(
        "watch", "-s", save(SUBSCRIPTIONS, "s.csv"), "-u", save(UPDATES[2:], "u.csv"), "-g", save(rows, "g.csv")
    )
    assert (found.code, said(found)) == (3, [("1", "-", "friends")])
    assert found.refused[0]["source"] == "g.csv"


def test_initial_matches_come_first(run: Run) -> None:
    graph = save([{"subject": "Ann", "property": "knows", "object": "Bob"}], "g.csv")
    found = run("watch", "-s", save(SUBSCRIPTIONS, "s.csv"), "-u", "-", "-g", graph, "--initial", input="")
    assert [(row["publication_id"], row["subscription_id"]) for row in found.rows] == [(None, "friends")]
    row = {**SUBSCRIPTIONS[0], "options": '{"initial": true}'}
    alone = run("watch", "-s", save([row], "s2.csv"), "-u", "-", "-g", graph, input="")
    assert alone.rows == found.rows
    assert run("watch", "-s", "s.csv", "-u", "-", "-g", graph, input="").rows == []


def test_mode_change(run: Run) -> None:
    rows = [UPDATES[0], {**UPDATES[0], "object": "Cid"}]
    subscriptions, updates = save(SUBSCRIPTIONS[:1], "s.csv"), save(rows, "u.csv")
    assert len(run("watch", "-s", subscriptions, "-u", updates).rows) == 2
    assert said(run("watch", "-s", subscriptions, "-u", updates, "--mode", "change")) == [("1", "+", "friends")]
    assert run("watch", "-s", subscriptions, "-u", updates, "--mode", "never").code == 2


def test_windows(run: Run) -> None:
    rows = [{**UPDATES[0], "at": "2026-01-01T00:00:00Z"}, {**UPDATES[1], "at": "2026-01-09T00:00:00Z"}]
    subscriptions, updates = save(SUBSCRIPTIONS[:1], "s.csv"), save(rows, "u.ndjson")
    assert said(run("watch", "-s", subscriptions, "-u", updates, "--window", "7d"))[1:] == [("2", "-", "friends")]
    assert said(run("watch", "-s", subscriptions, "-u", updates, "--window-updates", "1"))[1:] == [
        ("2", "-", "friends")
    ]
    assert run("watch", "-s", subscriptions, "-u", updates, "--window", "soon").code == 2


def test_witness(run: Run) -> None:
    found = run("watch", "-s", save(SUBSCRIPTIONS, "s.csv"), "-u", save(UPDATES[:1], "u.csv"), "--witness")
    assert found.rows[0]["evidence"]["edges"] == [["Ann", "knows", "Bob"]]


def test_stats_and_taxonomy(run: Run) -> None:
    query = write("any.rq", "ASK { ?x a/rdfs:subClassOf* :Person ; :age ?a }")
    taxonomy = save([{"child": "Ann", "parent": "Person"}], "t.csv")
    found = run(
        "watch", "-s", query, "-u", save(UPDATES, "u.csv"), "-t", taxonomy, "--stats", "j.json", "--out", "n.csv"
    )
    assert (found.code, found.out) == (0, "")
    stats = json.loads(Path("j.json").read_text())
    assert tuple(stats) == (*STATS_KEYS, "slow")
    assert (stats["subscriptions"], stats["publications"], stats["notifications"]) == (1, 3, 1)
