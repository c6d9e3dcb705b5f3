"""Counts without listing: exact as long as they fit 63 bits, however many matches there are, in memory that stays."""

from __future__ import annotations

import json
import math
import tracemalloc
from itertools import pairwise
from typing import Any

import pytest

from heliograph import Notifications, Watch
from heliograph.watch.indexed import IndexedStrategy
from heliograph.watch.runner import Runner

STAR = "?x :p ?a . ?x :p ?b . ?x :p ?c"


def machine_of(watch: Watch) -> Runner:
    assert isinstance(watch._strategy, IndexedStrategy)
    return watch._strategy._queries.runner


def counting(body: str, least: int) -> str:
    return f"SELECT (COUNT(*) AS ?n) {{ {body} }} HAVING (COUNT(*) >= {least})"


def spokes(count: int, first: int = 0, property: str = "p") -> list[tuple[str, str, str, str]]:
    return [("+", "hub", property, f"v{number}") for number in range(first, first + count)]


def values(found: Notifications) -> list[tuple[str, str | None, Any]]:
    return [(n.change, n.publication_id, n.proof["value"]) for n in found]


def test_ten_million_matches_take_no_room() -> None:
    """A star of three edges at a hub of 220 leaves has 220³ = 10,648,000 matches."""
    watch = Watch(algorithm="indexed")
    watch.subscribe(("s", counting(STAR, 10_000_000)))
    watch.publish(spokes(100))
    watch.encode(spokes(220))  # terms are not what is measured
    machine = machine_of(watch)
    before = machine.nbytes
    tracemalloc.start()
    found = watch.publish(spokes(120, 100))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert values(found) == [("+", "216", 216**3)]
    assert machine.nbytes <= 2 * before + 100_000  # edges, which double their room
    assert peak < 2_000_000  # 10^7 rows of four terms would be 160 MB
    assert machine.world.value_count == machine.world.event_count == 0
    assert len(machine.world.solutions) == len(machine_of(Watch(algorithm="indexed")).world.solutions)


def test_they_are_taken_back_one_by_one() -> None:
    watch = Watch(algorithm="indexed")
    watch.subscribe([(f"s{least}", counting(STAR, least)) for least in (1, 200**3, 219**3 + 1)])
    watch.load_graph([row[1:] for row in spokes(220)])
    removed = [("-", *row[1:]) for row in spokes(220)]
    assert values(watch.publish(removed)) == [("-", "1", 219**3), ("-", "21", 199**3), ("-", "220", 0)]


@pytest.mark.parametrize(
    ("body", "count"),
    [
        (STAR + " . ?x :p ?d", lambda n: n**4),
        ("?x :p ?a . ?y :p ?b . ?z :p ?c . ?u :p ?d", lambda n: n**4),
        ("?x :p ?a . ?x :p ?b . ?y :p ?c . ?y :p ?d", lambda n: n**4),
        ("?x :p ?a . ?y :p ?b . ?z :p ?c . ?u :p ?d . ?v :p ?e . ?w :p ?f . ?g :p ?h", lambda n: n**7),
    ],
    ids=["star", "apart", "two pairs", "seven apart"],
)
def test_counts_beyond_32_bits(body: str, count: Any) -> None:
    watch = Watch(algorithm="indexed")
    size = 400
    assert 2**32 < count(size) < 2**63
    watch.load_graph([row[1:] for row in spokes(size - 2)])
    watch.subscribe([("s", counting(body, count(size - 1) + 1)), ("t", counting(body, count(size - 1)))])
    assert values(watch.publish(spokes(2, size - 2))) == [("+", "1", count(size - 1)), ("+", "2", count(size))]
    assert values(watch.publish(("-", "hub", "p", "v0"))) == [("-", "3", count(size - 1))]


def test_a_chain_through_hubs() -> None:
    """30 × 30 × 30 × 30 walks over four layers; each removal takes the walks through one edge."""
    layers = [[f"l{layer}x{number}" for number in range(30)] for layer in range(4)]
    edges = [(s, "p", o) for here, there in pairwise(layers) for s in here for o in there]
    watch = Watch(algorithm="indexed")
    watch.load_graph(edges)
    watch.subscribe(("s", counting("?x :p ?y . ?y :p ?z . ?z :p ?u", 30**4)))
    found = watch.publish([("-", *edges[0]), ("+", *edges[0]), ("-", layers[2][0])])
    assert values(found) == [("-", "1", 30**4 - 30**2), ("+", "2", 30**4), ("-", "3", 30**4 - 30**3)]


def test_products_of_parts_that_are_apart() -> None:
    watch = Watch(algorithm="indexed")
    text = "?x :p ?y . ?z :q ?u . :k :r ?v . :a :s :b"
    watch.subscribe([("s", counting(text, 1)), ("t", f"SELECT * {{ {text} }}")])
    rows = [*spokes(2), *spokes(3, 0, "q"), ("+", "k", "r", "1"), ("+", "k", "r", "2"), ("+", "a", "s", "b")]
    found = watch.publish(rows)
    listed = [n for n in found if n.subscription_id == "t"]
    assert [n.proof["value"] for n in found if n.subscription_id == "s"] == [2 * 3 * 2] == [len(listed)]
    gone = watch.publish([("-", "hub"), ("+", "hub", "p", "1")])
    assert [(n.change, n.proof["value"]) for n in gone if n.subscription_id == "s"] == [("-", 0)]


def test_a_part_that_is_empty_makes_all_of_it_so() -> None:
    watch = Watch(algorithm="indexed")
    watch.subscribe(("s", "SELECT (COUNT(*) AS ?n) { ?x :p ?y . ?z :q ?u } HAVING (COUNT(*) < 1)"))
    rows = [*spokes(1), *spokes(1, 5, "q"), ("-", "hub", "p", "v0"), ("+", "hub", "p", "v9")]
    assert values(watch.publish(rows)) == [("-", "2", 1), ("+", "3", 0), ("-", "4", 1)]


def test_ranked_by_counts_that_are_large() -> None:
    watch = Watch(algorithm="indexed")
    top = json.dumps({"top_k_of": {"set": "s", "k": 1}})
    bodies = {"three": STAR, "four": "?x :q ?a . ?x :q ?b . ?x :q ?c . ?x :q ?d"}
    watch.subscribe(
        [{"subscription_id": id, "query": f"SELECT * {{ {body} }}", "options": top} for id, body in bodies.items()]
    )
    needed = math.isqrt(math.isqrt(300**3)) + 1
    watch.load_graph([row[1:] for row in (*spokes(300), *spokes(needed - 1, 0, "q"))])
    watch.publish(("+", "x", "y", "z"))
    found = watch.publish(spokes(1, needed, "q"))
    assert [(n.subscription_id, n.change) for n in found] == [("three", "-"), ("four", "+")]
    assert [n.proof["value"] for n in found] == [300**3, needed**4]
