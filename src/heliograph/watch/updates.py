"""What changes an evolving graph: one update, and the net effect it had.

The law of `Effect`: adding what was just removed (or the reverse) cancels, so an effect is the difference between the
graph before and after, whatever steps led there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from heliograph.terms import Term

Triple = tuple[Term, Term, Term]

ADD, REMOVE, SET = "+", "-", "="
OPERATIONS = (ADD, REMOVE, SET)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Update(NamedTuple):
    """One accepted row of an updates table. Without predicate and object a removal takes the whole vertex.

    `at` is in microseconds since 1970, UTC.
    """

    seq: int
    op: str
    subject: Term
    predicate: Term | None
    object: Term | None
    weight: float | None = None
    at: int | None = None

    @property
    def triple(self) -> Triple:
        assert self.predicate is not None
        assert self.object is not None
        return (self.subject, self.predicate, self.object)

    @property
    def time(self) -> datetime | None:
        return None if self.at is None else EPOCH + timedelta(microseconds=self.at)


class Effect:
    """The triples that an update added and removed, net."""

    __slots__ = ("added", "removed")

    def __init__(self) -> None:
        self.added: dict[Triple, None] = {}
        self.removed: dict[Triple, None] = {}

    def add(self, triple: Triple) -> None:
        if triple in self.removed:
            del self.removed[triple]
        else:
            self.added[triple] = None

    def remove(self, triples: Iterable[Triple]) -> None:
        for triple in triples:
            if triple in self.added:
                del self.added[triple]
            else:
                self.removed[triple] = None

    def __iter__(self) -> Iterator[Triple]:
        yield from self.removed
        yield from self.added

    def __len__(self) -> int:
        return len(self.added) + len(self.removed)
