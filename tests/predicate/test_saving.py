"""Compiled targeting that is packed and opened: the same truth by the same numbers, and nothing that leads nowhere."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from heliograph.predicate import layout
from heliograph.predicate.compile import Targeting
from heliograph.predicate.form import Predicate, to_sql
from heliograph.predicate.parser import parse_predicate
from heliograph.predicate.save import PackedTargeting, pack_targeting, unpack_targeting
from tests.predicate.forms import check_holds, events, forms

TEXTS = ["x = 1 AND y = 'a'", "x IN (1, 2)", "y IN ('a', 'b') OR NOT z", "x BETWEEN 1 AND 2", "y LIKE 'a%'"]
TEXTS += ["y ILIKE 'A'", "x = y", "z IS NULL", "a.b = 9007199254740993"]


def opened(packed: PackedTargeting) -> Targeting:
    return unpack_targeting(packed.arrays, packed.tables)


@settings(max_examples=60)
@given(st.lists(forms, min_size=1, max_size=4), st.lists(events, min_size=1, max_size=3), forms)
def test_what_is_packed_means_the_same(several: list[Predicate], trees: list[dict[str, Any]], later: Predicate) -> None:
    texts = [to_sql(form) for form in (*several, later)]
    assume("\ud800" not in "".join(texts))  # no table holds half a character
    *read, new = map(parse_predicate, texts)
    targeting = Targeting()
    numbers = {targeting.add(form): form for form in read}
    again = opened(pack_targeting(targeting))
    check_holds(again, numbers, trees)
    assert [again.add(form) for form in read] == [targeting.add(form) for form in read]
    check_holds(again, {again.add(new): new}, trees)


def test_sets_of_labels() -> None:
    targeting = Targeting()
    number = targeting.add_labels(frozenset("AB"), "intersects")
    again = opened(pack_targeting(targeting))
    assert again.add_labels(frozenset("AB"), "intersects") == number
    assert len(again) == len(targeting)


def packed() -> PackedTargeting:
    targeting = Targeting()
    assert all(isinstance(number, int) for number in targeting.add_many(TEXTS))
    return pack_targeting(targeting)


def place_of(code: Any, op: int) -> int:
    """Where the operand of the first such instruction stands."""
    return 2 * int(np.flatnonzero(code[::2] & (layout.NEGATIVE - 1) == op)[0]) + 1


@pytest.mark.parametrize(
    "op",
    [
        layout.AND,
        layout.NUMBER_EQ,
        layout.NUMBER_IN,
        layout.NUMBER_BETWEEN,
        layout.WORD_EQ,
        layout.WORD_IN,
        layout.TEXT_LIKE,
        layout.PAIR_EQ,
        layout.SLOW,
    ],
)
@pytest.mark.parametrize("operand", [-1, 1000])
def test_an_operand_that_is_nowhere(op: int, operand: int) -> None:
    made = packed()
    code = made.arrays["expressions.data"].copy()
    code[place_of(code, op)] = operand
    with pytest.raises(ValueError, match=r"refers to nothing|is cut"):
        opened(made._replace(arrays={**made.arrays, "expressions.data": code}))


@pytest.mark.parametrize(
    ("name", "change", "why"),
    [
        ("expressions.data", lambda a: a * 0 + 99, "first expressions"),
        ("expressions.offsets", lambda a: a[::-1], "do not fit"),
        ("expressions.offsets", lambda a: np.concatenate((a[:-1], [a[-1] + 2])), "do not fit"),
        ("numbers.data", lambda a: a.astype(np.float32), "another type"),
        ("numbers.data", lambda a: a.reshape(1, -1), "missing or wrong"),
        ("sets.data", lambda a: a + 1, "no such word|cut short"),
        ("sets.offsets", lambda a: a[[0, -1]] * 0, "do not fit"),
    ],
)
def test_arrays_that_nobody_wrote(name: str, change: Any, why: str) -> None:
    made = packed()
    with pytest.raises(ValueError, match=why):
        opened(made._replace(arrays={**made.arrays, name: change(made.arrays[name])}))


@pytest.mark.parametrize(
    ("name", "rows", "why"),
    [
        ("paths", [{"path": []}], "no name"),
        ("paths", [{"path": ["x"]}, {"path": ["x"]}], "twice"),
        ("words", [{"attribute": 50, "text": "a"}], "no attribute"),
        ("words", [{"attribute": 0, "text": None}], "missing or wrong"),
        ("slow", [{"predicate": "x ="}], "cannot be read"),
        ("slow", [{"predicate": "x = 1 OR y = 1"}], "cannot be read"),
    ],
)
def test_tables_that_nobody_wrote(name: str, rows: list[dict[str, Any]], why: str) -> None:
    made = packed()
    table = pa.Table.from_pylist(rows, made.tables[name].schema)
    tables = {**made.tables, name: table} | ({"words": made.tables["words"].slice(0, 0)} if name == "paths" else {})
    with pytest.raises(ValueError, match=why):
        opened(made._replace(tables=tables))
