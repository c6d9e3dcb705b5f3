"""Compiled targeting: expressions by number, each different code once.

The laws: an expression's number says what it accepts, and equal code has one number; numbers are given once and never
taken back, so that a snapshot stays valid while the one writer adds more; `add_many` gives what `add` would give for
each text by itself.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from heliograph.errors import PredicateError
from heliograph.kernels import targeting_layout as layout
from heliograph.kernels.targeting_layout import Names, Programs
from heliograph.syntax.predicate_form import Atom, Predicate
from heliograph.targeting.assembling import Assembler
from heliograph.targeting.names import LABELS, NameTable
from heliograph.targeting.normal_form import FAILS, HOLDS, Code, join, normal
from heliograph.targeting.pools import Pool
from heliograph.targeting.quick import QuickCode, Snapshot
from heliograph.targeting.skeletons import Skeletons
from heliograph.targeting.slow import TargetingFailed, TestsFailed

_REMEMBERED = 2000  # skeletons and atoms kept from call to call, so that a single change costs no more than one in bulk


class Compiled(NamedTuple):
    """All that kernels need to ask expressions."""

    programs: Programs
    names: Names
    quick: Snapshot


class Parts(NamedTuple):
    """The holdings of a store: expressions, the constants that they refer to, and the tests that Python decides."""

    expressions: Pool
    numbers: Pool
    sets: Pool
    texts: Pool
    slow: Sequence[Atom]


class Targeting:
    """Expressions over the attributes and words of one table of names."""

    def __init__(self, names: NameTable | None = None) -> None:
        self.names = NameTable() if names is None else names
        self._assembler = Assembler(self.names)
        self._skeletons = Skeletons(self._assembler)
        self._expressions = Pool(np.int32)
        for code in (HOLDS, FAILS):  # ALWAYS and NEVER
            self._expressions.number(code)
        self._quick = QuickCode()
        self._compiled: Compiled | None = None
        self._compiling = threading.Lock()

    @classmethod
    def of(cls, names: NameTable, parts: Parts) -> Self:
        """What was compiled before, under these names; the pools may be mapped."""
        made = cls(names)
        own = made._assembler
        made._expressions, own.numbers, own.sets, own.texts = parts.expressions, parts.numbers, parts.sets, parts.texts
        for test in parts.slow:
            own.slow.number(test)
        return made

    @property
    def parts(self) -> Parts:
        """All that `of` needs beside the names. For the writer."""
        own = self._assembler
        return Parts(self._expressions, own.numbers, own.sets, own.texts, own.slow.tests)

    def __len__(self) -> int:
        return len(self._expressions)

    def add(self, form: Predicate) -> int:
        """The number of an expression."""
        return self._numbered(normal(form, self._assembler.code))

    def add_many(self, texts: Iterable[str | None]) -> list[int | PredicateError]:
        """The number of each SQL condition, or its error; null or blank accepts everything."""
        known: dict[str | None, int | PredicateError] = {}
        numbers: list[int | PredicateError] = []
        for text in texts:
            number = known.get(text)
            if number is None:
                number = known[text] = self._number(self._skeletons.compile(text))
            numbers.append(number)
        if len(self._skeletons) > _REMEMBERED:
            self._skeletons = Skeletons(self._assembler)
        return numbers

    def _number(self, code: Code | PredicateError) -> int | PredicateError:
        return code if isinstance(code, PredicateError) else self._numbered(code)

    def _numbered(self, code: Code) -> int:
        """The number of an expression. Tests of it that were put aside are asked again, and no others."""
        if self._assembler.slow.aside:
            words = np.frombuffer(code, np.int32).reshape(-1, 2)
            self._assembler.slow.aside.difference_update(words[_asks_slowly(words), 1].tolist())
        return self._expressions.number(code)

    def add_labels(self, labels: frozenset[str], match: str) -> int:
        """The number of a comparison with the event's labels: superset, subset or intersects, said of these."""
        return self._expressions.number(self._label_code(labels, match))

    def _label_code(self, labels: frozenset[str], match: str) -> Code:
        if match == "superset":
            return self._assembler.words_within(LABELS, labels)
        if match == "subset":
            return join(layout.AND, [self._assembler.words_in(LABELS, (label,)) for label in labels])
        return self._assembler.words_in(LABELS, labels) if labels else FAILS

    def compiled(self, programs: Programs) -> Compiled:
        """These programs, or the same and more, with quick code. Any thread may ask; imports Numba."""
        with self._compiling:
            known = self._compiled
            if known is None or len(known.programs.starts) < len(programs.starts):
                names, attributes = self.names.snapshot(), len(self.names.paths)
                known = Compiled(programs, names, self._quick.snapshot(programs, names, attributes))
                self._compiled = known
            return known

    def snapshot(self) -> Programs:
        """The expressions so far, as arrays that stay as they are. For the writer to take and for anyone to read."""
        own, parts = self._expressions, self._assembler
        texts = parts.texts.offsets(), parts.texts.data()
        return Programs(own.offsets(), own.data(), parts.numbers.data(), parts.sets.data(), *texts)

    @property
    def slow(self) -> list[Atom]:
        """The tests that Python decides, by number."""
        return self._assembler.slow.tests

    def slow_truth(self, trees: Sequence[Mapping[str, Any]]) -> npt.NDArray[np.int8]:
        """A row for each slow test and a column for each event: 1 true, 0 false, -1 unknown.

        Raises TargetingFailed with the expressions whose tests raised. Those tests are asked no more.
        """
        try:
            return self._assembler.slow.truth(trees)
        except TestsFailed as failed:
            self._assembler.slow.aside.update(failed.failures)
            raise TargetingFailed(self._asking(failed.failures)) from failed

    def _asking(self, failures: Mapping[int, Exception]) -> dict[int, Exception]:
        """The expressions that ask one of these tests."""
        code, starts = self._expressions.data().reshape(-1, 2), self._expressions.offsets()
        places = np.flatnonzero(_asks_slowly(code) & np.isin(code[:, 1], list(failures)))
        numbers = np.searchsorted(starts, 2 * places, "right") - 1
        tests = code[places, 1]
        return {number: failures[test] for number, test in zip(numbers.tolist(), tests.tolist(), strict=True)}

    @property
    def nbytes(self) -> int:
        """The memory of expressions and constants; names aside."""
        parts = self._assembler
        return sum(pool.nbytes for pool in (self._expressions, parts.numbers, parts.sets, parts.texts))


def _asks_slowly(code: npt.NDArray[np.int32]) -> npt.NDArray[np.bool_]:
    """Which instructions ask a test that Python decides; its number is their operand."""
    slowly: npt.NDArray[np.bool_] = code[:, 0] & (layout.NEGATIVE - 1) == layout.SLOW
    return slowly
