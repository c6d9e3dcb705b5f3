"""A query that tries too much for one update is given up and put aside; the others are told everything.

Limits are made small here, but where a process would not come to its end before there were any.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable
from itertools import permutations
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pytest

from heliograph import Watch
from heliograph.compiled import growing as sizes
from heliograph.model import Notifications
from heliograph.sparql import solve
from heliograph.watch import changes, runner
from heliograph.watch.indexed import IndexedStrategy

both = pytest.mark.parametrize("algorithm", ["plain", "indexed"])
NAMES = "bcdefg"
EDGES = [("+", s, "p", o) for s, o in permutations(NAMES, 2)]  # 30
LAST = ("+", "a", "p", "b")
UNJOINED = "SELECT * { " + " . ".join(f"?a{n} :p ?b{n}" for n in range(25)) + " }"
CYCLE = " . ".join(f"?x{n} :p ?x{(n + 1) % 9}" for n in range(9))
ABOVE = "FILTER(" + " + ".join(f"?n{n}" for n in range(6)) + " > 1000000)"
BAD = {
    "unjoined": UNJOINED,
    "distinct": UNJOINED.replace("*", "DISTINCT ?a0"),
    "groups": f"SELECT ?x0 (COUNT(*) AS ?n) {{ {CYCLE} }} GROUP BY ?x0 HAVING (COUNT(*) >= 2)",
    "count": f"SELECT (COUNT(*) AS ?n) {{ {CYCLE} }} HAVING (COUNT(*) >= 1000000000)",
    "condition": "ASK { " + " . ".join(f"?v :p ?n{n}" for n in range(6)) + f" {ABOVE} }}",
    "property": "SELECT * { " + " . ".join(f"?x{n} ?p{n} ?x{n + 1}" for n in range(12)) + " }",
    "values": f"SELECT * {{ ?a :p ?b . ?c :p ?d VALUES ?e {{ {' '.join(map(str, range(900)))} }} }}",
    "metric": UNJOINED.replace(" }", " FILTER(hg:degree(?a0) >= 1) }"),
}
GOOD = [
    {"subscription_id": "each", "query": "SELECT * { ?x :p ?y }"},
    {"subscription_id": "ask", "query": "ASK { ?x :p :b . :b :p ?x }"},
    {"subscription_id": "count", "query": "SELECT (COUNT(*) AS ?n) { ?x :p ?y . ?y :p ?z } HAVING (COUNT(*) >= 20)"},
    {"subscription_id": "distinct", "query": "SELECT DISTINCT ?x { ?x :p ?y . ?y :p ?x FILTER(?x != ?y) }"},
    {"subscription_id": "metric", "query": "SELECT * { FILTER(hg:indegree(?x) >= 3) }"},
    {"subscription_id": "top", "query": "SELECT * { ?x :p ?y }", "options": '{"top_k_of": {"set": "s", "k": 1}}'},
]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """About a thousand combinations, and 64 for each edge."""
    limit(monkeypatch, 1000)


def limit(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    monkeypatch.setattr(runner, "MOST_COMBINATIONS", most)
    monkeypatch.setattr(solve, "MOST_TRIED", most)
    monkeypatch.setattr(solve, "MOST_IN_ALL", most)
    monkeypatch.setattr(changes, "MOST_FAILED", most)
    monkeypatch.setattr(changes, "MOST_EXTENDED", most)


def watching(algorithm: str, *asked: Any, **options: Any) -> Watch:
    watch = Watch(algorithm=algorithm, **options)
    assert watch.subscribe(list(asked)).accepted == len(asked)
    return watch


def bad(kind: str) -> dict[str, str]:
    return {"subscription_id": "bad", "query": BAD[kind]}


def others(found: Iterable[Any]) -> list[Any]:
    return [note for note in found if note.subscription_id != "bad"]


def put_aside(calls: Iterable[Notifications]) -> list[str]:
    for found in calls:
        for entry in found.rejected:
            assert (entry.item, entry.code) == ("bad", "HG-540")
            assert "HG-543" in entry.message
    return [str(entry.item) for found in calls for entry in found.rejected]


# --- it is given up ---------------------------------------------------------------------------------------------


@both
@pytest.mark.parametrize("batch", [True, False])
@pytest.mark.parametrize("kind", BAD)
def test_one_that_tries_too_much_is_put_aside(algorithm: str, kind: str, batch: bool, small: None) -> None:
    rows = [*EDGES, LAST, ("-", "b", "p", "c"), ("-", "c", None, None), ("+", "c", "p", "b")]
    alone, watch = watching(algorithm, *GOOD), watching(algorithm, bad(kind), *GOOD)
    calls = [watch.publish(rows)] if batch else [watch.publish([row]) for row in rows]
    expected = [alone.publish(rows)] if batch else [alone.publish([row]) for row in rows]
    assert [others(found) for found in calls] == [list(found) for found in expected]
    assert put_aside(calls) == ["bad"]
    assert "HG-543" in str(watch.explain("bad"))
    assert watch.unsubscribe(["bad"]).accepted == 1


@both
@pytest.mark.parametrize("kind", BAD)
def test_one_that_comes_late(algorithm: str, kind: str, small: None) -> None:
    """Over a graph that is loaded: at once, or with the first update that concerns it."""
    alone, watch = watching(algorithm, *GOOD), watching(algorithm, *GOOD)
    for each in (alone, watch):
        each.load_graph([row[1:] for row in EDGES])
    receipt = watch.subscribe([bad(kind)])
    calls = [watch.publish([row]) for row in (LAST, ("-", "b", "p", "c"))]
    assert [others(found) for found in calls] == [list(alone.publish([row])) for row in (LAST, ("-", "b", "p", "c"))]
    assert [entry.item for entry in receipt.rejected] + put_aside(calls) == ["bad"]


@both
@pytest.mark.parametrize("kind", ["unjoined", "distinct", "count"])
def test_what_would_be_told_at_first(algorithm: str, kind: str, small: None) -> None:
    watch = Watch(algorithm=algorithm, initial=True)
    watch.load_graph([row[1:] for row in EDGES])
    watch.subscribe([bad(kind), GOOD[0]])
    found = watch.publish([])
    assert [note.subscription_id for note in found] == ["each"] * len(EDGES)
    assert put_aside([found]) == ["bad"]


@both
def test_a_graph_that_is_loaded_under_a_query_at_work(algorithm: str, small: None) -> None:
    watch = watching(algorithm, bad("count"), GOOD[0])
    watch.publish([LAST])
    watch.load_graph([row[1:] for row in EDGES])
    found = watch.publish([("+", "x", "p", "y")])
    assert (len(others(found)), put_aside([found])) == (1, ["bad"])


@both
@pytest.mark.parametrize("kind", BAD)
def test_save_and_load_know_it(algorithm: str, kind: str, small: None, tmp_path: Path) -> None:
    watch = watching(algorithm, bad(kind), *GOOD)
    assert put_aside([watch.publish([*EDGES, LAST])]) == ["bad"]
    watch.save(tmp_path / "save")
    loaded = Watch.load(tmp_path / "save", algorithm=algorithm)
    more = [("-", "b", "p", "c"), ("+", "b", "p", "c"), ("-", "b", None, None)]
    found, wanted = loaded.publish(more), watch.publish(more)
    assert (list(found), list(found.rejected)) == (list(wanted), [])
    assert loaded.explain("bad") == watch.explain("bad")


@both
def test_a_witness_is_not_sought_for_ever(algorithm: str, small: None) -> None:
    """Whether it holds is known at once; the first of its matches in order is not."""
    watch = watching(algorithm, ("bad", UNJOINED.replace("SELECT *", "ASK")), GOOD[0], witness=True)
    calls = [watch.publish([row]) for row in EDGES]
    assert [len(others(found)) for found in calls] == [1] * len(EDGES)
    assert len(put_aside(calls)) <= 1


EXPLODING = """
import sys
from heliograph import Watch
watch = Watch(algorithm=sys.argv[1])
watch.load_graph([(f"s{n}", "p", str(n)) for n in range(30)])
receipt = watch.subscribe([("good", "SELECT * { ?x :p ?y }"), ("bad", sys.argv[2])])
found = watch.publish([("+", "s", "p", "30"), ("-", "s", "p", "30")])
print([note.subscription_id for note in found].count("good"))
failed = (*receipt.rejected, *found.rejected)
print([entry.item for entry in failed if "HG-543" in entry.message])
"""
ENDLESS = {
    "unjoined": UNJOINED,
    "condition": "ASK { " + " . ".join(f"?v{n} :p ?n{n}" for n in range(6)) + f" {ABOVE} }}",
}


@both
@pytest.mark.parametrize("kind", ENDLESS)
def test_a_process_comes_to_its_end(algorithm: str, kind: str) -> None:
    """With the limits as they are."""
    ended = subprocess.run(
        [sys.executable, "-c", EXPLODING, algorithm, ENDLESS[kind]],
        capture_output=True,
        check=False,
        text=True,
        timeout=250,
    )
    assert ended.stdout.split() == ["2", "['bad']"], ended.stderr


# --- what is not given up ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("algorithm", "ins", "outs"), [("plain", 20, 1000), ("indexed", 1000, 1000)])
@pytest.mark.parametrize("batch", [True, False])
def test_as_many_matches_as_may_be_told_are_told(algorithm: str, ins: int, outs: int, batch: bool) -> None:
    """One update completes 20,000 matches, or 1,000,000; in a batch another takes the half of them away."""
    watch = watching(algorithm, ("many", "SELECT * { ?a :in ?x . ?x :to ?y . ?y :out ?b }"))
    rows = [*(("+", f"a{n}", "in", "x") for n in range(ins)), *(("+", "y", "out", f"b{n}") for n in range(outs))]
    watch.publish(rows)
    found = watch.publish([("+", "x", "to", "y"), *(("-", f"a{n}", "in", "x") for n in range(ins // 2) if batch)])
    assert (len(found), found.complete, list(found.rejected)) == (ins * outs * (3 if batch else 2) // 2, True, [])


@both
def test_many_updates_of_a_batch_have_a_budget_each(algorithm: str, small: None) -> None:
    condition = "SELECT * { ?a :p ?x . ?b :p ?x FILTER(?a != ?b || ?a = ?x) }"
    watch = watching(algorithm, ("many", condition), ("pairs", "SELECT * { ?a :p ?x . ?b :p ?x }"))
    rows = [(op, f"s{n}", "p", f"o{n % 7}") for n in range(35) for op in "+-+"]
    found = watch.publish(rows)
    assert not found.rejected
    assert {note.subscription_id for note in found} == {"many", "pairs"}


def test_a_vertex_goes_with_many_edges(small: None) -> None:
    """Each edge that an update changes has a budget of its own."""
    watch = watching("indexed", ("s", "SELECT * { ?a :p :hub . ?a :q ?b }"))
    rows = [("+", f"a{n}", "p", "hub") for n in range(200)] + [
        ("+", f"a{n}", "q", f"b{m}") for n in range(200) for m in range(30)
    ]
    watch.publish(rows)
    found = watch.publish([("-", "hub", None, None)])
    assert (len(found), list(found.rejected)) == (6000, [])


def test_queries_that_share_a_join_pay_for_themselves(small: None) -> None:
    """One of many queries that differ in a constant explodes; the others of the group are told everything."""
    shape = "SELECT * {{ ?a :p :c{} . ?a :q ?b . ?b :q ?c . ?c :q ?d . ?d :q ?e . ?e :q ?f }}"
    asked = [(f"c{n}", shape.format(n)) for n in range(5)]
    watch, alone = watching("indexed", *asked), watching("indexed", *(each for each in asked if each[0] != "c3"))
    loop = [(f"v{n}", "q", f"v{m}") for n in range(8) for m in range(8)]
    for each in (watch, alone):
        each.load_graph([*loop, *((f"w{n}", "q", f"w{n + 1}") for n in range(5))])
    last = [
        *(("+", "w0", "p", f"c{n}") for n in range(5)),
        ("+", "v0", "p", "c3"),
        ("-", "w0", "p", "c2"),
        ("-", "w0", "p", "c3"),
    ]
    for row in last:
        found, wanted = watch.publish([row]), alone.publish([row])
        assert [note for note in found if note.subscription_id != "c3"] == list(wanted)
        assert [entry.item for entry in found.rejected] == (["c3"] if row == ("+", "v0", "p", "c3") else [])


def test_a_query_at_work_is_not_put_aside_by_the_failure_of_another(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It came when there was nothing to be looked through, and each update is little to it. To enter it again would be
    too much; yet that is what a failure of another one, or a save, does."""
    ring = "ASK { " + " . ".join(f"?x{n} :p ?x{(n + 1) % 5}" for n in range(5)) + " }"
    rows = [("+", s, "p", o) for s, o in permutations(NAMES, 2)]
    monkeypatch.setattr(runner, "MOST_COMBINATIONS", 2000)
    watch = watching("indexed", ("ring", ring), bad("unjoined"))
    found = watch.publish(rows)
    assert (put_aside([found]), {note.subscription_id for note in others(found)}) == (["bad"], {"ring"})
    monkeypatch.setattr(runner, "MOST_COMBINATIONS", 5 - 64 * len(rows))  # nothing that is new may try anything
    watch.subscribe([("late", ring.replace("?x4 :p ?x0", "?x4 :p ?x5 . ?x5 :p ?x0"))])
    assert [entry.item for entry in watch.publish([]).rejected] == ["late"]
    watch.save(tmp_path / "save")
    loaded = Watch.load(tmp_path / "save", algorithm="indexed")
    monkeypatch.setattr(runner, "MOST_COMBINATIONS", 100_000)
    for each in (watch, loaded):
        found = each.publish([("-", name, None, None) for name in NAMES])
        assert ([note.change for note in others(found)], list(found.rejected)) == (["-"], [])


