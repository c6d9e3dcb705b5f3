"""What of an evolving graph a query can see, and so which shards an update goes to."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from heliograph.sparql.query import ClassPattern, Metric, Node, Pattern, Query, walk
from heliograph.terms import RDF_TYPE, RDFS_MEMBER, RDFS_SUBCLASS_OF, Position, Term, Variable, iri, is_container_member
from heliograph.vocabulary import Vocabulary
from heliograph.watch.layout import REMOVE_VERTEX, SET_EDGE
from heliograph.watch.metrics.calls import call_of
from heliograph.watch.updates import UpdateColumns

# ----------------------------------------------------------------------------------------------------------------------
# What of an evolving graph a query can see: keys, each a triple with None for whatever may stand there.
#
# The law: what a query tells depends on the graph only through the triples that one of its keys matches. A pattern is
# its own key; the is-a forms see all classes; an `hg:` function that is told its properties sees those, for what no
# edge of them touches counts as absent. Any other function, and a variable that ranges over all vertices, sees
# everything.
# ----------------------------------------------------------------------------------------------------------------------

Key = tuple[Term | None, Term | None, Term | None]
Keys = frozenset[Key]

ANYTHING: Key = (None, None, None)
EVERYTHING: Keys = frozenset({ANYTHING})

TICK = iri("urn:heliograph:fn:tick")
"""An update that a shard does not see, but must count, comes as the removal of a triple of this name three times."""

_CLASSES: Keys = frozenset({(None, RDF_TYPE, None), (None, RDFS_SUBCLASS_OF, None)})
_MASKS = tuple(product((True, False), repeat=3))


def keys_of(query: Query) -> Keys:
    """The keys of all triples that can change what a query tells."""
    keys = {key for pattern in query.patterns for key in _of_pattern(pattern)}
    bound = {node for pattern in query.patterns for node in pattern if isinstance(node, Variable)}
    for metric in query.metrics:
        if metric.name != "via":
            keys |= _of_metric(metric, bound)
    names_tick = any(TICK in key for key in keys)  # such a query must not be told a tick
    return EVERYTHING if ANYTHING in keys or names_tick else frozenset(keys)


def _of_pattern(pattern: Pattern) -> Collection[Key]:
    if isinstance(pattern, ClassPattern):
        return _CLASSES
    return [(_constant(pattern.subject), _constant(pattern.predicate), _constant(pattern.object))]


def _constant(node: Node) -> Term | None:
    return None if isinstance(node, Variable) else node


def _of_metric(metric: Metric, bound: Collection[Variable]) -> Keys:
    variables = [node for node in walk(metric) if isinstance(node, Variable)]
    if not set(variables) <= set(bound):
        return EVERYTHING
    terms = list(dict.fromkeys(node for node in walk(metric) if isinstance(node, Term)))
    call = call_of(metric, dict.fromkeys(variables, 0), terms.index)
    return frozenset((None, terms[id], None) for id in call.key.properties) or EVERYTHING


def covers(known: Collection[Key], wanted: Collection[Key]) -> bool:
    """Whether whoever sees what `known` matches sees all that `wanted` matches."""
    return all(any(general in known for general in _generalisations(key)) for key in wanted)


def _generalisations(key: Key) -> Iterator[tuple[Term | None, ...]]:
    for mask in _MASKS:
        yield tuple(part if kept else None for part, kept in zip(key, mask, strict=True))


# ----------------------------------------------------------------------------------------------------------------------
# Which shards an update goes to: those with a query that can see something it may change.
#
# The law: a shard is sent every update that can change a triple which one of its keys matches. An addition or removal
# changes the triple that it names; `=` may take any value of its subject's property, so there objects do not count;
# the removal of a vertex may take any triple that touches it. So a shard's graph and the whole graph agree in all
# that its queries see, as long as both began so.
#
# Keys are looked up as numbers, all rows of a batch at once, once for each way to leave parts of a key open.
# ----------------------------------------------------------------------------------------------------------------------

Numbers = npt.NDArray[np.int64]
Mask = tuple[bool, ...]
Pairs = tuple[Numbers, Numbers]  # rows and shards

_TEXTS: dict[str, pa.DataType] = dict.fromkeys(("subject", "property", "object"), pa.string())
KEYS = pa.schema({"shard": pa.int32(), **_TEXTS})
_POSITIONS = {"subject": Position.SUBJECT, "property": Position.PROPERTY, "object": Position.OBJECT}
_ANY = -1  # in place of the id of a term


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

    def find(self, columns: Sequence[Numbers]) -> Pairs:
        """Rows and shards with a key like them."""
        fixed = [column for column, kept in zip(columns, self.mask, strict=True) if kept]
        places, known = _places(self.codes, _codes(fixed, self.pairs))
        rows, hits = np.flatnonzero(known), places[known]
        sizes = self.offsets[hits + 1] - self.offsets[hits]
        starts = np.repeat(self.offsets[hits] - (np.cumsum(sizes) - sizes), sizes)
        return np.repeat(rows, sizes), self.shards[starts + np.arange(len(starts))]


class Lookup(NamedTuple):
    """Keys of shards, by the parts that they fix; `always` are shards that see whatever there is."""

    always: Sequence[int]
    indexes: tuple[Index, ...]

    @classmethod
    def of(cls, shards: Numbers, columns: Sequence[Numbers]) -> Lookup:
        """Keys as columns of ids, with _ANY where anything may stand."""
        fixed = np.stack([column != _ANY for column in columns], axis=1)
        always = np.unique(shards[~fixed.any(axis=1)])
        others = ~np.isin(shards, always)
        indexes = []
        for mask in product((False, True), repeat=3):
            rows = np.flatnonzero((fixed == mask).all(axis=1) & others)
            if len(rows):
                indexes.append(Index.of(mask, [column[rows] for column in columns], shards[rows]))
        return cls(always.tolist(), tuple(indexes))

    def find(self, columns: Sequence[Numbers], known: int) -> Iterator[Pairs]:
        """Pairs of rows and shards; terms from `known` on stand in no key, so what holds one is not looked up."""
        for index in self.indexes:
            fixed = [column for column, kept in zip(columns, index.mask, strict=True) if kept]
            some = np.flatnonzero(np.logical_and.reduce([column < known for column in fixed]))
            rows, shards = index.find([column[some] for column in columns])
            yield some[rows], shards


class Switchboard:
    """The keys of all shards, ready to be looked up."""

    def __init__(self, keys: pa.Table) -> None:
        self.vocabulary = Vocabulary()
        self._member = self.vocabulary.intern(RDFS_MEMBER)
        shards = keys["shard"].to_numpy().astype(np.int64)
        subject, predicate, object = (
            _ids(keys[name], position, self.vocabulary) for name, position in _POSITIONS.items()
        )
        anything = np.full(len(shards), _ANY, np.int64)
        self._edges = Lookup.of(shards, (subject, predicate, object))
        self._sets = Lookup.of(shards, (subject, predicate, anything))
        is_open = (subject == _ANY) | (object == _ANY)  # then any vertex may be an end of what the key matches
        ends = np.concatenate([np.where(is_open, _ANY, end) for end in (subject, object)])
        self._vertices = Lookup.of(np.tile(shards, 2), (ends, np.tile(anything, 2), np.tile(anything, 2)))
        self._known = len(self.vocabulary)

    def seen(self, updates: UpdateColumns, vocabulary: Vocabulary) -> Seen:
        """Who sees which updates; `vocabulary` is one over that of the switchboard."""
        ways = ((updates.op < SET_EDGE, self._edges), (updates.op == SET_EDGE, self._sets))
        found = [pair for where, lookup in ways for pair in self._edge_pairs(lookup, where, updates, vocabulary)]
        gone = np.flatnonzero(updates.op == REMOVE_VERTEX)
        vertices = updates.subject[gone].astype(np.int64)
        found += [(gone[rows], shards) for rows, shards in self._found(self._vertices, [vertices] * 3)]
        return _distinct(found, len(updates))

    def _edge_pairs(
        self, lookup: Lookup, where: npt.NDArray[np.bool_], updates: UpdateColumns, vocabulary: Vocabulary
    ) -> Iterator[Pairs]:
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

    def _found(self, lookup: Lookup, columns: Sequence[Numbers]) -> Iterator[Pairs]:
        everyone = np.arange(len(columns[0]))
        for shard in lookup.always:
            yield everyone, np.full(len(everyone), shard, np.int64)
        yield from lookup.find(columns, self._known)


def _members(predicate: Numbers, vocabulary: Vocabulary) -> list[int]:
    return [id for id in np.unique(predicate).tolist() if is_container_member(vocabulary.term(id))]


def _distinct(found: Sequence[Pairs], size: int) -> Seen:
    rows = np.concatenate([np.empty(0, np.int64), *(pair[0] for pair in found)])
    shards = np.concatenate([np.empty(0, np.int64), *(pair[1] for pair in found)])
    both = np.unique(shards * max(size, 1) + rows)
    return Seen(both % max(size, 1), both // max(size, 1))


# --- codes ------------------------------------------------------------------------------------------------------


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
    """Keys of shards as a table, null where anything may stand."""
    vocabulary = Vocabulary()
    columns: list[Any] = [pa.array([shard for shard, _ in keys], pa.int32())]
    for part, position in enumerate(_POSITIONS.values()):
        cells = [key[part] for _, key in keys]
        texts = vocabulary.spell(vocabulary.intern_many([term for term in cells if term is not None]), position)
        known = np.array([term is not None for term in cells], np.bool_)
        places: Any = pa.array(np.cumsum(known) - 1, mask=~known)
        columns.append(texts.take(places))
    return pa.Table.from_arrays(columns, schema=KEYS)


def read_keys(table: pa.Table) -> list[tuple[int, Key]]:
    """The same keys as terms."""
    vocabulary = Vocabulary()
    columns = [_ids(table[name], position, vocabulary).tolist() for name, position in _POSITIONS.items()]
    terms = [[None if id == _ANY else vocabulary.term(id) for id in column] for column in columns]
    shards: list[Any] = table["shard"].to_pylist()
    return list(zip(shards, zip(*terms, strict=True), strict=True))


def _ids(cells: Any, position: Position, vocabulary: Vocabulary) -> Numbers:
    ids = np.full(len(cells), _ANY, np.int64)
    ids[np.asarray(cells.is_valid())] = vocabulary.intern_cells(cells.drop_null(), position).ids
    return ids
