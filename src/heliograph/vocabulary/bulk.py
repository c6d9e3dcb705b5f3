"""A block of cells made ready for a lexicon: simple ones hashed by a kernel, all others read in Python.

The law: a block is read without looking at the vocabulary, apart from what it remembers of cells, so that the lock is
held only while ids are given.
"""

from __future__ import annotations

import sys
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from heliograph.cells import Text, distinct
from heliograph.errors import TermError
from heliograph.kernels import lexicon_layout as layout
from heliograph.kernels.cache import announce, is_warm
from heliograph.kernels.lexicon_layout import Others, Strings
from heliograph.publications import Ids
from heliograph.terms import Position, Term, spell
from heliograph.vocabulary.lexicon import fixed, kind_of, strings, strings_of
from heliograph.vocabulary.memo import Column, Memo

BLOCK = 1 << 16  # rows entered at a time: their hashes stay in the cache, and readers wait no longer than for these
_MANY, _SOME = 200_000, 2_000
_KERNEL, _MODULE = "lexicon.enter", "heliograph.kernels.lexicon"


def is_worth(rows: int, held: int) -> bool:
    """Whether the kernels pay for a column, in a vocabulary that holds so many terms.

    A cell that is new costs Python 5 µs and the kernels 0.1 µs, importing Numba nearly a second.
    """
    if rows < _SOME:
        return False
    return rows + held >= _MANY or ("numba" in sys.modules and (_MODULE in sys.modules or _was_compiled()))


@cache
def _was_compiled() -> bool:
    return is_warm(_KERNEL)


class Block(NamedTuple):
    """Cells that were read: which are others is marked in `ids`, and for these there are the texts and errors."""

    cells: Strings
    hashes: npt.NDArray[np.uint32]
    ids: Ids
    others: Others
    texts: list[Text]
    errors: dict[int, TermError]
    new: list[int]

    def refused(self, first: int) -> list[tuple[int, TermError]]:
        """The rows that were refused, counted from `first`, and why; known only when the ids are."""
        rows = np.flatnonzero(self.ids < 0)
        if not len(rows):
            return []
        codes = self.others.codes[self.others.known[self.others.codes] < 0]
        return [(first + row, self.errors[code]) for row, code in zip(rows.tolist(), codes.tolist(), strict=True)]

    def remember(self, memo: Memo, column: Column) -> None:
        if self.new:
            memo.remember({self.texts[number]: int(self.others.known[number]) for number in self.new}, column)


def read(cells: pa.Array[Any], column: Column, memo: Memo, key: Any) -> Block:
    """The cells of one Arrow array of strings, as `Lexicon.enter` takes them."""
    announce(_KERNEL)
    from heliograph.kernels import lexicon as kernels

    held, ids, hashes = strings_of(cells), np.empty(len(cells), np.int32), np.empty(len(cells), np.uint32)
    valid = np.asarray(cells.is_valid()).view(np.uint8) if cells.null_count else np.zeros(0, np.uint8)
    if not kernels.read(held, fixed(valid), int(column.position is Position.PROPERTY), key, hashes, ids):
        return Block(held, hashes, ids, _NO_OTHERS, [], {}, [])
    codes, texts = distinct(cells.take(np.flatnonzero(ids == layout.OTHER)))
    known, errors, terms = _read_others(texts, column, memo)
    spelled = strings([spell(terms[number]) if number in terms else None for number in range(len(known))])
    kinds = np.zeros(len(known), np.uint8)
    kinds[list(terms)] = [kind_of(term) for term in terms.values()]
    entry = np.where(codes < 0, len(texts), codes).astype(np.int32)
    return Block(held, hashes, ids, Others(fixed(entry), known, fixed(kinds), spelled), texts, errors, list(terms))


def _read_others(texts: list[Text], column: Column, memo: Memo) -> tuple[Ids, dict[int, TermError], dict[int, Term]]:
    """By number of a text, and last for a null: its id if that is remembered, or the error, or the term."""
    known = np.array([*memo.recall(texts, column), -1], np.int32)
    outcomes = {number: column.read(text) for number, text in enumerate([*texts, None]) if known[number] < 0}
    terms = {number: outcome for number, outcome in outcomes.items() if isinstance(outcome, Term)}
    known[list(terms)] = layout.UNSEEN
    return known, {number: error for number, error in outcomes.items() if isinstance(error, TermError)}, terms


_NO_OTHERS = Others(fixed(np.zeros(0, np.int32)), np.zeros(0, np.int32), fixed(np.zeros(0, np.uint8)), strings(()))
