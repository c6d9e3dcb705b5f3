"""The arrays that kernels and their callers share: compiled predicates, encoded events, boards, facts, the index.

Each structure is declared once, as a NamedTuple. Its annotations give Numba's types (`kernels.numba_type`) and the
memory (`zeros`). Constants are the columns of rows and the places in small arrays of counters. This module does not
import Numba; kernels are compiled again when it changes.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar, get_type_hints

import numpy as np
import numpy.typing as npt

Int8Rows = np.ndarray[tuple[int, int], np.dtype[np.int8]]
Int16Rows = np.ndarray[tuple[int, int], np.dtype[np.int16]]
Int32s = npt.NDArray[np.int32]
Int32Rows = np.ndarray[tuple[int, int], np.dtype[np.int32]]
Int64s = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bytes = npt.NDArray[np.uint8]
Masks = npt.NDArray[np.uint64]  # sets of lanes, or bitmaps
MaskRows = np.ndarray[tuple[int, int], np.dtype[np.uint64]]

_Structure = TypeVar("_Structure")


def zeros(kind: type[_Structure], *shapes: int | tuple[int, int]) -> _Structure:
    """A structure of arrays of these shapes, all zero."""
    hints = get_type_hints(kind).values()
    return kind(*(np.zeros(shape, item_type(hint)) for shape, hint in zip(shapes, hints, strict=True)))


def item_type(hint: Any) -> Any:
    """The type of the elements of an array, by its annotation."""
    return hint.__args__[1].__args__[0]


# --- compiled predicates ----------------------------------------------------------------------------------------------
#
# An expression is compiled to negation normal form, so that of three truth values only one matters: an instruction
# holds for an event or it does not. A negated test holds where the test is false, and not where it is unknown.
#
# Code is made of instructions of two words: `op | NEGATIVE | attribute << ATTRIBUTE_SHIFT`, and an operand. AND and
# OR open a group; their operand is the number of words of the members that follow. No code at all holds always; an OR
# without members holds never.

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
    -1; `name_nested` says that longer paths begin with it. A word is an attribute and a text.
    """

    key: np.uint64
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


# --- a board: up to 64 events laid out attribute by attribute, a lane each --------------------------------------------
#
# A set of lanes is a mask of 64 bits. Each attribute that some lane defines has a row.

LANES = 64
MAX_FRAMES = 160  # groups within groups: the parser bounds parentheses at 64, and each may open an AND in an OR

# `head`: the number of this board's filling, its rows, its lanes, and whether all of its rows are plain
STAMP, ROWS, SIZE, ALL_PLAIN = 0, 1, 2, 3

# Columns of `rows`. Of the row's numbers the single ones stand in `keys` in ascending order; marks[first + i], with
# first = NUMBERS + the row, are the lanes of the i smallest. A row is PLAIN if no lane has a list or an odd integer.
NUMBERS, NUMBERS_END, CELLS, CELLS_END, PLAIN, ATTRIBUTE = 0, 1, 2, 3, 4, 5
# Columns of `kinds`: the lanes where the attribute is there; is one number, string, boolean; is or holds true, false;
# is a list.
ANY, ONE_NUMBER, ONE_STRING, ONE_BOOLEAN, TRUES, FALSES, LISTS = 0, 1, 2, 3, 4, 5, 6


class Board(NamedTuple):
    head: Int64s
    slots: Int32s  # the row of each attribute, or -1
    rows: Int32Rows
    kinds: MaskRows
    keys: Floats
    marks: Masks
    cells: Int64s  # the cells of each row, in order of lanes
    lanes: Bytes  # the lane of each of these
    words: Masks  # the lanes that hold a word, where stamps has this board's stamp
    stamps: Int64s
    events: Int64s  # the event in each lane
    frames: Int64s  # room for `kernels.holds`
    frame_masks: Masks


class Evaluation(NamedTuple):
    """Programs, the events that they are asked about, and what Python decided for these.

    `slow` has a row for each slow test and a column for each event: 1 true, 0 false, -1 unknown.
    """

    programs: Programs
    cells: Cells
    slow: Int8Rows


