"""Tests that no instruction decides exactly, such as ILIKE or a range of texts: Python decides them for each event."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from heliograph.syntax.predicate_form import Atom
from heliograph.syntax.predicate_truth import Attributes, evaluate

_TRUTHS = {True: 1, False: 0, None: -1}


class SlowTests:
    """Each test once, by number."""

    def __init__(self) -> None:
        self.tests: list[Atom] = []
        self._numbers: dict[Atom, int] = {}

    def number(self, test: Atom) -> int:
        """The number of a test, which is there from now on."""
        number = self._numbers.setdefault(test, len(self.tests))
        if number == len(self.tests):
            self.tests.append(test)
        return number

    def truth(self, trees: Sequence[Mapping[str, Any]]) -> npt.NDArray[np.int8]:
        """A row for each test and a column for each event: 1 true, 0 false, -1 unknown. Read-only."""
        tests = list(self.tests)
        truths = np.empty((len(tests), len(trees)), np.int8)
        for event, tree in enumerate(trees if tests else ()):
            attributes = Attributes(tree)
            truths[:, event] = [_TRUTHS[evaluate(test, attributes)] for test in tests]
        truths.flags.writeable = False
        return truths
