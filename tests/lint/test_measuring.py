"""What is expensive on a sample, in small jobs and in large ones."""

from __future__ import annotations

import pytest

from heliograph.lint import cost as measuring
from heliograph.lint import lint_subscriptions
from heliograph.lint.cost import WAYS

Cells = tuple[str, str, str]

ADVICE = "write a constant in one, or leave out those that are not needed"
STAR: list[Cells] = [("hub", "p", str(number)) for number in range(40)]
RING: list[Cells] = [(f"n{number}", "next", f"n{(number + 1) % 60}") for number in range(60)]


def costs(subscriptions: list[tuple[str, str]], documents: list[list[Cells]]) -> list[tuple[str, str]]:
    sample = [(f"d{number}", document) for number, document in enumerate(documents)]
    found = lint_subscriptions(subscriptions, sample=sample).to_pylist()
    return [(row["subject_id"], row["message"]) for row in found if row["code"] == "HG-716"]


def test_many_bindings_of_a_small_job() -> None:
    subscriptions = [("pairs", "ASK { ?x :p ?a . ?x :p ?b }"), ("one", "ASK { ?x :p ?a }")]
    assert costs(subscriptions, [[("x", "p", "1")], STAR]) == [
        ("pairs", f"expensive on the sample: {WAYS + 1:,} or more ways through its edges in d1; {ADVICE}")
    ]


@pytest.mark.parametrize(
    "query",
    [
        "ASK { ?x :p ?a . ?x :p ?b FILTER(?a + ?b > 1000) }",
        "ASK { ?x :p ?a . ?x :p ?b VALUES ?a { 1000 } }",
        "SELECT (COUNT(*) AS ?n) { ?x :p ?a . ?x :p ?b } HAVING(COUNT(*) < 7)",
    ],
)
def test_what_is_counted_before_conditions_is_told_as_such(query: str) -> None:
    [(_, message)] = costs([("pairs", query)], [STAR])
    assert message.startswith(
        f"perhaps expensive on the sample: {WAYS + 1:,} or more ways through its edges in d0, before its conditions; "
    )


def test_parts_multiply() -> None:
    subscriptions = [("apart", "ASK { ?x :p ?a . ?y :next ?b FILTER(?a = ?b) }"), ("tied", "ASK { ?x :p ?a }")]
    [(id, message)] = costs(subscriptions, [STAR + RING])
    assert (id, "2,400 or more ways" in message) == ("apart", True)


@pytest.fixture
def _large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every job counts as large."""
    monkeypatch.setattr(measuring, "PAIRS", 0)


@pytest.mark.usefixtures("_large")
def test_what_takes_many_steps() -> None:
    subscriptions = [
        ("chain", "ASK { ?a :next ?b . ?b :next ?c . ?c :next ?d . ?d :next ?e . ?e :other ?a }"),
        ("rare", "ASK { :n7 :next :n8 }"),
        ("never", "ASK { ?x :p ?a FILTER(?a > 5 && ?a < 3) }"),
    ]
    [(id, message)] = costs(subscriptions, [[*RING, ("n5", "other", "n7")]] * 5)
    assert id == "chain"
    assert message.startswith("expensive on the sample: tried on 5 of 5 publications, matched 0 of them, looked at ")
    assert message.endswith("add an edge with a rarer constant")


@pytest.mark.usefixtures("_large")
def test_what_matches_all_the_time_is_told_to_ask_for_less() -> None:
    [(id, message)] = costs([("all", "ASK { ?a ?p ?b . ?b ?q ?c . ?c ?r ?d FILTER(?a = :n49) }")], [RING] * 3)
    assert (id, "matched 3 of them" in message) == ("all", True)
    assert message.endswith("it matches most of them, so ask for less")


@pytest.mark.usefixtures("_large")
def test_one_that_is_decided_whole_is_counted_once_a_publication() -> None:
    [(id, message)] = costs([("member", "ASK { ?x :next ?y . ?y rdfs:member ?z }")], [RING, RING])
    assert (id, "tried on 2 of 2 publications" in message) == ("member", True)


@pytest.mark.usefixtures("_large")
def test_bindings_of_suspects_are_counted_in_a_large_job() -> None:
    found = costs([("apart", "ASK { ?x :p ?a . ?y :next ?b }"), ("tied", "ASK { ?x :p ?a }")], [STAR + RING])
    assert ("apart", f"expensive on the sample: 2,400 or more ways through its edges in d0; {ADVICE}") in found


def test_metrics_are_not_measured() -> None:
    items = [("m", "ASK { ?x :p ?a FILTER(hg:degree(?x) > 3) }"), ("alone", "ASK { FILTER(hg:degree(:a) > 3) }")]
    assert lint_subscriptions(items, sample=[("d", STAR)])["code"].to_pylist() == []
