"""The registry of standing interests that filter and watch share."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from heliograph.errors import HeliographError, SubscriptionError, TableError, UsageError
from heliograph.subscriptions import Subscription, Subscriptions

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
    ("item", "kind"), [(("a", ASK), SubscriptionError), ({"id": "c"}, TableError), (("b", "ASK {"), HeliographError)]
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


def test_tables_subscribe_to_the_same_again() -> None:
    made = registry(("t1", "Ann", ASK), {"subscription_id": "t2", "query": ASK, "options": '{"mode": "change"}'})
    made.subscribe(patterns=[("p1", "?x", "p", "?y"), ("gone", "?x", "p", "?y")], constraints=[("p1", "?y", ">", "3")])
    made.subscribe(patterns=[("p2", "?x", "q", "?y"), ("late", "?x", "p", "?y")])
    made.unsubscribe(["gone", "late"])
    made.subscribe([("t3", ASK), ("gone", "SELECT * { ?x :now :text }")])
    again = Subscriptions("watch")
    again.restore(made.tables())
    assert [(each.id, each.subscriber, each.query, each.options, each.text) for each in again] == [
        (each.id, each.subscriber, each.query, each.options, each.text) for each in made
    ]
    assert again.tables()["patterns"].equals(made.tables()["patterns"])


def test_nothing_can_be_saved_too() -> None:
    again = Subscriptions("watch")
    again.restore(Subscriptions("watch").tables())
    assert len(again) == 0


def test_a_pattern_that_lost_a_row_is_refused_whole() -> None:
    rows = [
        {"subscription_id": "s", "subject": "?x", "property": "p", "object": "?y"},
        {"subscription_id": "s", "subject": "?y", "property": "p", "object": [1, 2]},
        {"subscription_id": "t", "subject": "?x", "property": "p", "object": "?y"},
    ]
    taken, receipt = Subscriptions("filter").subscribe(patterns=rows)
    assert [each.id for each in taken] == ["t"]
    assert [entry.item for entry in receipt.rejected] == ["s"]


def test_a_query_without_an_id_is_told_so() -> None:
    with pytest.raises(UsageError, match="without an id"):
        Subscriptions("filter").subscribe("ASK { ?x :p ?y }")
