"""`heliograph lint`: findings on subscriptions and on an exchange."""

from __future__ import annotations

import contextlib
import io
import json
import sys
from pathlib import Path

import pytest

from heliograph.cli.main import app
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


# --- a sample, a taxonomy, a terminal ---

SAMPLE = [
    {"publication_id": "d1", "subject": "Ann", "property": "knows", "object": "Bob"},
    {"publication_id": "d1", "subject": "Ann", "property": "age", "object": "30"},
]


def test_a_sample(run: Run) -> None:
    rows = [
        {"subscription_id": "typo", "query": "ASK { ?x :nkows ?y }"},
        {"subscription_id": "class", "query": "ASK { ?x a/rdfs:subClassOf* :Persn ; :age ?a }"},
        {"subscription_id": "fine", "query": "ASK { ?x :knows ?y ; :age ?a FILTER(?a > 18) }"},
    ]
    taxonomy = save([{"child": "Person", "parent": "Agent"}], "t.csv")
    found = run("lint", "-s", save(rows, "s.csv"), "-t", taxonomy, "--sample", save(SAMPLE, "p.csv"))
    assert found.code == 0
    assert [(row["subject_id"], row["code"], row["related_id"]) for row in found.rows] == [
        ("typo", "HG-717", "knows"),
        ("class", "HG-718", "Person"),
    ]


def test_a_sample_on_a_pipe(run: Run) -> None:
    lines = "".join(json.dumps(row) + "\n" for row in SAMPLE)
    rows = [{"subscription_id": "typo", "query": "ASK { ?x :agee ?y }"}]
    found = run("lint", "-s", save(rows, "s.csv"), "--sample", "-", input=lines)
    assert [(row["code"], row["related_id"]) for row in found.rows] == [("HG-717", "age")]


def test_a_sample_that_is_partly_or_not_at_all_readable(run: Run) -> None:
    rows = [{"subscription_id": "a", "query": "ASK { ?x :age ?y }"}]
    bad = [*SAMPLE, {"publication_id": "d2", "subject": "Ann", "property": "no:such", "object": "1"}]
    partly = run("lint", "-s", save(rows, "s.csv"), "--sample", save(bad, "p.csv"))
    assert (partly.code, partly.out, [row["code"] for row in partly.refused]) == (3, "", ["HG-104"])
    write("broken.ttl", "nonsense")
    failed = run("lint", "-s", "s.csv", "--sample", "broken.ttl")
    assert failed.code == 1
    assert "nothing could be read from --sample" in failed.err


def test_a_sample_needs_interests(run: Run) -> None:
    assert run("lint", "--sample", save(SAMPLE, "p.csv")).code == 2
    assert run("lint", "-s", "-", "--sample", "-").code == 2


def test_a_cycle_in_the_taxonomy_is_reported(run: Run) -> None:
    taxonomy = save([{"child": "A", "parent": "B"}, {"child": "B", "parent": "A"}], "t.csv")
    found = run("lint", "-s", save(SUBSCRIPTIONS, "s.csv"), "-t", taxonomy)
    assert (found.code, [row["code"] for row in found.refused]) == (3, ["HG-510"])


def test_rows_that_cannot_be_read_are_rejected(run: Run) -> None:
    save([*PATTERNS, {"subscription_id": "z", "subject": "?x", "property": "", "object": "1"}], "p.csv")
    found = run("lint", "--patterns", "p.csv")
    assert [row["subject_id"] for row in found.rows if row["code"] == "HG-101"] == ["z"]


class Terminal(io.TextIOWrapper):
    def __init__(self) -> None:
        super().__init__(io.BytesIO(), encoding="utf-8")

    def isatty(self) -> bool:
        return True

    @property
    def text(self) -> str:
        self.flush()
        assert isinstance(self.buffer, io.BytesIO)
        return self.buffer.getvalue().decode()


def on_terminal(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> str:
    """What the command prints where standard output is a terminal."""
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("NO_COLOR", "1")
    with contextlib.suppress(SystemExit):
        app(["lint", *arguments])
    return terminal.text


def test_a_table_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [
        {"subscription_id": "never", "query": "ASK { ?x :age ?a FILTER(?a > 5 && ?a < 3) }"},
        {"subscription_id": "[bold]again", "query": "ASK { ?y :age ?b FILTER(?b > 5 && ?b < 3) }"},
    ]
    shown = on_terminal(monkeypatch, "-s", save(rows, "s.csv"))
    assert "can never match: ?a > 5 and ?a < 3 cannot hold together" in shown
    assert "[bold]again" in shown
    assert "3 findings: 1 × HG-711, 2 × HG-712" in shown.splitlines()[-1]
    assert "{" not in shown
    assert on_terminal(monkeypatch, "-s", "s.csv", "--out", "-").startswith('{"subject_id":"never"')


def test_a_terminal_is_told_that_all_is_well(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "nothing looks wrong" in on_terminal(monkeypatch, "-s", save(SUBSCRIPTIONS, "s.csv"))


def test_a_terminal_shows_the_first_of_many(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{"subscription_id": f"s{number}", "query": "ASK { ?x ?p ?x }"} for number in range(201)]
    shown = on_terminal(monkeypatch, "-s", save(rows, "s.csv"))
    assert "the first 200 are shown, --out FILE writes all" in shown
    assert "s3 " in shown
    assert "s200" not in shown
