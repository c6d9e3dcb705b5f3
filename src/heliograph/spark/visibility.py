"""Which shards of a watch an update goes to, and what each of them gets: footprints, their index, and envelopes.

The footprint of a query is what it can see of an evolving graph: keys, each a triple with None for whatever may stand
there. A pattern is its own key; the is-a forms see all classes; an `hg:` function with properties sees those, since a
vertex that no edge of them touches counts as absent. Any other function, and a variable that ranges over all vertices,
sees everything.

The laws:
- What a query reports depends on the graph only through the triples that one of its keys matches. A shard is sent every
  update that can change such a triple: an addition or removal changes the triple that it names; `=` may take any value
  of its subject's property, so there objects do not count; the removal of a vertex may take any triple that touches it.
  So a shard's graph and the whole graph agree in all that its queries see, as long as both began so.
- The first shard counts and refuses: it gets every row, those that none of its queries sees as ticks, which change
  nothing but seq and clock. In a window the clock is everybody's, so there every shard gets all rows, some as ticks.
- Of several rows with one seq all shards take the same, that of the first envelope, whether they see it or not. Every
  shard knows the largest seq so far, so it refuses what comes too late; a row is refused once, by shard 0.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute

from heliograph.io.schemas import table_schema
from heliograph.io.tables import as_table
from heliograph.model import Rejected
from heliograph.spark.envelope import Envelope, pack
from heliograph.sparql.query import ClassPattern, Metric, Query, walk
from heliograph.terms import (
    RDF_TYPE,
    RDFS_MEMBER,
    RDFS_SUBCLASS_OF,
    Position,
    Term,
    Variable,
    iri,
    is_container_member,
    parse_cell,
    spell,
)
from heliograph.vocabulary import Vocabulary
from heliograph.watch.layout import REMOVE_VERTEX, SET_EDGE
from heliograph.watch.metrics.calls import call_of
from heliograph.watch.updates import UpdateColumns, read_updates

pc: Any = pyarrow.compute
Numbers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

# --- footprints ---------------------------------------------------------------------------------------------------

Key = tuple[Term | None, Term | None, Term | None]
Footprint = frozenset[Key]

ANYTHING: Key = (None, None, None)
EVERYTHING: Footprint = frozenset({ANYTHING})

TICK = iri("urn:heliograph:fn:tick")
"""An update that a shard does not see, but must count, comes as the removal of a triple of this name three times."""

_CLASSES: Footprint = frozenset({(None, RDF_TYPE, None), (None, RDFS_SUBCLASS_OF, None)})


def footprint_of(query: Query) -> Footprint:
    """The keys of all triples that can change what a query reports."""
    keys: set[Key] = set()
    for pattern in query.patterns:
        if isinstance(pattern, ClassPattern):
            keys |= _CLASSES
        else:
            subject, predicate, object = (None if isinstance(node, Variable) else node for node in pattern)
            keys.add((subject, predicate, object))
    bound = {node for pattern in query.patterns for node in pattern if isinstance(node, Variable)}
    for metric in query.metrics:
        if metric.name != "via":
            keys |= _of_metric(metric, bound)
    names_tick = any(TICK in key for key in keys)  # such a query must not get a tick
    return EVERYTHING if ANYTHING in keys or names_tick else frozenset(keys)


def _of_metric(metric: Metric, bound: Collection[Variable]) -> Footprint:
    variables = [node for node in walk(metric) if isinstance(node, Variable)]
    if not set(variables) <= set(bound):
        return EVERYTHING
    terms = list(dict.fromkeys(node for node in walk(metric) if isinstance(node, Term)))
    call = call_of(metric, dict.fromkeys(variables, 0), terms.index)
    return frozenset((None, terms[id], None) for id in call.key.properties) or EVERYTHING


def covers(known: Collection[Key], wanted: Collection[Key]) -> bool:
    """Whether a shard that sees what `known` matches sees all that `wanted` matches."""
    masks = tuple(product((True, False), repeat=3))
    return all(
        any(tuple(part if kept else None for part, kept in zip(key, mask, strict=True)) in known for mask in masks)
        for key in wanted
    )


_POSITIONS = {"subject": Position.SUBJECT, "property": Position.PROPERTY, "object": Position.OBJECT}
_TEXTS: dict[str, pa.DataType] = dict.fromkeys(_POSITIONS, pa.string())
_KEYS = pa.schema({"shard": pa.int32(), **_TEXTS})
_ANY = -1  # in place of the id of a term


def keys_table(keys: Sequence[tuple[int, Key]]) -> pa.Table:
    """Keys of shards as a table, null where anything may stand."""
    columns: list[Any] = [[shard for shard, _ in keys]]
    for place, position in enumerate(_POSITIONS.values()):
        terms = (key[place] for _, key in keys)
        columns.append([None if term is None else spell(term, position) for term in terms])
    return pa.table(dict(zip(_KEYS.names, columns, strict=True)), schema=_KEYS)


def read_keys(table: pa.Table) -> list[tuple[int, Key]]:
    """The same keys as terms."""
    found: list[tuple[int, Key]] = []
    for shard, *cells in zip(*(column.to_pylist() for column in table.columns), strict=True):
        places = zip(cells, _POSITIONS.values(), strict=True)
        subject, predicate, object = (None if cell is None else parse_cell(cell, place) for cell, place in places)
        found.append((shard, (subject, predicate, object)))
    return found


def _ids(cells: Any, position: Position, vocabulary: Vocabulary) -> Numbers:
    ids = np.full(len(cells), _ANY, np.int64)
    ids[np.asarray(cells.is_valid())] = vocabulary.intern_cells(cells.drop_null(), position).ids
    return ids


# --- the index: keys are looked up as numbers, all rows of a batch at once, once for each way to leave parts open ---

Pairs = tuple[Numbers, Numbers]  # rows and shards


class SeenRows(NamedTuple):
    """Rows of a batch and shards that see them, each pair once, by shard."""

    rows: Numbers
    shards: Numbers

    def of(self, shard: int) -> Numbers:
        first, last = np.searchsorted(self.shards, (shard, shard + 1))
        return self.rows[first:last]


class KeyIndex(NamedTuple):
    """The keys that fix the same parts, as sorted codes, and the shards of each."""

    mask: tuple[bool, ...]
    pairs: Numbers  # where three parts are fixed, the different first two
    codes: Numbers
    offsets: Numbers
    shards: Numbers

    @classmethod
    def of(cls, mask: tuple[bool, ...], columns: Sequence[Numbers], shards: Numbers) -> KeyIndex:
        fixed = [column for column, kept in zip(columns, mask, strict=True) if kept]
        pairs = np.unique(fixed[0] << 32 | fixed[1]) if len(fixed) == 3 else np.empty(0, np.int64)
        codes = _codes(fixed, pairs)
        order = np.lexsort((shards, codes))
        different, first = np.unique(codes[order], return_index=True)
        return cls(mask, pairs, different, np.append(first, len(codes)), shards[order])

    def find(self, columns: Sequence[Numbers], known: int) -> Pairs:
        """Rows and shards with a key like them. Terms from `known` on stand in no key: such rows are not looked up."""
        fixed = [column for column, kept in zip(columns, self.mask, strict=True) if kept]
        some = np.flatnonzero(np.logical_and.reduce([column < known for column in fixed]))
        places, found = _places(self.codes, _codes([column[some] for column in fixed], self.pairs))
        hits = places[found]
        sizes = self.offsets[hits + 1] - self.offsets[hits]
        starts = np.repeat(self.offsets[hits] - (np.cumsum(sizes) - sizes), sizes)
        return np.repeat(some[found], sizes), self.shards[starts + np.arange(len(starts))]


def _codes(fixed: Sequence[Numbers], pairs: Numbers) -> Numbers:
    """One number for the fixed parts of each row; of three the first two count by their place among `pairs`."""
    if len(fixed) == 1:
        return fixed[0]
    joined = fixed[0] << 32 | fixed[1]
    if len(fixed) == 2:
        return joined
    places, known = _places(pairs, joined)
    return np.where(known, places << 32 | fixed[2], -1)


def _places(values: Numbers, wanted: Numbers) -> tuple[Numbers, Flags]:
    """Where each number stands among sorted ones, and whether it does."""
    places: Any = np.minimum(np.searchsorted(values, wanted), max(len(values) - 1, 0))
    return places, values[places] == wanted if len(values) else np.zeros(len(wanted), np.bool_)


class KeyLookup(NamedTuple):
    """Keys of shards, by the parts that they fix; `always` are shards that see whatever there is."""

    always: Sequence[int]
    indexes: tuple[KeyIndex, ...]

    @classmethod
    def of(cls, shards: Numbers, columns: Sequence[Numbers]) -> KeyLookup:
        """Keys as columns of ids, with _ANY where anything may stand."""
        fixed = np.stack([column != _ANY for column in columns], axis=1)
        always = np.unique(shards[~fixed.any(axis=1)])
        others = ~np.isin(shards, always)
        indexes = []
        for mask in product((False, True), repeat=3):
            rows = np.flatnonzero((fixed == mask).all(axis=1) & others)
            if len(rows):
                indexes.append(KeyIndex.of(mask, [column[rows] for column in columns], shards[rows]))
        return cls(always.tolist(), tuple(indexes))

    def find(self, columns: Sequence[Numbers], known: int) -> Iterator[Pairs]:
        return (index.find(columns, known) for index in self.indexes)

    def find_all(self, columns: Sequence[Numbers], known: int) -> Iterator[Pairs]:
        """With the shards that see everything."""
        everything = np.arange(len(columns[0]))
        for shard in self.always:
            yield everything, np.full(len(everything), shard, np.int64)
        yield from self.find(columns, known)


class FootprintIndex:
    """The footprints of all shards, ready to be looked up."""

    def __init__(self, keys: pa.Table) -> None:
        self.vocabulary = Vocabulary()
        self._member = self.vocabulary.intern(RDFS_MEMBER)
        shards = keys["shard"].to_numpy().astype(np.int64)
        subject, predicate, object = (_ids(keys[name], place, self.vocabulary) for name, place in _POSITIONS.items())
        anything = np.full(len(shards), _ANY, np.int64)
        self._edges = KeyLookup.of(shards, (subject, predicate, object))
        self._sets = KeyLookup.of(shards, (subject, predicate, anything))
        is_open = (subject == _ANY) | (object == _ANY)  # then any vertex may be an end of what the key matches
        ends = np.concatenate([np.where(is_open, _ANY, end) for end in (subject, object)])
        self._vertices = KeyLookup.of(np.tile(shards, 2), (ends, np.tile(anything, 2), np.tile(anything, 2)))
        self._known = len(self.vocabulary)

    def seen(self, updates: UpdateColumns, vocabulary: Vocabulary) -> SeenRows:
        """Which shards see which updates; `vocabulary` is one over that of the index."""
        found: list[Pairs] = []
        for where, lookup in ((updates.op < SET_EDGE, self._edges), (updates.op == SET_EDGE, self._sets)):
            rows = np.flatnonzero(where)
            found += self._of_edges(lookup, rows, updates, vocabulary)
        gone = np.flatnonzero(updates.op == REMOVE_VERTEX)
        vertices = updates.subject[gone].astype(np.int64)
        found += [(gone[some], shards) for some, shards in self._vertices.find_all([vertices] * 3, self._known)]
        size = max(len(updates), 1)
        both = np.unique(np.concatenate([np.empty(0, np.int64), *(shards * size + rows for rows, shards in found)]))
        return SeenRows(both % size, both // size)

    def _of_edges(
        self, lookup: KeyLookup, rows: Numbers, updates: UpdateColumns, vocabulary: Vocabulary
    ) -> Iterator[Pairs]:
        columns = [each[rows].astype(np.int64) for each in (updates.subject, updates.predicate, updates.object)]
        for some, shards in lookup.find_all(columns, self._known):
            yield rows[some], shards
        numbered = [id for id in np.unique(columns[1]).tolist() if is_container_member(vocabulary.term(id))]
        members = np.flatnonzero(np.isin(columns[1], numbered))  # a key with rdfs:member matches them too
        general = [columns[0][members], np.full(len(members), self._member, np.int64), columns[2][members]]
        for some, shards in lookup.find(general, self._known):
            yield rows[members[some]], shards


# --- updates for the shards ---------------------------------------------------------------------------------------

_FIRST = -(2**63)  # before every seq
_TICK: dict[str, Any] = {"op": "-", "weight": None, **dict.fromkeys(("subject", "property", "object"), spell(TICK))}


class UpdateNotes(NamedTuple):
    """What every shard must know of the updates in an envelope, whether it sees them or not."""

    task: int
    number: int
    version: int
    runs: Numbers = np.empty(0, np.int64)  # first and last of each run of seqs, one after the other
    rejected: tuple[Rejected, ...] = ()

    def knows(self, seqs: Numbers) -> Flags:
        """Which of these seqs are among those of the envelope."""
        if not len(self.runs):
            return np.zeros(len(seqs), np.bool_)
        places = np.searchsorted(self.runs[::2], seqs, side="right") - 1
        found: Flags = (places >= 0) & (seqs <= self.runs[1::2][np.maximum(places, 0)])
        return found

    def pack(self, key: int, updates: pa.Table) -> pa.RecordBatch:
        """Updates for the shard with this key, compressed: ticks are nearly nothing then."""
        facts = {**self._asdict(), "rejected": [asdict(entry) for entry in self.rejected]}
        runs = facts.pop("runs").tobytes()
        return pack(key, updates, notes={"facts": json.dumps(facts).encode(), "runs": runs}, compressed=True)

    @classmethod
    def of(cls, envelope: Envelope) -> UpdateNotes:
        facts = json.loads(envelope.notes["facts"])
        facts["rejected"] = tuple(Rejected(**entry) for entry in facts["rejected"])
        return cls(**facts, runs=np.frombuffer(envelope.notes["runs"], np.int64))


def shard_updates(
    table: pa.Table,
    notes: UpdateNotes,
    index: FootprintIndex,
    prefixes: Mapping[str, str],
    shards: int,
    windowed: bool,
    timed: bool,
) -> Iterator[tuple[UpdateNotes, pa.Table]]:
    """What each of several shards in turn is sent of some updates in ascending seq; a window is `timed` or not."""
    vocabulary = index.vocabulary.overlay()
    read = read_updates(as_table("updates", table), vocabulary, prefixes)
    counting = _counting(read.good, table["seq"], table["at"] if timed else None)
    places, unnumbered = np.flatnonzero(counting), np.asarray(table["seq"].is_null())
    seen = index.seen(read.encoded.take(places), vocabulary)
    notes = notes._replace(runs=_runs(table["seq"].filter(pa.array(counting)).to_numpy()))
    for shard in range(shards):
        whole = unnumbered.copy() if shard else ~counting  # which is whatever will be refused, and what has no number
        whole[places[seen.of(shard)]] = True
        ticks = counting & ~whole if not shard or windowed else np.zeros(len(whole), np.bool_)
        yield notes if not shard else notes._replace(rejected=()), _with_ticks(table, whole, ticks)


def ascending(updates: pa.Table, streaming: bool) -> tuple[pa.Table, list[Rejected]]:
    """The updates in ascending seq, those without one first and as they are; in a stream those are refused, having no
    order. Of equal seqs always the same comes first."""
    read = as_table("updates", updates)
    table, refused = read.table, list(read.rejected)
    missing = table["seq"].null_count
    if missing and streaming:
        table = table.filter(table["seq"].is_valid())
        message = "an update of a stream without seq; number the updates, since the rows of a stream have no order"
        refused += [Rejected("updates", None, "HG-626", message)] * missing
    ordered = _by_seq(table)
    seqs = ordered["seq"].drop_null().to_numpy()
    if not (seqs[1:] == seqs[:-1]).any():
        return ordered, refused
    unnumbered = ordered.num_rows - len(seqs)
    rest = ordered.slice(unnumbered).sort_by([(name, "ascending") for name in table.column_names])
    return pa.concat_tables([ordered.slice(0, unnumbered), rest]), refused


def _by_seq(table: pa.Table) -> pa.Table:
    """In ascending seq; of equal seqs, those without one included, what is first remains first."""
    seqs = pc.fill_null(table["seq"], _FIRST).to_numpy()
    return table if (seqs[1:] >= seqs[:-1]).all() else table.take(np.argsort(seqs, kind="stable"))


def _counting(good: Flags, seq: Any, at: Any) -> Flags:
    """Which rows are accepted unless they come too late: good, numbered, and the first of their seq."""
    counting: Flags = good & np.asarray(seq.is_valid())
    if at is not None:
        counting &= np.asarray(at.is_valid())
    rows = np.flatnonzero(counting)
    seqs = seq.filter(pa.array(counting)).to_numpy()
    counting[rows[1:][seqs[1:] == seqs[:-1]]] = False
    return counting


def _runs(seqs: Numbers) -> Numbers:
    """Ascending numbers as runs of consecutive ones."""
    if not len(seqs):
        return np.empty(0, np.int64)
    cuts = np.flatnonzero(seqs[1:] - 1 != seqs[:-1])
    return np.stack([seqs[np.append(0, cuts + 1)], seqs[np.append(cuts, len(seqs) - 1)]], axis=1).ravel()


def _with_ticks(table: pa.Table, whole: Flags, ticked: Flags) -> pa.Table:
    """Rows as they are, and others as ticks in their places."""
    some = table.filter(pa.array(whole | ticked))
    if not ticked.any():
        return some
    ticks = pa.array(ticked[whole | ticked])
    columns: dict[str, Any] = {name: some[name] for name in some.column_names}
    for name, cell in _TICK.items():
        columns[name] = pc.if_else(ticks, pa.scalar(cell, columns[name].type), columns[name])
    return pa.table(columns, schema=some.schema)


class DeliveredUpdates(NamedTuple):
    """What a shard has got: updates in order, what was refused on the way, and the version that is meant."""

    updates: pa.Table
    rejected: list[Rejected]
    version: int

    @classmethod
    def of(cls, envelopes: Iterable[Envelope], shard: int, windowed: bool) -> DeliveredUpdates:
        """All envelopes of a batch or micro-batch to one shard."""
        came = sorted(((UpdateNotes.of(each), each.table) for each in envelopes), key=lambda pair: pair[0][:2])
        notes = [each for each, _ in came]
        table = _by_seq(pa.concat_tables([each for _, each in came] if shard == 0 else list(_winning(came))))
        lasts = [int(each.runs[-1]) for each in notes if len(each.runs)]
        if shard and not windowed and lasts:  # a tick with the largest seq that any shard got
            closing = [{"seq": max(lasts), **_TICK}]
            table = pa.concat_tables([table, pa.Table.from_pylist(closing, schema=table_schema("updates").arrow)])
        return cls(table, [entry for each in notes for entry in each.rejected], notes[0].version)


def _winning(came: Sequence[tuple[UpdateNotes, pa.Table]]) -> Iterator[pa.Table]:
    """The updates of envelopes, without those whose seq an earlier envelope has."""
    runs = np.concatenate([notes.runs for notes, _ in came]).reshape(-1, 2)
    runs = runs[np.argsort(runs[:, 0], kind="stable")]
    is_overlapping = bool((runs[1:, 0] <= runs[:-1, 1]).any())
    for number, (_, table) in enumerate(came):
        if is_overlapping and number and table.num_rows:
            seqs = pc.fill_null(table["seq"], _FIRST).to_numpy()
            lost = np.logical_or.reduce([earlier.knows(seqs) for earlier, _ in came[:number]])
            table = table.filter(pa.array(~lost | (seqs == _FIRST)))
        yield table
