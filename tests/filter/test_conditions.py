"""Conjuncts say of every term what the filters say, or leave it open; never less."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from heliograph.filter.interests import Conditions, conditions_of
from heliograph.sparql import regions
from heliograph.sparql.evaluate import Bindings, Condition, effective_boolean
from heliograph.sparql.query import And, Call, Compare, Expression, In, Not, Or, walk
from heliograph.sparql.regions import Atom, Domain
from heliograph.terms import RDF_LANG_STRING, Term, literal
from heliograph.values import XSD_DECIMAL, XSD_DOUBLE, XSD_FLOAT, XSD_INTEGER, XSD_STRING
from heliograph.vocabulary import Vocabulary
from tests.filter.interest_strategies import POOL, SYMBOLS, X, Y, all_filters, number_filters, plain_filters, terms
from tests.filter.membership import NO, PERHAPS, SURE, answer, locate
from tests.sparql import oxigraph
from tests.sparql import strategies as oracle

VOCABULARY = Vocabulary()


def check_laws(filters: list[Expression], many: Iterable[Bindings]) -> Conditions:
    """What holds lies in the conjuncts; if they are exact, what lies there for sure holds."""
    conditions = conditions_of(filters, VOCABULARY.intern)
    doubtful = may_doubt(filters)
    tests = [Condition.of(each) for each in filters]
    for bindings in many:
        found = answer(conditions, bindings, VOCABULARY)
        if all(test.holds(bindings) for test in tests):
            assert found != NO
        elif conditions.exact:
            assert found != SURE
        if conditions.exact and found == PERHAPS:
            assert doubtful or any(map(is_rounded, bindings.values()))
    return conditions


def may_doubt(filters: list[Expression]) -> bool:
    """Whether filters cut the line with a rounded constant, or in the ways of doubles and of exact numbers both."""
    constants = [node for each in filters for node in walk(each) if isinstance(node, Term)]
    kinds = {term.datatype for term in constants}
    return any(map(is_rounded, constants)) or (XSD_DOUBLE in kinds and not kinds.isdisjoint((XSD_INTEGER, XSD_DECIMAL)))


def is_rounded(term: Term) -> bool:
    return locate(term, VOCABULARY).place.rounded


@settings(max_examples=300)
@given(plain_filters)
def test_filters_of_one_variable_are_exact(expression: Expression) -> None:
    floats = any(isinstance(node, Term) and node.datatype == XSD_FLOAT for node in walk(expression))
    ordered = any(isinstance(node, Compare) and node.operator[0] in "<>" for node in walk(expression))
    conditions = check_laws([expression], ({X: term} for term in POOL))
    assert conditions.exact or floats or ordered  # texts are not ordered
    assert len(conditions.conjuncts) <= 1


@settings(max_examples=300)
@given(number_filters)
def test_cuts_close_together(expression: Expression) -> None:
    assert check_laws([expression], ({X: term} for term in POOL)).exact


@settings(max_examples=400)
@given(st.lists(all_filters, min_size=1, max_size=3), st.lists(st.tuples(terms, terms), min_size=30, max_size=30))
def test_filters_are_never_asked_for_more_than_they_say(
    filters: list[Expression], pairs: list[tuple[Term, Term]]
) -> None:
    conditions = check_laws(filters, ({X: one, Y: other} for one, other in pairs))
    assert {name for name, _ in conditions.conjuncts} <= {X, Y}


@pytest.mark.parametrize("symbol", SYMBOLS)
def test_every_comparison_of_every_pair(symbol: str) -> None:
    for constant in POOL:
        for test in (Compare(symbol, X, constant), Not(Compare(symbol, X, constant)), Compare(symbol, constant, X)):
            conditions = check_laws([test], ({X: term} for term in POOL))
            assert conditions.exact or constant.datatype in (XSD_FLOAT, XSD_STRING, RDF_LANG_STRING)


@settings(max_examples=150)
@given(oracle.conditions, oracle.bindings)
def test_the_oracle_agrees(expression: Expression, bindings: Bindings) -> None:
    assume(all(node != oracle.MISSING for node in walk(expression)))  # variables are taken to be bound
    conditions = conditions_of([expression], VOCABULARY.intern)
    kept = oxigraph.value(expression, bindings)
    true = kept is not None and effective_boolean(kept) is True
    found = answer(conditions, bindings, VOCABULARY)
    assert found != NO if true else found != SURE or not conditions.exact


# --- shapes -----------------------------------------------------------------------------------------------------

FIVE, NINE = literal("5", XSD_INTEGER), literal("9", XSD_INTEGER)
ABC = literal("abc")


def conjuncts(*filters: Expression) -> list[tuple[Atom, ...]]:
    return [atoms for _, atoms in conditions_of(filters, VOCABULARY.intern).conjuncts]


@pytest.mark.parametrize(
    "test",
    [
        Call("CONTAINS", (X, ABC)),
        Call("STRSTARTS", (Call("STR", (X,)), ABC)),
        Call("STRENDS", (X, ABC)),
        Call("REGEX", (X, literal("abc+d"))),
        Compare("=", ABC, Call("STR", (X,))),
        Not(In(Call("STR", (X,)), (ABC,), negated=True)),
    ],
)
def test_texts_are_asked_for_by_a_key(test: Expression) -> None:
    conditions = conditions_of([test, Compare("!=", X, FIVE)], VOCABULARY.intern)
    (_, plain), (_, (word,)) = conditions.conjuncts
    assert {atom.domain for atom in plain} == {Domain.IRI, Domain.BLANK, Domain.NUMBER, Domain.NAN}
    assert word.domain == Domain.WORD
    assert word.low == word.high < 2**53
    assert not conditions.exact


@pytest.mark.parametrize("negated", [True, False])
def test_long_lists_take_linear_time(negated: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted in cuts of lines that are swept."""
    swept: list[int] = []
    sweep = regions._swept

    def counting(lines: Sequence[regions.Line], needed: int) -> regions.Line:
        swept.append(sum(map(len, lines)))
        return sweep(lines, needed)

    monkeypatch.setattr(regions, "_swept", counting)
    choices = tuple(literal(str(number), XSD_INTEGER) for number in range(10_000))
    (atoms,) = conjuncts(In(X, choices, negated))
    assert len(atoms) == (10_004 if negated else 10_000)
    assert sum(swept) == (40_000 if negated else 20_000)


def test_depth_costs_no_recursion() -> None:
    expression: Expression = Compare(">", X, FIVE)
    for _ in range(2_000):
        expression = Not(Or((Not(And((expression,))), Compare("<", X, FIVE))))
    nested = Or((expression, Compare("=", X, ABC)))
    assert conjuncts(expression) == conjuncts(And((Compare(">", X, FIVE), Not(Compare("<", X, FIVE)))))
    assert len(conjuncts(nested)) == 1