def board_sizes(names: Names, cells: Cells) -> tuple[int, int, int, int]:
    """Attributes, rows, cells and words that any 64 of these events need, no one twice, encoded with these names."""
    most = min(len(cells.attribute), LANES * int(np.diff(cells.offsets).max(initial=0)))
    attributes = int(cells.attribute.max(initial=-1)) + 1
    return attributes + 1, min(attributes, most) + 1, most + 1, len(names.word_attributes) + 1


def make_board(attributes: int, rows: int, cells: int, words: int) -> Board:
    """An empty board of such sizes."""
    frames = 2 * MAX_FRAMES
    places = (cells, cells + rows, cells, cells)
    board = zeros(Board, 4, attributes, (rows, 6), (rows, 7), *places, words, words, LANES, frames, frames)
    board.slots[:] = -1
    return board


# --- facts code: what most expressions are compiled to a second time --------------------------------------------------
#
# An expression of two levels, an OR of ANDs or an AND of ORs, becomes groups of pairs of *facts*: a test holds in the
# lanes of its first fact that are not lanes of its second. A fact is the set of lanes for which something elementary
# is so: one number is below a bound, the attribute is there, the string is one of a set. All facts of a board are
# found out at once, each attribute's bounds in one pass over its sorted numbers; then every test is two loads, and
# there is hardly anything for a processor to mispredict. The law: where facts code exists, and no lane has a list or
# an odd integer, it gives what the code of `Programs` gives.

NO_LANES, ALL_LANES, FIRST_FACT = 0, 1, 2  # facts that are always known
BELOW, UPTO = 0, 1  # the two facts of a bound; that lanes equal it is one of its own, where it is asked
KIND_FACTS = 8  # the facts of an attribute, in the order of the columns of `Board.kinds`

OR_OF_ANDS, AND_OF_ORS = 0, 1


class FactsCode(NamedTuple):
    """Code of expression e begins at starts[e], or is none where that is -1: which form and how many groups, then the
    number of facts of each group, then the facts, two a test.
    """

    starts: Int64s
    code: Int32s
    bounds: Floats  # the numbers that attributes are compared with, each attribute's own
    bound_attributes: Int32s
    bound_facts: Int32s  # the first of the two facts of each bound
    equal_facts: Int32s  # that lanes equal a bound, or -1
    word_facts: Int32s  # the fact of each word, or -1
    attribute_facts: Int32s  # the first fact of each attribute, or -1
    word_sets: Int32Rows  # a place in `Programs.sets`, and the fact
    bound_sets: Int32s  # a fact, how many bounds, these; and so on


class FactsOrder(NamedTuple):
    """What was in order when it was last sorted; what came later is looked at one by one.

    Attribute a has the bounds order[ranges[a]] … order[ranges[a + 1] - 1], ascending. Word w is in the sets whose facts
    are set_facts[set_ranges[w]] … set_facts[set_ranges[w + 1] - 1].
    """

    order: Int32s
    ranges: Int64s
    set_facts: Int32s
    set_ranges: Int64s
    set_count: int


# Places in `Translation.sizes`: how much of each array is in use, and how many facts there are.
EXPRESSIONS, WORDS, BOUNDS, WORD_SETS, BOUND_SETS, FACTS = 0, 1, 2, 3, 4, 5


class Translation(NamedTuple):
    """Room for more facts code: its arrays with room to grow, and tables of what has a fact already."""

    sizes: Int64s
    coded: FactsCode
    bound_slots: Int32s
    set_facts: Int32s  # of each place in `Programs.sets`, or -1


# `Facts.head`: how many are touched; the stamp of the board that they were learnt from; that of the board about which
# expressions were asked without them, and how many.
TOUCHED, LEARNT, ASKED_ABOUT, ASKED = 0, 1, 2, 3


class Facts(NamedTuple):
    """The lanes of each fact on the present board; `touched` are those to be emptied for the next one."""

    known: Masks
    touched: Int32s
    dirty: Int32s  # attributes whose bounds are not all empty
    head: Int64s


