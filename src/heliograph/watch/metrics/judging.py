"""One block of updates as metric filters see it: solutions that come and go, values that pass thresholds, by step.

Measures follow the journal as far as the next step at which something else happens: a solution of a pattern, or a
vertex, comes or goes. There values are looked up; in between only those who were told anything judge again. The law:
verdicts are those of judging every solution anew at the end of every step.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby

import numpy as np

from heliograph.kernels.evolution_layout import Int64s
from heliograph.watch.deltas import Changes
from heliograph.watch.metrics.crossings import crossings
from heliograph.watch.metrics.judged import Judged, Row, Verdict
from heliograph.watch.metrics.meter import Heard, Meter, Page, Saying
from heliograph.watch.metrics.vertices import Turnout

Affected = dict[tuple[Judged, Row], None]  # solutions that must be judged again
Fail = Callable[[Judged, Exception], None]  # hears whose judging failed, and how

_END = 1 << 40  # after every step
_FEW = 16  # sayings that are sooner judged one by one


class Judging:
    """Follows one block."""

    def __init__(self, meter: Meter, page: Page, witness: bool, measured: Collection[Judged], fail: Fail) -> None:
        self._meter, self._page, self._witness = meter, page, witness
        self._measured, self._hear_failure = measured, fail
        self._failed: set[Judged] = set()
        self._attentive: tuple[Judged, ...] = tuple(meter.attentive)
        self._done = 0  # rows of the page
        self._verdicts: dict[Judged, list[Verdict]] = {}

    def follow(self, changes: Mapping[Judged, Changes]) -> dict[Judged, list[Verdict]]:
        """What the changes of solutions and of edges lead to, for each in order of steps."""
        coming = {judged: _by_step(each) for judged, each in changes.items()}
        for step in self._asked(coming):
            said, turnout = self._follow(step)
            affected = self._hear(said)
            for judged, by_step in coming.items():
                self._add(affected, judged, partial(self._shifted, judged, by_step.get(step, ((), ()))))
            self._turn(turnout, affected)
            self._settle(step, affected, now=True)
        self._follow(_END)
        return {judged: verdicts for judged, verdicts in self._verdicts.items() if judged not in self._failed}

    def _fail(self, judged: Judged, error: Exception) -> None:
        self._failed.add(judged)
        self._hear_failure(judged, error)

    def _add(self, affected: Affected, judged: Judged, rows: Callable[[], Iterable[Row]]) -> None:
        """Adds solutions that must be judged again, unless finding them fails."""
        if judged in self._failed:
            return
        try:
            affected |= {(judged, row): None for row in rows()}
        except Exception as error:
            self._fail(judged, error)

    def _asked(self, coming: Mapping[Judged, Mapping[int, object]]) -> list[int]:
        """The steps at which more may happen than that a value passes a threshold; with a witness all of them, for
        paths are shown as they are then."""
        steps = {step for by_step in coming.values() for step in by_step}
        if self._witness or self._attentive:
            steps.update(self._page.step.tolist())
        return sorted(steps)

    def _follow(self, step: int) -> tuple[list[Saying], Turnout | None]:
        """Lets measures go on to the end of a step. What is said before it is judged at once; what is said there, and
        which vertices came and went, is returned."""
        last = int(np.searchsorted(self._page.step, step, side="right"))
        part = self._page.take(slice(self._done, last))
        self._done = last
        heard, turnout = self._meter.follow(part)
        for key, error in self._meter.broken.items():
            for judged in self._measured:
                if judged not in self._failed and any(call.key == key for call in judged.calls):
                    self._fail(judged, error)
        said = in_order([each for each in heard if not self._judge_at_once(each, step)])
        earlier = (saying for saying in said if saying.step < step)
        for each, some in groupby(earlier, key=lambda saying: saying.step):
            self._settle(each, self._hear(some), now=False)
        return [saying for saying in said if saying.step == step], turnout

    def _judge_at_once(self, heard: Heard, step: int) -> bool:
        """Judges all that a measure said before a step, if whoever listens looks at values alone."""
        askers = self._meter.only_everywhere(heard.key) if len(heard.step) > _FEW else ()
        if not askers or heard.step[-1] >= step or not all(judged.is_of_values for judged, _ in askers):
            return False
        self._meter.note(heard)
        for judged, _ in askers:
            try:
                if verdicts := crossings(judged, heard):
                    self._verdicts.setdefault(judged, []).extend(verdicts)
            except Exception as error:
                self._fail(judged, error)
        return True

    def _hear(self, said: Iterable[Saying]) -> Affected:
        """The solutions that must be judged again."""
        affected: Affected = {}
        for saying in said:
            for judged, place in self._meter.hear(saying):
                self._add(affected, judged, partial(judged.concerned, place, saying.instance))
        return affected

    def _shifted(self, judged: Judged, rows: tuple[Sequence[Row], Sequence[Row]]) -> Iterator[Row]:
        gone, came = rows
        for base in gone:
            yield from judged.go(base)
        for base in came:
            yield from judged.come(base)
        yield from judged.select(came, gone)

    def _turn(self, turnout: Turnout | None, affected: Affected) -> None:
        if turnout is None:
            return
        for vertex, came in zip(turnout.vertex.tolist(), turnout.came.tolist(), strict=True):
            for judged in self._attentive:
                if judged.ranges:
                    self._add(affected, judged, partial(judged.vertex_comes if came else judged.vertex_goes, vertex))
                if judged.binds_others:
                    self._add(affected, judged, partial(judged.select_again, vertex))

    def _settle(self, step: int, affected: Iterable[tuple[Judged, Row]], now: bool) -> None:
        for judged, row in affected:
            if judged in self._failed:
                continue
            try:
                values = judged.values(row, now)
                verdict = judged.judge(row, values)
                if verdict is not None:
                    shown = judged.shown(row, values, self._witness)
                    self._verdicts.setdefault(judged, []).append(Verdict(step, verdict, row, values, shown))
            except Exception as error:
                self._fail(judged, error)


def in_order(heard: Sequence[Heard]) -> list[Saying]:
    """Everything that was said, in order of steps."""
    said = [saying for each in heard for saying in each.one_by_one()]
    return sorted(said, key=lambda saying: saying.step) if len(heard) > 1 else said


def _by_step(changes: Changes) -> dict[int, tuple[list[Row], list[Row]]]:
    """Solutions lost and gained, by step."""
    found: dict[int, tuple[list[Row], list[Row]]] = {}
    steps: Int64s = 2 * changes.update + changes.phase
    for step, gained, row in zip(steps.tolist(), changes.gained.tolist(), changes.terms.tolist(), strict=True):
        found.setdefault(step, ([], []))[gained].append(tuple(row))
    return found


def changes_of(verdicts: Sequence[Verdict], columns: int) -> Changes:
    """Verdicts as solutions lost and gained."""
    step = np.array([each.step for each in verdicts], np.int64)
    gained = np.array([each.gained for each in verdicts], np.bool_)
    terms = np.array([each.row for each in verdicts], np.int32).reshape(len(verdicts), columns)
    return Changes.sorted(step >> 1, step & 1, gained, terms)
