"""Variables that nothing binds. The law: a variable that is reported is in no binding of a match."""

from __future__ import annotations

import pytest

from heliograph import Filter
from heliograph.lint import lint_subscriptions
from heliograph.lint.queries import nearest
from heliograph.terms import Variable


def found(query: str) -> list[tuple[str, str]]:
    rows = lint_subscriptions([("a", query)]).to_pylist()
    return [(row["code"], row["message"]) for row in rows]


def test_what_is_selected_and_not_bound() -> None:
    query = "SELECT ?nope ?score { ?x :score ?scored }"
    assert found(query) == [
        ("HG-719", "?nope is selected, but no edge binds ?nope"),
        ("HG-719", "?score is selected, but no edge binds ?score; did you mean ?scored?"),
    ]
    engine = Filter()
    engine.subscribe(("a", query))
    [notification] = engine.publish(("d", [("x", "score", "1")]), bindings=1)
    assert not {"nope", "score"} & {name for name, value in notification.proof["bindings"][0].items() if value}


def test_what_is_grouped_and_not_bound() -> None:
    [(code, message)] = found("SELECT ?nope { ?x :p ?y } GROUP BY ?nope")
    assert (code, message) == ("HG-719", "?nope is grouped by, but no edge binds ?nope")


@pytest.mark.parametrize(
    "query",
    ["SELECT * { ?x :p ?y }", "SELECT ?z { ?x :p ?y VALUES ?z { 1 } }", "ASK { ?x :p ?y }", "SELECT ?y { ?x :p ?y }"],
)
def test_what_is_bound(query: str) -> None:
    assert found(query) == []


def test_a_condition_on_what_nothing_binds() -> None:
    assert found("ASK { ?x :score ?score FILTER(?sc > 3) }") == [
        ("HG-712", "can never match: FILTER(?sc > 3) cannot hold: no edge binds ?sc; did you mean ?score?")
    ]
    [(_, both)] = found("ASK { ?x :p ?y FILTER(?m > ?n) }")
    assert both == "can never match: FILTER(?m > ?n) cannot hold: no edge binds ?m, and no edge binds ?n"


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("year", "Year"),
        ("yaer", "Year"),
        ("ye", "Year"),
        ("yearly", "Year"),
        ("publicaton", "publication"),
        ("y", None),
        ("z", None),
        ("author", None),
    ],
)
def test_the_nearest(name: str, near: str | None) -> None:
    known = [Variable("x"), Variable("Year"), Variable("publication")]
    assert nearest(Variable(name), known) == (None if near is None else Variable(near))
