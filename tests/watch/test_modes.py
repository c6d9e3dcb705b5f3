"""When a query notifies: each match, change of truth, counts with and without hysteresis, top-k, guard, initial."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest

from heliograph import Notification, SubscriptionError, UsageError, Watch

Line = tuple[str | None, str, str, Any]


def lines(notifications: Iterable[Notification]) -> list[Line]:
    return [(n.publication_id, n.change, n.subscription_id, n.proof) for n in notifications]


def edges(*texts: str) -> list[tuple[str | None, ...]]:
    return [tuple((*text.split(), None, None)[:4]) for text in texts]


def subscribed(query: str, watch: Watch | None = None, id: str = "s", **options: Any) -> Watch:
    made = watch or Watch()
    made.subscribe({"subscription_id": id, "query": query, "options": json.dumps(options)})
    return made


# A query, its options, updates, and what is told of them; for streams of all kinds see `test_oracle`.
Case = tuple[str, dict[str, Any], str, str]
BY_GROUP = "SELECT ?y (COUNT(*) AS ?n) { ?x :p ?y } GROUP BY ?y HAVING (COUNT(*) >= 2)"
CASES: dict[str, Case] = {
    "each match": (
        "SELECT * { ?x :p ?y . ?y :p ?z }",
        {},
        "+ a p b; + b p c; + b p d; - a p b",
        "2+ x=a y=b z=c; 3+ x=a y=b z=d; 4- x=a y=b z=c; 4- x=a y=b z=d",
    ),
    "a match is over all variables": ("SELECT ?x { ?x :p ?y }", {}, "+ a p b; + a p c", "1+ x=a y=b; 2+ x=a y=c"),
    "blank nodes of a query count but do not show": (
        "SELECT * { ?x :p [ :q ?y ] }",
        {},
        "+ a p m; + a p n; + m q c; + n q c",
        "3+ x=a y=c; 4+ x=a y=c",
    ),
    "ASK is always change": ("ASK { ?x :p ?y }", {"mode": "each"}, "+ a p b; + a p c", "1+"),
    "a query without edges": ("SELECT * { VALUES ?x { 1 2 } }", {"initial": True}, "+ a p b", "+ x=1; + x=2"),
    "a count crosses its threshold both ways": (
        "SELECT (COUNT(*) AS ?n) { ?x :p ?y } HAVING (COUNT(*) >= 2)",
        {},
        "+ a p b; + a p c; + a p d; - a p b; - a p c",
        "2+ 2; 5- 1",
    ),
    "groups have counts of their own, whatever the mode": (
        BY_GROUP,
        {"mode": "change"},
        "+ a p b; + b p b; + a p c; + b p c; - a",
        "2+ y=b n=2 2; 4+ y=c n=2 2; 5- y=b n=1 1; 5- y=c n=1 1",
    ),
    "a condition may name the group": (
        "SELECT ?x (COUNT(*) AS ?n) { ?x :p ?y } GROUP BY ?x HAVING (COUNT(*) >= 1 && ?x != :a)",
        {},
        "+ a p b; + c p b",
        "2+ x=c n=1 1",
    ),
    "the limit counts losses first": (
        "SELECT * { :a :p ?y }",
        {"max_matches_per_update": 1},
        "+ a p b; = a p c",
        "1+ y=b; 2- y=b",
    ),
}


def told(notifications: Iterable[Notification]) -> str:
    """The lines of notifications: `seq change bindings value`."""
    texts = []
    for each in notifications:
        proof = each.proof or {}
        shown = [f"{name}={value}" for name, value in proof.get("bindings", {}).items()]
        shown += [str(proof["value"])] if "value" in proof else []
        texts.append(" ".join((f"{each.publication_id or ''}{each.change}", *shown)))
    return "; ".join(texts)


@pytest.mark.parametrize("algorithm", ["plain", "indexed"])
@pytest.mark.parametrize("name", CASES)
def test_what_is_told(name: str, algorithm: str) -> None:
    query, options, updates, expected = CASES[name]
    made = subscribed(query, Watch(algorithm=algorithm), **options)
    assert told(made.publish(edges(*updates.split("; ")))) == expected


# --- each and change --------------------------------------------------------------------------------------------


def test_the_engines_mode_is_the_default() -> None:
    made = subscribed("SELECT * { ?x :p ?y }", Watch(mode="change"))
    subscribed("SELECT * { ?x :p ?y }", made, "t", mode="each")
    assert [(line[0], line[2]) for line in lines(made.publish(edges("+ a p b", "+ a p c")))] == [
        ("1", "s"),
        ("1", "t"),
        ("2", "t"),
    ]


def test_an_update_that_swaps_a_match_loses_before_it_gains() -> None:
    made = subscribed("SELECT * { ?x :p ?y }", id="first")
    subscribed("SELECT * { ?z :p :c }", made, "second")
    assert [(line[1], line[2]) for line in lines(made.publish(edges("+ a p b", "= a p c"))[1:])] == [
        ("-", "first"),
        ("+", "first"),
        ("+", "second"),
    ]


# --- evidence ---------------------------------------------------------------------------------------------------


def test_witness_edges() -> None:
    made = subscribed("SELECT DISTINCT ?x { ?x :p ?y . ?y a :C }", Watch(witness=True))
    found = lines(made.publish(edges("+ b a C", "+ c a C", "+ a p c", "+ a p b", "- a")))
    kind = "rdf:type"
    assert found == [
        ("3", "+", "s", {"bindings": {"x": "a"}, "edges": [["a", "p", "c"], ["c", kind, "C"]]}),
        ("5", "-", "s", {"bindings": {"x": "a"}, "edges": [["a", "p", "b"], ["b", kind, "C"]]}),
    ]


def test_a_witness_of_truth_is_the_first_in_term_order() -> None:
    made = subscribed("ASK { ?x :p ?y . ?x :q ?z }")
    stream = edges("+ a p c", "+ a p b", "+ a q d", "- a")
    assert lines(made.publish(stream, witness=True)) == [
        (
            "3",
            "+",
            "s",
            {"bindings": {"x": "a", "y": "b", "z": "d"}, "edges": [["a", "p", "b"], ["a", "q", "d"]]},
        ),
        ("4", "-", "s", None),
    ]


def test_is_a_shows_the_edges_that_the_graph_holds() -> None:
    made = Watch(taxonomy=[("Dog", "Animal")], witness=True)
    made.subscribe(("s", "ASK { ?x a/rdfs:subClassOf* :Animal . ?x :owner :Ann . :Dog rdfs:subClassOf+ ?c }"))
    (found,) = made.publish(edges("+ Rex owner Ann", "+ Rex a Dog"))
    ends = [(edge[0], edge[2]) for edge in found.proof["edges"]]
    assert (found.publication_id, ends) == ("2", [("Rex", "Dog"), ("Rex", "Ann")])


# --- counts -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("condition", "stream", "expected"),
    [
        ("COUNT(*) >= 3", "+++-+--", ["3+", "7-"]),
        ("3 <= COUNT(*)", "+++-+--", ["3+", "7-"]),
        ("COUNT(*) > 2", "+++-+--", ["3+", "7-"]),
        ("COUNT(*) <= 1", "+++-----", ["3-", "5+"]),
        ("1 > COUNT(*)", "++---", ["2-", "4+"]),
        ("COUNT(*) < 1.0", "++---", ["2-", "4+"]),
    ],
)
def test_hysteresis(condition: str, stream: str, expected: list[str]) -> None:
    made = subscribed(f"ASK {{ ?x :p ?y }} HAVING ({condition})", hysteresis=1)
    size, rows = 0, []
    for sign in stream:
        size += 1 if sign == "+" else 0
        rows.append(f"{sign} a p o{size}")
        size -= 0 if sign == "+" else 1
    assert [f"{line[0]}{line[1]}" for line in lines(made.publish(edges(*rows)))] == expected


# --- top-k ------------------------------------------------------------------------------------------------------


def ranked(k: int, *properties: str, watch: Watch | None = None) -> Watch:
    made = watch or Watch()
    for name in properties:
        top = json.dumps({"top_k_of": {"set": "motifs", "k": k}})
        made.subscribe({"subscription_id": name, "query": f"SELECT * {{ ?x :{name} ?y }}", "options": top})
    return made


def test_top_k_enters_and_leaves() -> None:
    made = ranked(1, "p", "q")
    assert lines(made.publish(edges("+ a q b", "+ a p b", "+ a q c", "- a p b", "- a"))) == [
        ("1", "+", "q", {"value": 1}),
        ("2", "-", "q", {"value": 1}),  # a tie goes to the smaller id
        ("2", "+", "p", {"value": 1}),
        ("3", "-", "p", {"value": 1}),
        ("3", "+", "q", {"value": 2}),
        ("5", "-", "q", {"value": 0}),
    ]


def test_a_graph_loaded_silently_places_all_members() -> None:
    made = ranked(1, "p", "q")
    assert [line[:3] for line in lines(made.publish(edges("+ a p b")))] == [("1", "+", "p")]
    made.load_graph([("a", "q", "b"), ("a", "q", "c")])
    assert lines(made.publish(edges("+ x y z"))) == []
    assert (made.explain("p").matched, made.explain("q").matched) == (False, True)


def test_a_members_coming_and_going_is_told_with_the_next_update() -> None:
    made = ranked(1, "q")
    made.publish(edges("+ a q b", "+ a p b"))
    ranked(1, "p", watch=made)
    assert [line[:3] for line in lines(made.publish(edges("+ x y z")))] == [("3", "-", "q")]
    made.unsubscribe("p")
    assert [line[:3] for line in lines(made.publish(edges("+ x y z")))] == [("4", "+", "q")]


def test_counts_and_distinct_queries_can_be_ranked() -> None:
    made = Watch()
    made.subscribe(
        [
            {"subscription_id": "all", "query": "SELECT (COUNT(*) AS ?n) { ?x :p ?y }", "options": '{"top_k_of": 1}'},
            {"subscription_id": "one", "query": "SELECT DISTINCT ?x { ?x :p ?y }", "options": '{"top_k_of": 1}'},
        ]
    )
    assert [line[:3] for line in lines(made.publish(edges("+ a p b", "+ a p c", "+ b p b", "- a")))] == [
        ("1", "+", "all")
    ]
    assert made.explain("all").matched
    assert not made.explain("one").matched


# --- guard ------------------------------------------------------------------------------------------------------


def test_the_guard_says_when_it_bites() -> None:
    made = subscribed("SELECT * { ?x :p ?y . ?a :q ?b }", max_matches_per_update=2)
    first = made.publish(edges("+ a p b", "+ a p c", "+ a p d"))
    assert (first.complete, first.stats.truncated) == (True, 0)
    cut = made.publish(edges("+ m q n"))
    assert [line[3]["bindings"]["y"] for line in lines(cut)] == ["b", "c"]
    assert (cut.complete, cut.stats.truncated, cut.stats.notifications) == (False, 1, 2)
    gone = made.publish(edges("- a p d"))
    assert [line[1] for line in lines(gone)] == ["-"]
    assert made.stats().truncated == 1
    assert not made.stats().complete


# --- initial matches --------------------------------------------------------------------------------------------


def test_initial_matches_come_first_and_once() -> None:
    made = Watch(initial=True)
    made.load_graph([("a", "p", "b"), ("a", "p", "c")])
    made.subscribe(("s", "SELECT * { ?x :p ?y }"))
    subscribed("ASK { ?x :p ?y } HAVING (COUNT(*) >= 2)", made, "count")
    subscribed("ASK { ?x :p ?y }", made, "quiet", initial=False)
    assert lines(made.publish(edges("+ a p d"))) == [
        (None, "+", "s", {"bindings": {"x": "a", "y": "b"}}),
        (None, "+", "s", {"bindings": {"x": "a", "y": "c"}}),
        (None, "+", "count", {"value": 2}),
        ("1", "+", "s", {"bindings": {"x": "a", "y": "d"}}),
    ]
    assert lines(made.publish([])) == []


def test_initial_matches_are_off_by_default_and_flushed_by_an_empty_call() -> None:
    made = Watch()
    made.publish(edges("+ a p b"))
    subscribed("ASK { ?x :p ?y }", made, "quiet")
    subscribed("ASK { ?x :p ?y }", made, "told", initial=True)
    subscribed("ASK { ?x :q ?y }", made, "nothing", initial=True)
    assert lines(made.publish([])) == [(None, "+", "told", None)]
    assert lines(made.publish(edges("- a p b"))) == [("2", "-", "quiet", None), ("2", "-", "told", None)]


def test_who_leaves_before_is_not_told() -> None:
    made = subscribed("ASK { ?x :p ?y }", initial=True)
    made.load_graph(("a", "p", "b"))
    made.unsubscribe("s")
    assert lines(made.publish([])) == []


def test_a_graph_loaded_after_subscribing_is_silent() -> None:
    made = subscribed("SELECT * { ?x :p ?y }")
    made.publish(edges("+ a p b"))
    made.load_graph([("a", "p", "c"), ("z", "p", "c")])
    assert lines(made.publish(edges("+ a p c", "- z"))) == [("3", "-", "s", {"bindings": {"x": "z", "y": "c"}})]


# --- refusals ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ("{", "HG-520"),
        ("[" * 100_000, "HG-520"),
        ("[]", "HG-520"),
        ('{"mode":"each","mode":"change"}', "HG-520"),
        ('{"colour": 1}', "HG-521"),
        ('{"mode": "all"}', "HG-521"),
        ('{"mode": []}', "HG-521"),
        ('{"initial": 1}', "HG-521"),
        ('{"hysteresis": -1}', "HG-521"),
        ('{"hysteresis": true}', "HG-521"),
        ('{"hysteresis": NaN}', "HG-521"),
        ('{"max_matches_per_update": 1.5}', "HG-521"),
        ('{"max_matches_per_update": -1}', "HG-521"),
        ('{"top_k_of": 0}', "HG-521"),
        ('{"top_k_of": "motifs"}', "HG-521"),
        ('{"top_k_of": {"set": "a"}}', "HG-521"),
        ('{"top_k_of": {"set": 5, "k": 1}}', "HG-521"),
        ('{"top_k_of": {"set": "a", "k": 1, "j": 2}}', "HG-521"),
        ('{"hysteresis": 1}', "HG-522"),
    ],
)
def test_options_that_cannot_be(options: str, code: str) -> None:
    with pytest.raises(SubscriptionError) as caught:
        Watch().subscribe({"subscription_id": "s", "query": "SELECT * { ?x :p ?y }", "options": options})
    assert caught.value.code == code
    assert caught.value.fix


@pytest.mark.parametrize(
    ("query", "options", "code"),
    [
        ("SELECT * { ?x :p ?y FILTER(hg:degree(?x) = 3) }", '{"hysteresis": 1}', "HG-522"),
        ("SELECT * { ?x :p ?y FILTER(hg:degree(?x) > 3 && hg:degree(?y) > 3) }", '{"hysteresis": 1}', "HG-522"),
        ("ASK { FILTER(hg:degree(:a) > 3) }", '{"top_k_of": 2}', "HG-525"),
        ("SELECT (COUNT(*) AS ?n) { ?x :p ?y }", "{}", "HG-524"),
        ("ASK { ?x :p ?y }", '{"top_k_of": 2}', "HG-525"),
        ("SELECT (COUNT(*) AS ?n) { ?x :p ?y } HAVING (COUNT(*) > 1)", '{"top_k_of": 2}', "HG-525"),
        ("ASK { ?x :p ?y } HAVING (COUNT(*) = 2)", '{"hysteresis": 1}', "HG-522"),
        ("ASK { ?x :p ?y } HAVING (COUNT(*) + 1 > 2)", '{"hysteresis": 1}', "HG-522"),
        ("ASK { ?x :p ?y } HAVING (COUNT(*) > 'many')", '{"hysteresis": 1}', "HG-522"),
        ("ASK { ?x :p ?y } HAVING (COUNT(*) > 2 && COUNT(*) < 9)", '{"hysteresis": 1}', "HG-522"),
    ],
)
def test_queries_that_cannot_be_watched(query: str, options: str, code: str) -> None:
    made = Watch()
    with pytest.raises(SubscriptionError) as caught:
        made.subscribe({"subscription_id": "s", "query": query, "options": options})
    assert caught.value.code == code
    assert made.stats().subscriptions == 0


def test_null_options_mean_the_engines_own() -> None:
    made = subscribed("SELECT * { ?x :p ?y }", Watch(mode="change"), mode=None, top_k_of=None)
    assert len(made.publish(edges("+ a p b", "+ a p c"))) == 1


def test_modes_of_the_engine() -> None:
    with pytest.raises(UsageError) as caught:
        Watch(mode="all")
    assert caught.value.code == "HG-072"
