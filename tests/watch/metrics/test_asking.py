"""Odd ways to ask for metrics: conditions on what ranges, arguments that are unbound, limits that are no numbers."""

from __future__ import annotations

import pytest

from heliograph import Watch
from heliograph.model import Explanation, Notification
from heliograph.watch.indexed import IndexedStrategy

UPDATES = [
    ("+", "a", "k", "b"),
    ("+", "b", "k", "c"),
    ("+", "c", "k", "a"),
    ("+", "c", "k", "d"),
    ("+", "e", "age", "5"),
    ("-", "a", "k", "b"),
    ("-", "c", None, None),
]


def told(query: str, algorithm: str, options: str | None = None) -> list[Notification]:
    return told_and_explained(query, algorithm, options)[0]


def told_and_explained(query: str, algorithm: str, options: str | None) -> tuple[list[Notification], Explanation]:
    """What is told of all updates, and how it is explained after the last but one."""
    engine = Watch(algorithm=algorithm)
    engine.subscribe({"subscription_id": "s", "query": query, "options": options})
    found = list(engine.publish(UPDATES[:-1], witness=True))
    explanation = engine.explain("s")
    return [*found, *engine.publish(UPDATES[-1:], witness=True)], explanation


@pytest.mark.parametrize(
    ("query", "options", "count"),
    [
        ("SELECT * { FILTER(hg:degree(?x) >= 2 && ?x != :a) }", None, 4),
        ("SELECT * { FILTER(hg:degree(?x) >= 2 && ?x != :a) }", '{"hysteresis": 1}', 4),
        ("SELECT * { FILTER(hg:degree(?x) < 2 && ?x != :a) }", None, 9),
        ("SELECT * { FILTER(hg:degree(?x) >= 2 || ?x = :e) }", None, 7),
        ("SELECT * { FILTER(!(hg:degree(?x) > 1) && ?x = :e) }", None, 1),
        ("SELECT * { ?y :age ?n FILTER(hg:degree(?x) >= 2 && ?x != ?y) }", None, 6),
        ("SELECT * { VALUES ?x { :a 5 UNDEF } FILTER(hg:degree(?x) >= 2) }", None, 2),
        ("SELECT * { VALUES ?x { :a UNDEF } FILTER(hg:degree(?x) != 2) }", None, 2),
        ("SELECT * { VALUES (?x ?y) { (:a 1) (UNDEF 2) } FILTER(hg:degree(?x) >= 2 || ?y = 2) }", None, 2),
        ("SELECT * { VALUES ?x { :a :b :c } FILTER(hg:density() >= 0.5) }", None, 12),  # c is no vertex at first
        ("SELECT * { ?x ?p ?y FILTER(hg:density() >= 0.5) }", None, 8),  # nor is ever k
        ('SELECT * { FILTER(hg:distance(:a, ?x) = "INF"^^xsd:double) }', None, 7),
        ('SELECT * { FILTER(hg:distance(:a, ?x) < "INF"^^xsd:double) }', None, 8),
        ('SELECT * { FILTER(hg:degree(?x) > "NaN"^^xsd:double) }', None, 0),
        ('ASK { FILTER(hg:degree(:a) > "-INF"^^xsd:double) }', None, 0),
    ],
)
def test_both_strategies_tell_the_same(query: str, options: str | None, count: int) -> None:
    plain = told_and_explained(query, "plain", options)
    assert told_and_explained(query, "indexed", options) == plain
    assert len(plain[0]) == count


@pytest.mark.parametrize("algorithm", ["plain", "indexed"])
def test_sums_and_hops_beyond_all_bounds(algorithm: str) -> None:
    engine = Watch(algorithm=algorithm)
    far = "SELECT * { FILTER(hg:density(?x, 100000000000) >= 0.5) }"
    near = 'ASK { FILTER(hg:distance(:a, :c, "weight") < "INF"^^xsd:double || hg:steiner(:a, :c) < 4) }'
    engine.subscribe([("far", far), ("near", near)])
    heavy = [{"op": "+", "subject": s, "property": "p", "object": o, "weight": 1.5e308} for s, o in ("ab", "bc")]
    light = {"op": "+", "subject": "a", "property": "p", "object": "c", "weight": 3}
    found = [(n.subscription_id, n.publication_id, n.change) for n in engine.publish([*heavy, light])]
    assert found == [*[("far", "1", "+")] * 2, *[("far", "2", "-")] * 2, *[("far", "3", "+")] * 3, ("near", "3", "+")]


