"""Why, and why not."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from heliograph import Explanation, Filter
from heliograph.errors import SubscriptionError, UsageError

PAPER = (
    "d",
    [("p17", "author", "Arno"), ("p17", "author", "Milenko"), ("p17", "year", "2001"), ("p17", "venue", "WWW")],
)
TAXONOMY = [("WWW", "Conference"), ("Conference", "Publication"), ("p17", "WWW")]


def explained(query: str, publication: Any = PAPER) -> Explanation:
    engine = Filter(TAXONOMY)
    engine.subscribe(("s", query))
    explanation = engine.explain("s", publication)
    assert explanation.matched is bool(engine.publish(publication))
    assert (explanation.verb, explanation.subscription_id, explanation.publication_id) == ("filter", "s", "d")
    return explanation


def test_a_match_shows_bindings_and_what_held() -> None:
    why = explained("SELECT ?y { ?p :year ?y ; a/rdfs:subClassOf* :Publication FILTER(?y > 2000) }")
    assert why.evidence == {"bindings": [{"y": "2001"}]}
    assert why.held == ("p17 year 2001", "?y > 2000 (?y was 2001)", "p17 a/rdfs:subClassOf* Publication")
    assert why.failed is None
    assert why.summary == "d matches s"


@pytest.mark.parametrize(
    ("query", "failed", "held"),
    [
        ("ASK { ?p :year ?y FILTER(?y > 2003) }", "?y > 2003: ?y was 2001", ["p17 year 2001"]),
        (
            "ASK { ?p :year ?y FILTER(?y > 2000 && ?y < 2001) }",
            "?y < 2001: ?y was 2001",
            ["p17 year 2001", "?y > 2000 (?y was 2001)"],
        ),
        ("ASK { ?p :author ?a FILTER(?a = :Bob) }", "?a = Bob: ?a was Arno; ?a was Milenko", ["p17 author Arno"]),
        (
            "ASK { ?p :author :Bob }",
            "?p author Bob: there is none; nearest: p17 author Arno and p17 author Milenko",
            [],
        ),
        (
            "ASK { ?p :year 2001 ; :venue :SIGMOD }",
            "?p venue SIGMOD: there is no p17 venue SIGMOD; nearest: p17 venue WWW",
            ["p17 year 2001"],
        ),
        (
            "ASK { ?p :title ?t ; :year 2001 }",
            "?p title ?t: there is no p17 title ?t; nearest: p17 author Arno and p17 author Milenko",
            ["p17 year 2001"],
        ),
        ("ASK { :p17 a :Conference }", "p17 a Conference: there is none; nearest: p17 a WWW", []),
        (
            "ASK { :p17 a/rdfs:subClassOf* :Journal }",
            (
                "p17 a/rdfs:subClassOf* Journal: there is none; "
                "nearest: p17 a/rdfs:subClassOf* WWW and p17 a/rdfs:subClassOf* Conference"
            ),
            [],
        ),
        (
            "ASK { :Journal rdfs:subClassOf+ :Publication }",
            (
                "Journal rdfs:subClassOf+ Publication: there is none; "
                "nearest: Conference rdfs:subClassOf+ Publication and WWW rdfs:subClassOf+ Publication"
            ),
            [],
        ),
        (
            "ASK { ?p :year ?y VALUES ?y { 1999 } }",
            "?p year ?y: there is no ?p year 1999; nearest: p17 year 2001",
            ["VALUES for ?y"],
        ),
        ("ASK { ?p :year ?y FILTER(?y = ?unbound) }", "?y = ?unbound: ?y was 2001", ["p17 year 2001"]),
        ("ASK { ?p :author ?a } HAVING (COUNT(*) > 2)", "COUNT(*) > 2: the largest count was 2", ["?p author ?a"]),
        (
            "SELECT ?p { ?p :author ?a } GROUP BY ?p HAVING (COUNT(*) > 2)",
            "COUNT(*) > 2: the largest count was 2, of ?p = p17",
            ["?p author ?a"],
        ),
        ("ASK { ?p :author ?a } HAVING (COUNT(*) = 0)", "COUNT(*) = 0: the largest count was 2", ["?p author ?a"]),
        ("ASK { ?p :editor ?a } HAVING (COUNT(*) > 0)", "?p editor ?a: there is none", []),
    ],
)
def test_the_first_that_failed_and_what_held(query: str, failed: str, held: list[str]) -> None:
    why_not = explained(query)
    assert why_not.failed == failed
    assert list(why_not.held) == held
    assert failed in why_not.summary
    assert why_not.evidence is None


def test_later_edges_that_hold_are_kept_beside_the_one_that_failed() -> None:
    why_not = explained("ASK { ?p :author :Arno ; :venue :SIGMOD ; :year 2001 }")
    assert list(why_not.held) == ["p17 author Arno", "p17 year 2001"]
    assert "2 of 3 edges and constraints hold together" in why_not.summary


def test_only_the_first_of_several_failures_is_named() -> None:
    why_not = explained("ASK { ?p :author :Bob ; :venue :SIGMOD ; :year 2001 VALUES ?z { } }")
    assert (why_not.failed, list(why_not.held)) == ("VALUES for ?z", ["p17 year 2001"])


def test_a_constraint_over_two_edges() -> None:
    publication = ("d", [("x", "low", "5"), ("x", "high", "3")])
    why_not = explained("ASK { ?x :low ?a ; :high ?b FILTER(?a < ?b) }", publication)
    assert why_not.failed == "?a < ?b: ?a was 5, ?b was 3"


@pytest.mark.parametrize(
    "publication",
    [
        pa.table({"publication_id": ["d"], "subject": ["x"], "property": ["year"], "object": ["2001"]}),
        [("d", [("x", "year", "2001")])],
    ],
)
def test_a_publication_may_be_a_table_or_a_list_of_one(publication: Any) -> None:
    assert explained("ASK { ?x :year 2001 }", publication).matched


@pytest.mark.parametrize(
    "publication", [[], [PAPER, ("e", [("x", "year", "2001")])], [("d", [("x", "bad:prefix", "1")])]]
)
def test_there_must_be_one_publication(publication: Any) -> None:
    engine = Filter()
    engine.subscribe(("s", "ASK { ?x :year 2001 }"))
    with pytest.raises(UsageError):
        engine.explain("s", publication)


def test_an_unknown_subscription() -> None:
    with pytest.raises(SubscriptionError, match="'nobody'"):
        Filter().explain("nobody", PAPER)
