"""The registry of standing interests that filter and watch share."""

from __future__ import annotations

import gc
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.errors import HeliographError, SubscriptionError, TableError, UsageError
from heliograph.filter.layout import MOST_NUMBERS
from heliograph.sparql.tables import PatternSet
from heliograph.sparql.templates import parse_sparql
from heliograph.subscriptions import MOST_SUBSCRIPTIONS, Subscription, Subscriptions, by_origin

ASK = "ASK { :a :p :b }"


def registry(*items: Any) -> Subscriptions:
    made = Subscriptions("watch")
    made.subscribe(list(items))
    return made


def ids(made: Subscriptions) -> list[str]:
    return [each.id for each in made]


def test_order_is_that_of_subscribing() -> None:
    made = registry(("b", ASK), ("a", ASK))
    made.unsubscribe("b")
    made.subscribe(patterns=[("c", "?x", "p", "?y")])
    made.subscribe(("b", ASK))
    assert ids(made) == ["a", "c", "b"]
    assert [each.number for each in made] == [1, 2, 3]
    assert ("a" in made, "z" in made, len(made)) == (True, False, 3)


def test_an_id_is_needed() -> None:
    made = Subscriptions("filter")
    receipt = made.subscribe([("", ASK), {"subscription_id": None, "query": ASK}, ("a", ASK)]).receipt
    assert (receipt.accepted, [each.code for each in receipt.rejected]) == (1, ["HG-503", "HG-503"])


def test_every_refusal_of_a_batch_names_its_item() -> None:
    made = registry(("a", ASK))
    found = made.subscribe([("a", ASK), ("b", "ASK {"), {"id": "c"}, ("d", ASK)])
    assert [each.id for each in found.subscriptions] == ["d"]
    assert {each.item for each in found.receipt.rejected} == {"a", "b", "3"}


@pytest.mark.parametrize(
    ("item", "kind"),
    [
        (("a", ASK), SubscriptionError),
        ({"subscription_id": "c"}, TableError),
        (("b", "ASK {"), HeliographError),
        (ASK, UsageError),
    ],
)
def test_a_single_refusal_raises(item: Any, kind: type[Exception]) -> None:
    made = registry(("a", ASK))
    with pytest.raises(kind):
        made.subscribe(item)
    assert ids(made) == ["a"]


def test_what_is_not_accepted_is_not_taken() -> None:
    def accept(subscription: Subscription) -> None:
        raise SubscriptionError("HG-599", f"no {subscription.id}")

    made = Subscriptions("watch")
    assert made.subscribe([("a", ASK)], accept=accept).receipt.rejected[0].code == "HG-599"
    assert ids(made) == []


@pytest.mark.parametrize("given", [["1", "x"], pa.array(["1", "x"]), pa.chunked_array([["1"], ["x"]]), (1, "x")])
def test_ids_in_any_shape(given: Any) -> None:
    made = registry(("1", ASK), ("2", ASK))
    taken = made.unsubscribe(given)
    assert ([each.id for each in taken.subscriptions], ids(made)) == (["1"], ["2"])
    assert [each.item for each in taken.receipt.rejected] == ["x"]


def test_one_id_of_any_type() -> None:
    made = registry(("1", ASK))
    assert made.unsubscribe(1).receipt.accepted == 1
    with pytest.raises(SubscriptionError, match="'1'"):
        made.unsubscribe("1")


def test_bad_pattern_rows_are_reported_by_subscription() -> None:
    made = Subscriptions("filter")
    found = made.subscribe(
        patterns=[("a", "?x", "p", "?y"), ("b", '"x"', "p", "?y")], constraints=[("a", "?y", ">", "3")]
    )
    assert [each.id for each in found.subscriptions] == ["a"]
    assert [each.item for each in found.receipt.rejected] == ["b"]


def test_a_pattern_that_lost_a_row_is_refused_whole() -> None:
    rows = [
        {"subscription_id": "s", "subject": "?x", "property": "p", "object": "?y"},
        {"subscription_id": "s", "subject": "?y", "property": "p", "object": [1, 2]},
        {"subscription_id": "t", "subject": "?x", "property": "p", "object": "?y"},
    ]
    taken, receipt = Subscriptions("filter").subscribe(patterns=rows)
    assert [each.id for each in taken] == ["t"]
    assert [entry.item for entry in receipt.rejected] == ["s"]


# --- pattern sets ---

EDGES = [("a", "?x", "p", "?y"), ("b", "?x", "p", "n1"), ("b", "_:b", "<http://e/>", '"t"@en')]
LIMITS = [("a", "?y", ">", "3"), ("a", "x", "is-a", "C"), ("b", "x", "in", '["n1", 5]')]


def made_queries(made: Subscriptions) -> list[str]:
    return [each.id for each in made if each._query is not None]


def test_queries_of_patterns_are_made_when_asked_for() -> None:
    made = Subscriptions("filter")
    made.subscribe(patterns=EDGES, constraints=LIMITS, accept=lambda each: None)
    assert (made_queries(made), [each.counted for each in made]) == ([], [False, False])
    assert made["b"].query == parse_sparql(
        'SELECT * { ?x :p :n1 . _:b <http://e/> "t"@en FILTER(?x IN (:n1, 5)) }', prefixes=made.prefixes
    )
    assert made["b"].query is made["b"].query
    assert made_queries(made) == ["b"]


