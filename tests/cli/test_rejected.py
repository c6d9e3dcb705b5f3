"""What cannot be read: reported with its place, nothing else lost, and the exit code says so."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from heliograph.io.sources import find_sources
from heliograph.io.tables import read_all
from tests.cli.conftest import Run, write
from tests.cli.files import (
    CONSTRAINTS,
    EDGES,
    EVENTS,
    MATCHES,
    NODES,
    PATTERNS,
    PUBLICATIONS,
    SUBSCRIPTIONS,
    TABLE_KINDS,
    UPDATES,
    ndjson,
    save,
)


def test_a_bad_subscription_is_rejected_and_the_rest_runs(run: Run) -> None:
    subscriptions = save([*SUBSCRIPTIONS, {"subscription_id": "bad", "query": "SELECT * { ?x :p }"}], "s.csv")
    found = run("filter", "-s", subscriptions, "-p", save(PUBLICATIONS, "p.csv"))
    assert (found.code, found.pairs) == (3, MATCHES)
    [refused] = found.refused
    assert list(refused) == ["source", "item", "code", "message"]
    assert (refused["source"], refused["item"]) == ("s.csv", "bad")
    assert refused["code"].startswith("HG-4")


def test_a_bad_query_file_is_named(run: Run) -> None:
    write("q/friends.rq", SUBSCRIPTIONS[0]["query"])
    write("q/bad.rq", "SELECT * { ?x :p ")
    Path("q/latin.rq").write_bytes(b"ASK { ?x :p '\xff' }")
    found = run("filter", "-s", "q", "-p", save(PUBLICATIONS, "p.csv"))
    assert (found.code, found.pairs) == (3, [("friends", "p1")])
    assert {(row["source"], row["item"]) for row in found.refused} == {("bad.rq", "bad"), ("latin.rq", "latin")}


def test_a_bad_row_is_rejected_with_its_file_and_number(run: Run) -> None:
    save([*PUBLICATIONS[:1], {**PUBLICATIONS[0], "subject": '"text"'}], "in/a.csv")
    save([PUBLICATIONS[1], {**PUBLICATIONS[3], "property": "xx:age"}, *PUBLICATIONS[2:]], "in/b.csv")
    found = run("filter", "-s", save(SUBSCRIPTIONS, "s.csv"), "-p", "in")
    assert (found.code, found.pairs) == (3, MATCHES)
    assert [(row["source"], row["item"]) for row in found.refused] == [("a.csv", "p1"), ("b.csv", "p3")]
    assert all("row 2" in row["message"] for row in found.refused)


@pytest.mark.parametrize("kind", TABLE_KINDS)
def test_the_rejected_table(run: Run, kind: str) -> None:
    subscriptions = save([*SUBSCRIPTIONS, {"subscription_id": "bad", "query": "nonsense"}], "s.csv")
    found = run("filter", "-s", subscriptions, "-p", save(PUBLICATIONS, "p.csv"), "--rejected", f"r.{kind}")
    assert (found.code, found.err, found.pairs) == (3, "", MATCHES)
    assert read_all("rejected", find_sources(f"r.{kind}")).table["item"].to_pylist() == ["bad"]


def test_the_rejected_table_is_written_when_nothing_was_rejected(run: Run) -> None:
    run("filter", "-s", save(SUBSCRIPTIONS, "s.csv"), "-p", save(PUBLICATIONS, "p.csv"), "--rejected", "r.parquet")
    assert read_all("rejected", find_sources("r.parquet")).table.num_rows == 0


def test_rejected_items_are_counted(run: Run) -> None:
    subscriptions = save([*SUBSCRIPTIONS, {"subscription_id": "bad", "query": "nonsense"}], "s.csv")
    rows = [*PUBLICATIONS, {**PUBLICATIONS[0], "subject": "?x"}]
    run("filter", "-s", subscriptions, "-p", save(rows, "p.csv"), "--stats", "s.json", "--rejected", "r.csv")
    assert json.loads(Path("s.json").read_text())["rejected"] == 2


def test_one_unreadable_file_among_others(run: Run) -> None:
    save(PUBLICATIONS, "in/a.csv")
    write("in/b.csv", "id,subject\n1,2\n")
    write("in/c.parquet", "no parquet")
    found = run("filter", "-s", save(SUBSCRIPTIONS, "s.csv"), "-p", "in")
    assert (found.code, found.pairs) == (3, MATCHES)
    assert [row["source"] for row in found.refused] == ["b.csv", "c.parquet"]


@pytest.mark.parametrize("option", ["-s", "-p"])
def test_an_input_of_which_nothing_can_be_read_fails(run: Run, option: str) -> None:
    specs = {"-s": save(SUBSCRIPTIONS, "s.csv"), "-p": save(PUBLICATIONS, "p.csv")}
    specs[option] = write("bad.csv", "a,b\n1,2\n")
    found = run("filter", "-s", specs["-s"], "-p", specs["-p"], "--out", "n.csv", "--rejected", "r.csv")
    assert found.code == 1
    assert "HG-210" in found.err
    assert not Path("n.csv").exists()
    assert "HG-202" in Path("r.csv").read_text()


@pytest.mark.parametrize("name", ["bad.csv", "bad.ttl"])
def test_a_graph_or_taxonomy_that_cannot_be_read_fails(run: Run, name: str) -> None:
    subscriptions, bad = save(SUBSCRIPTIONS, "s.csv"), write(name, "neither this nor that")
    watched = run("watch", "-s", subscriptions, "-u", save(UPDATES, "u.csv"), "--graph", bad)
    assert (watched.code, watched.rows, "from --graph" in watched.err) == (1, [], True)
    filtered = run("filter", "-s", subscriptions, "-p", save(PUBLICATIONS, "p.csv"), "--taxonomy", bad)
    assert (filtered.code, filtered.rows, "from --taxonomy" in filtered.err) == (1, [], True)


def test_a_bad_row_of_the_taxonomy_is_rejected_with_its_number(run: Run) -> None:
    save([{"child": "A", "parent": "B"}, {"child": '"A"', "parent": "B"}], "t/1.csv")
    save([{"child": "A", "parent": "xx:B"}], "t/2.csv")
    found = run("filter", "-s", save(SUBSCRIPTIONS, "s.csv"), "-p", save(PUBLICATIONS, "p.csv"), "-t", "t")
    assert (found.code, found.pairs) == (3, MATCHES)
    assert [(row["source"], row["item"]) for row in found.refused] == [("1.csv", "2"), ("2.csv", "1")]


def test_a_broken_document_alone_fails_and_beside_others_is_rejected(run: Run) -> None:
    subscriptions = save(SUBSCRIPTIONS, "s.csv")
    write("in/bad.ttl", "this is no turtle")
    alone = run("filter", "-s", subscriptions, "-p", "in")
    assert (alone.code, alone.rows) == (1, [])
    save(PUBLICATIONS, "in/good.csv")
    beside = run("filter", "-s", subscriptions, "-p", "in")
    assert (beside.code, beside.pairs) == (3, MATCHES)
    assert beside.refused[0]["source"] == "bad.ttl"


def test_a_bad_line_on_a_pipe(run: Run) -> None:
    text = ndjson(PUBLICATIONS[:1]) + "not json\n" + ndjson(PUBLICATIONS[1:])
    found = run("filter", "-s", save(SUBSCRIPTIONS, "s.csv"), "-p", "-", input=text)
    assert found.code == 3
    assert found.pairs == MATCHES
    assert found.refused[0]["source"] == "-"


def test_bad_updates(run: Run) -> None:
    rows = [UPDATES[0], {**UPDATES[1], "op": "?"}, *UPDATES[1:]]
    found = run("watch", "-s", save(SUBSCRIPTIONS, "s.csv"), "-u", save(rows, "u.csv"))
    assert (found.code, [row["publication_id"] for row in found.rows]) == (3, ["1", "3", "4"])
    assert found.refused[0]["source"] == "u.csv"


def test_bad_nodes_edges_and_events(run: Run) -> None:
    nodes = save([*NODES, {"node_id": "Bad", "targeting": "age >"}], "n.csv")
    edges = save([*EDGES, {"source": "Net", "target": "Ad2", "cost": -1.0}], "e.csv")
    events = save([*EVENTS, EVENTS[0], {**EVENTS[0], "event_id": "e4", "publisher": "Nobody"}], "v.csv")
    found = run("route", "--nodes", nodes, "--edges", edges, "--events", events)
    assert (found.code, len(found.rows)) == (3, 4)
    assert [row["source"] for row in found.refused][:2] == ["n.csv", "e.csv"]
    assert [row["item"] for row in found.refused][2:] == ["e1", "e4"]


@pytest.mark.parametrize("option", ["--patterns", "--constraints"])
def test_a_pattern_table_that_cannot_be_read_says_why(run: Run, option: str) -> None:
    tables = {"--patterns": save(PATTERNS, "q.csv"), "--constraints": save(CONSTRAINTS, "c.csv")}
    tables[option] = save([{"who": "friends"}], "bad.csv")
    given = [part for pair in tables.items() for part in pair]
    found = run("filter", *given, "-p", save(PUBLICATIONS, "p.csv"))
    assert (found.code, found.out) == (1, "")
    assert [(row["source"], row["code"]) for row in found.refused] == [("bad.csv", "HG-202")]


def test_a_subscription_without_an_id_is_named_by_its_row(run: Run) -> None:
    rows = [*SUBSCRIPTIONS, {"subscription_id": "", "query": "ASK { ?x ?y ?z }"}]
    found = run("filter", "-s", save(rows, "s.csv"), "-p", save(PUBLICATIONS, "p.csv"))
    assert (found.code, found.pairs) == (3, MATCHES)
    assert [(row["source"], row["item"], row["code"]) for row in found.refused] == [("s.csv", "3", "HG-503")]


@pytest.mark.parametrize("suffix", ["csv", "ndjson"])
def test_a_thousand_bad_rows_are_told_and_all_are_counted(run: Run, suffix: str) -> None:
    """Of each code; the rest is one row, and the statistics count every one."""
    save(PUBLICATIONS, f"p.{suffix}")
    with Path(f"p.{suffix}").open("a") as file:
        file.write("x\n" * 2500)
    found = run("filter", "-s", save(SUBSCRIPTIONS, "s.csv"), "-p", f"p.{suffix}", "--stats", "stats.json")
    assert (found.code, found.pairs) == (3, MATCHES)
    assert len(found.refused) == 1001
    assert [row["item"] for row in found.refused].count(None) == 1
    assert found.refused[-1]["message"].startswith("1,500 more items")
    assert json.loads(Path("stats.json").read_text())["rejected"] == 2500


def test_a_pattern_whose_row_was_only_counted_is_left_out_too(run: Run) -> None:
    """It would match too much without the row."""
    rows = "".join(f'{{"subscription_id":"s{n}","subject":"?x","property":"p","object":{{}}}}\n' for n in range(1200))
    wide = "".join(
        f'{{"subscription_id":"s{n}","subject":"?x","property":"knows","object":"?y"}}\n' for n in range(1200)
    )
    good = '{"subscription_id":"good","subject":"?x","property":"never","object":"?y"}\n'
    Path("patterns.ndjson").write_text(wide + rows + good)
    found = run("filter", "--patterns", "patterns.ndjson", "-p", save(PUBLICATIONS, "p.csv"), "--stats", "stats.json")
    assert found.pairs == []
    assert json.loads(Path("stats.json").read_text())["rejected"] == 1200
