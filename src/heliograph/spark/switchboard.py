"""Which shards an update goes to: those with a query that can see something it may change.

The law: a shard is sent every update that can change a triple which one of its keys matches. An addition or removal
changes the triple that it names; `=` may take any value of its subject's property, so there objects do not count; the
removal of a vertex may take any triple that touches it. So a shard's graph and the whole graph agree in all that its
queries see, as long as both began so.

Keys are looked up as numbers, all rows of a batch at once, once for each way to leave parts of a key open.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from heliograph.spark.sights import ANYTHING, Key
from heliograph.terms import RDFS_MEMBER, Position, Term, is_container_member
from heliograph.vocabulary import Vocabulary
from heliograph.watch.encoding import REMOVE_VERTEX, SET, Encoded

Numbers = npt.NDArray[np.int64]
Mask = tuple[bool, ...]
Shards = Sequence[int]

_TEXTS: dict[str, pa.DataType] = dict.fromkeys(("subject", "property", "object"), pa.string())
KEYS = pa.schema({"shard": pa.int32(), **_TEXTS})
_POSITIONS = (Position.SUBJECT, Position.PROPERTY, Position.OBJECT)


class Seen(NamedTuple):
    """Rows of a batch and shards that see them, each pair once, by shard."""

    rows: Numbers
    shards: Numbers

    def of(self, shard: int) -> Numbers:
        first, last = np.searchsorted(self.shards, (shard, shard + 1))
        return self.rows[first:last]


class Index(NamedTuple):
    """The keys that fix the same parts, as sorted codes, and the shards of each."""

    mask: Mask
    pairs: Numbers  # where three parts are fixed, the different first two
    codes: Numbers
    offsets: Numbers
    shards: Numbers

    @classmethod
    def of(cls, mask: Mask, columns: Sequence[Numbers], shards: Numbers) -> Index:
        fixed = [column for column, kept in zip(columns, mask, strict=True) if kept]
        pairs = np.unique(_joined(fixed[0], fixed[1])) if len(fixed) == 3 else np.empty(0, np.int64)
        codes = _codes(fixed, pairs)
        order = np.lexsort((shards, codes))
        different, first = np.unique(codes[order], return_index=True)
        return cls(mask, pairs, different, np.append(first, len(codes)), shards[order])

    def find(self, columns: Sequence[Numbers]) -> tuple[Numbers, Numbers]:
        """Pairs of a row and a shard with a key like it."""
        fixed = [column for column, kept in zip(columns, self.mask, strict=True) if kept]
        places, known = _places(self.codes, _codes(fixed, self.pairs))
        rows, hits = np.flatnonzero(known), places[known]
        sizes = self.offsets[hits + 1] - self.offsets[hits]
        starts = np.repeat(self.offsets[hits] - (np.cumsum(sizes) - sizes), sizes)
        return np.repeat(rows, sizes), self.shards[starts + np.arange(len(starts))]


class Lookup(NamedTuple):
    """Keys of shards, by the parts that they fix; `always` are shards that see whatever there is."""

    always: Shards
    indexes: tuple[Index, ...]

    @classmethod
    def of(cls, keys: Collection[tuple[int, Key]], vocabulary: Vocabulary) -> Lookup:
        always = {shard for shard, key in keys if key == ANYTHING}
        groups: dict[Mask, list[tuple[int, Key]]] = {}
        for shard, key in set(keys):
            if shard not in always:
                groups.setdefault(tuple(part is not None for part in key), []).append((shard, key))
        return cls(sorted(always), tuple(_index(mask, some, vocabulary) for mask, some in sorted(groups.items())))

    def find(self, columns: Sequence[Numbers], known: int) -> Iterator[tuple[Numbers, Numbers]]:
        """Pairs of rows and shards; terms from `known` on stand in no key, so what holds one is not looked up."""
        for index in self.indexes:
            fixed = [column for column, kept in zip(columns, index.mask, strict=True) if kept]
            some = np.flatnonzero(np.logical_and.reduce([column < known for column in fixed]))
            rows, shards = index.find([column[some] for column in columns])
            yield some[rows], shards


class Switchboard:
    """The keys of all shards, ready to be looked up."""

    def __init__(self, keys: Iterable[tuple[int, Key]]) -> None:
        own = set(keys)
        self.vocabulary = Vocabulary()
        self._member = self.vocabulary.intern(RDFS_MEMBER)
        self._edges = Lookup.of(own, self.vocabulary)
        self._sets = Lookup.of({(shard, (s, p, None)) for shard, (s, p, _) in own}, self.vocabulary)
        self._vertices = Lookup.of({end for shard, key in own for end in _ends(shard, key)}, self.vocabulary)
        self._known = len(self.vocabulary)

    def seen(self, updates: Encoded, vocabulary: Vocabulary) -> Seen:
        """Who sees which updates; `vocabulary` is one over that of the switchboard."""
        ways = ((updates.op < SET, self._edges), (updates.op == SET, self._sets))
        found = [pair for where, lookup in ways for pair in self._edge_pairs(lookup, where, updates, vocabulary)]
        gone = np.flatnonzero(updates.op == REMOVE_VERTEX)
        vertices = updates.subject[gone].astype(np.int64)
        found += [(gone[rows], shards) for rows, shards in self._found(self._vertices, [vertices] * 3)]
        return _distinct(found, len(updates))

    def _edge_pairs(
        self, lookup: Lookup, where: npt.NDArray[np.bool_], updates: Encoded, vocabulary: Vocabulary
    ) -> Iterator[tuple[Numbers, Numbers]]:
        rows = np.flatnonzero(where)
        subject, predicate, object = (
            column[rows].astype(np.int64) for column in (updates.subject, updates.predicate, updates.object)
        )
        for some, shards in self._found(lookup, [subject, predicate, object]):
            yield rows[some], shards
        members = np.flatnonzero(np.isin(predicate, _members(predicate, vocabulary)))  # rdfs:member matches them too
        general = np.full(len(members), self._member, np.int64)
        for some, shards in lookup.find([subject[members], general, object[members]], self._known):
            yield rows[members[some]], shards

    def _found(self, lookup: Lookup, columns: Sequence[Numbers]) -> Iterator[tuple[Numbers, Numbers]]:
        everyone = np.arange(len(columns[0]))
        for shard in lookup.always:
            yield everyone, np.full(len(everyone), shard, np.int64)
        yield from lookup.find(columns, self._known)


def _ends(shard: int, key: Key) -> Iterator[tuple[int, Key]]:
    """Whose removal may take a triple like the key: its ends if both are fixed, else anybody's."""
    subject, _, object = key
    if subject is None or object is None:
        yield shard, ANYTHING
    else:
        yield shard, (subject, None, None)
        yield shard, (object, None, None)


