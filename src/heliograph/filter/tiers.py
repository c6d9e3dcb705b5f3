"""Segments of growing size: a small tail that is rebuilt at once, larger ones that are merged in the background.

The laws: a version never changes; what was added is found in every later version until it is removed; a segment is
merged with smaller ones when they have grown to a share of it, so each subscription is rebuilt about log n times and
there are about log n segments. A large merge runs in a thread of its own on what was alive when it began; whatever was
removed meanwhile is removed from its result before that takes the place of its sources.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from heliograph.compiled.growing import fixed, ragged
from heliograph.filter.interests import Interests, chained, in_order, offsets_of
from heliograph.filter.layout import DocumentEdges, Int32s
from heliograph.filter.segment import ALIVE, Segment, Sketch, VariableNames

TAIL = 32  # subscriptions that are always rebuilt with the next one
RATIO = 4  # a segment is merged once the smaller ones together are a fourth of it
LARGE = 4096  # subscriptions whose merge goes on in the background
WAITING = 128  # single subscriptions that wait for somebody to look

_CELLS = 1 << 19  # of the sketch
_EVERY = 8  # so many publications, one is counted
_WASTE = 4  # structures verified in vain for each that held, beyond which better ways in are looked for
_ENOUGH = 16  # publications counted before they are trusted


class TiersVersion(NamedTuple):
    """The segments at one moment."""

    segments: tuple[Segment, ...] = ()
    stamp: int = 0
    size: int = 0


_Part = tuple[Interests, VariableNames | None, list[Any]]  # interests, their names if from a segment, their owners


class Tiers:
    """The index of one engine. One writer at a time; readers take a version and need no lock."""

    def __init__(self) -> None:
        self._version = TiersVersion()
        self._waiting: dict[int, _Part] = {}  # a few new ones by number, to be built when somebody looks
        self._sketch: Sketch = np.zeros(_CELLS, np.uint32)
        self._counted = 0  # publications in the sketch
        self._trusted: dict[int, int] = {}  # by segment, how many were when its ways in were chosen
        self._lock = threading.RLock()
        self._merging: tuple[Segment, ...] = ()
        self._thread: threading.Thread | None = None

    @property
    def version(self) -> TiersVersion:
        """The index as it is now; what is waiting is built in first.

        Nobody waits in a version that is still the same after a look at who does: building them makes another.
        """
        held = self._version
        if not self._waiting and held is self._version:
            return held
        with self._lock:
            self._build_waiting()
            return self._version

    # --- writing ------------------------------------------------------------------------------------------------

    def add(self, interests: Interests, owners: Sequence[Any]) -> None:
        """Adds interests, whose numbers are above all earlier ones, in their order."""
        with self._lock:
            if len(interests.numbers) == 1:
                self._waiting[int(interests.numbers[0])] = interests, None, list(owners)
                if len(self._waiting) >= WAITING:
                    self._build_waiting()
            elif len(interests.numbers):
                self._build_waiting()
                self._add((interests, None, list(owners)))

    def _build_waiting(self) -> None:
        waiting = list(self._waiting.values())
        if waiting:
            self._add(_joined(waiting))
            self._waiting = {}

    def _add(self, part: _Part) -> None:
        """The next version holds these too: at once in a segment of their own, or merged with smaller ones."""
        size = len(part[0].numbers)
        sources = self._sources(size)
        if sources and size + sum(source.living for source in sources) <= LARGE:
            alive = [_alive(source, self._version.stamp) for source in sources]
            self._replace(sources, self._build([*alive, part]), size)
            return
        added = self._build([part])
        self._replace((), added, size)
        if sources:
            self._start((*sources, added))

    def remove(self, numbers: Iterable[int]) -> None:
        """Removes subscriptions by number, from the next version on."""
        with self._lock:
            gone, version = set(numbers), self._version
            removed = sum(self._tombstone(number, version.stamp + 1) for number in gone if number not in self._waiting)
            if removed:
                self._version = TiersVersion(version.segments, version.stamp + 1, version.size - removed)
            # Last, because a reader that finds nobody waiting takes the version as it is.
            self._waiting = {number: part for number, part in self._waiting.items() if number not in gone}
            if removed:
                self._clean()

    def _tombstone(self, number: int, stamp: int) -> bool:
        for segment in self._version.segments:
            member = segment.find(number)
            if member >= 0 and segment.index.died[member] == ALIVE:
                segment.tombstone(member, stamp)
                return True
        return False

    def _sources(self, size: int) -> tuple[Segment, ...]:
        """The segments that are to be merged with so many new subscriptions."""
        sources: list[Segment] = []
        for segment in reversed(self._version.segments):
            if segment in self._merging or segment.living > max(TAIL, RATIO * size):
                break
            sources.append(segment)
            size += segment.living
            if size > LARGE and self._merging:
                return tuple(reversed(sources[:-1]))
        return tuple(reversed(sources))

    def _clean(self) -> None:
        """Rebuilds the segments of which more than half is dead."""
        for segment in self._version.segments:
            living = segment.living
            if segment in self._merging or 2 * living > len(segment):
                continue
            if len(segment) <= LARGE:
                rebuilt = self._merge((segment,), self._version.stamp) if living else None
                self._replace((segment,), rebuilt, 0)
            elif not self._merging:
                self._start((segment,))

    def _replace(self, sources: Sequence[Segment], segment: Segment | None, added: int) -> None:
        """The next version; the place of a merged segment is that of the last of its sources."""
        version = self._version
        kept = [each for each in version.segments if each not in sources]
        if segment is not None:
            kept.append(segment)
        kept.sort(key=len, reverse=True)
        for source in sources:
            self._trusted.pop(id(source), None)
        self._version = TiersVersion(tuple(kept), version.stamp + 1, version.size + added)

    # --- merging ------------------------------------------------------------------------------------------------

    def _build(self, parts: Sequence[_Part]) -> Segment:
        interests, names, owners = _joined(parts)
        segment = Segment.build(interests, owners, self._sketch, names)
        self._trusted[id(segment)] = self._counted
        return segment

    def _merge(self, sources: Sequence[Segment], stamp: int) -> Segment:
        return self._build([_alive(source, stamp) for source in sources])

    def _start(self, sources: tuple[Segment, ...]) -> None:
        """Begins a merge in the background, unless one is running."""
        if self._merging:
            return
        self._merging = sources
        self._thread = threading.Thread(target=self._run, args=(sources, self._version.stamp), name="heliograph-merge")
        self._thread.start()

    def _run(self, sources: tuple[Segment, ...], stamp: int) -> None:
        try:
            merged = self._merge(sources, stamp) if any(source.living for source in sources) else None
            with self._lock:
                if merged is not None:
                    _remove_again(sources, merged, stamp)
                self._replace(sources, merged, 0)
        finally:
            with self._lock:
                self._merging = ()
                self._clean()

    def wait(self) -> None:
        """Waits until no merge is running."""
        while (thread := self._thread) is not None and thread.is_alive():
            thread.join()

    # --- saving -------------------------------------------------------------------------------------------------

    def whole(self) -> Segment | None:
        """Everything that is alive as one segment without tombstones; to be asked while nobody writes."""
        self.wait()
        version = self.version
        if not version.size:
            return None
        if len(version.segments) == 1 and len(version.segments[0]) == version.size:
            return version.segments[0]
        parts = [_alive(segment, version.stamp) for segment in version.segments if segment.living]
        interests, names, owners = _joined(parts)
        return Segment.build(interests, owners, self._sketch, names)

    def adopt(self, segment: Segment) -> None:
        """Takes over a segment as everything there is."""
        with self._lock:
            self._trusted = {id(segment): 0}
            self._version = TiersVersion((segment,), self._version.stamp + 1, len(segment))

    # --- what publications teach --------------------------------------------------------------------------------

    def observe(self, edges: DocumentEdges) -> None:
        """Counts what some publications hold, so that rare edges can be chosen as ways in."""
        from heliograph.filter.kernels import sketch_edges

        publications = len(edges.offsets) - 1
        every = 1 if self._counted < _ENOUGH else _EVERY
        begin = 0 if every == 1 else self._counted % every
        sketch_edges(edges, min(begin, max(0, publications - 1)), every, self._sketch)
        self._counted += max(1, publications // every)

    def reconsider(self, segment: Segment, searched: Int32s, held: int, publications: int) -> None:
        """Chooses other ways in for a segment if too much was verified in vain under the present ones."""
        vain = len(searched) - held
        known = self._trusted.get(id(segment))
        if vain <= _WASTE * (held + publications) or known is None or self._counted < max(_ENOUGH, 2 * known):
            return
        if self._lock.acquire(blocking=False):
            try:
                self._choose_again(segment)
            finally:
                self._lock.release()

    def _choose_again(self, segment: Segment) -> None:
        if segment not in self._version.segments or self._merging:
            return
        if segment.living > LARGE:
            self._start((segment,))
        elif segment.living:
            self._replace((segment,), self._merge((segment,), self._version.stamp), 0)


def _alive(segment: Segment, stamp: int) -> _Part:
    interests, names = segment.interests(stamp)
    places = segment.places(interests.numbers).tolist()
    owners = segment.owners
    return interests, names, [owners[place] for place in places]


def _remove_again(sources: Iterable[Segment], merged: Segment, stamp: int) -> None:
    """Removes from the result of a merge what was removed while it ran."""
    for source in sources:
        died = source.index.died
        for member in np.flatnonzero((died > stamp) & (died < ALIVE)).tolist():
            merged.tombstone(merged.find(int(source.index.numbers[member])), int(died[member]))


def _joined(parts: Sequence[_Part]) -> _Part:
    """Several as one, in order of subscribing."""
    if len(parts) == 1:
        return parts[0]
    interests, order = in_order([part[0] for part in parts])
    owners = [owner for part in parts for owner in part[2]]
    names = None
    if not all(part[1] is None for part in parts):
        every = [_own_names(given) if names is None else names for given, names, _ in parts]
        rows, offsets = ragged(chained([each.offsets for each in every]), order)
        names = VariableNames(offsets, np.concatenate([each.numbers for each in every])[rows])
    return interests, names, [owners[place] for place in order.tolist()]


def _own_names(interests: Interests) -> VariableNames:
    """Names for interests that are in their own numbers still."""
    from heliograph.filter.kernels import count_variables

    sizes = np.zeros(len(interests.numbers), np.int64)
    count_variables(fixed(DocumentEdges(interests.edge_offsets, *interests.edges)), sizes)
    offsets = offsets_of(sizes)
    return VariableNames(offsets, (np.arange(offsets[-1]) - np.repeat(offsets[:-1], sizes)).astype(np.int16))
