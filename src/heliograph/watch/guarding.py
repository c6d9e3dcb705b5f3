"""The guard on what one update lists: a query that explodes costs what it may tell, not what it matches.

While a kernel lists solutions, whatever lies beyond a subscription's limit for its update is dropped as soon as there
is much of it. The law: what is kept holds everything that would be told, the first matches in order, and what was
dropped is counted. It holds as long as no solution is both lost and gained in one phase of an update.

Only matches told one by one are bounded like this. Groups and distinct ones need all solutions to be known.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import numpy as np

from heliograph.kernels.evolution_layout import Int32s, Int64s
from heliograph.kernels.network_layout import V_ROW, W_KIND, W_PHASE, W_REF, W_SIGN, W_UPDATE, W_VALUE
from heliograph.watch.deltas import Changes, Every
from heliograph.watch.enrolment import Enrolment
from heliograph.watch.entries import Entry
from heliograph.watch.evidence import Book
from heliograph.watch.machine import Events
from heliograph.watch.ordering import in_order, places, sort_events, spans
from heliograph.watch.sequence import Flags


class Listed(NamedTuple):
    """Events of one component, and the solutions of its pattern that they list."""

    events: Int64s
    terms: Int32s


class Guard:
    """Drops what nobody will be told; `cut` says how much of it there was."""

    def __init__(self, enrolment: Enrolment, book: Book) -> None:
        self._enrolment, self._book = enrolment, book
        self._cut = 0

    def cut(self) -> int:
        """How many matches were dropped since this was last asked."""
        cut, self._cut = self._cut, 0
        return cut

    def trim(self, events: Events, update: int) -> Events:
        """What is left of the events of a run that lacks room in the midst of an update."""
        listed = (events.events[:, W_KIND] == V_ROW) & (events.events[:, W_UPDATE] == update)
        ordered = events._replace(events=sort_events(events.events[listed], (W_PHASE, W_REF)))
        before = int(ordered.events[:, W_VALUE].min(initial=len(events.rows)))  # rows of earlier updates come first
        kept, rows, used = [events.events[~listed]], [events.rows[:before]], before
        for span in spans(ordered.events, (W_REF,)):
            told = self._trimmed(ordered, span)
            told.events[:, W_VALUE] = used + told.terms.shape[1] * np.arange(len(told.events))
            used += told.terms.size
            kept.append(told.events)
            rows.append(told.terms.ravel())
        return events._replace(events=np.concatenate(kept), rows=np.concatenate(rows))

    def _trimmed(self, events: Events, span: slice) -> Listed:
        """What one component may tell."""
        component, only = int(events.events[span.start, W_REF]), self._enrolment.listing
        entries: Collection[Entry] = self._enrolment.by_component[component].values()
        listed = Listed(events.events[span], events.listed(span, next(iter(entries)).slots))
        if only is not None:
            if component != self._enrolment.network.component(only.row):
                return Listed(listed.events[:0], listed.terms[:0])
            entries = (only,)
        most = max(entry.interest.options.limit for entry in entries)
        if len(listed.events) <= most or not all(isinstance(entry.deltas, Every) for entry in entries):
            return listed
        wanted = np.zeros(len(listed.events), np.bool_)
        for entry in entries:
            try:
                wanted |= self._told(entry, listed)
            except Exception as error:
                self._enrolment.aside.put(entry.id, error)
        self._count([entry for entry in entries if entry.id not in self._enrolment.aside], listed.terms[~wanted])
        return Listed(listed.events[wanted], listed.terms[wanted])

    def _told(self, entry: Entry, listed: Listed) -> Flags:
        """Which solutions are among the first of those lost, or of those gained."""
        assert entry.completion is not None
        origins, terms = entry.completion(listed.terms)
        events = listed.events[origins]
        changes = Changes(events[:, W_UPDATE], events[:, W_PHASE], events[:, W_SIGN] > 0, terms)
        order = in_order(changes, len(entry.shown), self._book)
        told = np.zeros(len(listed.events), np.bool_)
        told[origins[order[places(changes.gained[order].astype(np.int64)) < entry.interest.options.limit]]] = True
        return told

    def _count(self, entries: Collection[Entry], terms: Int32s) -> None:
        for entry in entries:
            assert entry.completion is not None
            self._cut += len(entry.completion(terms).origins)
