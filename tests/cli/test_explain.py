"""`heliograph explain`: why, why not, and names that come near where one is missing."""

from __future__ import annotations

import json

import pytest

from tests.cli.conftest import Run, write
from tests.cli.files import (
    CONSTRAINTS,
    DOCUMENTS,
    EDGES,
    EVENTS,
    NODES,
    PATTERNS,
    PUBLICATIONS,
    SUBSCRIPTIONS,
    UPDATES,
    ndjson,
    save,
)


@pytest.fixture
def filtering() -> list[str]:
    return ["explain", "filter", "-s", save(SUBSCRIPTIONS, "s.csv"), "-p", save(PUBLICATIONS, "p.csv")]


@pytest.fixture
def watching() -> list[str]:
    return ["explain", "watch", "-s", save(SUBSCRIPTIONS, "s.csv"), "-u", save(UPDATES, "u.csv")]


@pytest.fixture
def routing() -> list[str]:
    tables = ["--nodes", save(NODES, "n.csv"), "--edges", save(EDGES, "e.csv"), "--events", save(EVENTS, "v.csv")]
    return ["explain", "route", *tables]


def test_filter_why_and_why_not(run: Run, filtering: list[str]) -> None:
    why = run(*filtering, "--subscription", "adults", "--publication", "p1")
    assert (why.code, why.out[0]) == (0, "✓")
    assert '"a": "30"' in why.out
    why_not = run(*filtering, "--subscription", "adults", "--publication", "p2")
    assert (why_not.code, why_not.out[0]) == (0, "✗")
    assert "18" in why_not.out


def test_json(run: Run, filtering: list[str]) -> None:
    found = run(*filtering, "--subscription", "adults", "--publication", "p2", "--json", "--index")
    told = json.loads(found.out)
    assert (told["verb"], told["subscription_id"], told["publication_id"], told["matched"]) == (
        "filter",
        "adults",
        "p2",
        False,
    )
    assert told["failed"]
    assert told["index"][0].startswith("looked up by ")


def test_filter_tells_what_the_index_does(run: Run, filtering: list[str]) -> None:
    filtering.append("--index")
    why_not = run(*filtering, "--subscription", "adults", "--publication", "p2").out
    assert "  index   looked up by ? age ?: the publication has 1 such edge, so it is a candidate" in why_not
    assert why_not.rstrip().endswith("refused 17")


def test_filter_with_patterns_documents_and_pipes(run: Run) -> None:
    interests = ["--patterns", save(PATTERNS, "pat.csv"), "--constraints", save(CONSTRAINTS, "c.csv")]
    document = write("doc.ttl", DOCUMENTS["ttl"])
    asked = ["--subscription", "adults", "--publication"]
    assert run("explain", "filter", *interests, "-p", document, *asked, "doc.ttl").out.startswith("✓")
    piped = run("explain", "filter", *interests, "-p", "-", *asked, "p2", input=ndjson(PUBLICATIONS))
    assert piped.out.startswith("✗")


def test_filter_with_query_files(run: Run) -> None:
    write("q/adults.rq", SUBSCRIPTIONS[1]["query"])
    write("q/friends.rq", SUBSCRIPTIONS[0]["query"])
    publications = save(PUBLICATIONS, "p.csv")
    asked = ["--subscription", "adults", "--publication", "p3"]
    assert run("explain", "filter", "-s", "q", "-p", publications, *asked).out.startswith("✓")


@pytest.mark.parametrize(
    ("subscription", "publication", "near"), [("adlts", "p1", "'adults'"), ("adults", "p9", "'p1'")]
)
def test_an_unknown_id_is_usage_with_near_misses(
    run: Run, filtering: list[str], subscription: str, publication: str, near: str
) -> None:
    found = run(*filtering, "--subscription", subscription, "--publication", publication)
    assert (found.code, found.out) == (2, "")
    assert "HG-034" in found.err
    assert near in found.err


