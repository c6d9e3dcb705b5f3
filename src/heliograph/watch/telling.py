"""Events of the kernels made into notifications, in the order of the contract.

Within an update: first what expired, then the update itself; both are told as one (`modes.after`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise

import numpy as np

from heliograph.kernels.evolution_layout import NO_TIME, Int64s
from heliograph.kernels.network_layout import (
    V_COUNT,
    V_ROW,
    W_KIND,
    W_PHASE,
    W_REF,
    W_SIGN,
    W_UPDATE,
    W_VALUE,
)
from heliograph.terms import Term, Variable
from heliograph.watch.board import Report
from heliograph.watch.deltas import Tally
from heliograph.watch.encoding import Encoded
from heliograph.watch.enrolment import Enrolment, id_ranked
from heliograph.watch.entries import Entry, count_turn, net, rows_turn, truth_turn
from heliograph.watch.machine import Events
from heliograph.watch.modes import Turn, after
from heliograph.watch.ranking import RankChange
from heliograph.watch.reports import issue
from heliograph.watch.run import Run
from heliograph.watch.updates import Update

Proof = Callable[[str], Mapping[Variable, Term]]
Turns = dict[tuple[int, str], Turn]  # by update and subscription


class Teller:
    """Tells what a batch of updates changed."""

    def __init__(self, enrolment: Enrolment) -> None:
        self._enrolment = enrolment

    def tell(self, events: Events, updates: Encoded, run: Run, proof: Proof | None) -> None:
        """Adds the notifications of some updates to a run; `proof` gives a witness of what has just become true."""
        turns: Turns = {}
        ranked: list[RankChange] = []
        events = _sorted(events)
        for first, last in _spans(events.events):
            self._tell_span(events, slice(first, last), turns, ranked, proof)
        for key, turn in self._enrolment.ranking.tell(ranked, len(updates)).items():
            turns[key] = turn
        self._issue(turns, updates, run)

    def _tell_span(
        self, events: Events, span: slice, turns: Turns, ranked: list[RankChange], proof: Proof | None
    ) -> None:
        """Events of one kind about one query or group in one phase of an update."""
        rows = events.events[span]
        update, phase, kind, ref = (int(rows[0, column]) for column in (W_UPDATE, W_PHASE, W_KIND, W_REF))
        if kind == V_ROW:
            self._tell_rows(events, rows, turns, ranked, proof is not None)
            return
        entry = self._enrolment.by_row[ref]
        for row in rows.tolist():
            if id_ranked(entry):
                ranked.append(RankChange(update, phase, entry.id, row[W_VALUE]))
            elif kind == V_COUNT:
                _join(turns, update, entry, count_turn(entry, row[W_SIGN], row[W_VALUE]))
            else:
                _join(turns, update, entry, _proven(truth_turn(entry, row[W_SIGN]), entry, proof))

    def _tell_rows(self, events: Events, told: Int64s, turns: Turns, ranked: list[RankChange], witness: bool) -> None:
        update, phase, group = int(told[0, W_UPDATE]), int(told[0, W_PHASE]), int(told[0, W_REF])
        for entry in self._enrolment.by_group.get(group, {}).values():
            places = told[:, W_VALUE, None] + np.arange(entry.slots)
            lost, gained = net(events.rows[places], told[:, W_SIGN])
            turn = rows_turn(entry, lost, gained, witness)
            if isinstance(entry.deltas, Tally):
                ranked.append(RankChange(update, phase, entry.id, entry.deltas.count))
            else:
                _join(turns, update, entry, turn)

    def _issue(self, turns: Turns, updates: Encoded, run: Run) -> None:
        for update, reports in self._by_update(turns):
            run.verified += len(reports)
            run.take(issue(reports, _update(updates, update), run.witness))

    def _by_update(self, turns: Turns) -> Iterator[tuple[int, list[Report]]]:
        entries = self._enrolment.entries
        told = [(update, entries[id].number, id) for (update, id), turn in turns.items() if turn.lost or turn.gained]
        told.sort()
        begin = 0
        for place in range(1, len(told) + 1):
            if place == len(told) or told[place][0] != told[begin][0]:
                update = told[begin][0]
                yield (
                    update,
                    [
                        Report(self._enrolment.report_of(entries[id]), turns[update, id])
                        for _, _, id in told[begin:place]
                    ],
                )
                begin = place


def _spans(events: Int64s) -> Iterator[tuple[int, int]]:
    """The events of one update, phase, kind and query or group."""
    if not len(events):
        return
    keys = events[:, [W_UPDATE, W_PHASE, W_KIND, W_REF]]
    cuts = np.flatnonzero((keys[1:] != keys[:-1]).any(axis=1)) + 1
    bounds = [0, *cuts.tolist(), len(events)]
    yield from pairwise(bounds)


def _sorted(events: Events) -> Events:
    """By update, phase, kind and query or group."""
    order = np.lexsort([events.events[:, column] for column in (W_REF, W_KIND, W_PHASE, W_UPDATE)])
    return events._replace(events=events.events[order])


def _join(turns: Turns, update: int, entry: Entry, turn: Turn) -> None:
    before = turns.get((update, entry.id))
    turns[update, entry.id] = turn if before is None else after(before, turn, entry.shown)


def _proven(turn: Turn, entry: Entry, proof: Proof | None) -> Turn:
    if proof is None or not turn.gained:
        return turn
    return Turn((), (turn.gained[0]._replace(witness=proof(entry.id)),))


def _update(updates: Encoded, row: int) -> Update:
    """As much of an update as notifications show of it."""
    at = int(updates.at[row])
    return Update(int(updates.seq[row]), "", None, None, None, None, None if at == NO_TIME else at)  # type: ignore[arg-type]
