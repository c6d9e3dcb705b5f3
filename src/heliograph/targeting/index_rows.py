"""The rows of a predicate index, growing, and the segments that they lie in.

A row is an id with one expression; replacing an expression adds a row and ends the old one, in the same place of the
order. Many versions live in the same arrays: a reader of version v sees the rows that die after v, and the one writer
only appends and gives death in versions that nobody reads yet, so that readers need no lock.

The newest rows wait in a tail that is not indexed. When it has grown it becomes a segment, and segments of about the
same size become one, so that each row is indexed again only a logarithm of times.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from heliograph.kernels.predicate_index_layout import NEVER_DIED, Rows, Segment
from heliograph.kernels.targeting_layout import Bytes, Int32s, Int64s
from heliograph.targeting.growing import Growing
from heliograph.targeting.index_source import Writing
from heliograph.targeting.pools import Pool
from heliograph.targeting.segments import build_segment, tail_segment

TAIL = 1024  # rows asked one by one cost as much as rounding up some blocks; indexing fewer is not worth a segment
_RATIO = 4  # a segment is merged with the one before it unless that is so many times as large


class Ids(NamedTuple):
    """Ids by number as flat texts, and the number of the id at each place."""

    named: Int32s
    offsets: Int64s
    data: Bytes

    @property
    def column(self) -> Any:
        """The id of each number as an Arrow array, which takes no memory of its own."""
        parts: tuple[Any, ...] = self.offsets, self.data
        return pa.Array.from_buffers(pa.large_string(), len(self.offsets) - 1, [None, *map(pa.py_buffer, parts)])

    def texts(self, places: Int32s) -> list[str]:
        listed: list[str] = self.at(places).to_pylist()
        return listed

    def at(self, places: Int32s) -> Any:
        """The ids at these places as an Arrow array."""
        return self.column.take(pa.array(self.named[places]))

    def number(self, id: str) -> int:
        """The number of an id, or -1."""
        return int(pc.index(self.column, pa.scalar(id, pa.large_string())).as_py())


class Version(NamedTuple):
    """What one call sees. `texts` may have grown since, behind what the rows refer to."""

    number: int
    writing: Writing
    rows: Rows
    segments: tuple[Segment, ...]
    ids: Ids
    texts: Sequence[str | None]  # of each row
    live: int

    def live_rows(self) -> Int32s:
        """The rows that are there, in order of their places."""
        alive = np.flatnonzero(self.rows.died > self.number)
        return alive[np.argsort(self.rows.place[alive], kind="stable")].astype(np.int32)

    def listing(self) -> tuple[list[str], list[str | None]]:
        """The ids that are there and their texts, in order."""
        rows = self.live_rows()
        return self.ids.texts(self.rows.place[rows]), [self.texts[row] for row in rows.tolist()]

    def find(self, id: str) -> int | None:
        """The row of an id, or None. Looks at every one."""
        found = np.flatnonzero(self.ids.named[self.rows.place] == self.ids.number(id))
        alive = found[self.rows.died[found] > self.number]
        return int(alive[0]) if len(alive) else None


class RowStore:
    """The one writer's side."""

    def __init__(self) -> None:
        self._expression, self._place = Growing(np.int32), Growing(np.int32)
        self._died: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        self._ids, self._named = Pool(np.uint8), Growing(np.int32)
        self._texts: list[str | None] = []
        self._current = array("i")  # the row of each id, or -1
        self._live = 0
        self._segments: list[Segment] = []
        self._indexed = 0  # rows before this one lie in segments
        self._number = 0
        self._counting: Int32s = _counting(2 * TAIL)

    def __len__(self) -> int:
        return self._live

    def __contains__(self, id: object) -> bool:
        return isinstance(id, str) and self._find(id) >= 0

    @property
    def dead(self) -> int:
        return len(self._texts) - self._live

    def _find(self, id: str) -> int:
        """The row of an id, or -1."""
        number = self._ids.find(id.encode())
        return self._current[number] if number >= 0 else -1

    def put(self, added: Sequence[tuple[str, str | None, int]]) -> None:
        """Adds ids with their texts and expressions, in order; an id that is there already keeps its place."""
        first = len(self._texts)
        self._make_room(first + len(added))
        places, named, before = list[int](), list[int](), len(self._named)
        for row, (id, text, _) in enumerate(added, first):
            self._texts.append(text)
            number = self._ids.number(id.encode())
            if number == len(self._current):
                self._current.append(-1)
            known = self._current[number]
            if known < 0:
                places.append(before + len(named))
                named.append(number)
            else:
                places.append(places[known - first] if known >= first else int(self._place.view()[known]))
                self._died[known] = self._number + 1
            self._current[number] = row
        self._live += len(named)
        self._named.extend(named)
        self._expression.extend([expression for _, _, expression in added])
        self._place.extend(places)

    def drop(self, ids: Sequence[str]) -> None:
        """Ends the rows of these ids, which are there."""
        for id in ids:
            number = self._ids.find(id.encode())
            self._died[self._current[number]] = self._number + 1
            self._current[number] = -1
        self._live -= len(ids)

    def listing(self) -> tuple[list[str], list[str | None]]:
        """The ids that are there now and their texts, in order."""
        places, named = self._place.view(), self._named.view()
        rows = sorted((row for row in self._current if row >= 0), key=places.__getitem__)
        return [self._ids.content(named[places[row]]).decode() for row in rows], [self._texts[row] for row in rows]

    def version(self, writing: Writing) -> Version:
        """The next version: everything done since the last one, at once."""
        self._number += 1
        if len(self._texts) - self._indexed >= TAIL:
            self._fold(writing)
        rows = self._rows()
        tail = [tail_segment(rows, self._indexed, self._counting)] if self._indexed < len(self._texts) else []
        segments = (*self._segments, *tail)
        ids = Ids(self._named.view(), self._ids.offsets(), self._ids.data())
        return Version(self._number, writing, rows, segments, ids, self._texts, self._live)

    def _rows(self) -> Rows:
        died = self._died[: len(self._texts)]
        died.flags.writeable = False
        return Rows(self._expression.view(), self._place.view(), died)

    def _fold(self, writing: Writing) -> None:
        """The tail as a segment, together with the segments that are not much larger."""
        rows = self._rows()
        chosen = [np.arange(self._indexed, len(self._texts), dtype=np.int32)]
        size = len(chosen[0])
        while self._segments and len(self._segments[-1].members) < _RATIO * size:
            chosen.append(self._segments.pop().members)
            size += len(chosen[-1])
        together = np.sort(np.concatenate(chosen))
        alive = together[rows.died[together] > self._number]
        self._segments.append(build_segment(writing.programs, writing.known, rows, alive))
        self._indexed = len(self._texts)

    def _make_room(self, size: int) -> None:
        if size > len(self._died):
            room = np.full(max(size, 2 * len(self._died)), NEVER_DIED, np.int64)
            room[: len(self._died)] = self._died
            self._died = room
            self._counting = _counting(len(room) + 1)


def _counting(size: int) -> Any:
    numbers = np.arange(size, dtype=np.int32)
    numbers.flags.writeable = False
    return numbers
