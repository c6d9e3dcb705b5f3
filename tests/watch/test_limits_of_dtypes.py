"""Numbers at the limits of the integers that hold them: stamps, seqs, counts, and queries of many parts."""

from __future__ import annotations

from typing import Any

import pytest

from heliograph import Watch
from heliograph.compiled import growing as sizes
from heliograph.errors import PublicationError
from heliograph.watch import graph as room
from heliograph.watch import runner
from heliograph.watch.layout import LAST_STAMP
from heliograph.watch.metrics.betweenness import Betweenness

both = pytest.mark.parametrize("algorithm", ["plain", "indexed"])


def stamp(watch: Watch, number: int | None = None) -> int:
    """The stamp of the phase that an indexed watch is in; with a number, as if so many phases had been."""
    world = watch._strategy._queries.network.world  # type: ignore[attr-defined]
    if number is not None:
        world.stamp = number
    return int(world.stamp)


@pytest.mark.parametrize("first", range(LAST_STAMP - 4, LAST_STAMP + 1))
def test_stamps_begin_again(first: int) -> None:
    """A query that is touched twice in one phase, before and after 2³¹ phases: it counts as touched once."""
    watch = Watch(algorithm="indexed")
    watch.subscribe(
        [("s", "ASK { ?x :p :a . ?y :q :b }"), ("n", "SELECT (COUNT(*) AS ?n) { :v ?r ?y } HAVING (COUNT(*) > 1)")]
    )
    watch.publish([("+", "z", "r", "z")])
    stamp(watch, first)
    told = []
    for _ in range(4):
        found = watch.publish([("+", "v", "p", "a"), ("+", "v", "q", "b"), ("-", "v", None, None)])
        told.append([(note.subscription_id, note.publication_id is not None, note.change) for note in found])
    assert told == [[("s", True, "+"), ("n", True, "+"), ("s", True, "-"), ("n", True, "-")]] * 4
    assert stamp(watch) <= LAST_STAMP
    watch.subscribe([("late", "SELECT DISTINCT ?x { ?x :p ?y }")])
    assert [note.subscription_id for note in watch.publish([("+", "v", "p", "a")])] == ["late"]


@pytest.mark.parametrize("first", range(LAST_STAMP - 2, LAST_STAMP + 1))
def test_stamps_begin_again_where_nothing_is_told(first: int) -> None:
    """Entering over a graph ends a phase too."""
    watch = Watch(algorithm="indexed")
    watch.load_graph([("a", "p", "b"), ("b", "p", "c")])
    watch.subscribe([("s", "ASK { ?x :p ?y . ?y :p ?z }")])
    watch.publish([])
    stamp(watch, first)
    for number in range(4):
        watch.subscribe(
            [(f"t{number}", f"SELECT ?x (COUNT(*) AS ?n) {{ ?x :p ?y }} GROUP BY ?x HAVING (COUNT(*) > {number})")]
        )
        watch.publish([])
        assert stamp(watch) <= LAST_STAMP
    assert [note.subscription_id for note in watch.publish([("-", "a", "p", "b")])] == ["s", "t0"]


