"""The seed's index, built once for an exchange: which lists each node's expression stands in.

[B] takes any index for Boolean expressions that gives the next valid node ([B] section 2, its [12] and [22]). This one
is inverted: each expression stands in the lists of a necessary set of its tests (`kernels.seed_listing`), words in a
list each, ranges of numbers in a segment tree for each attribute, other tests under the attribute that has to be there.
What cannot be listed at all (IS NULL, tests that Python decides) is a candidate of every event.

A node that no edge leads to can only publish, and is not indexed: [B] table 2 has 11,086 valid nodes where all 71,097
accept everything, which are the networks and the advertisers.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from heliograph.index.arrays import fixed
from heliograph.kernels import targeting_layout as code
from heliograph.kernels.seed_layout import Lists, SeedIndex, Set
from heliograph.kernels.targeting_layout import Floats, Int32s, Int64s, Masks, Programs

Bools = npt.NDArray[np.bool_]
_NO_LIST, _WORDS, _RANGES, _PRESENT = 0, 1, 2, 3
_OWN_WEIGHTS = np.array([np.inf, 0.0, 0.0, 1.0])  # of each kind, besides those of its words or ranges
_PAIR_OPS = tuple(range(code.PAIR_EQ, code.PAIR_GE + 1))
_RANGE_OPS = (code.NUMBER_EQ, code.NUMBER_GE, code.NUMBER_LE, code.NUMBER_BETWEEN, code.NUMBER_IN)


class _Tests(NamedTuple):
    """The instructions of all expressions as columns, and where each can be listed."""

    op: Int32s
    negative: Bools
    attribute: Int32s
    operand: Int32s
    kind: npt.NDArray[np.int8]


class _Words(NamedTuple):
    """The words that tests ask for."""

    test: Int64s
    word: Int64s

    def of(self, chosen: Bools) -> _Words:
        kept = chosen[self.test]
        return _Words(self.test[kept], self.word[kept])


class _Ranges(NamedTuple):
    """The ranges that tests ask for, from `low` to just below `high`."""

    test: Int64s
    low: Floats
    high: Floats

    def of(self, chosen: Bools) -> _Ranges:
        kept = chosen[self.test]
        return _Ranges(self.test[kept], self.low[kept], self.high[kept])


class _Cuts(NamedTuple):
    """Attribute a cuts the numbers at bounds[offsets[a] : offsets[a + 1]]: the ends of all its ranges."""

    offsets: Int64s
    bounds: Floats

    @property
    def stretches(self) -> Int64s:
        """Of each attribute: stretch k lies behind the first k cuts."""
        return np.diff(self.offsets) + 1


def build_index(programs: Programs, word_attributes: Int32s, expressions: Int32s, entered: Bools) -> SeedIndex:
    """The index of nodes that have these expressions; `entered` are those that some edge leads to."""
    tests = _read_tests(programs)
    words, ranges = _find_words(programs, tests), _find_ranges(programs, tests)
    cuts = _cut_numbers(tests, ranges)
    weights = _weigh_words(tests, words, word_attributes) + _weigh_ranges(tests, ranges, cuts)
    chosen, listed = _choose(programs, weights + _OWN_WEIGHTS[tests.kind])
    nodes = _Nodes(programs, expressions, entered & listed[expressions])
    never = expressions == code.NEVER
    present = np.flatnonzero(chosen & (tests.kind == _PRESENT))
    words = words.of(chosen)
    sizes, trees, stretches = _grow_trees(tests, ranges.of(chosen), cuts, nodes)
    return SeedIndex(
        _bitmap(entered & ~listed[expressions] & ~never),
        nodes.lists(words.word, words.test, len(word_attributes)),
        nodes.lists(tests.attribute[present].astype(np.int64), present, len(sizes)),
        cuts.offsets,
        cuts.bounds,
        trees,
        sizes,
        stretches,
    )


class _Nodes:
    """Leads from tests to the nodes whose expression they belong to."""

    def __init__(self, programs: Programs, expressions: Int32s, wanted: Bools) -> None:
        ids = np.flatnonzero(wanted)
        self._ids = ids[np.argsort(expressions[ids], kind="stable")]
        self._offsets = np.searchsorted(expressions[self._ids], np.arange(len(programs.starts)))
        self._starts = programs.starts >> 1

    def of(self, tests: Int64s) -> tuple[Int64s, Int64s]:
        """The places in `tests`, and beside each the ids of the nodes it is a test of."""
        expression = np.searchsorted(self._starts, tests, side="right") - 1
        begin, size = self._offsets[expression], np.diff(self._offsets)[expression]
        place = np.repeat(np.arange(len(tests)), size)
        first = np.cumsum(size) - size
        return place, self._ids[np.repeat(begin - first, size) + np.arange(len(place))]

    def lists(self, keys: Int64s, tests: Int64s, count: int) -> Lists:
        """A list of nodes for each of `count` keys."""
        place, ids = self.of(tests)
        return _lists(keys[place], ids, count)


def _lists(keys: Int64s, ids: Int64s, count: int) -> Lists:
    order = np.lexsort((ids, keys))
    offsets = np.searchsorted(keys[order], np.arange(count + 1))
    return Lists(offsets.astype(np.int64), ids[order].astype(np.int32))


def _read_tests(programs: Programs) -> _Tests:
    used = programs.code[: programs.starts[-1]]  # a snapshot may hold code whose start came later
    word, operand = used[0::2], used[1::2]
    op, negative = word & 0x7F, word & code.NEGATIVE != 0
    kind = np.full(len(op), _PRESENT, np.int8)
    kind[np.isin(op, _RANGE_OPS) & ~negative] = _RANGES
    kind[np.isin(op, (code.WORD_EQ, code.WORD_IN)) & ~negative] = _WORDS
    kind[np.isin(op, (code.AND, code.OR, code.WORDS_WITHIN, code.SLOW))] = _NO_LIST
    kind[(op == code.IS_NULL) & ~negative] = _NO_LIST
    kind[np.isin(op, _PAIR_OPS) & negative] = _NO_LIST  # an empty list makes it false without the other attribute
    return _Tests(op, negative, word >> code.ATTRIBUTE_SHIFT, operand, kind)


def _find_words(programs: Programs, tests: _Tests) -> _Words:
    single = np.flatnonzero((tests.kind == _WORDS) & (tests.op == code.WORD_EQ))
    many = np.flatnonzero((tests.kind == _WORDS) & (tests.op == code.WORD_IN))
    test, place = _members(many, tests.operand[many], programs.sets)
    word = np.concatenate([tests.operand[single], programs.sets[place]]).astype(np.int64)
    return _Words(np.concatenate([single, test]), word)


def _find_ranges(programs: Programs, tests: _Tests) -> _Ranges:
    numbers = programs.numbers
    plain = np.flatnonzero((tests.kind == _RANGES) & (tests.op != code.NUMBER_IN))
    many = np.flatnonzero((tests.kind == _RANGES) & (tests.op == code.NUMBER_IN))
    test, place = _members(many, tests.operand[many], numbers)
    op, operand = tests.op[plain], tests.operand[plain]
    last = np.where(op == code.NUMBER_BETWEEN, operand + 1, operand)
    low = np.where(op == code.NUMBER_LE, -np.inf, numbers[operand])
    high = np.where(op == code.NUMBER_GE, np.inf, np.nextafter(numbers[last], np.inf))
    low = np.concatenate([low, numbers[place]])
    high = np.concatenate([high, np.nextafter(numbers[place], np.inf)])
    return _Ranges(np.concatenate([plain, test]), low, high)


def _members(tests: Int64s, operands: Int32s, values: npt.NDArray[np.generic]) -> tuple[Int64s, Int64s]:
    """The places of the values of sets, which stand behind their size, and the test of each."""
    size = values[operands].astype(np.int64)
    first = np.cumsum(size) - size
    return np.repeat(tests, size), np.repeat(operands + 1 - first, size) + np.arange(int(size.sum()))


def _cut_numbers(tests: _Tests, ranges: _Ranges) -> _Cuts:
    attributes = int(tests.attribute.max(initial=-1)) + 1
    attribute = tests.attribute[ranges.test]
    ends = [_ends(ranges, attribute == number) for number in range(attributes)]
    offsets = np.cumsum([0, *map(len, ends)], dtype=np.int64)
    return _Cuts(offsets, np.concatenate([*ends, np.empty(0)]))


def _ends(ranges: _Ranges, chosen: Bools) -> Floats:
    ends: Floats = np.unique(np.concatenate([ranges.low[chosen], ranges.high[chosen]]))
    return np.compress(np.isfinite(ends), ends)


def _stretches(tests: _Tests, ranges: _Ranges, cuts: _Cuts) -> tuple[Int64s, Int64s]:
    """The first and the last stretch of each range."""
    first, last = np.zeros(len(ranges.test), np.int64), np.zeros(len(ranges.test), np.int64)
    attribute = tests.attribute[ranges.test]
    for number in np.unique(attribute).tolist():
        own, bounds = attribute == number, cuts.bounds[cuts.offsets[number] : cuts.offsets[number + 1]]
        first[own] = np.searchsorted(bounds, ranges.low[own], side="right")
        last[own] = np.searchsorted(bounds, ranges.high[own], side="left")
    return first, last


def _weigh_words(tests: _Tests, words: _Words, word_attributes: Int32s) -> Floats:
    """Which share of its attribute's words a test asks for: about the share of events that will find it."""
    known = np.bincount(word_attributes, minlength=int(tests.attribute.max(initial=0)) + 1)
    share = 1 / np.maximum(1, known[tests.attribute[words.test]])
    return _sum(words.test, share, len(tests.op))


