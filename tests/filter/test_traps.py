"""Joins that explode: the search gives up in time and leaves the rest to the plain solver, with the same answers."""

from __future__ import annotations

import pytest

from heliograph import Filter

STAR = "?h :p0 ?a ; :p1 ?b ; :p2 ?c ; :p3 ?d . "
CYCLE = " . ".join(f"?v{place} :e ?v{(place + 1) % 7}" for place in range(7))
HUB = [("h", "e", f"n{number}") for number in range(40)]
WIDE = [("h", f"p{property}", str(number)) for property in range(4) for number in range(60)]
BOTH_WAYS = [
    pair for left in range(8) for right in range(8) for pair in ((f"l{left}", f"r{right}"), (f"r{right}", f"l{left}"))
]
BIPARTITE = [(source, "e", target) for source, target in BOTH_WAYS] + [("l0", "v", "1")]
MOST = 2_000_000  # edges looked at; without a bound these cases look at 10^7 and far more


@pytest.mark.parametrize(
    ("queries", "triples"),
    [
        (["ASK { :h :e ?a, ?b, ?c, ?d, ?f . VALUES ?b { 2.0 } }"], HUB),
        (['ASK { :h :e ?a, ?b, ?c, ?d, ?f . FILTER(?a = 2) FILTER(LANG(?b) = "en") }'], HUB),
        (["ASK { :h :e ?a, ?b, ?c, ?d . FILTER(?a != ?b) }"], HUB),
        (
            [
                f"ASK {{ {STAR} ?d a/rdfs:subClassOf* :K . ?a a/rdfs:subClassOf* :L }}",
                f"ASK {{ {STAR} ?c a/rdfs:subClassOf* :K . ?b a/rdfs:subClassOf* :L }}",
            ],
            WIDE,
        ),
        ([f"ASK {{ ?v0 :v ?n . {CYCLE} FILTER(?n > 5) }}"], BIPARTITE),
    ],
)
def test_a_trap_is_left_in_time(queries: list[str], triples: list[tuple[str, str, str]]) -> None:
    found = {}
    for algorithm in ("naive", "indexed"):
        engine = Filter([("q", "K"), ("r", "L")], algorithm=algorithm)
        engine.subscribe([(f"s{number}", query) for number, query in enumerate(queries)])
        notifications = engine.publish(("d", triples))
        found[algorithm] = [each.subscription_id for each in notifications]
        assert sum(entry.steps for entry in notifications.slow) < MOST
    assert found["indexed"] == found["naive"]
