"""Tests of terms as kernels read them: intervals end to end, alone or in banks of 64.

A bank holds tests that differ in their ends alone; the place of a test in it is its tag. Both stay for good. A term in
doubt is judged here, by the expressions that the test came from.
"""

from __future__ import annotations

import numpy as np

from heliograph.kernels.network_layout import NONE
from heliograph.network.questions import HERE, Test
from heliograph.network.tables import Rows
from heliograph.semantics.expressions import Condition
from heliograph.terms import Term

TAGS = 64
_ATOM_COLUMNS = 4


class Tests:
    """All tests, by number."""

    def __init__(self) -> None:
        self.offsets = Rows(0)
        self.atoms = Rows(_ATOM_COLUMNS, np.float64)
        self.banks = Rows(TAGS)
        self.offsets.append(0)
        self._numbers: dict[Test, int] = {}
        self._conditions: list[tuple[Condition, ...]] = []
        self._banked: dict[Test, tuple[int, int]] = {}
        self._open: dict[tuple[object, ...], tuple[int, int]] = {}  # by form: the bank with room, and its next place

    def __len__(self) -> int:
        return len(self._conditions)

    def number(self, test: Test) -> int:
        """The number of a test."""
        if test not in self._numbers:
            self._numbers[test] = len(self._numbers)
            self.atoms.extend([tuple(atom) for atom in test.atoms])
            self.offsets.append(self.atoms.used)
            self._conditions.append(tuple(Condition.of(each) for each in test.expressions))
        return self._numbers[test]

    def banked(self, test: Test) -> tuple[int, int]:
        """The bank of a test and its place there."""
        if test not in self._banked:
            form = _form(test)
            bank, place = self._open.get(form, (NONE, TAGS))
            if place == TAGS:
                bank, place = self.banks.append([NONE] * TAGS), 0
            self.banks.array[bank, place] = self.number(test)
            self._banked[test] = bank, place
            self._open[form] = bank, place + 1
        return self._banked[test]

    def judge(self, number: int, term: Term) -> bool:
        """Whether a term passes a test, by the expressions that it came from."""
        return all(condition.holds({HERE: term}) for condition in self._conditions[number])


def _form(test: Test) -> tuple[object, ...]:
    """What tests of one bank have in common."""
    return tuple((atom.domain, atom.flags, atom.low == -np.inf, atom.high == np.inf) for atom in test.atoms)