def _weigh_ranges(tests: _Tests, ranges: _Ranges, cuts: _Cuts) -> Floats:
    """Which share of its attribute's stretches a test asks for."""
    first, last = _stretches(tests, ranges, cuts)
    share = (last - first + 1) / cuts.stretches[tests.attribute[ranges.test]]
    return _sum(ranges.test, share, len(tests.op))


def _sum(places: Int64s, shares: Floats, count: int) -> Floats:
    sums = np.zeros(count)
    np.add.at(sums, places, shares)
    return sums


def _choose(programs: Programs, weights: Floats) -> tuple[Bools, Bools]:
    """Which tests are in the necessary set of their expression, and which expressions can be listed."""
    from heliograph.kernels.seed_listing import choose

    chosen = np.zeros(len(weights), np.uint8)
    totals = np.empty(len(programs.starts) - 1)
    choose(fixed(programs), fixed(weights), np.empty(len(weights)), chosen, totals)
    return chosen.astype(bool), np.isfinite(totals)


def _grow_trees(tests: _Tests, ranges: _Ranges, cuts: _Cuts, nodes: _Nodes) -> tuple[Int64s, Int64s, Lists]:
    """For each attribute its leaves and the first list of its tree, and the lists of all trees."""
    from heliograph.kernels.seed_listing import cover

    leaves = 1 << np.ceil(np.log2(cuts.stretches)).astype(np.int64)
    sizes = np.where(cuts.stretches > 1, leaves, 0)
    trees = np.cumsum(2 * sizes) - 2 * sizes
    attribute = tests.attribute[ranges.test]
    first, last = _stretches(tests, ranges, cuts)
    covering = fixed(first), fixed(last), fixed(sizes[attribute])
    none = np.empty(0, np.int32)
    count = cover(*covering, none, none)
    node, entry = np.empty(count, np.int32), np.empty(count, np.int32)
    cover(*covering, node, entry)
    lists = nodes.lists(trees[attribute[entry]] + node, ranges.test[entry], int(2 * sizes.sum()))
    return sizes, trees, lists


def _bitmap(members: Bools) -> Set:
    words = _pack(members, len(members) // 64 + 1)
    return Set(words, _pack(words != 0, len(words) // 64 + 1))


def _pack(bits: Bools, words: int) -> Masks:
    padded = np.zeros(64 * words, bool)
    padded[: len(bits)] = bits
    return np.packbits(padded, bitorder="little").view("<u8").astype(np.uint64)