@pytest.mark.parametrize("first", range(LAST_STAMP - 4, LAST_STAMP + 1))
def test_rounds_begin_again(first: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a query tried in a round counts in no other, before and after 2³¹ rounds."""
    monkeypatch.setattr(runner, "MOST_COMBINATIONS", 5)
    watch = Watch(algorithm="indexed")
    watch.subscribe([("s", "SELECT * { ?x :p ?y . ?y :q ?z }")])
    watch.load_graph([("b", "q", f"c{number}") for number in range(4)])
    row, world = ("+", "a", "p", "b"), watch._strategy._queries.network.world  # type: ignore[attr-defined]
    world.round = first
    for _ in range(20):
        found = watch.publish([row, ("-", *row[1:])])
        assert (len(found), list(found.rejected)) == (8, [])
    assert world.round <= LAST_STAMP


@both
@pytest.mark.parametrize("seq", [2**31 - 1, 2**31, 2**32, 2**53 + 1, 2**63 - 2])
def test_seqs(algorithm: str, seq: int) -> None:
    watch = Watch(algorithm=algorithm, window_updates=1)
    watch.subscribe([("s", "SELECT * { ?x :p ?y }"), ("m", "ASK { FILTER(hg:degree(:a) >= 1) }")])
    rows = [{"seq": seq + n, "op": "+", "subject": "ab"[n], "property": "p", "object": "c"} for n in range(2)]
    found = watch.publish(rows)
    assert [(note.subscription_id, note.publication_id, note.change) for note in found] == [
        *(("s", str(seq), "+"), ("m", str(seq), "+"), ("s", str(seq + 1), "-"), ("m", str(seq + 1), "-")),
        ("s", str(seq + 1), "+"),
    ]


@both
@pytest.mark.parametrize("limit", ["9223372036854775806", "9223372036854775807", "9223372036854775808", "1e300", "-1"])
def test_limits_of_counts(algorithm: str, limit: str) -> None:
    watch = Watch(algorithm=algorithm)
    query = f"SELECT (COUNT(*) AS ?n) {{ ?x :p ?y }} HAVING (COUNT(*) OP {limit})"
    watch.subscribe([("above", query.replace("OP", ">=")), ("below", query.replace("OP", "<"))])
    assert not watch.publish([("+", "a", "p", "b")])
    assert watch.explain("above").matched == (limit == "-1")
    assert watch.explain("below").matched == (limit != "-1")


# --- queries of many parts --------------------------------------------------------------------------------------

SHAPES: dict[str, Any] = {  # the n-th edge of a pattern, and of what matches it
    "chain": (lambda n: f"?x{n} :p ?x{n + 1}", lambda n: (f"c{n}", "p", f"c{n + 1}")),
    "star": (lambda n: f"?x :p{n} ?y{n}", lambda n: ("s", f"p{n}", f"y{n}")),
    "constants": (lambda n: f"?x :p :k{n}", lambda n: ("s", "p", f"k{n}")),
    "concrete": (lambda n: f":a{n} :p :b{n}", lambda n: (f"a{n}", "p", f"b{n}")),
    "components": (lambda n: f"?x{n} :p{n} :k", lambda n: (f"x{n}", f"p{n}", "k")),
}
FORMS = ("ASK {{ {} }}", "SELECT * {{ {} }}", "SELECT (COUNT(*) AS ?n) {{ {} }} HAVING (COUNT(*) >= 1)")
AROUND = (31, 32, 33, 63, 64, 65)  # bits of holes and of tags
FAR = (127, 128, 129, 255, 256, 257)  # levels of messages, and bytes


def check_shape(shape: str, size: int) -> None:
    pattern, data = SHAPES[shape]
    body = " . ".join(map(pattern, range(size)))
    watch = Watch(algorithm="indexed")
    watch.subscribe([(f"s{number}", form.format(body)) for number, form in enumerate(FORMS)])
    edges = [data(number) for number in range(size)]
    middle = edges[size // 2]
    asked = [f"s{number}" for number in range(len(FORMS))]
    assert [note.subscription_id for note in watch.publish([("+", *edge) for edge in edges])] == asked
    for op in "-+":
        found = watch.publish([(op, *middle)])
        assert [(note.subscription_id, note.change) for note in found] == [(id, op) for id in asked], (shape, size)
    watch.unsubscribe(asked[1:])
    assert [note.subscription_id for note in watch.publish([("-", *middle)])] == asked[:1]


@pytest.mark.parametrize("shape", SHAPES)
def test_queries_of_many_parts(shape: str) -> None:
    for size in AROUND:
        check_shape(shape, size)


@pytest.mark.long
@pytest.mark.parametrize("shape", SHAPES)
def test_queries_of_very_many_parts(shape: str) -> None:
    for size in FAR:
        check_shape(shape, size)


def test_exact_distances_fit_their_integers() -> None:
    Betweenness(limit=9_999)
    with pytest.raises(ValueError, match="up to 9,999 vertices"):
        Betweenness(limit=10_000)


@pytest.mark.parametrize(("edges", "taken"), [(8, True), (9, False)])
def test_edges_beyond_what_can_be_numbered(edges: int, taken: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """At the limit and one above it; here the limit is small, and arrays grow by one row."""
    monkeypatch.setattr(room, "MOST_ROWS", 8)
    monkeypatch.setattr(sizes, "LEAST", True)
    watch = Watch(algorithm="indexed")
    watch.subscribe([("s", "ASK { :a :p :v1 }")])
    rows = [("+", "a", "p", f"v{number}") for number in range(edges)]
    if taken:
        assert len(watch.publish(rows)) == 1
    else:
        with pytest.raises(PublicationError, match="HG-659"):
            watch.publish(rows)
        with pytest.raises(PublicationError, match="HG-658"):
            watch.publish([("-", "a", "p", "v1")])
