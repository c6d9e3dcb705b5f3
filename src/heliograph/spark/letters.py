"""Updates on their way to the shards: what a task writes to each of them, and what a shard makes of all it got.

A letter holds rows of updates as one Arrow stream, and beside them what all shards must know of a task's updates. The
first shard counts and refuses: it is told every row, those that none of its queries sees as ticks, which change nothing
but seq and clock. In a window the clock is everybody's, so there every shard is told all rows, as they are or as ticks.

The laws: of several rows with one seq all shards take the same, that of the first letter, whether they see it or not;
every shard knows the largest seq so far, so it refuses what comes too late; a row is refused once, by shard 0.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute

from heliograph.model import Rejected
from heliograph.spark.packing import from_bytes
from heliograph.spark.sights import TICK
from heliograph.spark.switchboard import Numbers, Switchboard
from heliograph.tables.items import as_table
from heliograph.tables.schemas import table_schema
from heliograph.terms import spell
from heliograph.watch.reading import read_updates

pc: Any = pyarrow.compute
Flags = npt.NDArray[np.bool_]

_LZ4 = pa.ipc.IpcWriteOptions(compression="lz4")  # ticks are nearly nothing then
_FIRST = -(2**63)  # before every seq


class Habits(NamedTuple):
    """How a watch takes its updates: from a stream or a batch, with a window, by time."""

    shards: int
    streaming: bool
    windowed: bool
    timed: bool


class Facts(NamedTuple):
    """What everybody is told of the updates in a letter, whoever sees them."""

    task: int
    number: int
    version: int
    runs: Numbers  # first and last of each run of seqs, one after the other
    rejected: tuple[Rejected, ...] = ()

    @property
    def last(self) -> int | None:
        return int(self.runs[-1]) if len(self.runs) else None

    def knows(self, seqs: Numbers) -> Flags:
        """Which of these seqs are among those of the letter."""
        if not len(self.runs):
            return np.zeros(len(seqs), np.bool_)
        places = np.searchsorted(self.runs[::2], seqs, side="right") - 1
        found: Flags = (places >= 0) & (seqs <= self.runs[1::2][np.maximum(places, 0)])
        return found


def pressed(table: pa.Table) -> bytes:
    """A table as a compressed Arrow stream, which `from_bytes` reads."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=_LZ4) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


class Letter(NamedTuple):
    """Updates for one shard."""

    facts: Facts
    updates: pa.Table

    def pack(self) -> bytes:
        told = {**self.facts._asdict(), "rejected": [asdict(entry) for entry in self.facts.rejected]}
        runs = told.pop("runs").tobytes()
        table = self.updates.replace_schema_metadata({"facts": json.dumps(told), "runs": runs})
        return pressed(table)

    @classmethod
    def open(cls, payload: bytes) -> Letter:
        table = from_bytes(payload)
        metadata = table.schema.metadata or {}
        told = json.loads(metadata[b"facts"])
        told["rejected"] = tuple(Rejected(**entry) for entry in told["rejected"])
        runs = np.frombuffer(metadata[b"runs"], np.int64)
        return cls(Facts(**told, runs=runs), table.replace_schema_metadata(None))


# --- writing ----------------------------------------------------------------------------------------------------


def written(updates: pa.Table, facts: Facts, habits: Habits, board: Switchboard, prefixes: Any) -> Iterator[Letter]:
    """The letters of some updates, one for each shard in turn."""
    table, refused = ascending(updates, habits.streaming)
    facts = facts._replace(rejected=(*facts.rejected, *refused))
    if habits.shards == 1:
        yield Letter(facts, table)
        return
    vocabulary = board.vocabulary.overlay()
    read = read_updates(as_table("updates", table), vocabulary, prefixes)
    counting = _counting(read.good, table["seq"], table["at"] if habits.timed else None)
    seen = board.seen(read.encoded.take(np.flatnonzero(counting)), vocabulary)
    facts = facts._replace(runs=_runs(table["seq"].filter(pa.array(counting)).to_numpy()))
    places, unnumbered = np.flatnonzero(counting), np.asarray(table["seq"].is_null())
    for shard in range(habits.shards):
        whole = unnumbered if shard else ~counting  # which is whatever will be refused, and what has no number
        whole = whole.copy()
        whole[places[seen.of(shard)]] = True
        told = _told(table, whole, counting & ~whole) if not shard or habits.windowed else table.filter(pa.array(whole))
        yield Letter(facts if not shard else facts._replace(rejected=()), told)