def test_texts_have_their_queries() -> None:
    made = registry(("n", "SELECT (COUNT(*) AS ?n) { ?x :p ?y } HAVING (COUNT(*) > 3)"), ("a", ASK))
    assert ([each.counted for each in made], made_queries(made)) == ([True, False], ["n", "a"])
    assert repr(made["a"]) == f"Subscription(id='a', subscriber=None, number=1, text={ASK!r})"


def test_subscriptions_by_where_they_came_from() -> None:
    made = registry(("t", ASK))
    taken = made.subscribe(patterns=EDGES, constraints=LIMITS)
    other = made.subscribe([("u", ASK)], patterns=[("c", "?x", "p", "?y"), ("d", "?x", "p", "?y")])
    assert [(len(batch.rows), each.id) for batch in taken.parts.batches for each in batch.subscriptions] == [
        (2, "a"),
        (2, "b"),
    ]
    assert [each.id for each in other.parts.plain] == ["u"]
    made.unsubscribe(["a", "c"])
    parts = by_origin(sorted(made, key=lambda each: each.number % 2))
    assert [batch.rows.tolist() for batch in parts.batches] == [[1], [1]]
    assert [[each.id for each in batch.subscriptions] for batch in parts.batches] == [["b"], ["d"]]
    assert {each.id for each in parts.plain} == {"t", "u"}


def living() -> int:
    gc.collect()
    return sum(type(each) is PatternSet for each in gc.get_objects())  # to ask a dead proxy for its class would raise


def test_tables_of_which_nothing_is_left_are_freed() -> None:
    before = living()
    made = Subscriptions("filter")
    for number in range(3):
        made.subscribe(patterns=[(f"{number}a", "?x", "p", "?y"), (f"{number}b", "?x", "p", "?y")])
    made.unsubscribe(["0a", "0b", "1a"])
    assert living() == before + 2
    made.unsubscribe("1b")
    assert living() == before + 1


def test_restoring_makes_no_queries() -> None:
    made = registry(("t", ASK))
    made.subscribe(patterns=EDGES, constraints=LIMITS)
    again = Subscriptions("watch")
    assert [each.number for each in again.restore(made.tables())] == [0, 1, 2]
    assert made_queries(again) == ["t"]


def test_constraints_are_told_apart_from_patterns() -> None:
    receipt = Subscriptions("filter").subscribe(patterns=EDGES, constraints=[("a", "?q", ">", "3")]).receipt
    assert [(each.source, each.item, each.code) for each in receipt.rejected] == [("constraints", "a", "HG-444")]


CELLS = st.sampled_from(["?x", "?y", "_:b", "n1", "a", "rdf:type", "<http://e/ü>", "5G", "RSS Filter", "ex:q"])
OBJECTS = st.one_of(CELLS, st.sampled_from(["05", "2.50", "true", '"a\\n"@EN', '"2026-11-15"^^xsd:date', "1e3"]))
IDS = st.sampled_from("abcdef")
RANGES = st.tuples(IDS, st.sampled_from(["x", "?y"]), st.sampled_from(["<", "="]), st.sampled_from(["05", "ex:q"]))
OTHERS = st.sampled_from(
    [("is-a", "C"), ("direct-is-a", "?y"), ("superclass-of", "C"), ("in", '["a", 5]'), ("contains", '"b"')]
)
STEPS = st.one_of(
    st.tuples(
        st.lists(st.tuples(IDS, CELLS, st.sampled_from(["p", "a", "?x", "ex:q"]), OBJECTS), min_size=1, max_size=6),
        st.lists(st.one_of(RANGES, st.builds(lambda id, rest: (id, "?x", *rest), IDS, OTHERS)), max_size=4),
    ),
    IDS,
)


@given(st.lists(STEPS, max_size=12))
@settings(max_examples=100, deadline=None)
def test_whatever_was_subscribed_is_saved_and_restored(steps: list[Any]) -> None:
    made, again = (Subscriptions("watch", {"ex": "http://example.org/"}) for _ in range(2))
    for step in steps:
        if not isinstance(step, str):
            made.subscribe(patterns=step[0], constraints=step[1])
        elif step in made:
            made.unsubscribe(step)
        else:
            made.subscribe({"subscription_id": step, "subscriber": f"Sub {step}", "query": ASK, "options": "{}"})
    saved = made.tables()
    again.restore(saved)
    assert [(each.id, each.subscriber, each.query, each.options, each.text) for each in again] == [
        (each.id, each.subscriber, each.query, each.options, each.text) for each in made
    ]
    assert all(again.tables()[name].to_pylist() == saved[name].to_pylist() for name in ("subscriptions", "patterns"))


def test_the_keys_of_filter_hold_every_number() -> None:
    assert MOST_SUBSCRIPTIONS == MOST_NUMBERS
