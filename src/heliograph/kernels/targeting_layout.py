"""The shapes of compiled targeting and of encoded events, shared by kernels and their callers. Does not import Numba.

An expression is compiled to negation normal form, so that of three truth values only one matters: an instruction holds
for an event or it does not. A negated test holds where the test is false, and not where it is unknown.

Code is made of instructions of two words: `op | NEGATIVE | attribute << ATTRIBUTE_SHIFT`, and an operand. AND and OR
open a group; their operand is the number of words of the members that follow. No code at all holds always; an OR
without members holds never.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bytes = npt.NDArray[np.uint8]
Masks = npt.NDArray[np.uint64]

ALWAYS, NEVER = 0, 1  # the numbers of the expressions TRUE and FALSE in every store

NEGATIVE = 1 << 7
ATTRIBUTE_SHIFT = 8
AND, OR = 1, 2
# Operand: a place in `numbers`; BETWEEN has two there, IN its size and then its values in ascending order. Strict
# bounds are written as the next number: v < c is v <= the float before c.
NUMBER_EQ, NUMBER_NE, NUMBER_GE, NUMBER_LE, NUMBER_BETWEEN, NUMBER_IN = 3, 4, 5, 6, 7, 8
# Operand: a word, that is a string constant of one attribute; IN and WITHIN: a place in `sets`, where the size and
# the words in ascending order stand. WITHIN holds where every string of the attribute is one of the set.
WORD_EQ, WORD_NE, WORD_IN, WORDS_WITHIN = 9, 10, 11, 12
# Operand: a text. Order by bytes of UTF-8, which is that of code points. In a pattern ANY_TEXT and ANY_CHARACTER, bytes
# that UTF-8 does not use, stand for % and _.
TEXT_GE, TEXT_GT, TEXT_LE, TEXT_LT, TEXT_LIKE = 13, 14, 15, 16, 17
ANY_TEXT, ANY_CHARACTER = 0xFF, 0xFE
TRUTH = 18  # operand: 1 where the attribute has to be true, 0 where false
IS_NULL = 19
PAIR_EQ, PAIR_NE, PAIR_LT, PAIR_LE, PAIR_GT, PAIR_GE = 20, 21, 22, 23, 24, 25  # operand: the other attribute
SLOW = 26  # operand: the number of a test that Python decides for each event


class Programs(NamedTuple):
    """Expressions end to end: expression e has the words of `code` from starts[e] to starts[e + 1]."""

    starts: Int64s
    code: Int32s
    numbers: Floats
    sets: Int32s
    text_offsets: Int64s
    texts: Bytes


class Names(NamedTuple):
    """What an event's names and strings are called inside: hash tables by linear probing, powers of two of slots.

    A known name is the first one of some attribute's path. `name_attributes` is the attribute of that name alone, or
    -1; `name_nested` tells that longer paths begin with it. A word is an attribute and a text.
    """

    key: int
    name_slots: Int32s
    name_offsets: Int64s
    name_bytes: Bytes
    name_attributes: Int32s
    name_nested: Bytes
    word_slots: Int32s
    word_attributes: Int32s
    word_offsets: Int64s
    word_bytes: Bytes


# The kinds of cells. ODD is an integer that no float equals: it lies strictly between `number` and the next float.
# OTHER is an object, or a list within a list. LIST marks that the attribute is a list; its elements, other than nulls,
# are cells of their own with LISTED set. A missing attribute and a JSON null have no cell.
NUMBER, ODD, STRING, TRUE, FALSE, OTHER, LIST = 1, 2, 3, 4, 5, 6, 7
LISTED = 0x80


class Cells(NamedTuple):
    """The attributes of events: event e has the cells from offsets[e] to offsets[e + 1], an attribute's together.

    `word` is the string constant that the cell equals, or -1; `begin` and `size` are its bytes in `text`: of STRING the
    characters, of ODD the digits, by which two of them above one float are compared.
    """

    offsets: Int64s
    attribute: Int32s
    kind: Bytes
    number: Floats
    word: Int32s
    begin: Int64s
    size: Int32s
    text: Bytes