def test_names_far_from_the_wanted_one_are_listed(run: Run, filtering: list[str]) -> None:
    assert "there are 'friends', 'adults'" in run(*filtering, "--subscription", "zzz", "--publication", "p1").err
    nothing = run(
        "explain", "filter", "-s", "s.csv", "-p", "-", "--subscription", "adults", "--publication", "x", input=""
    )
    assert "there is none at all" in nothing.err


def test_a_rejected_subscription_is_said_to_be_so(run: Run) -> None:
    subscriptions = save([{"subscription_id": "bad", "query": "nonsense"}], "s.csv")
    publications = save(PUBLICATIONS, "p.csv")
    found = run(
        "explain", "filter", "-s", subscriptions, "-p", publications, "--subscription", "bad", "--publication", "p1"
    )
    assert found.code == 2
    assert "was rejected: HG-4" in found.err


def test_watch_after_each_update(run: Run, watching: list[str]) -> None:
    asked = [*watching, "--subscription", "friends"]
    first = run(*asked, "--publication", "1")
    assert (first.code, first.out[0]) == (0, "✓")
    assert "update 1 reported  +" in first.out
    assert run(*asked, "--publication", "2").out.startswith("✓")
    last = run(*asked, "--publication", "3")
    assert last.out.startswith("✗")
    assert "update 3 reported  -" in last.out
    assert run(*asked).out == last.out


def test_watch_at_a_seq_among_many(run: Run) -> None:
    rows = [{"seq": 10 * n, "op": "+", "subject": f"n{n}", "property": "knows", "object": "Bob"} for n in range(1, 131)]
    tables = ["-s", save(SUBSCRIPTIONS[:1], "s.csv"), "-u", save(rows, "u.parquet")]
    found = run("explain", "watch", *tables, "--subscription", "friends", "--publication", "1200", "--json")
    told = json.loads(found.out)
    assert (told["publication_id"], told["matched"]) == ("1200", True)
    assert "120 matches" in told["summary"]
    for seq, end in (("1205", "1210"), ("99999", "1300")):
        missing = run("explain", "watch", *tables, "--subscription", "friends", "--publication", seq)
        assert (missing.code, f"end at {end}" in missing.err) == (2, True)


def test_watch_unknown_names(run: Run, watching: list[str]) -> None:
    assert "'friends'" in run(*watching, "--subscription", "friend").err
    assert run(*watching, "--subscription", "friends", "--publication", "soon").code == 2


def test_route_why_and_why_not(run: Run, routing: list[str]) -> None:
    why = run(*routing, "--subscription", "Adv", "--publication", "e1")
    assert (why.code, why.out[0]) == (0, "✓")
    assert '"path": ["Pub", "Net", "Adv"]' in why.out
    why_not = run(*routing, "--subscription", "Adv", "--publication", "e2")
    assert (why_not.code, why_not.out[0]) == (0, "✗")
    assert "age > 30" in why_not.out


def test_route_tells_all_that_stops(run: Run, routing: list[str]) -> None:
    edges = [{"source": "Pub", "target": "Adv", "targeting": f"age = {number}"} for number in range(2)]
    where = routing.index("--edges") + 1
    asked = [*routing[:where], save(edges, "closed.csv"), *routing[where + 1 :], "--subscription", "Adv"]
    found = run(*asked, "--publication", "e1")
    failed = [line for line in found.out.splitlines() if line.startswith("  failed")]
    assert failed == [f"  failed  edge Pub → Adv: age = {number} (age is 35)" for number in range(2)]
    assert len(json.loads(run(*asked, "--publication", "e1", "--json").out)["evidence"]["cut"]) == 2


def test_route_unknown_names(run: Run, routing: list[str]) -> None:
    node = run(*routing, "--subscription", "Adx", "--publication", "e1")
    assert (node.code, "no node 'Adx'" in node.err, "'Adv'" in node.err) == (2, True, True)
    event = run(*routing, "--subscription", "Adv", "--publication", "e9")
    assert (event.code, "no event 'e9'" in event.err) == (2, True)