# --- laws -------------------------------------------------------------------------------------------------------

SHAPES = [
    "SELECT * {{ ?a :p :{0} . ?a :q ?b . ?b :p ?c }}",
    "SELECT * {{ ?a :p :{0} . ?b :q :{1} . ?a :p ?b . ?b :q ?c }}",
    "SELECT * {{ ?a :p ?b . ?c :q ?d }}",
    "SELECT DISTINCT ?b {{ ?a :p :{0} . ?a :p ?b . ?b ?r ?c }}",
    "SELECT * {{ ?a :p ?b . ?b :q ?c FILTER(?a != ?c || ?a = ?b) }}",
    "ASK {{ ?a :p ?b . ?b :p ?c . ?c :p ?a . ?a :q :{0} }}",
    "SELECT (COUNT(*) AS ?n) {{ ?a :p ?b . ?b :q ?c . ?c :p ?a }} HAVING (COUNT(*) >= 2)",
    "SELECT ?a (COUNT(*) AS ?n) {{ ?a :p ?b . ?b :q :{0} . ?b :p ?c }} GROUP BY ?a HAVING (COUNT(*) >= 2)",
]


class Played(NamedTuple):
    told: dict[str, list[tuple[int, str, str | None]]]
    given_up: dict[str, int]  # after which update