@pytest.mark.parametrize("algorithm", ["plain", "indexed"])
def test_intervals_stand_in_the_order_of_values(algorithm: str) -> None:
    query = "ASK { FILTER(hg:degree(:c) >= 3 && hg:dense(:a) > 0 && hg:dense(:d) >= 0) }"
    [gained, lost] = told(query, algorithm)
    assert gained.proof["value"] == [3, 1, 1]
    assert gained.proof["interval"] == [None, [1, 2], [1, 2]]
    assert told("ASK { FILTER(hg:dense(:a) >= 1) }", algorithm)[0].proof["interval"] == [1, 2]
    assert lost.change == "-"


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("SELECT * { FILTER(hg:degree(?x) >= 3) }", "; of 3 that were tried, this comes nearest: hg:degree(a) is 2"),
        (
            "SELECT * { FILTER(hg:degree(?x) >= 3 && ?x != :a) }",
            "; of 2 that were tried, this comes nearest: hg:degree(b) is 1",
        ),
        (
            "SELECT * { FILTER(hg:degree(?x) > hg:outdegree(?x) + 1) }",
            "; for example hg:degree(a) is 2, hg:outdegree(a) is 1",
        ),
        ("SELECT * { ?x :k ?y FILTER(hg:density() > 0.9) }", "; hg:density() is 0.333333333333"),
        ("ASK { FILTER(hg:distance(:a, :z) < 3) }", "; hg:distance(a, z) is INF"),
        (
            "SELECT * { ?x :k ?y FILTER(hg:degree(?x) >= 1 && hg:degree(?y) >= 3) }",
            "s is silent: not FILTER (hg:degree(?y) >= 3); for example hg:degree(a) is 2, hg:degree(b) is 1",
        ),
        (
            "SELECT * { ?x :likes ?y ; :k ?z FILTER(hg:degree(?x) > 0) }",
            "missing: a likes ?y; this would complete it: + a likes ?y, where hg:degree(?x) > 0",
        ),
        ("SELECT * { ?x :k ?y FILTER(hg:degree(?x) > 0 && ?y = :z) }", "but not FILTER (?y = z), with ?x = a, ?y = b"),
        ("SELECT * { FILTER(hg:degree(?x) > 0 && ?x = :z) }", "s is silent: no vertex satisfies FILTER (?x = z)"),
        (
            "SELECT * { FILTER(hg:dense(:b) > 1) }",
            "; hg:dense(b) is 0.666666666667 (between 0.666666666667 and 1.33333333333)",
        ),
        (
            "SELECT ?x (COUNT(*) AS ?n) { ?x :k ?y FILTER(hg:degree(?y) > 0) } GROUP BY ?x HAVING (COUNT(*) > 1)",
            "s is silent: COUNT(*) is 1 for ?x = a, and COUNT(*) > 1 does not hold",
        ),
    ],
)
@pytest.mark.parametrize("algorithm", ["plain", "indexed"])
def test_what_a_silent_query_lacks(query: str, said: str, algorithm: str) -> None:
    assert explained(query, algorithm).summary.endswith(said)


def explained(query: str, algorithm: str, *updates: str, options: str | None = None) -> Explanation:
    engine = Watch(algorithm=algorithm)
    engine.subscribe({"subscription_id": "s", "query": query, "options": options})
    engine.publish([tuple(each.split()) for each in ("+ a k b", "+ c k a", *updates)])
    return engine.explain("s")


def test_an_empty_graph_has_no_vertex() -> None:
    engine = Watch()
    engine.subscribe(("s", "SELECT * { FILTER(hg:degree(?x) > 0) }"))
    assert engine.explain("s").summary == "s is silent: the graph has no vertex"


@pytest.mark.parametrize(
    ("query", "said", "evidence"),
    [
        (
            "SELECT * { ?x :k ?y FILTER(hg:density() > 0.3) }",
            "2 matches, of which this is the first; hg:density() is 0.333333333333",
            {"bindings": {"x": "a", "y": "b"}, "value": 0.333333333333, "edges": [["a", "k", "b"]]},
        ),
        (
            "SELECT * { FILTER(hg:distance(:c, ?x) = 2) }",
            "1 match; hg:distance(c, b) is 2",
            {"bindings": {"x": "b"}, "value": 2, "edges": [["c", "k", "a"], ["a", "k", "b"]]},
        ),
        (
            "ASK { FILTER(hg:degree(:a) = 2 && hg:cliques(2) = 2) }",
            "1 match; hg:degree(a) is 2, hg:cliques(2) is 2",
            {"bindings": {}, "value": [2, 2], "edges": []},
        ),
    ],
)
@pytest.mark.parametrize("algorithm", ["plain", "indexed"])
def test_what_holds_is_shown_with_its_values(query: str, said: str, evidence: object, algorithm: str) -> None:
    found = explained(query, algorithm)
    assert (found.summary, found.evidence) == (f"s holds: {said}", evidence)


@pytest.mark.parametrize(
    ("condition", "hysteresis", "until"),
    [
        (">= 2", 1, "until it falls below 1"),
        ("> 1", 0.5, "until it falls to 0.5"),
        (">= 2", 2, "as long as the match is there"),
    ],
)
@pytest.mark.parametrize("algorithm", ["plain", "indexed"])
def test_what_a_hysteresis_keeps_is_said_to_be_kept(
    condition: str, hysteresis: float, until: str, algorithm: str
) -> None:
    query, options = f"ASK {{ FILTER(hg:degree(:a) {condition}) }}", f'{{"hysteresis": {hysteresis}}}'
    assert "hysteresis" not in explained(query, algorithm, options=options).summary
    found = explained(query, algorithm, "- a k b", options=options)
    assert found.summary == f"s holds: 1 match; hg:degree(a) is 1, which the hysteresis keeps true {until}"


@pytest.mark.parametrize(("condition", "until"), [("<= 2", "until it rises above 3"), ("< 3", "until it rises to 4")])
def test_a_hysteresis_from_above(condition: str, until: str) -> None:
    query = f"ASK {{ FILTER(hg:degree(:a) {condition}) }}"
    found = explained(query, "plain", "+ a k d", options='{"hysteresis": 1}')
    assert found.summary.endswith(f"hg:degree(a) is 3, which the hysteresis keeps true {until}")


def test_who_waits_for_a_threshold_costs_updates_nothing() -> None:
    """Only those who must look at every step are gone through when an update comes."""
    engine = Watch(algorithm="indexed")
    engine.subscribe([(f"s{n}", f"ASK {{ FILTER(hg:degree(:a) >= {n}) }}") for n in range(1, 50)])
    engine.subscribe(("all", "SELECT * { FILTER(hg:degree(?x) < 1) }"))
    engine.publish(UPDATES)
    assert isinstance(engine._strategy, IndexedStrategy)
    assert len(engine._strategy._queries.meter.attentive) == 1
    engine.unsubscribe("all")
    engine.publish(UPDATES)
    assert not engine._strategy._queries.meter.attentive
