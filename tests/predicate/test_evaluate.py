"""What predicates say of events: the fixture's cases, and the naive twin on generated ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from heliograph.predicate.evaluate import Attributes, accepts, blame, evaluate, matcher, never_fails, never_holds
from heliograph.predicate.form import And, Predicate
from heliograph.predicate.parser import parse_predicate
from tests.predicate.naive import truth
from tests.predicate.strategies import events, predicates

FIXTURE = Path(__file__).parent / "fixtures" / "predicates.txt"
ANSWERS = {"true": True, "false": False, "unknown": None}


def cases() -> list[tuple[str, str, str]]:
    lines = [line for line in FIXTURE.read_text("utf-8").splitlines() if line.strip() and not line.startswith("#")]
    split = [tuple(part.strip() for part in line.split(" | ")) for line in lines]
    return [(event, text, answer) for event, text, answer in split]


@pytest.mark.parametrize(("event", "text", "answer"), cases())
def test_case(event: str, text: str, answer: str) -> None:
    attributes = Attributes(json.loads(event))
    assert evaluate(parse_predicate(text), attributes) is ANSWERS[answer]
    assert accepts(parse_predicate(text), attributes) is (answer == "true")


@given(predicates, events)
def test_agrees_with_the_naive_twin(form: Predicate, event: dict[str, Any]) -> None:
    assert evaluate(form, Attributes(event)) is truth(form, event)


@given(predicates, events)
def test_what_never_holds_does_not_hold(form: Predicate, event: dict[str, Any]) -> None:
    answer = evaluate(form, Attributes(event))
    assert not (never_holds(form) and answer is True)
    assert not (never_fails(form) and answer is False)


@pytest.mark.parametrize(
    "text",
    [
        "FALSE",
        "NULL",
        "a = NULL",
        "a BETWEEN 5 AND 3",
        "a BETWEEN 'a' AND 3",
        "a IN (NULL)",
        "a LIKE NULL",
        "a = 1 AND b BETWEEN 2 AND 1",
        "a = 1 AND NOT a = 1",
        "a = NULL OR FALSE",
        "NOT (TRUE OR a = 1)",
        "NOT NOT FALSE",
        "NOT (NULL AND NOT FALSE)",
        "a = 1 AND b = 2 AND NOT (a = 1 AND b = 2)",
        "a = 1 AND NOT (b = 2 OR a = 1)",
        "a IS NULL AND a = 1",
        "a IS NULL AND NOT a = 1",
        "a IS NULL AND a.b IN (1, 2)",
        "a IS NULL AND NOT a.b LIKE 'x%'",
        "a IS NULL AND a.b IS NOT NULL",
        "b < a AND a IS NULL",
        "a AND a IS NULL",
    ],
)
def test_never_holds(text: str) -> None:
    assert never_holds(parse_predicate(text))


@pytest.mark.parametrize(
    "text",
    [
        "a = 1 AND a = 2",
        "a > 5 AND a < 3",
        "NOT a = 1",
        "a",
        "NOT (a = 1 AND b = 2)",
        "a = 1 AND NOT (a = 1 AND b = 2)",
        "a IS NULL AND NOT a = b",
        "a.b IS NULL AND a = 1",
        "a IS NULL AND (a = 1 OR b = 1)",
    ],
)
def test_may_hold(text: str) -> None:
    """On a list, two values can be met at once; and a missing value is no element of a list."""
    assert not never_holds(parse_predicate(text))


@given(predicates, events)
def test_blame_speaks_of_what_failed(form: Predicate, event: dict[str, Any]) -> None:
    attributes = Attributes(event)
    if evaluate(form, attributes) is not True:
        told = blame(form, attributes)
        parts = form.operands if isinstance(form, And) else (form,)
        failed = next(part for part in parts if evaluate(part, attributes) is not True)
        assert told == blame(failed, attributes)
        assert " is " in told or told.endswith("holds for no event")


@pytest.mark.parametrize(
    ("text", "event", "told"),
    [
        ("t = 'a' AND age > 40", {"t": "a", "age": 35}, "age > 40 (age is 35)"),
        ("age > 40", {}, "age > 40 (age is missing)"),
        ("a = 1 OR b = 1", {"a": 2}, "a = 1 (a is 2); and b = 1 (b is missing)"),
        ("NOT a IN (1, 2)", {"a": 1}, "NOT a IN (1, 2) (a is 1)"),
        ("FALSE", {}, "FALSE holds for no event"),
        ("a < b", {"a": 2, "b": 1}, "a < b (a is 2, b is 1)"),
        ("age > '30'", {"age": 40}, "age > '30' (age is 40, a number against a string)"),
        ("age > 30", {"age": "40"}, 'age > 30 (age is "40", a string against a number)'),
        ("NOT age IN (1, 2.5)", {"age": "1"}, 'NOT age IN (1, 2.5) (age is "1", a string against a number)'),
        ("age IN (1, 'x')", {"age": True}, "age IN (1, 'x') (age is true, a boolean against a number or a string)"),
        ("age IN (1, 'x', NULL)", {"age": 2}, "age IN (1, 'x', NULL) (age is 2)"),
        ("age BETWEEN 'a' AND NULL", {"age": 1}, "age BETWEEN 'a' AND NULL (age is 1, a number against a string)"),
        ("t LIKE 'a%'", {"t": {"x": 1}}, "t LIKE 'a%' (t is {\"x\": 1}, an object against a string)"),
        ("t = TRUE", {"t": 1}, "t = TRUE (t is 1, a number against a boolean)"),
        ("t = 1", {"t": ["1", "2"]}, 't = 1 (t is ["1", "2"], a list of strings against a number)'),
        ("t = 1", {"t": ["1", 2]}, 't = 1 (t is ["1", 2])'),
        ("t = NULL", {"t": 1}, "t = NULL (t is 1)"),
        ("t IS NULL", {"t": 1}, "t IS NULL (t is 1)"),
        ("a < b", {"a": 2, "b": "1"}, 'a < b (a is 2, b is "1", a number against a string)'),
        ("NOT (a = 1 AND a = '1')", {"a": 1}, "NOT (a = 1 AND a = '1') (a is 1, a number against a string)"),
        ("s = 'x'", {"s": "y" * 100}, f"""s = 'x' (s is "{"y" * 56}...)"""),
    ],
)
def test_blame(text: str, event: dict[str, Any], told: str) -> None:
    assert blame(parse_predicate(text), Attributes(event)) == told


def test_like_takes_linear_time() -> None:
    """A backtracking matcher would not come back from this."""
    assert not matcher("%a" * 40 + "b", None, False)("a" * 5000)