def draw(seed: int) -> tuple[list[tuple[str, str]], list[tuple[Any, ...]]]:
    random = Random(seed)
    asked = [(f"s{n}", random.choice(SHAPES).format(*random.choices("abcde", k=2))) for n in range(12)]
    rows: list[tuple[Any, ...]] = []
    for _ in range(70):
        row = (random.choice("abcdefgh"), random.choice("pq"), random.choice("abcdefgh"))
        rows.append(("-", row[0], None, None) if random.random() < 0.05 else (random.choice("+++-"), *row))
    return asked, rows


def play(watch: Watch, rows: list[tuple[Any, ...]], sizes: Iterable[int] | None = None) -> Played:
    told: dict[str, list[tuple[int, str, str | None]]] = {}
    given_up: dict[str, int] = {}
    first = 0
    for size in sizes or [1] * len(rows):
        found = watch.publish(rows[first : first + size])
        first += size
        for note in found:
            told.setdefault(note.subscription_id, []).append(
                (int(note.publication_id or 0), note.change or "", note.evidence)
            )
        for entry in found.rejected:
            assert "HG-543" in entry.message
            given_up[str(entry.item)] = first
    return Played(told, given_up)


def check(played: Played, whole: Played) -> None:
    """Every query is told everything before the update in which it was given up."""
    for id, notes in whole.told.items():
        end = played.given_up.get(id, 1 << 30)
        assert played.told.get(id, []) == [note for note in notes if note[0] < end], id


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("most", [-900, 30, 200])
def test_every_query_is_told_everything_until_it_is_given_up(
    seed: int, most: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """In any batches, with any room, and with saves in between."""
    asked, rows = draw(seed)
    whole = play(watching("plain", *asked), rows)
    assert play(watching("indexed", *asked), rows) == whole
    monkeypatch.setattr(runner, "MOST_COMBINATIONS", most)
    monkeypatch.setattr(changes, "MOST_FAILED", max(most, 5))
    one_by_one = play(watching("indexed", *asked), rows)
    check(one_by_one, whole)
    in_batches = play(watching("indexed", *asked), rows, [70])
    assert (in_batches.told, in_batches.given_up.keys()) == (one_by_one.told, one_by_one.given_up.keys())
    half = watching("indexed", *asked)
    before = play(half, rows[:35])
    half.save(tmp_path / "save")
    after = play(Watch.load(tmp_path / "save", algorithm="indexed"), rows[35:])
    joined = {id: before.told.get(id, []) + after.told.get(id, []) for id in {*before.told, *after.told}}
    check(Played(joined, before.given_up | {id: end + 35 for id, end in after.given_up.items()}), whole)
    monkeypatch.setattr(sizes, "LEAST", True)
    assert play(watching("indexed", *asked), rows) == one_by_one


@pytest.mark.parametrize("seed", range(4))
def test_a_join_that_stops_for_room_counts_nothing_twice(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, rows = draw(seed)
    counted = []
    for least in (False, True):
        monkeypatch.setattr(sizes, "LEAST", least)
        watch = watching("indexed", *asked)
        for row in rows:
            watch.publish([row])
            assert isinstance(watch._strategy, IndexedStrategy)
            groups = watch._strategy._queries.network.groups.rows
            counted.append(groups.array[["tried", "shared"]][: groups.used].tolist())
    assert counted[: len(rows)] == counted[len(rows) :]
    assert any(tried > 20 for stand in counted for tried, _ in stand)
