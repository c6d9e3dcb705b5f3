"""A batch of updates without text: ids of one vocabulary, read once and published as often as wanted.

The law: publishing what `Watch.encode` made of some items notifies as publishing the items does, then and there. What
is wrong with a row by itself was found when it was read; its seq, and its time in a window, are judged when it is
published, because they depend on the stream.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from heliograph.errors import HeliographError, Place, PublicationError, UsageError
from heliograph.kernels.evolution_layout import NO_TIME, Floats, Int32s, Int64s
from heliograph.model import Brief, Rejected, Rejections
from heliograph.terms import TermKind
from heliograph.vocabulary import Vocabulary
from heliograph.watch.encoding import ADD, NO_TERM, REMOVE_VERTEX, Encoded
from heliograph.watch.sequence import Flags, Order, Sequence

Problem = tuple[int, HeliographError]  # a row of the table, what is wrong with it


class Admitted(NamedTuple):
    """The updates that are accepted, with their seqs, and the rows that are refused."""

    encoded: Encoded
    problems: list[Problem]


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Updates:
    """Updates as ids of `vocabulary`: what `Watch.encode` gives, or `Updates.of` from arrays of ids.

    All rows of a table are here. `encoded.seq` counts where it is `given`, and a row counts where it is `good`.
    """

    vocabulary: Vocabulary
    encoded: Encoded
    given: Flags
    good: Flags
    numbers: Int64s  # of the rows in their source
    source: str | None = None
    unread: tuple[Rejected, ...] = ()  # rows of the source that are not even rows of the table
    problems: tuple[Problem, ...] = ()

    def __len__(self) -> int:
        """How many updates there are, refused rows not counted."""
        return int(np.count_nonzero(self.good))

    @property
    def rejected(self) -> Rejections:
        """What was refused when the batch was read."""
        return Rejections((*self.unread, *self.refusals(self.problems)))

    def refusals(self, problems: Iterable[Problem]) -> list[Rejected]:
        """Rows that are refused, in order, each with its place."""
        in_order = sorted(problems, key=lambda problem: problem[0])
        brief = Brief()
        return [
            Rejected.of(_placed(error, Place(self.source, str(self.numbers[row]))))
            if brief.wants(error.code)
            else Rejected(self.source, str(self.numbers[row]), error.code, "")
            for row, error in in_order
        ]

    # --- from ids -----------------------------------------------------------------------------------------------

    @classmethod
    def of(
        cls,
        vocabulary: Vocabulary,
        triples: tuple[Any, Any, Any],
        op: Any = ADD,
        *,
        seq: Any = None,
        weight: Any = None,
        at: Any = None,
    ) -> Self:
        """Updates from three arrays (NumPy, Arrow) of ids that the vocabulary of the engine gave out.

        `op` is one number or an array of them (0 add, 1 remove, 2 set, 3 remove a vertex, of which only the subject
        counts). `seq`, `weight` (NaN where there is none) and `at` (microseconds since 1970, UTC) may be left out.
        """
        subject, predicate, object = (_whole(column, np.int32, NO_TERM) for column in triples)
        size = len(subject)
        encoded = Encoded(
            np.zeros(size, np.int64) if seq is None else _whole(seq, np.int64),
            np.repeat(_whole(op, np.uint8), size) if np.ndim(op) == 0 else _whole(op, np.uint8),
            subject,
            predicate,
            object,
            np.full(size, np.nan) if weight is None else _weights(weight),
            np.full(size, NO_TIME) if at is None else _whole(at, np.int64, NO_TIME),
        )
        encoded = _checked(encoded, vocabulary)
        given = np.full(size, seq is not None)
        return cls(vocabulary, encoded, given, np.ones(size, np.bool_), np.arange(1, size + 1, dtype=np.int64))

    # --- publishing ---------------------------------------------------------------------------------------------

    def over(self, vocabulary: Vocabulary) -> Updates:
        """The same updates as ids of another vocabulary."""
        if vocabulary is self.vocabulary:
            return self
        columns = (self.encoded.subject, self.encoded.predicate, self.encoded.object)
        subject, predicate, object = translated(columns, self.vocabulary, vocabulary)
        encoded = replace(self.encoded, subject=subject, predicate=predicate, object=object)
        return replace(self, vocabulary=vocabulary, encoded=encoded)

    def admit(self, sequence: Sequence, timed: bool, piece: bool = False) -> Admitted:
        """What is accepted now; `timed` asks every update for its time, `piece` is for `Sequence.begin`."""
        good, problems = self.good, list[Problem]()
        if timed:
            untimed = good & (self.encoded.at == NO_TIME)
            problems += [(row, _untimed()) for row in np.flatnonzero(untimed).tolist()]
            good = good & ~untimed
        sequence.begin(len(self.numbers) + len(self.unread), self.source, piece)
        seqs, late = sequence.take_many(Order(self.numbers, self.encoded.seq, self.given), good)
        sequence.end()
        encoded = replace(self.encoded, seq=seqs)
        if late:
            good = good.copy()
            good[[row for row, _ in late]] = False
        return Admitted(encoded if good.all() else encoded.take(good), [*problems, *late])


def translated(columns: Iterable[Int32s], own: Vocabulary, other: Vocabulary) -> list[Int32s]:
    """Ids of one vocabulary as those of another; NO_TERM stays."""
    given = list(columns)
    met = np.unique(np.concatenate(given))
    met = met[met >= 0]
    places = np.full(len(own) + 1, NO_TERM, np.int32)  # NO_TERM is the last entry
    places[met] = other.intern_many([own.term(id) for id in met.tolist()])
    return [places[column] for column in given]


def _placed(error: HeliographError, place: Place) -> HeliographError:
    """The same error, with its place."""
    return type(error)(error.code, error.message, place=place, fix=error.fix)


def _untimed() -> PublicationError:
    return PublicationError("HG-625", "an update without a time in a time window", fix="fill the column 'at'")


# --- checks of ids ------------------------------------------------------------------------------------------------


def _unfit(problem: str, fix: str) -> UsageError:
    return UsageError("HG-078", f"updates from ids: {problem}", fix=fix)


def _whole(values: Any, kind: type[Any], absent: int = 0) -> npt.NDArray[Any]:
    """Whole numbers as a column of this kind; a null of Arrow's is `absent`."""
    if isinstance(values, (pa.Array, pa.ChunkedArray)) and values.null_count:
        values = _filled(values, absent)
    column, info = np.asarray(values), np.iinfo(kind)
    if column.size == 0:
        return np.empty(0, kind)
    if column.dtype.kind not in "iu" or column.min() < info.min or column.max() > info.max:
        raise _unfit(f"{column.dtype} that is no {np.dtype(kind)}", "give whole numbers that fit")
    return np.array(column, kind)  # a copy: ids that were checked must not change