def ascending(updates: pa.Table, streaming: bool) -> tuple[pa.Table, list[Rejected]]:
    """The updates in ascending seq, those without one first; in a stream those are refused, having no order."""
    read = as_table("updates", updates)
    table, refused = read.table, list(read.rejected)
    missing = table["seq"].null_count
    if missing and streaming:
        table = table.filter(table["seq"].is_valid())
        message = "an update of a stream without seq; number the updates, since the rows of a stream have no order"
        refused += [Rejected("updates", None, "HG-626", message)] * missing
    return in_order(table), refused


def in_order(table: pa.Table) -> pa.Table:
    """The rows in ascending seq, those without one first and as they are; of equal seqs always the same comes first."""
    ordered = _merged(table)
    seqs = ordered["seq"].drop_null().to_numpy()
    if not (seqs[1:] == seqs[:-1]).any():
        return ordered
    unnumbered = ordered.num_rows - len(seqs)
    rest: Any = ordered.slice(unnumbered)
    return pa.concat_tables(
        [ordered.slice(0, unnumbered), rest.sort_by([(name, "ascending") for name in table.column_names])]
    )


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


def _told(table: pa.Table, whole: Flags, ticked: Flags) -> pa.Table:
    """Rows as they are, and others as ticks in their places."""
    some = table.filter(pa.array(whole | ticked))
    ticks = pa.array(ticked[whole | ticked])
    if not ticked.any():
        return some
    columns: dict[str, Any] = {name: some[name] for name in some.column_names}
    for name, cell in _tick().items():
        columns[name] = pc.if_else(ticks, pa.scalar(cell, columns[name].type), columns[name])
    return pa.table(columns, schema=some.schema)


def _tick() -> dict[str, Any]:
    name = spell(TICK)
    return {"op": "-", "subject": name, "property": name, "object": name, "weight": None}


# --- reading ----------------------------------------------------------------------------------------------------


class Delivery(NamedTuple):
    """What a shard has got: updates in order, what was refused on the way, and the version that is meant."""

    updates: pa.Table
    rejected: list[Rejected]
    version: int


def delivered(payloads: Iterable[bytes], shard: int, habits: Habits) -> Delivery:
    """All letters of a batch or micro-batch to one shard."""
    letters = sorted((Letter.open(payload) for payload in payloads), key=lambda letter: letter.facts[:2])
    facts = [letter.facts for letter in letters]
    tables = [letter.updates for letter in letters] if shard == 0 else list(_winning(letters))
    table = _merged(pa.concat_tables(tables))
    if shard and not habits.windowed:
        table = pa.concat_tables([table, _closing(facts)])
    return Delivery(table, [entry for fact in facts for entry in fact.rejected], facts[0].version)


def _winning(letters: Sequence[Letter]) -> Iterator[pa.Table]:
    """The updates of letters, without those whose seq an earlier letter has."""
    overlapping = _overlap([letter.facts.runs for letter in letters])
    for number, letter in enumerate(letters):
        table = letter.updates
        if overlapping and number and table.num_rows:
            seqs = pc.fill_null(table["seq"], _FIRST).to_numpy()
            lost = np.logical_or.reduce([earlier.facts.knows(seqs) for earlier in letters[:number]])
            table = table.filter(pa.array(~lost | (seqs == _FIRST)))
        yield table


def _overlap(runs: Sequence[Numbers]) -> bool:
    both = np.concatenate(runs).reshape(-1, 2)
    both = both[np.argsort(both[:, 0], kind="stable")]
    return bool((both[1:, 0] <= both[:-1, 1]).any())


def _merged(table: pa.Table) -> pa.Table:
    """In ascending seq; of equal seqs, those without one included, what is first remains first."""
    seqs = pc.fill_null(table["seq"], _FIRST).to_numpy()
    return table if (seqs[1:] >= seqs[:-1]).all() else table.take(np.argsort(seqs, kind="stable"))


def _closing(facts: Sequence[Facts]) -> pa.Table:
    """A tick with the largest seq that anybody got."""
    lasts = [fact.last for fact in facts if fact.last is not None]
    ticks = [{"seq": max(lasts), **_tick()}] if lasts else []
    return pa.Table.from_pylist(ticks, schema=table_schema("updates").arrow)


def pieces(table: pa.Table, rows: int) -> Iterator[pa.Table]:
    """A table in pieces of so many rows, one at least."""
    bounds = [*range(0, table.num_rows, rows), table.num_rows]
    yield from (table.slice(first, last - first) for first, last in pairwise(bounds if len(bounds) > 1 else [0, 0]))
