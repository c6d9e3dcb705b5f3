"""Columns interned cell by cell, or through an interner table, and how they are compared."""

from __future__ import annotations

import numpy as np
import pytest

from heliograph.errors import TermError
from heliograph.terms import Position, parse_cell
from heliograph.vocabulary import CellIds, Vocabulary, columns
from heliograph.vocabulary.columns import Typed

Shown = tuple[list[int], list[tuple[int, str]]]


def same(left: Typed, right: Typed) -> bool:
    pairs = zip(left.columns, right.columns, strict=True)
    return all(np.array_equal(one, two, equal_nan=one.dtype.kind == "f") for one, two in pairs)


def through_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on everything goes through the interner table, in blocks of a few rows."""
    monkeypatch.setattr(columns, "is_worth", lambda rows, held: rows > 0)
    monkeypatch.setattr(columns, "FEW", 0)
    monkeypatch.setattr(columns, "BLOCK", 7)
    monkeypatch.setattr(columns, "_SMALL", 2)
    monkeypatch.setattr(columns, "_VARIED", 1 << 20)


def interned_singly(into: Vocabulary, texts: list[str | None], position: Position) -> Shown:
    """The naive twin: the ids of cells, and the codes of those that are refused."""
    ids, errors = [], []
    for row, text in enumerate(texts):
        try:
            ids.append(into.intern(parse_cell(text, position)))
        except TermError as error:
            ids.append(-1)
            errors.append((row, error.code))
    return ids, errors


def shown(result: CellIds) -> Shown:
    assert result.ids.dtype == np.int32
    return result.ids.tolist(), [(row, error.code) for row, error in result.errors]
