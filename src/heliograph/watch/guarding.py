"""The guard on what one update lists: a query that explodes costs what it may tell, not what it matches.

While a kernel lists solutions, whatever lies beyond a subscription's limit for its update is dropped as soon as there
is much of it. The law: what is kept holds everything that would be told, the first matches in order, and what was
dropped is counted. An update first loses solutions and then gains some. Where solutions that were lost have been
dropped, one that is gained may have been among them; so from then on nothing gained is told of that update, which is
over its limit with what it lost.

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
from heliograph.watch.ordering import in_order, net, places, sort_events, spans
from heliograph.watch.sequence import Flags


class Listed(NamedTuple):
    """Events of one component, and the solutions of its pattern that they list."""

    events: Int64s
    terms: Int32s

    def take(self, which: Flags) -> Listed:
        return Listed(self.events[which], self.terms[which])


class Guard:
    """Drops what nobody will be told; `cut` says how much of it there was."""

    def __init__(self, enrolment: Enrolment, book: Book) -> None:
        self._enrolment, self._book = enrolment, book
        self._cut = 0
        self._losing: set[tuple[int, int]] = set()  # components and updates of which lost solutions were dropped

    def cut(self) -> int:
        """How many matches were dropped since this was last asked."""
        cut, self._cut = self._cut, 0
        self._losing.clear()
        return cut

    def trim(self, events: Events) -> Events:
        """What is left of the events of a run that lacks room."""
        listed = events.events[:, W_KIND] == V_ROW
        ordered = events._replace(events=sort_events(events.events[listed], (W_PHASE, W_UPDATE, W_REF)))
        kept, rows, used = [events.events[~listed]], [events.rows[:0]], 0
        for span in spans(ordered.events, (W_REF,)):
            entries = self._enrolment.by_component[int(ordered.events[span.start, W_REF])].values()
            slots = next(iter(entries)).slots
            told = Listed(ordered.events[span], ordered.listed(span, slots))
            if all(_is_bounded(entry) for entry in entries):
                told = self._first(entries, told)
            told.events[:, W_VALUE] = used + slots * np.arange(len(told.events))
            used += told.terms.size
            kept.append(told.events)
            rows.append(told.terms.ravel())
        return events._replace(events=np.concatenate(kept), rows=np.concatenate(rows))

    def within(self, entries: Collection[Entry], listed: Listed) -> Listed:
        """Solutions without those that came and went within a phase, and without what comes after dropped ones."""
        settled = Listed(*net(*listed))
        losing = [update for component, update in self._losing if component == int(listed.events[0, W_REF])]
        after = np.isin(settled.events[:, W_UPDATE], losing) & (settled.events[:, W_SIGN] > 0)
        if after.any():
            self._count(entries, settled.terms[after])
            settled = settled.take(~after)
        return settled

    def _first(self, entries: Collection[Entry], listed: Listed) -> Listed:
        """The solutions that may be told to one of these, the first in order of each update."""
        if len(listed.events) <= max(entry.interest.options.limit for entry in entries):
            return listed
        listed = self.within(entries, listed)
        wanted = np.zeros(len(listed.events), np.bool_)
        for entry in entries:
            wanted |= self._told(entry, listed)
        if not wanted.all():
            dropped = listed.take(~wanted)
            self._count(entries, dropped.terms)
            lost = dropped.events[dropped.events[:, W_SIGN] < 0]
            self._losing.update((component, update) for component, update in lost[:, [W_REF, W_UPDATE]].tolist())
        return listed.take(wanted)

    def _told(self, entry: Entry, listed: Listed) -> Flags:
        """Which solutions are among the first of those lost, or of those gained, in an update."""
        assert entry.completion is not None
        origins, terms = entry.completion(listed.terms)
        events = listed.events[origins]
        changes = Changes(events[:, W_UPDATE], events[:, W_PHASE], events[:, W_SIGN] > 0, terms)
        order = in_order(changes, len(entry.shown), self._book)
        key = (2 * changes.update + changes.gained)[order]
        told = np.zeros(len(listed.events), np.bool_)
        told[origins[order[places(key) < entry.interest.options.limit]]] = True
        return told

    def _count(self, entries: Collection[Entry], terms: Int32s) -> None:
        for entry in entries:
            assert entry.completion is not None
            self._cut += len(entry.completion(terms).origins)


def _is_bounded(entry: Entry) -> bool:
    return isinstance(entry.deltas, Every)
