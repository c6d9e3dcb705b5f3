"""The shapes of the arrays that hold a lexicon, shared by its kernels and their callers. Does not import Numba.

A lexicon lists spelled terms by number and finds the number of a spelling. A term has one spelling as an object (see
`terms.spell`), so two terms are the same if and only if these bytes are.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

Bytes: TypeAlias = "npt.NDArray[np.uint8]"
Int32s: TypeAlias = "npt.NDArray[np.int32]"
Int64s: TypeAlias = "npt.NDArray[np.int64]"
Hashes: TypeAlias = "npt.NDArray[np.uint32]"

BLANK, IRI, LITERAL, TEXT = range(
    4
)  # of kinds; TEXT is a literal that is its text: a plain string or one in a language

MOST_TERMS = (1 << 31) - 1  # of one vocabulary, those below it counted: ids are 32 bits wide, with a sign
REFUSED, OTHER, UNSEEN = -1, -2, -3  # in place of an id: it spells no term; Python reads the cell; not yet looked up
HEAD = 1  # goes into every hash first, so that no text hashes to what does not depend on the key
FULL, PARTS = 7, 10  # of 10 slots at most 7 are taken: 6 probes on average for what is absent, 2 for what is there


class Strings(NamedTuple):
    """Texts end to end: number i has the bytes from offsets[i] to offsets[i + 1]."""

    offsets: Int64s
    data: Bytes


class Lexicon(NamedTuple):
    """The first `size` rows of growing arrays, and a table by linear probing that may hold later rows too.

    A slot is 0 or has the upper half of the hash above the number plus one. The place of a hash grows with it, so that
    a larger table is filled by going through the smaller one from end to end.
    """

    key: int
    size: int
    kinds: Bytes
    offsets: Int64s
    data: Bytes
    slots: npt.NDArray[np.uint64]


class Others(NamedTuple):
    """The cells of a column that a kernel cannot read, as Python read them: row k has entry codes[k]."""

    codes: Int32s
    known: Int32s  # by entry: its id, REFUSED or UNSEEN; filled in where it was unseen
    kinds: Bytes
    spelled: Strings


class Word(NamedTuple):
    """One text somewhere, and the upper half of its hash."""

    data: Bytes
    begin: int
    end: int
    hashed: Any
