"""pyoxigraph, which nobody here wrote, gives every generated expression the same value."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from heliograph.sparql.evaluate import Bindings, evaluate, holds
from heliograph.sparql.query import Call, Expression, Or
from heliograph.terms import Term, literal
from tests.sparql import oxigraph
from tests.sparql.strategies import bindings, conditions, number_expressions


@settings(max_examples=400, deadline=None)
@given(conditions, bindings)
def test_conditions_have_the_oracles_value(expression: Expression, given_bindings: Bindings) -> None:
    assert evaluate(expression, given_bindings) == oxigraph.value(expression, given_bindings)


@settings(max_examples=150, deadline=None)
@given(number_expressions, bindings)
def test_arithmetic_has_the_oracles_value(expression: Expression, given_bindings: Bindings) -> None:
    assert evaluate(expression, given_bindings) == oxigraph.value(expression, given_bindings)


@settings(max_examples=100, deadline=None)
@given(conditions, bindings)
def test_a_condition_holds_when_the_oracle_keeps_the_row(expression: Expression, given_bindings: Bindings) -> None:
    kept = oxigraph.value(Or((expression,)) if not isinstance(expression, Term) else expression, given_bindings)
    assert holds(expression, given_bindings) == holds(kept if kept is not None else literal("x", "urn:none"), {})


@pytest.mark.parametrize("text", ["abc", "aBc", "a\nc", "é", "x.c"])
@pytest.mark.parametrize("pattern", ["b", "^a", "c$", "a.c", "[[:alpha:]]{3}", "(?i)B", "É", "\\.", "("])
@pytest.mark.parametrize("flags", ["", "i"])
def test_regex(text: str, pattern: str, flags: str) -> None:
    arguments = (literal(text), literal(pattern), *([literal(flags)] if flags else []))
    assert evaluate(Call("REGEX", arguments), {}) == oxigraph.value(Call("REGEX", arguments), {})
