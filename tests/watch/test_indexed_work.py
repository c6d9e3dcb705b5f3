"""Work for an update follows the queries it can affect, and what queries share is there once."""

from __future__ import annotations

from typing import Any
from unittest import mock

import pytest

from heliograph import Watch
from heliograph.watch import indexed
from heliograph.watch.indexed import IndexedStrategy
from heliograph.watch.layout import FILLED
from heliograph.watch.network import QueryNetwork
from heliograph.watch.network_compile import FEW

SHAPES = {
    "chain": "ASK {{ ?x :{p} ?y . ?y :{p} ?z . ?z :{q} :c{n} }}",
    "star": "ASK {{ ?x :{p} ?y . ?x :{q} ?z . ?x :{p} :c{n} }}",
    "cycle": "ASK {{ ?x :{p} ?y . ?y :{q} ?z . ?z :{p} ?x }}",
    "count": "SELECT (COUNT(*) AS ?n) {{ ?x :{p} ?y . ?y :{q} ?z }} HAVING (COUNT(*) >= 2)",
    "rows": "SELECT * {{ ?x :{p} ?y . ?y :{q} ?z }}",
    "concrete": "SELECT * {{ :a :{p} :b . :b :{q} :c }}",
}
STREAM: list[Any] = [
    ("+", "a", "p", "b"),
    ("+", "b", "p", "c"),
    ("+", "b", "q", "c"),
    ("+", "c", "q", "c0"),
    ("+", "c", "p", "a"),
    ("+", "a", "q", "c0"),
    ("-", "b", "q", "c"),
    ("=", "b", "q", "c"),
    ("-", "c"),
    ("+", "c", "q", "c0"),
]


def network_of(watch: Watch) -> QueryNetwork:
    assert isinstance(watch._strategy, IndexedStrategy)
    return watch._strategy._queries.network


def watching(texts: list[str]) -> Watch:
    watch = Watch(algorithm="indexed")
    assert watch.subscribe([(f"s{number}", text) for number, text in enumerate(texts)]).accepted == len(texts)
    return watch


def shapes(property: str, second: str, number: int = 0) -> list[str]:
    return [text.format(p=property, q=second, n=number) for text in SHAPES.values()]


# --- work -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("times", [10, 100])
def test_queries_over_other_properties_cost_nothing(times: int) -> None:
    alone = watching(shapes("p", "q"))
    crowd = watching(shapes("p", "q") + [text for n in range(times) for text in shapes(f"p{n}", f"q{n}")])
    few, many = (watch.publish(STREAM) for watch in (alone, crowd))
    assert list(few) == list(many)
    assert few.stats.candidates == many.stats.candidates > 0


@pytest.mark.parametrize(
    "shape",
    [
        "ASK {{ ?x :p ?y . ?y :q :c{n} }}",
        "SELECT * {{ ?x :p :c{n} }}",
        "SELECT * {{ ?x :p ?y . ?y :q :c{n} }}",
        "SELECT * {{ ?x :p ?y . :c{n} :q ?y . ?x :q :c{n} }}",
        "SELECT DISTINCT ?x {{ ?x :p ?y . ?y :q :c{n} . ?x ?z :c{n} }}",
        "ASK {{ :c{n} :p :a }}",
    ],
)
def test_queries_at_other_vertices_cost_nothing(shape: str) -> None:
    alone = watching([shape.format(n=0)])
    crowd = watching([shape.format(n=number) for number in range(1000)])
    few, many = (watch.publish(STREAM) for watch in (alone, crowd))
    assert [n.change for n in few] == [n.change for n in many]
    assert few.stats.candidates == many.stats.candidates


def test_an_update_that_concerns_nobody() -> None:
    watch = watching(shapes("p", "q"))
    assert watch.publish([("+", "a", "other", "b"), ("-", "a", "p", "nowhere")]).stats.candidates == 0


def test_a_duplicate_costs_nothing() -> None:
    watch = watching(shapes("p", "q"))
    watch.publish(STREAM)
    again = watch.publish([STREAM[0], STREAM[0], ("=", *STREAM[0][1:])])
    assert (len(again), again.stats.candidates) == (0, 0)


# --- sharing ----------------------------------------------------------------------------------------------------


