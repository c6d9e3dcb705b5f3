"""What metrics say, put beside the matches that a turn tells: `value`, intervals, and on request paths and trees."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from heliograph.watch.deltas import Told
from heliograph.watch.encoding import NO_TERM
from heliograph.watch.metrics.comparing import shown_value, spelled_edge
from heliograph.watch.metrics.judged import Judged, Row, Verdict
from heliograph.watch.modes import Match, Turn

Shown: TypeAlias = "int | float | str | None"


class Values:
    """The values behind some verdicts of one query."""

    def __init__(self, judged: Judged, verdicts: Iterable[Verdict]) -> None:
        self._judged = judged
        self._verdicts = {(each.step, each.row): each for each in verdicts}

    def valued(self, told: Told) -> Told:
        """What is told, with values."""
        step = 2 * told.update + told.phase
        lost, gained = (tuple(self._valued(step, match) for match in matches) for matches in told.turn)
        return told._replace(turn=Turn(lost, gained))

    def _valued(self, step: int, match: Match) -> Match:
        row = self._row(match)
        verdict = None if row is None else self._verdicts.get((step, row))
        if match.value is not None or verdict is None:
            return match
        return match._replace(value=shown_values(verdict.values), more=self._spelled(verdict.shown))

    def _row(self, match: Match) -> Row | None:
        """The solution behind a match; what is lost in mode `change` has none, unless there is but one."""
        variables = self._judged.completion.variables
        if match.witness is None:
            return None if variables else ()
        intern = self._judged.completion.vocabulary.intern
        return tuple(intern(match.witness[each]) if each in match.witness else NO_TERM for each in variables)

    def _spelled(self, shown: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """What metrics show, its edges as texts."""
        edges = {"edges": [self._edge(each) for each in shown["edges"]]} if "edges" in shown else {}
        return {**shown, **edges} or None

    def _edge(self, edge: Iterable[int]) -> list[str]:
        return spelled_edge(map(self._judged.completion.vocabulary.term, edge))


def shown_values(values: Sequence[float]) -> Shown | list[Shown]:
    """The values of a solution's calls as evidence shows them."""
    shown = [shown_value(value) for value in values]
    return shown[0] if len(shown) == 1 else shown


def are_plain(verdicts: Iterable[Verdict]) -> bool:
    """Whether values are all that is shown beside bindings, and no update has verdicts of two phases."""
    return all(each.step & 1 and not each.shown for each in verdicts)
