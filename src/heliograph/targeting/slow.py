"""Tests that no instruction decides exactly, such as ILIKE or a range of texts: Python decides them for each event."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from heliograph.syntax.predicate_form import Atom
from heliograph.syntax.predicate_truth import Attributes, evaluate

_LOG = logging.getLogger("heliograph")
_TRUTHS = {True: 1, False: 0, None: -1}


class TargetingFailed(Exception):
    """Expressions, by number, that raised when they were asked about an event, each with what it raised."""

    def __init__(self, failures: Mapping[int, Exception]) -> None:
        super().__init__(f"expressions {sorted(failures)}")
        self.failures = dict(failures)

    def log(self) -> None:
        """Logs each error, with where it came from; who has the targeting may be many, and is in `rejected`."""
        for error in {id(error): error for error in self.failures.values()}.values():
            _LOG.warning("targeting failed and is put aside: %s, %s", type(error).__name__, error, exc_info=error)


class TestsFailed(Exception):
    """The same of tests."""

    def __init__(self, failures: Mapping[int, Exception]) -> None:
        super().__init__(f"tests {sorted(failures)}")
        self.failures = dict(failures)


class SlowTests:
    """Each test once, by number."""

    def __init__(self) -> None:
        self.tests: list[Atom] = []
        self._numbers: dict[Atom, int] = {}
        self.aside: set[int] = set()  # tests that failed, and are asked no more

    def number(self, test: Atom) -> int:
        """The number of a test, which is there from now on."""
        number = self._numbers.setdefault(test, len(self.tests))
        if number == len(self.tests):
            self.tests.append(test)
        return number

    def truth(self, trees: Sequence[Mapping[str, Any]]) -> npt.NDArray[np.int8]:
        """A row for each test and a column for each event: 1 true, 0 false, -1 unknown. Read-only.

        Those that were put aside are unknown. Raises TestsFailed, once all are asked, if any raised.
        """
        tests = [None if number in self.aside else test for number, test in enumerate(self.tests)]
        truths = np.full((len(tests), len(trees)), -1, np.int8)
        failures: dict[int, Exception] = {}
        for event, tree in enumerate(trees if tests else ()):
            attributes = Attributes(tree)
            for number, test in enumerate(tests):
                if test is not None:
                    try:
                        truths[number, event] = _TRUTHS[evaluate(test, attributes)]
                    except MemoryError:  # which is no test's own failure
                        raise
                    except Exception as error:
                        failures.setdefault(number, error)
        if failures:
            raise TestsFailed(failures)
        truths.flags.writeable = False
        return truths