def _filled(values: Any, absent: int) -> Any:
    """A column of Arrow's without nulls, which every kind of whole number and a column of nothing else may have."""
    try:
        return pc.call_function("coalesce", [values.cast(pa.int64()), pa.scalar(absent, pa.int64())])
    except pa.ArrowInvalid:
        raise _unfit(f"{values.type} with nulls", "give whole numbers that fit") from None


def _weights(values: Any) -> Floats:
    weights = np.array(values, np.float64)
    if (weights < 0).any() or np.isinf(weights).any():
        raise _unfit("a weight that is negative or infinite", "a weight is a number, 0 or more; NaN for none")
    return weights


def _checked(encoded: Encoded, vocabulary: Vocabulary) -> Encoded:
    """The same; raises unless the columns fit each other, ops are ops, and each id is that of a term in its place."""
    if {column.shape for column in encoded.columns} != {(len(encoded),)}:
        raise _unfit("columns of different lengths", "give each update one entry in each column")
    if (encoded.op > REMOVE_VERTEX).any():
        raise _unfit("an unknown op", "write 0 to add, 1 to remove, 2 to set, 3 to remove a vertex")
    edges = encoded.op < REMOVE_VERTEX
    _check_terms(vocabulary, encoded.subject, {TermKind.IRI, TermKind.BLANK})
    _check_terms(vocabulary, encoded.predicate[edges], {TermKind.IRI})
    _check_terms(vocabulary, encoded.object[edges], set(TermKind))
    if edges.all():
        return encoded
    predicate, object = (np.where(edges, column, np.int32(NO_TERM)) for column in (encoded.predicate, encoded.object))
    return replace(encoded, predicate=predicate, object=object)


def _check_terms(vocabulary: Vocabulary, ids: Int32s, kinds: set[TermKind]) -> None:
    met = np.unique(ids)
    if len(met) and (met[0] < 0 or met[-1] >= len(vocabulary)):
        raise _unfit("an id without a term", "give ids of the vocabulary of the engine")
    if not set(np.unique(vocabulary.typed(met).category).tolist()) <= kinds:
        raise _unfit("a literal or a blank node where none may stand", "a property is an IRI, a subject no literal")
