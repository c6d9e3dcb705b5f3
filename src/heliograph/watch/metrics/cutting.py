"""Who asks to be told at which values: cuts by instance and for all, as the arrays that kernels look them up in.

Thousands of thresholds at one vertex are one ascending list, so a change of its value costs two binary searches however
many ask. Instances with equal cuts share a list: one threshold at each of a million vertices is one list of one point.

The law: an instance's list holds the points of all who watch it and have not gone, each once, however often asked for;
if one of them asks for every change, so does the instance.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from heliograph.kernels.metric_layout import EVERY, SILENT
from heliograph.kernels.simple_graph_layout import Asked
from heliograph.kernels.simple_graph_room import enlarged, fixed, more
from heliograph.watch.metrics.measure import Points

_Key = float | None  # a point, or None for every change
_ALL = -1  # in place of an instance: everyone
_NOWHERE = -math.inf  # a point that no value passes
_IDLE = 1024  # points that may stand in lists that nobody uses any more, whatever the others


class Cutting:
    """Cuts with counts of who asked for them."""

    def __init__(self) -> None:
        self._counts: dict[int, Counter[_Key]] = {}
        self._live = 0  # keys in all counts
        self._changed: set[int] = set()
        self._forget_lists()

    def watch(self, instance: int, points: Points) -> None:
        counts = self._counts.setdefault(instance, Counter())
        self._live -= len(counts)
        counts.update(_keys(points))
        self._live += len(counts)
        self._changed.add(instance)

    def unwatch(self, instance: int, points: Points) -> None:
        """Takes back what `watch` was told; whoever did not watch is a KeyError."""
        counts, keys = self._counts[instance], Counter(_keys(points))
        if keys - counts:
            raise KeyError(f"instance {instance} is not watched at {sorted(keys - counts, key=str)}")
        self._live -= len(counts)
        left = counts - keys
        self._live += len(left)
        self._counts[instance] = left
        if not left:
            del self._counts[instance]
        self._changed.add(instance)

    def watch_all(self, points: Points) -> None:
        self.watch(_ALL, points)

    def unwatch_all(self, points: Points) -> None:
        self.unwatch(_ALL, points)

    @property
    def watches_all(self) -> bool:
        return _ALL in self._counts

    def watches(self, instance: int) -> bool:
        """Whether somebody asks for this very instance."""
        return instance in self._counts

    def instances(self) -> Iterator[int]:
        """Those that somebody asks for by themselves."""
        return (instance for instance in self._counts if instance != _ALL)

    def points(self, instance: int) -> Points:
        """The cuts of an instance, ascending, without those of all; None: every change is told."""
        counts = self._counts.get(instance, Counter())
        return None if None in counts else sorted(key for key in counts if key is not None and key != _NOWHERE)

    def points_of_all(self) -> Points:
        return self.points(_ALL)

    def asked(self) -> Asked:
        """The cuts as arrays."""
        if self._changed:
            self._renew()
        return Asked(
            fixed(self._points, np.float64),
            fixed(self._firsts, np.int32),
            fixed(self._numbers, np.int32),
            self._everyone,
        )

    # --- lists ------------------------------------------------------------------------------------------------------

    def _forget_lists(self) -> None:
        self._lists: dict[tuple[float, ...], int] = {}
        self._points, self._firsts = np.zeros(0), np.zeros(1, np.int32)
        self._numbers, self._everyone = np.zeros(0, np.int32), SILENT

    def _renew(self) -> None:
        """Gives whoever changed a list. Where most points stand in lists of nobody, all get theirs anew."""
        self._number()
        if len(self._points) > _IDLE + 2 * self._live:
            self._forget_lists()
            self._changed = set(self._counts)
            self._number()

    def _number(self) -> None:
        """Writes down the lists of those who changed; new lists stand behind those that are there."""
        known, highest = len(self._numbers), max(self._changed, default=_ALL)
        if highest >= known:
            self._numbers = enlarged(self._numbers, max(highest + 1, more(known)))
            self._numbers[known:] = SILENT
        fresh: list[tuple[float, ...]] = []
        for instance in self._changed:
            number = self._list_of(instance, fresh)
            if instance == _ALL:
                self._everyone = number
            else:
                self._numbers[instance] = number
        self._changed.clear()
        self._points = np.concatenate([self._points, *fresh])
        ends = self._firsts[-1] + np.cumsum([len(points) for points in fresh], dtype=np.int32)
        self._firsts = np.concatenate([self._firsts, ends])

    def _list_of(self, instance: int, fresh: list[tuple[float, ...]]) -> int:
        """The number of an instance's list; a new one is put among the fresh."""
        points = self.points(instance)
        if not points:
            return EVERY if points is None else SILENT
        key = tuple(points)
        if key not in self._lists:
            self._lists[key] = len(self._lists)
            fresh.append(key)
        return self._lists[key]


def _keys(points: Points) -> Sequence[_Key]:
    """A watcher's points, each once; whoever has none is counted all the same."""
    return [None] if points is None else sorted(set(points)) or [_NOWHERE]
