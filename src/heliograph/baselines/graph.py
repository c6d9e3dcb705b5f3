"""A set of triples that can be asked by any of its parts.

The law: `match` answers exactly the triples that agree with the parts given, in the order in which they were added,
whatever was added and removed before. An index is built when first asked for, and kept up to date from then on.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Protocol

from heliograph.taxonomy import Document
from heliograph.terms import Term

Triple = tuple[Term, Term, Term]
Mask = tuple[bool, bool, bool]
Index = dict[tuple[Term, ...], dict[Triple, None]]  # a dict of None is a set that keeps its order

_NOTHING: dict[Triple, None] = {}


class Readable(Document, Protocol):
    """What a solver needs of a graph, whatever holds it."""

    def __iter__(self) -> Iterator[Triple]: ...

    def __len__(self) -> int: ...


class Graph:
    """A set of term triples. `add` and `remove` say whether they changed anything."""

    def __init__(self, triples: Iterable[Triple] = ()) -> None:
        self._triples: dict[Triple, None] = dict.fromkeys(triples)
        self._indexes: dict[Mask, Index] = {}

    def __len__(self) -> int:
        return len(self._triples)

    def __iter__(self) -> Iterator[Triple]:
        return iter(self._triples)

    def __contains__(self, triple: Triple) -> bool:
        return triple in self._triples

    def add(self, triple: Triple) -> bool:
        if triple in self._triples:
            return False
        self._triples[triple] = None
        for mask, index in self._indexes.items():
            index.setdefault(_key(triple, mask), {})[triple] = None
        return True

    def remove(self, triple: Triple) -> bool:
        if triple not in self._triples:
            return False
        del self._triples[triple]
        for mask, index in self._indexes.items():
            key = _key(triple, mask)
            del index[key][triple]
            if not index[key]:
                del index[key]
        return True

    def match(
        self, subject: Term | None = None, predicate: Term | None = None, object: Term | None = None
    ) -> Collection[Triple]:
        """The triples with these parts; None is a wildcard. Not to be changed while it is read."""
        mask = (subject is not None, predicate is not None, object is not None)
        if mask == (False, False, False):
            return self._triples.keys()
        key = tuple(part for part in (subject, predicate, object) if part is not None)
        if mask == (True, True, True):
            return (key,) if key in self._triples else ()
        return self._index(mask).get(key, _NOTHING).keys()

    def count(self, subject: Term | None = None, predicate: Term | None = None, object: Term | None = None) -> int:
        return len(self.match(subject, predicate, object))

    def _index(self, mask: Mask) -> Index:
        index = self._indexes.get(mask)
        if index is None:
            index = {}
            for triple in self._triples:
                index.setdefault(_key(triple, mask), {})[triple] = None
            self._indexes[mask] = index
        return index


def _key(triple: Triple, mask: Mask) -> tuple[Term, ...]:
    return tuple(part for part, given in zip(triple, mask, strict=True) if given)
