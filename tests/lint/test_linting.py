"""All findings together. The law: what is said to be the same, covered or impossible is so for the matcher."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph import Filter, Watch
from heliograph.lint import lint_subscriptions
from heliograph.taxonomy import Taxonomy
from tests.filter.conditions import WILD
from tests.filter.strategies import Interest, Workload, workloads

Key = tuple[str, str, str | None]
RECENT = "SELECT * { ?p :author :Arno ; :year ?y FILTER(?y > 2000) }"


def keys(found: pa.Table) -> list[Key]:
    return [(row["subject_id"], row["code"], row["related_id"]) for row in found.to_pylist()]


def messages(found: pa.Table) -> list[str]:
    return [str(row["message"]) for row in found.to_pylist()]


def test_nothing_is_said_of_what_is_well() -> None:
    found = lint_subscriptions(
        [("a", "ann", RECENT), ("b", "ann", "ASK { ?x a/rdfs:subClassOf* :Journal ; :year ?y }")],
        taxonomy=[("Journal", "Publication")],
        sample=[("d", [("P", "author", "Arno"), ("P", "year", "2001"), ("P", "a", "Journal")])],
    )
    assert keys(found) == []
    assert found.schema.names == ["subject_id", "code", "message", "related_id"]


@pytest.mark.parametrize("given_items", [[], pa.table({"subscription_id": [], "query": []}), None])
def test_nothing_to_lint(given_items: Any) -> None:
    assert lint_subscriptions(given_items).num_rows == 0
    assert lint_subscriptions(given_items, sample=[("d", [("a", "b", "c")])]).num_rows == 0


def test_unreadable_ones() -> None:
    found = lint_subscriptions(
        [
            {"subscription_id": "a", "query": RECENT},
            {"subscription_id": "a", "query": "ASK { ?x :p 1 }"},
            {"subscription_id": None, "query": RECENT},
            {"subscription_id": "b", "query": "nonsense"},
            {"subscription_id": "c", "query": None},
            {"subscription_id": "d", "query": "ASK { ?x :p 2 }", "options": "{"},
            {"subscription_id": "e", "query": "ASK { ?x :p 3 }", "options": '{"mode": "never"}'},
            {"subscription_id": "f", "query": "ASK { ?x :p ?y OPTIONAL { ?y :q ?z } }"},
            "no item at all",
        ]
    )
    assert keys(found) == [
        ("a", "HG-501", "a"),
        ("", "HG-503", None),
        ("b", "HG-400", None),
        ("c", "HG-400", None),
        ("d", "HG-520", None),
        ("e", "HG-521", None),
        ("f", "HG-410", None),
        ("9", "HG-208", None),
    ]
    assert messages(found)[1] == "a subscription without an id (item 3); write one in subscription_id"


def test_an_id_that_comes_twice_is_no_other_subscription() -> None:
    narrow = RECENT.replace("2000", "2010")
    found = lint_subscriptions([("a", RECENT), ("a", "ASK { ?p :author ?who }"), ("b", narrow), ("b", RECENT)])
    assert keys(found) == [("a", "HG-501", "a"), ("b", "HG-713", "a"), ("b", "HG-501", "b")]
    assert messages(found)[0].startswith("the id comes twice: the first subscription stands, this one is refused")


def test_an_id_whose_first_subscription_was_refused_is_free() -> None:
    items = [
        ("a", "nonsense"),
        ("a", RECENT),
        ("m", "ASK { ?x :p ?y FILTER(hg:degre(?x) > 3) }"),
        ("m", "ASK { ?x :p 1 }"),
    ]
    assert keys(lint_subscriptions(items)) == [("a", "HG-400", None), ("m", "HG-430", None)]
    assert Filter().subscribe(items).accepted == 2


@pytest.mark.parametrize(
    ("query", "options", "code"),
    [
        ("ASK { ?x :p ?y FILTER(hg:degree(?x) = 3) }", '{"hysteresis": 2}', "HG-522"),
        ("ASK { ?x :p ?y }", '{"hysteresis": 2}', "HG-522"),
        ("SELECT (COUNT(*) AS ?n) { ?x :p ?y }", '{"mode": "change"}', "HG-524"),
        ("ASK { ?x :p ?y }", '{"top_k_of": 3}', "HG-525"),
    ],
)
def test_what_a_watch_would_refuse(query: str, options: str | None, code: str) -> None:
    item = {"subscription_id": "a", "query": query, "options": options}
    [refused] = Watch().subscribe([item]).rejected
    found = lint_subscriptions([item, ("b", "ASK { ?x :p ?y }")])
    assert (refused.code, keys(found)) == (code, [("a", code, None)])
    assert messages(found)[0].startswith("watch would refuse it: ")


def test_what_a_filter_takes_is_left_alone() -> None:
    item = ("n", "SELECT (COUNT(*) AS ?n) { ?x :p ?y }")
    assert Filter().subscribe([item]).accepted == 1
    assert keys(lint_subscriptions([item])) == []


def test_pattern_tables() -> None:
    patterns = [("a", "?x", "age", "?a"), ("b", "?y", "age", "?b"), ("c", "?x", "age", '"oops'), ("d", "?x", "p", "1")]
    constraints = [
        *[(id, variable, ">", "17") for id, variable in (("a", "?a"), ("b", "?b"))],
        ("d", "?nowhere", ">", "1"),
    ]
    found = lint_subscriptions(patterns=patterns, constraints=constraints)
    assert keys(found) == [("b", "HG-711", "a"), ("c", "HG-103", None), ("d", "HG-444", None)]
    never = lint_subscriptions(patterns=patterns[:1], constraints=[*constraints[:1], ("a", "?a", "<", "18.0e0x")])
    assert [code for _, code, _ in keys(never)] == ["HG-712"]


def test_whose_the_duplicates_are() -> None:
    other = "ASK { ?q :year ?z . ?q :author :Arno FILTER(2000 < ?z) }"
    found = lint_subscriptions(
        [
            {"subscription_id": "a", "subscriber": "ann", "query": RECENT},
            {"subscription_id": "b", "subscriber": "bob", "query": RECENT},
            {"subscription_id": "c", "subscriber": "bob", "query": other},
            {"subscription_id": "d", "subscriber": None, "query": RECENT},
            {"subscription_id": "e", "subscriber": None, "query": RECENT, "options": '{"mode": "change"}'},
            {"subscription_id": "f", "subscriber": None, "query": RECENT},
        ]
    )
    assert keys(found) == [("b", "HG-711", "a"), ("c", "HG-711", "b"), ("d", "HG-711", "a"), ("f", "HG-711", "d")]
    assert messages(found) == [
        "asks the same as a; that one is of another subscriber, ann",
        "asks the same as b, but for what they select; both are of bob",
        "asks the same as a; that one is of another subscriber, ann",
        "asks the same as d; neither names a subscriber",
    ]


@pytest.mark.parametrize(
    ("one", "other", "differs"),
    [
        ("SELECT * { ?x :p ?y }", "SELECT ?x { ?x :p ?y }", True),
        ("SELECT ?x { ?x :p ?y }", "SELECT ?x { ?y :p ?x }", True),
        ("SELECT * { ?x :p _:b }", "SELECT * { _:b :p ?x }", True),
        ("SELECT DISTINCT * { ?x :p ?y }", "SELECT * { ?x :p ?y }", True),
        ("SELECT ?x { ?x :p ?y }", "SELECT ?y { ?y :p ?x }", False),
        ("SELECT * { ?x :p ?y }", "SELECT ?b ?a { ?a :p ?b }", False),
    ],
)
def test_what_the_same_select(one: str, other: str, differs: bool) -> None:
    [message] = messages(lint_subscriptions([("a", one), ("b", other)]))
    assert ("asks the same as a, but for what they select;" in message) == differs
    assert ("asks the same as a;" in message) != differs


def test_the_same_as_one_of_nobody() -> None:
    found = lint_subscriptions([("a", RECENT), ("b", "bob", RECENT)])
    assert messages(found) == ["asks the same as a; that one is of another subscriber, one without a name"]


def test_covered_by_another_of_the_same_subscriber() -> None:
    narrow = RECENT.replace("2000", "2010")
    found = lint_subscriptions([("narrow", "ann", narrow), ("broad", "ann", RECENT), ("other", "bob", narrow)])
    assert keys(found) == [("narrow", "HG-713", "broad"), ("other", "HG-711", "narrow")]
    assert messages(found)[0] == (
        "covered: broad matches whatever it matches; both are of ann; drop it unless separate notices are wanted"
    )


def test_covered_through_the_taxonomy() -> None:
    journals = [
        ("j", "ASK { ?x a/rdfs:subClassOf* :Journal ; :p 1 }"),
        ("p", "ASK { ?x a/rdfs:subClassOf* :Pub ; :p 1 }"),
    ]
    assert keys(lint_subscriptions(journals)) == []
    assert keys(lint_subscriptions(journals, taxonomy=[("Journal", "Pub")])) == [("j", "HG-713", "p")]


def test_what_matches_exactly_the_same_in_other_words() -> None:
    found = lint_subscriptions([("a", "ASK { ?x :p ?y }"), ("b", "ASK { ?x :p ?y . ?x :p ?z }")])
    assert keys(found) == [("b", "HG-713", "a")]
    assert messages(found)[0].startswith("covered: a matches exactly what it matches; neither names a subscriber; ")


def test_options_and_metrics_and_the_impossible_are_not_covered() -> None:
    found = lint_subscriptions(
        [
            {"subscription_id": "all", "query": "ASK { ?x :p ?y }"},
            {"subscription_id": "once", "query": "ASK { ?x :p 1 }", "options": '{"initial": true}'},
            {"subscription_id": "hub", "query": "ASK { ?x :p ?y FILTER(hg:degree(?x) > 3) }"},
            {"subscription_id": "never", "query": "ASK { ?x :p ?y FILTER(?y > 3 && ?y < 2) }"},
        ]
    )
    assert keys(found) == [("never", "HG-712", None)]


def test_names_classes_and_shapes() -> None:
    found = lint_subscriptions(
        [("a", "ASK { ?x :yaer ?y ; a :Journal ; a :City }"), ("b", "ASK { ?s ?p ?o }")],
        taxonomy=Taxonomy.read([("Journal", "Publication"), ("City", "Place")]),
        sample=[("d", [("P", "ex:year", "2001")])],
        prefixes={"ex": "http://example.org/"},
    )
    assert keys(found) == [
        ("a", "HG-713", "b"),
        ("a", "HG-714", None),
        ("a", "HG-717", "<http://example.org/year>"),
        ("b", "HG-721", None),
        ("b", "HG-715", None),
    ]


def test_what_cannot_be_read_of_taxonomy_and_sample_is_told() -> None:
    found = lint_subscriptions(
        [("a", "ASK { ?x :p 1 }")],
        taxonomy=[("A", "B"), ("B", "A")],
        sample=[("d", [("x", "p", "1"), ("x", "no:p", "1")])],
    )
    assert [code for _, code, _ in keys(found)] == ["HG-510", "HG-104"]


# --- the law ----------------------------------------------------------------------------------------------------


def linted(workload: Workload, whose: dict[str, str]) -> pa.Table:
    """The findings on the interests with a text."""
    items = [(each.id, whose[each.id], each.text) for each in workload.interests if each.text]
    return lint_subscriptions(items, taxonomy=workload.taxonomy, sample=workload.publications)


def matched_by(workload: Workload) -> dict[str, set[str | None]]:
    interests = [each for each in workload.interests if each.text]
    engine: Filter = workload._replace(interests=interests).engine("naive")
    found: dict[str, set[str | None]] = {each.id: set() for each in interests}
    for notification in engine.publish(workload.publications):
        found[notification.subscription_id].add(notification.publication_id)
    return found


def check_finding(row: dict[str, Any], matched: dict[str, set[str | None]], whose: dict[str, str]) -> None:
    subject, code, other = row["subject_id"], row["code"], row["related_id"]
    if code == "HG-711":
        assert matched[subject] == matched[other], row
    elif code == "HG-712":
        assert not matched[subject], row
    elif code == "HG-713":
        assert matched[subject] <= matched[other], row
        assert whose[subject] == whose[other]


@given(workloads(WILD), st.integers(1, 3))
def test_findings_are_true(workload: Workload, subscribers: int) -> None:
    matched = matched_by(workload)
    whose = {each.id: f"u{number % subscribers}" for number, each in enumerate(workload.interests)}
    for row in linted(workload, whose).to_pylist():
        assert row["code"].startswith("HG-7") or row["code"] == "HG-510", row
        check_finding(row, matched, whose)


def test_the_law_is_not_empty() -> None:
    texts = [RECENT, RECENT.replace("2000", "1990"), RECENT, RECENT.replace("> 2000", "> 1 && ?y < 0")]
    interests = [Interest(f"s{number}", text) for number, text in enumerate(texts)]
    workload = Workload([], interests, [[("P", "author", "Arno"), ("P", "year", "2001")]])
    whose = dict.fromkeys((each.id for each in interests), "ann")
    found = linted(workload, whose)
    assert {code for _, code, _ in keys(found)} == {"HG-711", "HG-712", "HG-713"}
    for row in found.to_pylist():
        check_finding(row, matched_by(workload), whose)