def make_facts(facts: int, attributes: int) -> Facts:
    """Room for so many facts."""
    made = zeros(Facts, facts + 1, facts + 1, attributes + 1, 4)
    made.known[ALL_LANES] = ~np.uint64(0)
    return made


class Job(NamedTuple):
    """All that is needed to ask expressions about events."""

    events: Evaluation
    coded: FactsCode
    order: FactsOrder
    facts: Facts
    board: Board


# --- the predicate index ----------------------------------------------------------------------------------------------
#
# A *row* is an id with its expression, a *place* the row's rank in the order of reporting. A *group* is an expression
# of a segment with all rows that share it. What a true expression needs, one of a few literals, is indexed: strings
# by word, everything else as an interval on an axis, whose values are rounded to the buckets between some chosen
# edges. Rounding is monotone, so a value within an interval always falls within its buckets.

# The axes of attribute a are 3 a + one of these. On TEXT_AXIS lies the number that a string's first 8 bytes spell; on
# PRESENCE_AXIS every cell, a TRUE one at 1 and a FALSE one at 2.
NUMBER_AXIS, TEXT_AXIS, PRESENCE_AXIS = 0, 1, 2
AXES = 3

# Columns of what `index_kernels.choose` gives: an axis with buckets, or a word with LOW = WORD, or nothing that
# could be indexed with LOW = OPEN; and the group.
KEY, LOW, HIGH, GROUP = 0, 1, 2, 3
ACCESS_COLUMNS = 4
WORD, OPEN = -1, -2
NOTHING = -1  # the axis of a literal that no cell is needed for
ALTERNATIVE = 4  # so many attributes of an alternative are looked at
LARGEST_REQUIRED = (1 << 15) - 1  # beyond it an attribute is not looked at

# Columns of `runs`: intervals of one axis that lie near each other, from BEGIN to END, and the hull of their buckets.
BEGIN, END, LOWEST, HIGHEST = 0, 1, 2, 3
RUN_SIZE = 32

NEVER_DIED = (1 << 63) - 1


class Axes(NamedTuple):
    """Axis x has the edges from offsets[x] to offsets[x + 1]; a value's bucket is the number of edges up to it."""

    offsets: Int64s
    edges: Floats


class Chances(NamedTuple):
    """What is known of events: how likely they have an attribute, and one of its words if they have it."""

    present: Floats
    word: Floats


class ChoiceRoom(NamedTuple):
    """Room for one expression: how likely each of its instructions is true, and which are still to be looked at."""

    costs: Floats
    stack: Int64s


class PredicateSegment(NamedTuple):
    """Groups and their index; group g has the rows members[offsets[g]:offsets[g + 1]]. `open` ones are always asked."""

    expressions: Int32s
    offsets: Int32s
    members: Int32s
    open: Int32s
    words: Int32s  # ascending
    word_offsets: Int32s
    word_groups: Int32s
    axes: Axes
    run_offsets: Int64s  # of each axis
    runs: Int32Rows
    lows: Int32s
    highs: Int32s
    interval_groups: Int32s
    required: Int16Rows  # the attributes, plus one, of each alternative, and zeros
    required_groups: Int32s


class PredicateRows(NamedTuple):
    """The rows of an index. A reader of version v sees those with died > v."""

    expression: Int32s
    place: Int32s
    died: Int64s


CANDIDATES, FOUND, LOOKED_UP = 0, 1, 2  # `counts`: pairs asked, entries of the index met, the stamp of words looked up


class SearchRoom(NamedTuple):
    """Room for one block of events. Between blocks masks, touched, results and reported are zero."""

    masks: Masks  # the lanes for which each group is a candidate
    touched: Masks  # a bit for each group
    up_to: Masks  # the lanes with a value in this bucket or below it
    since: Masks  # … or above it
    stamps: Int64s  # of each word: when it was looked up last
    results: Masks  # the lanes that each place matches
    reported: Masks  # a bit for each place
    present: Masks  # the lanes that have each attribute, plus one
    lanes: Int64s  # how many results each lane has
    counts: Int64s
