"""Why a query holds; and when it is silent, how close it is and what would complete it."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph import SubscriptionError, UsageError, Watch
from heliograph.sparql.solve import Graph
from heliograph.sparql.templates import parse_sparql
from heliograph.terms import parse_cell
from heliograph.watch.evidence import Bounded, Reevaluation
from tests.watch.naive import Step
from tests.watch.streams import bodies, row, steps


def watching(query: str, *updates: str, **options: Any) -> Watch:
    watch = Watch(taxonomy=[("Dog", "Animal")])
    watch.subscribe({"subscription_id": "s", "query": query, "options": json.dumps(options)})
    watch.publish([tuple((*text.split(), None, None)[:4]) for text in updates])
    return watch


def test_a_match_is_shown_with_its_edges() -> None:
    found = watching("SELECT * { ?x :p ?y . ?y :q 5 }", "+ a p b", "+ b q 5", "+ a p c", "+ c q 5").explain("s")
    assert found.matched
    assert found.evidence == {"bindings": {"x": "a", "y": "b"}, "edges": [["a", "p", "b"], ["b", "q", "5"]]}
    assert "2 matches" in found.summary
    assert found.held == ("a p b", "b q 5")
    assert found.publication_id == "4"


def test_one_edge_is_missing() -> None:
    query = "ASK { :a :p :b . :b :p :c . :c :p :d . :d :p :e . :e :p :f }"
    found = watching(query, "+ a p b", "+ b p c", "+ d p e", "+ e p f").explain("s")
    assert not found.matched
    assert found.failed == "c p d"
    assert "4 of 5 edges hold together" in found.summary
    assert found.summary.endswith("+ c p d")
    assert found.held == ("a p b", "b p c", "d p e", "e p f")
    assert "failed  c p d" in str(found)


def test_what_holds_holds_together() -> None:
    """Each edge holds somewhere, but no two of them in one solution."""
    found = watching("ASK { ?x :p :a . ?x :q :b }", "+ m p a", "+ n q b").explain("s")
    assert (found.held, found.failed) == (("m p a",), "m q b")


def test_a_variable_that_is_left_may_be_anything() -> None:
    found = watching("ASK { :a :p ?x . ?x :age ?n FILTER(?n > 30) }", "+ a p b").explain("s")
    assert found.summary.endswith("+ b age ?n, where ?n > 30")


def test_nothing_holds() -> None:
    found = watching("ASK { ?x :p ?y . ?y :q ?z }").explain("s")
    assert "0 of 2 edges" in found.summary
    assert found.held == ()
    assert found.publication_id is None


def test_a_literal_cannot_be_the_subject_of_what_is_missing() -> None:
    found = watching("ASK { :a :p ?y . ?y :q :b }", "+ a p 5", "+ a p c").explain("s")
    assert found.summary.endswith("+ c q b")


def test_all_edges_hold_but_not_the_condition() -> None:
    query = "ASK { ?x :age ?n . FILTER(?n > 30) FILTER(?x != :a) }"
    found = watching(query, "+ a age 3", "+ a age 50").explain("s")
    assert found.failed == "FILTER (?x != a)"
    assert "all 1 edge hold" in found.summary
    assert "?n = 50" in found.summary


def test_a_condition_without_edges() -> None:
    found = watching("ASK { VALUES ?x { 1 2 } FILTER(?x > 5) }").explain("s")
    assert found.failed == "FILTER (?x > 5)"


def test_empty_values() -> None:
    found = watching("ASK { ?x :p ?y VALUES ?x { } }", "+ a p b").explain("s")
    assert not found.matched
    assert "0 of 1 edge" in found.summary


def test_classes() -> None:
    found = watching("ASK { ?x :p :a . ?x a/rdfs:subClassOf* :Animal }", "+ Rex p a").explain("s")
    assert found.failed == "Rex a/rdfs:subClassOf* Animal"
    assert found.summary.endswith("+ Rex a Animal")
    found = watching("ASK { :Cat rdfs:subClassOf+ :Animal }").explain("s")
    assert found.summary.endswith("+ Cat rdfs:subClassOf Animal")


def test_counts() -> None:
    query = "SELECT ?y (COUNT(*) AS ?n) { ?x :p ?y } GROUP BY ?y HAVING (COUNT(*) >= 2)"
    silent = watching(query, "+ a p b").explain("s")
    assert (silent.matched, silent.failed) == (False, "COUNT(*) >= 2")
    assert "COUNT(*) is 1 for ?y = b" in silent.summary
    assert "COUNT(*) is 0" in watching(query).explain("s").summary
    held = watching(query, "+ a p b", "+ c p b").explain("s")
    assert held.evidence == {"bindings": {"y": "b", "n": "2"}, "value": 2}


@pytest.mark.parametrize(
    ("form", "hysteresis", "until"),
    [
        (
            "SELECT (COUNT(*) AS ?n) { ?x :p ?y }",
            1,
            "COUNT(*) is 1, which the hysteresis keeps true until it falls below 1",
        ),
        ("SELECT (COUNT(*) AS ?n) { ?x :p ?y }", 2, "COUNT(*) is 1, which the hysteresis keeps true for good"),
        (
            "SELECT ?y (COUNT(*) AS ?n) { ?x :p ?y } GROUP BY ?y",
            2,
            "COUNT(*) is 1 for ?y = b, which the hysteresis keeps true as long as the group has a match",
        ),
    ],
)
def test_a_count_that_the_hysteresis_keeps(form: str, hysteresis: int, until: str) -> None:
    query = f"{form} HAVING (COUNT(*) >= 2)"
    held = watching(query, "+ a p b", "+ c p b", hysteresis=hysteresis)
    assert held.explain("s").summary.endswith(", and COUNT(*) >= 2")
    held.publish(("-", "a", "p", "b"))
    assert held.explain("s").summary == f"s holds: {until}"


def test_a_rank() -> None:
    watch = watching("SELECT * { ?x :p ?y }", "+ a p b", top_k_of={"set": "m", "k": 1})
    assert watch.explain("s").evidence == {"value": 1}
    watch.publish(("-", "a"))
    found = watch.explain("s")
    assert (found.matched, "0 matches" in found.summary) == (False, True)


def test_large_patterns_are_approached_edge_by_edge() -> None:
    edges = [f":v{n} :p :v{n + 1}" for n in range(30)]
    held = [f"+ v{n} p v{n + 1}" for n in range(30) if n not in (3, 20)]
    found = watching(f"ASK {{ {' . '.join(edges)} }}", *held).explain("s")
    assert "28 of 30 edges" in found.summary
    assert found.summary.endswith("+ v3 p v4, + v20 p v21")


def test_edges_that_nothing_ties_together_are_judged_apart() -> None:
    """Of each pair of edges one holds: 40 edges, but no more than two at a time are tried together."""
    pairs = [f":a{n} :p ?x{n} . ?x{n} :q :b{n}" for n in range(20)]
    found = watching(f"ASK {{ {' . '.join(pairs)} }}", *(f"+ a{n} p c{n}" for n in range(20))).explain("s")
    assert "20 of 40 edges hold together; missing: c0 q b0, c1 q b1" in found.summary


def test_conditions_and_values_tie_edges_together() -> None:
    query, held = "ASK { :a :p ?x . :b :p ?y %s }", ("+ a p c", "+ b p c")
    found = watching(query % ". ?x :q ?z FILTER(?x != ?y)", *held).explain("s")
    assert "1 of 3 edges hold together" in found.summary
    found = watching(query % "VALUES (?x ?y) { (:c :d) (:d :c) }", *held).explain("s")
    assert "1 of 2 edges hold together" in found.summary


def test_a_long_chain_is_approached_edge_by_edge() -> None:
    edges = [f"?x{n} :p ?x{n + 1}" for n in range(14)]
    found = watching(f"ASK {{ {' . '.join(edges)} }}", *(f"+ v{n} p v{n + 1}" for n in range(9))).explain("s")
    assert "13 of 14 edges hold together, the most that were found in time" in found.summary
    assert found.summary.endswith("+ v9 p v0")


def test_no_edges_and_no_values() -> None:
    found = watching("ASK { VALUES ?x { } }").explain("s")
    assert (found.matched, found.failed) == (False, "VALUES")


def test_states() -> None:
    watch = watching("ASK { :a :p :b }", "+ a p b", "- a")
    assert watch.explain("s", 2).publication_id == "2"
    assert watch.explain("s", "7").publication_id == "7"
    with pytest.raises(UsageError) as caught:
        watch.explain("s", 1)
    assert caught.value.code == "HG-074"
    with pytest.raises(UsageError) as caught:
        watch.explain("s", "one")
    assert caught.value.code == "HG-073"
    with pytest.raises(UsageError):
        watch.explain("s", ("+", "a", "p", "b"))  # type: ignore[arg-type]
    with pytest.raises(SubscriptionError):
        watch.explain("t")


@settings(deadline=None, max_examples=60)
@given(bodies().filter(lambda body: "FILTER" not in body), st.lists(steps(), max_size=12))
def test_the_updates_named_complete_a_silent_query(body: str, stream: list[Step]) -> None:
    watch = Watch()
    watch.subscribe(("s", f"ASK {{ {body} }}"))
    watch.publish([row(step) for step in stream])
    found = watch.explain("s")
    if not found.matched:
        named = found.summary.partition("complete it: ")[2].split(", ")
        grounded = [re.sub(r"\?(\w+)", r"new_\1", text) for text in named]
        watch.publish([tuple(text.split(" ", 3)) for text in grounded])
    assert watch.explain("s").matched


# --- much of everything -----------------------------------------------------------------------------------------

STAR = [f"+ v{n} p h" for n in range(30)] + [f"+ h q w{n}" for n in range(30)]


def test_matches_are_not_all_listed() -> None:
    """Ten million matches, of 6,400 edges."""
    watch = Watch("change")
    watch.subscribe(("s", "SELECT * { ?x :p :h . :h :q ?y }"))
    watch.load_graph([(f"v{n}", "p", "h") for n in range(3200)] + [("h", "q", f"w{n}") for n in range(3200)])
    watch.publish(("+", "a", "b", "c"))
    found = watch.explain("s")
    assert found.summary == "s holds: at least 10000 matches, of which this is one"
    assert len(found.held) == 2


def test_a_search_that_is_cut_tells_what_it_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("heliograph.watch.explain._STEPS", 100)
    found = watching("SELECT * { ?x :p ?h . ?h :q ?y }", *STAR).explain("s")
    assert found.matched
    assert re.search(r"at least \d\d matches, of which this is one", found.summary)
    monkeypatch.setattr("heliograph.watch.explain._STEPS", 8)
    found = watching("ASK { :v1 :p :h . :h :q ?y }", *STAR).explain("s")
    assert found.summary == "s holds: at least 1 match"


def test_a_match_that_only_shows_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("heliograph.watch.explain._STEPS", 5)
    found = watching("ASK { ?x :p ?h . ?g :q ?y }", *STAR).explain("s")
    assert (found.matched, found.summary) == (True, "s holds: at least 1 match")
    assert found.held == ("v0 p h", "h q w0")


def test_a_match_that_is_not_found_again(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_STEPS", "_NEAR_STEPS"):
        monkeypatch.setattr(f"heliograph.watch.explain.{name}", 3)
    found = watching("ASK { ?x :p ?h . ?g :q ?y }", *STAR).explain("s")
    assert found.matched
    assert "not found again in time" in found.summary


def test_a_silent_query_that_is_sought_in_vain(monkeypatch: pytest.MonkeyPatch) -> None:
    """No triangle is there, but after 700 steps nobody can tell."""
    for name in ("_STEPS", "_NEAR_STEPS"):
        monkeypatch.setattr(f"heliograph.watch.explain.{name}", 700)
    monkeypatch.setattr("heliograph.watch.explain._TRIAL", 200)
    watch = Watch()
    watch.subscribe(("s", "ASK { ?x :p ?y . ?y :p ?z . ?z :p ?x }"))
    watch.load_graph([(f"u{m}", "p", f"v{n}") for m in range(20) for n in range(20)])
    watch.load_graph([(f"v{n}", "p", "w") for n in range(20)])
    found = watch.explain("s")
    assert "2 of 3 edges hold together, the most that were found in time" in found.summary


def test_counts_that_are_cut_or_known(monkeypatch: pytest.MonkeyPatch) -> None:
    query = "SELECT ?x (COUNT(*) AS ?n) { ?x :p :h . :h :q ?y } GROUP BY ?x HAVING (COUNT(*) > 30)"
    assert "COUNT(*) is 30 for ?x = v0" in watching(query, *STAR).explain("s").summary
    monkeypatch.setattr("heliograph.watch.explain._STEPS", 50)
    watch = watching(query, *STAR)
    assert "COUNT(*) is at least" in watch.explain("s").summary


@settings(deadline=None, max_examples=80)
@given(bodies(), st.lists(steps(), max_size=12), st.integers(0, 60))
def test_within_a_budget_answers_are_right(body: str, stream: list[Step], budget: int) -> None:
    query = parse_sparql(f"ASK {{ {body} }}", verb="watch")
    added = [map(parse_cell, step.triple) for step in stream if step.op == "+"]
    answers = Reevaluation(Graph((subject, predicate, object) for subject, predicate, object in added))
    bounded = Bounded(answers, budget)
    found, everything = bounded.some(query, 1000), list(answers.answer(query))
    assert found == everything[: len(found)]
    assert bounded.cut or len(found) == len(everything)
    assert 0 <= bounded.steps <= budget