def test_a_thousand_instances_of_one_structure() -> None:
    """They differ in one constant: it is lifted out, 64 to a bank, and the rest is there once."""
    one, many = (
        network_of(settled([SHAPES["chain"].format(p="p", q="q", n=n) for n in range(count)])) for count in (1, 1000)
    )
    banks = -(-1000 // 64)
    assert one.messages.rows.used <= many.messages.rows.used <= banks * one.messages.rows.used
    assert one.groups.rows.used <= many.groups.rows.used <= banks * one.groups.rows.used
    assert many.queries.rows.used == 1000


LISTED = (
    "SELECT * {{ ?x :p :c{n} . ?x :q ?y }}",
    "SELECT * {{ ?x :p ?y . :c{n} :q ?y . ?x :p :d{n} }}",
    "SELECT DISTINCT ?y {{ ?x :p ?y . ?x ?z :c{n} }}",
    "SELECT ?x (COUNT(*) AS ?n) {{ ?x :p ?y . :c{n} :q :d{n} . ?y :q :d{n} }} GROUP BY ?x HAVING (COUNT(*) > 1)",
    "ASK {{ ?x :p :c{n} . ?x :q ?y . FILTER(?x != ?y) }}",
)


@pytest.mark.parametrize("text", LISTED)
def test_patterns_that_are_listed_are_joined_once_whatever_their_constants(text: str) -> None:
    one, many = (network_of(settled([text.format(n=n) for n in range(count)])) for count in (1, 1000))
    assert len(one.groups) == len(many.groups) == 1
    anywhere = [int((each.sites.heads.array["vertex"][: each.sites.heads.used] < 0).sum()) for each in (one, many)]
    assert anywhere[0] == anywhere[1]
    assert many.groups.alive == 1000


def reached(watch: Watch) -> int:
    """How many holes and fillings a join comes past that binds the first hole of a group, then the second beside it."""
    groups = network_of(watch).groups
    first, fillings = int(groups.rows.array["first_hole"][0]), groups.fillings
    (chains,) = [number for beside, number in groups._groups[0].chains.items() if beside == ((0,), 1)]
    terms = {term for hole, term, _ in groups.constant_slots.items() if hole == FILLED + first}
    beside = [fillings.find(chains, [term]) for term in terms]
    return sum(int(fillings.holes.array["count"][hole]) for hole in beside)


def test_constants_of_one_vertex_are_followed_pair_by_pair() -> None:
    """Not in all combinations: a hundred patterns with two constants each have a hundred pairs."""
    watch = settled([f"SELECT * {{ ?x :p :c{n} . ?x :r :d{n} . ?x :q ?y }}" for n in range(100)])
    assert reached(watch) == 100
    for number in range(0, 100, 2):
        watch.unsubscribe(f"s{number}")
    assert reached(watch) == 50


def test_listed_patterns_share_tests_of_their_variables() -> None:
    many = network_of(settled([f"SELECT * {{ ?x :p ?y . ?x :q ?z FILTER(?z > {n}) }}" for n in range(64)]))
    assert (len(many.groups), many.groups.alive) == (1, 64)


def test_many_counts_of_one_structure_are_found_by_their_constants() -> None:
    """The first ones have their constants in place; all that follow are one group more."""
    text = "SELECT (COUNT(*) AS ?n) {{ ?x :p :c{n} . ?x :q ?y }} HAVING (COUNT(*) >= 2)"
    few, many = (network_of(settled([text.format(n=n) for n in range(count)])) for count in (FEW, 1000))
    assert len(few.groups) == FEW
    assert len(many.groups) == FEW + 1
    assert many.groups.alive == 1000


def test_a_piece_apart_keeps_its_constants() -> None:
    """What is known of one piece says nothing of the constants of another."""
    many = network_of(settled([f"SELECT * {{ ?x :p :c{n} . ?y :q :d{n} }}" for n in range(10)]))
    assert len(many.groups) == 10


def test_the_same_query_a_thousand_times() -> None:
    for text in SHAPES.values():
        query = text.format(p="p", q="q", n=0)
        one, many = (network_of(settled([query] * count)) for count in (1, 1000))
        assert many.messages.rows.used == one.messages.rows.used
        assert many.groups.rows.used == one.groups.rows.used
        assert many.groups.components.used == one.groups.components.used


def test_all_are_told() -> None:
    watch = watching([SHAPES["chain"].format(p="p", q="q", n=n) for n in range(300)])
    watch.publish([("+", "a", "p", "b"), ("+", "b", "p", "c")])
    for number in (0, 63, 64, 65, 128, 299):
        found = watch.publish([("+", "c", "q", f"c{number}"), ("-", "c", "q", f"c{number}")])
        assert [(n.subscription_id, n.change) for n in found] == [(f"s{number}", "+"), (f"s{number}", "-")]
        assert found.stats.candidates <= 6  # the edge, what hears of it, and the query, coming and going


def settled(texts: list[str]) -> Watch:
    watch = watching(texts)
    watch.load_graph([("a", "p", "b")])
    watch.publish([("+", "b", "p", "c")])
    return watch


# --- coming and going -------------------------------------------------------------------------------------------


def test_whoever_goes_leaves_no_work() -> None:
    watch = watching(shapes("p", "q") + shapes("p", "q", 1))
    watch.publish(STREAM)
    watch.unsubscribe([f"s{number}" for number in range(2 * len(SHAPES))])
    found = watch.publish([("-", *STREAM[0][1:]), STREAM[0], ("-", "b"), *STREAM])
    assert (len(found), found.stats.candidates) == (0, 0)


def test_the_network_is_made_anew_when_much_of_it_is_garbage() -> None:
    with mock.patch.object(indexed, "_GARBAGE", 50):
        watch, plain = watching([]), Watch(algorithm="plain")
        sizes = []
        for turn in range(30):
            rows = [(f"t{turn}n{n}", text) for n, text in enumerate(shapes("p", "q", turn))]
            for each in (watch, plain):
                each.subscribe(rows)
            assert list(watch.publish(STREAM)) == list(plain.publish(STREAM))
            for each in (watch, plain):
                each.unsubscribe([id for id, _ in rows[1:]])
            sizes.append(network_of(watch).queries.rows.used)
    assert max(sizes) < 30 * len(SHAPES) // 2  # those that stayed are 30
    assert network_of(watch).garbage <= max(50, 8 * 30)
