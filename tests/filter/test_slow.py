"""The slow log: which subscriptions took most steps, and where the time of a call went."""

from __future__ import annotations

import pytest

from heliograph import Filter
from heliograph.filter.strategy import ALGORITHMS

CHEAP = ("cheap", "ASK { :a :p :b }")
DEAR = ("dear", "ASK { ?x :p ?y . ?y :p ?z . ?z :p ?w . ?w :q ?x }")
TRIPLES = [("a", "p", "b"), ("b", "p", "c"), ("c", "p", "a"), ("b", "p", "a"), ("d", "q", "e")]


def filled(algorithm: str = "indexed") -> Filter:
    engine = Filter(algorithm=algorithm)
    engine.subscribe([CHEAP, DEAR])
    return engine


def test_the_dearest_comes_first_with_its_sums() -> None:
    found = filled().publish([("d1", TRIPLES), ("d2", TRIPLES), ("d3", [("x", "y", "z")])])
    assert [entry.subscription_id for entry in found.slow] == ["dear", "cheap"]
    assert [entry.publications for entry in found.slow] == [2, 2]
    assert found.slow[0].steps > found.slow[1].steps > 0


def test_several_calls_add_up() -> None:
    engine = filled()
    one, two = engine.publish(("d1", TRIPLES)), engine.publish(("d2", TRIPLES))
    both = {entry.subscription_id: entry for entry in (one + two).slow}
    for entry in one.slow:
        assert both[entry.subscription_id].steps == 2 * entry.steps
        assert both[entry.subscription_id].publications == 2


def test_ten_are_named_at_most() -> None:
    engine = Filter(algorithm="indexed")
    engine.subscribe([(f"s{number}", f"ASK {{ :a :p :b . ?x :p{number} ?y }}") for number in range(30)])
    found = engine.publish(("d", [("a", "p", "b"), *(("x", f"p{number}", "y") for number in range(30))]))
    assert len(found) == 30
    assert len(found.slow) == 10


def test_what_was_removed_is_not_named() -> None:
    """Members share a structure, and the first of them is gone."""
    engine = Filter(algorithm="indexed")
    engine.subscribe([(f"s{number}", f"ASK {{ ?x :p ?v FILTER(?v > {number}) }}") for number in range(5)])
    engine.unsubscribe(["s0", "s1"])
    found = engine.publish(("d", [("a", "p", "9")]))
    assert [entry.subscription_id for entry in found.slow] == ["s2"]


def test_nothing_was_looked_at() -> None:
    assert filled().publish(("d", [("x", "y", "z")])).slow == ()


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_time_is_counted_by_step(algorithm: str) -> None:
    stats = filled(algorithm).publish(("d", TRIPLES)).stats
    assert stats.verify_ns > 0
    assert stats.parse_ns > 0
    assert stats.match_ns >= stats.lookup_ns + stats.verify_ns
    assert (stats.lookup_ns > 0) == (algorithm == "indexed")
