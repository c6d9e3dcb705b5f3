"""The seqs of a stream of updates: given out where they are absent, checked where they are given.

The laws: each seq is above every earlier one, and how the stream is cut into tables changes no seq. Row by row, the
last seq L follows from a row's own x: a given seq makes it max(x, L), and the row is refused unless x > L; a row
without one makes it max(x, L + 1), x being its position. Subtract the number of rows without a seq so far, and both
are a plain maximum: so a whole column is one accumulated maximum.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from heliograph.errors import PublicationError, UsageError
from heliograph.kernels.evolution_layout import Int64s

Flags: TypeAlias = "npt.NDArray[np.bool_]"

_LAST = 2**63 - 1  # the largest seq that its column can hold
_FAR = 2**62  # seqs beyond are taken one by one, where counting on from them could overflow


class Order(NamedTuple):
    """What a table says of the order of its rows: their numbers in the source, and the seqs that some give."""

    numbers: Int64s
    seqs: Int64s
    given: Flags


class Taken(NamedTuple):
    """The seqs of rows, and those that cannot have theirs: the row and what speaks against it, in order."""

    seqs: Int64s
    refused: list[tuple[int, PublicationError]]


class Sequence:
    """The seqs of a stream, each above every earlier one.

    A row without a seq takes its position in the whole stream, refused rows counted, or the number after the last seq
    where that is higher. So a stream without seqs is numbered from 1, in whatever batches it comes.
    """

    def __init__(self, last: int | None = None, seen: int = 0) -> None:
        self.last = last
        self.seen = seen  # rows of the stream so far
        self._base = seen  # position before the first row of the source
        self._row = 0  # number of the latest row in its source
        self._source: str | None = None
        self._end = seen  # position after the last row of the table

    def meta(self) -> dict[str, Any]:
        """Where the stream stands, as plain values."""
        return {"last": self.last, "seen": self.seen, "base": self._base, "row": self._row, "source": self._source}

    @classmethod
    def restored(cls, meta: Mapping[str, Any]) -> Sequence:
        sequence = cls(meta["last"], meta["seen"])
        sequence._base, sequence._row, sequence._source = meta["base"], meta["row"], meta["source"]
        return sequence

    # --- tables -------------------------------------------------------------------------------------------------

    def begin(self, rows: int, source: str | None, piece: bool) -> None:
        """A table of so many rows begins; `piece` says that it may go on with the source of the one before."""
        if not piece or source is None or source != self._source:
            self._base, self._row = self.seen, 0
        self._source = source if piece else None
        self._end = self.seen + rows

    def end(self) -> None:
        self.seen = max(self.seen, self._end)

    def take_many(self, order: Order, admitted: Flags) -> Taken:
        """The seqs of a table's rows. All of them are seen; those that are `admitted` take one, if they can."""
        positions = self._see(order.numbers)
        if admitted.all():
            return self._take(order.seqs, order.given, positions)
        rows = np.flatnonzero(admitted)
        taken, refused = self._take(order.seqs[rows], order.given[rows], positions[rows])
        seqs = np.zeros(len(admitted), np.int64)
        seqs[rows] = taken
        return Taken(seqs, [(int(rows[place]), error) for place, error in refused])

    def _see(self, numbers: Int64s) -> Int64s:
        """The position of each row in the stream; numbers that start again mean that another source begins."""
        if not len(numbers):
            return numbers
        starts = np.flatnonzero(numbers[1:] <= numbers[:-1]) + 1
        if numbers[0] <= self._row:
            self._base = self.seen
        positions = numbers + self._base
        if len(starts):
            steps = np.zeros(len(numbers), np.int64)
            steps[starts] = numbers[starts - 1]
            positions += np.cumsum(steps)
        self._row, self.seen = int(numbers[-1]), int(positions[-1])
        self._base = self.seen - self._row
        return positions

    # --- seqs ---------------------------------------------------------------------------------------------------

    def _take(self, seqs: Int64s, given: Flags, positions: Int64s) -> Taken:
        if not len(seqs):
            return Taken(seqs, [])
        absent = not given.any()
        if abs(self.last or 0) > _FAR or (not absent and (seqs.max() > _FAR or seqs.min() < -_FAR)):
            return self._one_by_one(seqs, given, positions)
        if absent and positions[-1] - positions[0] == len(seqs) - 1:
            return self._counted(len(seqs), int(positions[0]))
        return self._at_once(seqs, given, positions)

    def _counted(self, count: int, position: int) -> Taken:
        """The commonest case: so many rows without a seq, none left out between them."""
        first = position if self.last is None else max(position, self.last + 1)
        self.last = first + count - 1
        return Taken(np.arange(first, first + count, dtype=np.int64), [])

    def _at_once(self, seqs: Int64s, given: Flags, positions: Int64s) -> Taken:
        absent = np.cumsum(~given)
        lasts = np.where(given, seqs, positions) - absent
        before = self.last
        if before is not None:
            lasts[0] = max(int(lasts[0]), before)
        np.maximum.accumulate(lasts, out=lasts)
        lasts += absent
        late = given.copy()
        late[1:] &= seqs[1:] <= lasts[:-1]
        late[0] &= before is not None and bool(seqs[0] <= before)
        self.last = int(lasts[-1])
        refused = np.flatnonzero(late).tolist()
        return Taken(
            lasts,
            [(row, _refusal(int(seqs[row]), int(lasts[row - 1]) if row else before)) for row in refused],
        )

    def _one_by_one(self, seqs: Int64s, given: Flags, positions: Int64s) -> Taken:
        """The same, without an end to whole numbers."""
        taken, refused = np.zeros(len(seqs), np.int64), []
        rows = zip(seqs.tolist(), given.tolist(), positions.tolist(), strict=True)
        for row, (seq, is_given, position) in enumerate(rows):
            if not is_given:
                seq = position if self.last is None else max(position, self.last + 1)
            if seq > _LAST or (self.last is not None and seq <= self.last):
                refused.append((row, _refusal(seq, self.last)))
            else:
                taken[row] = self.last = seq
        return Taken(taken, refused)

    def reached(self, seq: int | str | None) -> str | None:
        """The last seq as an id, if the graph stands where it stood after `seq`."""
        try:
            wanted = self.last if seq is None else int(seq)
        except (TypeError, ValueError) as error:
            raise UsageError("HG-073", f"{seq!r} is no seq", fix="give the whole number of an update") from error
        if wanted is not None and self.last is not None and wanted < self.last:
            raise UsageError(
                "HG-074",
                f"the graph stands at seq {self.last}, past {wanted}",
                fix=f"replay the updates up to {wanted}",
            )
        return None if wanted is None else str(wanted)


def _refusal(seq: int, last: int | None) -> PublicationError:
    return PublicationError(
        "HG-623",
        f"seq {seq} after {last}: a seq must be above every earlier one, and below 2^63",
        fix="give updates in ascending seq, each with its own",
    )
