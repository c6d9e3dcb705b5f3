"""Typed values beside the ids: what they hold, and that they order values or say that they cannot."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.terms import Position, Term, blank, literal, plain_name, value_of
from heliograph.values import XSD, Instant, Kind
from heliograph.vocabulary import Vocabulary
from heliograph.vocabulary.columns import MICRO, NO_KIND, NO_ZONE, typed_of
from tests import term_strategies as hostile

OBJECT = Position.OBJECT


TYPED = {
    "5": (Kind.INTEGER, 5.0, True),
    "9007199254740993": (Kind.INTEGER, 9007199254740992.0, False),
    "1" + "0" * 400: (Kind.INTEGER, np.inf, False),
    "-1" + "0" * 400: (Kind.INTEGER, -np.inf, False),
    "0.5": (Kind.DECIMAL, 0.5, True),
    "0.1": (Kind.DECIMAL, 0.1, False),
    "1e5": (Kind.DOUBLE, 1e5, True),
    '"INF"^^xsd:double': (Kind.DOUBLE, np.inf, True),
    '"0.1"^^xsd:float': (Kind.FLOAT, float(np.float32(0.1)), True),
    "true": (Kind.BOOLEAN, 1.0, True),
    "false": (Kind.BOOLEAN, 0.0, True),
}
MOMENTS = {
    '"1970-01-02"^^xsd:date': (Kind.DATE, 86_400_000_000, NO_ZONE, True),
    '"1970-01-01T00:00:00.000001Z"^^xsd:dateTime': (Kind.DATETIME, 1, 0, True),
    '"1970-01-01T01:00:00+01:00"^^xsd:dateTime': (Kind.DATETIME, 0, 60, True),
    '"1969-12-31T23:59:59.9999999"^^xsd:dateTime': (Kind.DATETIME, -1, NO_ZONE, False),
    '"999999999-01-01"^^xsd:date': (Kind.DATE, 2**63 - 1, NO_ZONE, False),
    '"-999999999-01-01"^^xsd:date': (Kind.DATE, -(2**63), NO_ZONE, False),
}


def test_numbers_beside_the_ids() -> None:
    vocabulary = Vocabulary()
    typed = vocabulary.typed(vocabulary.intern_cells(pa.array(list(TYPED)), OBJECT).ids)
    found = zip(typed.kind.tolist(), typed.number.tolist(), typed.exact.tolist(), strict=True)
    assert dict(zip(TYPED, found, strict=True)) == TYPED
    assert set(typed.zone.tolist()) == {NO_ZONE}
    assert set(typed.category.tolist()) == {2}


def test_moments_beside_the_ids() -> None:
    vocabulary = Vocabulary()
    typed = vocabulary.typed(vocabulary.intern_cells(pa.array(list(MOMENTS)), OBJECT).ids)
    found = zip(typed.kind.tolist(), typed.instant.tolist(), typed.zone.tolist(), typed.exact.tolist(), strict=True)
    assert dict(zip(MOMENTS, found, strict=True)) == MOMENTS


def test_terms_without_a_value() -> None:
    vocabulary = Vocabulary()
    terms = [
        blank("b"),
        plain_name("a"),
        literal("5"),
        literal("five", XSD + "integer"),
        literal("NaN", XSD + "double"),
    ]
    typed = vocabulary.typed(np.array(vocabulary.intern_many(terms), np.int32))
    assert typed.kind.tolist() == [NO_KIND] * 4 + [Kind.DOUBLE]
    assert typed.category.tolist() == [0, 1, 2, 2, 2]
    assert np.isnan(typed.number).all()


@settings(max_examples=100, deadline=None)
@given(st.lists(st.one_of(hostile.numbers, hostile.moments), min_size=2, max_size=8))
def test_columns_order_values_or_say_that_they_cannot(terms: list[Term]) -> None:
    typed = typed_of(terms)
    known = [(row, value_of(term)) for row, term in enumerate(terms)]
    for i, left in known:
        for j, right in known:
            if left is None or right is None or left.value != left.value or right.value != right.value:
                continue
            if isinstance(left.value, Instant) and isinstance(right.value, Instant):
                _check_order(typed.instant, typed.exact, (i, j), (left.value.atto, right.value.atto))
            elif not isinstance(left.value, Instant) and not isinstance(right.value, Instant):
                _check_order(typed.number, typed.exact, (i, j), (left.value, right.value))


def _check_order(column: Any, exact: Any, rows: tuple[int, int], values: tuple[Any, Any]) -> None:
    left, right = column[rows[0]], column[rows[1]]
    if left != right:
        assert (left < right) == (values[0] < values[1])
        assert values[0] != values[1]
    elif exact[rows[0]] and exact[rows[1]]:
        assert values[0] == values[1]


def test_microseconds_are_rounded_down() -> None:
    (instant,) = typed_of([literal("1969-12-31T23:59:59.9999995Z", XSD + "dateTime")]).instant
    assert instant == -1
    assert Decimal(-1) * MICRO < Decimal("-0.0000005") * 10**18


def test_columns_given_out_stay_as_they_were() -> None:
    vocabulary = Vocabulary()
    vocabulary.intern(literal("1", XSD + "integer"))
    before = vocabulary.typed()
    vocabulary.intern_many([literal(str(number), XSD + "integer") for number in range(500)])
    assert before.number.tolist() == [1.0]
    assert vocabulary.typed().number.tolist() == [1.0, 0.0, *map(float, range(2, 500))]
    assert len(vocabulary.overlay().typed().kind) == 500