def _members(predicate: Numbers, vocabulary: Vocabulary) -> list[int]:
    return [id for id in np.unique(predicate).tolist() if is_container_member(vocabulary.term(id))]


def _distinct(found: Sequence[tuple[Numbers, Numbers]], size: int) -> Seen:
    rows = np.concatenate([np.empty(0, np.int64), *(pair[0] for pair in found)])
    shards = np.concatenate([np.empty(0, np.int64), *(pair[1] for pair in found)])
    both = np.unique(shards * max(size, 1) + rows)
    return Seen(both % max(size, 1), both // max(size, 1))


# --- codes ------------------------------------------------------------------------------------------------------


def _index(mask: Mask, keys: Sequence[tuple[int, Key]], vocabulary: Vocabulary) -> Index:
    shards = np.array([shard for shard, _ in keys], np.int64)
    columns = [_ids([key[part] for _, key in keys], vocabulary) for part in range(3)]
    return Index.of(mask, columns, shards)


def _ids(terms: Sequence[Term | None], vocabulary: Vocabulary) -> Numbers:
    known = [term for term in terms if term is not None]
    return np.array(vocabulary.intern_many(known) if len(known) == len(terms) else [0] * len(terms), np.int64)


def _joined(first: Numbers, second: Numbers) -> Numbers:
    return first << 32 | second


def _codes(fixed: Sequence[Numbers], pairs: Numbers) -> Numbers:
    """One number for the fixed parts of each row; of three the first two are told by their place among `pairs`."""
    if len(fixed) == 1:
        return fixed[0]
    joined = _joined(fixed[0], fixed[1])
    if len(fixed) == 2:
        return joined
    places, known = _places(pairs, joined)
    return np.where(known, _joined(places, fixed[2]), -1)


def _places(values: Numbers, wanted: Numbers) -> tuple[Numbers, npt.NDArray[np.bool_]]:
    """Where each number stands among sorted ones, and whether it does."""
    places: Any = np.minimum(np.searchsorted(values, wanted), max(len(values) - 1, 0))
    return places, values[places] == wanted if len(values) else np.zeros(len(wanted), np.bool_)


# --- tables -----------------------------------------------------------------------------------------------------


def keys_table(keys: Sequence[tuple[int, Key]]) -> pa.Table:
    """Keys as they are saved, null where anything may stand."""
    vocabulary = Vocabulary()
    columns: list[Any] = [pa.array([shard for shard, _ in keys], pa.int32())]
    for part, position in enumerate(_POSITIONS):
        cells = [key[part] for _, key in keys]
        texts = vocabulary.spell(vocabulary.intern_many([term for term in cells if term is not None]), position)
        known = np.array([term is not None for term in cells], np.bool_)
        places: Any = pa.array(np.cumsum(known) - 1, mask=~known)
        columns.append(texts.take(places))
    return pa.Table.from_arrays(columns, schema=KEYS)


def read_keys(table: pa.Table) -> list[tuple[int, Key]]:
    vocabulary = Vocabulary()
    columns = [
        _terms(table[name], position, vocabulary) for name, position in zip(KEYS.names[1:], _POSITIONS, strict=True)
    ]
    shards: list[Any] = table["shard"].to_pylist()
    return list(zip(shards, zip(*columns, strict=True), strict=True))


def _terms(cells: Any, position: Position, vocabulary: Vocabulary) -> list[Term | None]:
    ids = iter(vocabulary.intern_cells(cells.drop_null(), position).ids.tolist())
    return [vocabulary.term(next(ids)) if known else None for known in cells.is_valid().to_pylist()]
