"""Quick code as it grows with the expressions: see `kernels.quick_layout` for what it is.

The law: a snapshot covers every expression that the programs had when it was made, and stays as it was. What came since
the last sorting is asked for one by one, so it is sorted again when that is an eighth of all.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from heliograph.kernels import quick_layout as of
from heliograph.kernels import targeting_layout as code
from heliograph.kernels.quick_layout import Quick, Sorted, Translation
from heliograph.kernels.targeting_layout import Int32s, Int64s, Names, Programs
from heliograph.targeting.growing import fixed

_LOOSE = 256  # so many later bounds or sets are always put up with
_BATCH = 2048  # expressions

_COLUMNS: tuple[Any, ...] = (np.int64, np.int32, np.float64, *[np.int32] * 7)


class Snapshot(NamedTuple):
    quick: Quick
    order: Sorted
    facts: int


class QuickCode:
    """The quick code of all expressions of one store. One writer."""

    def __init__(self) -> None:
        self._sizes = np.array([0, 0, 0, 0, 0, of.FIRST_FACT], np.int64)
        arrays = [np.zeros(0, dtype) for dtype in _COLUMNS]
        self._arrays = Quick(*arrays)._replace(word_sets=np.zeros((0, 2), np.int32))
        self._bound_slots = np.full(2, -1, np.int32)
        self._set_facts = np.zeros(0, np.int32)
        self._order = _sort(self._cut(), np.zeros(0, np.int32))

    def snapshot(self, programs: Programs, names: Names, attributes: int) -> Snapshot:
        """Quick code for these programs, which hold at least all earlier ones."""
        if len(programs.starts) - 1 > self._sizes[of.EXPRESSIONS]:
            self._translate(programs, len(names.word_attributes), attributes)
            self._keep_sorted(programs)
        return Snapshot(fixed(self._cut()), self._order, int(self._sizes[of.FACTS]))

    def _translate(self, programs: Programs, words: int, attributes: int) -> None:
        """Some expressions at a time: room for all that many could need would be several times what they do need."""
        from heliograph.kernels.translating import translate

        last = len(programs.starts) - 1
        while (done := int(self._sizes[of.EXPRESSIONS])) < last:
            part = programs._replace(starts=programs.starts[: min(last, done + _BATCH) + 1])
            self._make_room(part, words, attributes)
            translate(part, self._translation())

    @property
    def nbytes(self) -> int:
        arrays = (*self._arrays, *self._order[:4], self._bound_slots, self._set_facts)
        return sum(array.nbytes for array in arrays)

    def _translation(self) -> Translation:
        return Translation(self._sizes, self._arrays, self._bound_slots, self._set_facts)

    def _cut(self) -> Quick:
        """The arrays as far as they are in use."""
        expressions, words, bounds, word_sets, bound_sets, _ = self._sizes.tolist()
        whole = self._arrays
        return Quick(
            whole.starts[:expressions],
            whole.code[:words],
            whole.bounds[:bounds],
            whole.bound_attributes[:bounds],
            whole.bound_facts[:bounds],
            whole.equal_facts[:bounds].copy(),
            whole.word_facts.copy(),
            whole.attribute_facts.copy(),
            whole.word_sets[:word_sets],
            whole.bound_sets[:bound_sets],
        )

    def _make_room(self, programs: Programs, words: int, attributes: int) -> None:
        """For all that the new expressions can need: their tests, their groups, and the members of their sets."""
        first = int(self._sizes[of.EXPRESSIONS])
        new = programs.code[programs.starts[first] : programs.starts[-1]].reshape(-1, 2)
        ops = new[:, 0] & 0x7F
        listed = programs.numbers[new[ops == code.NUMBER_IN, 1]]
        bounds = int(self._sizes[of.BOUNDS] + 2 * (ops <= code.NUMBER_IN).sum() + listed.sum())
        room = (
            len(programs.starts) - 1,
            int(self._sizes[of.WORDS]) + 3 * len(new) + 4 * (len(programs.starts) - 1 - first),
            *(bounds, bounds, bounds, bounds, words, attributes),
            int(self._sizes[of.WORD_SETS] + (ops == code.WORD_IN).sum()),
            int(self._sizes[of.BOUND_SETS] + listed.sum() + 2 * len(listed)),
        )
        filled = (0, 0, 0, 0, 0, 0, -1, -1, 0, 0)
        grown = (_grown(*parts) for parts in zip(self._arrays, room, filled, strict=True))
        self._arrays = Quick(*grown)
        self._set_facts = _grown(self._set_facts, len(programs.sets), -1)
        if 2 * bounds > len(self._bound_slots):
            self._spread(bounds)

    def _spread(self, bounds: int) -> None:
        from heliograph.kernels.translating import enter

        self._bound_slots = np.full(1 << (2 * bounds).bit_length(), -1, np.int32)
        enter(self._translation())

    def _keep_sorted(self, programs: Programs) -> None:
        quick = self._cut()
        loose = len(quick.bounds) - len(self._order.order), len(quick.word_sets) - self._order.set_count
        if loose[0] > _LOOSE + len(quick.bounds) // 8 or loose[1] > _LOOSE + len(quick.word_sets) // 8:
            self._order = _sort(quick, programs.sets)


def _grown(array: Any, size: int, filled: int) -> Any:
    """At least this long; twice as long at once, so that little by little costs no more."""
    if size <= len(array):
        return array
    shape = (max(size, 2 * len(array)), *array.shape[1:])
    room = np.full(shape, filled, array.dtype) if filled else np.zeros(shape, array.dtype)  # not touched until used
    room[: len(array)] = array
    return room


def _sort(quick: Quick, sets: Int32s) -> Sorted:
    order = np.lexsort((quick.bounds, quick.bound_attributes)).astype(np.int32)
    attributes = np.arange(int(quick.bound_attributes.max(initial=-1)) + 2)
    ranges = np.searchsorted(quick.bound_attributes[order], attributes).astype(np.int64)
    words, facts = _members(quick, sets)
    by_word = np.argsort(words, kind="stable")
    set_ranges = np.searchsorted(words[by_word], np.arange(int(words.max(initial=-1)) + 2)).astype(np.int64)
    return fixed(Sorted(order, ranges, facts[by_word], set_ranges, len(quick.word_sets)))


def _members(quick: Quick, sets: Int32s) -> tuple[Int64s, Int32s]:
    """Each word of each set, and the set's fact."""
    starts, facts = quick.word_sets[:, 0].astype(np.int64), quick.word_sets[:, 1]
    sizes = sets[starts].astype(np.int64)
    within = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return sets[np.repeat(starts + 1, sizes) + within].astype(np.int64), np.repeat(facts, sizes)
