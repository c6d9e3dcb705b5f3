"""A version of a filter that consists of parts: a front, shards, and the small change since these were made.

The laws: a part never changes, and versions share parts, so a small change costs what it is, and a worker keeps the
shards that it has open. Whoever was added since the parts were made is looked up with the front; whoever was removed is
taken out of what is found. A task opens the front, or its own shard, and no other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Self

import pyarrow as pa
import pyarrow.compute

from heliograph.errors import FAILED, Place, StorageError
from heliograph.filter import Filter
from heliograph.filter.stages import Fronted, Stage
from heliograph.model import Notifications, Stats
from heliograph.partition.outline import Outline
from heliograph.partition.plan_saving import scheme_of
from heliograph.partition.scheme import Scheme
from heliograph.spark.lots import Told
from heliograph.spark.workers import opened
from heliograph.storage import kind_of, read_folder, read_table, write_folder

pc: Any = pyarrow.compute

KIND, VERSION = "assembly", 1
PARTS = "parts"  # the folder of them, beside the versions
_IDS = pa.schema([("subscription_id", pa.string())])


class Assembly(NamedTuple):
    """The parts of a version. `added` is how many are in the part `changes`; `removed` are ids of other parts."""

    folder: str
    scheme: Scheme
    front: Told
    shards: tuple[Told | None, ...]
    changes: str | None = None
    added: int = 0
    removed: frozenset[str] = frozenset()

    @property
    def size(self) -> int:
        """How many subscriptions there are."""
        return self.base - len(self.removed) + self.added

    @property
    def base(self) -> int:
        """How many the parts hold, without the change."""
        return self.front.size - self.front.mergers + sum(each.size for each in self.shards if each is not None)

    def path(self, part: str) -> Path:
        return Path(self.folder, part)

    def parts(self) -> list[str]:
        """The paths of all parts with subscriptions in them, without the change."""
        return [str(self.path(each.part)) for each in (self.front, *self.shards) if each is not None and each.size]

    def outline(self, version: int) -> Outline:
        sizes = tuple(0 if each is None else each.size for each in self.shards)
        front = self.front.size + self.added
        return Outline(self.scheme.partition, version, front, self.front.mergers, sizes)

    def held(self, ids: Iterable[str]) -> set[str]:
        """Which of these the parts hold and nobody removed. It reads the columns of ids and keeps nothing."""
        asked = pa.array(sorted(set(ids) - self.removed), pa.string())
        found: set[str] = set()
        for path in self.parts() if len(asked) else ():
            column = _ids_of(path)
            found.update(column.filter(pc.is_in(column, value_set=asked)).to_pylist())
        return found

    # --- files --------------------------------------------------------------------------------------------------

    def write(self, path: str | Path) -> None:
        plan = {**self.scheme.meta(), "front": tuple(self.front)}
        meta = {**plan, "parts": self.shards, "changes": self.changes, "added": self.added}
        ids = pa.Table.from_arrays([pa.array(sorted(self.removed), pa.string())], schema=_IDS)
        write_folder(path, KIND, VERSION, tables={"removed": ids}, meta=meta)

    @classmethod
    def read(cls, path: str | Path) -> Self:
        opened = read_folder(path, KIND, {VERSION})
        meta = opened.meta
        try:
            shards = tuple(None if each is None else Told(*each) for each in meta["parts"])
            removed: list[Any] = opened.tables["removed"]["subscription_id"].to_pylist()
            parts = str(Path(path).absolute().parent / PARTS)
            changes = meta["changes"], int(meta["added"]), frozenset(removed)
            return cls(parts, scheme_of(meta), Told(*meta["front"]), shards, *changes)
        except (KeyError, TypeError, ValueError) as error:
            message = f"a damaged version of a filter: {error}"
            raise StorageError("HG-810", message, place=Place(str(path)), fix="make it again") from error


def _ids_of(path: str) -> Any:
    """The ids of a part. Its other files are not opened."""
    return read_table(path, "subscriptions")["subscription_id"].combine_chunks()


# --- in the workers ---------------------------------------------------------------------------------------------


class FrontOf(NamedTuple):
    """The front of a version: roots, and whoever was added since."""

    stage: Stage
    changes: Filter | None = None
    removed: frozenset[str] = frozenset()

    def front(self, items: Any, bindings: int) -> Fronted:
        found = self.stage.front(items, bindings)
        return found._replace(notifications=without(found.notifications, self.removed))

    def changed(self, items: Any, bindings: int) -> Iterator[Notifications]:
        """What those are notified of who were added since; what is refused has been told."""
        if self.changes is not None:
            yield _only(self.changes.publish(items, bindings=bindings))


class ShardOf(NamedTuple):
    """One shard of a version."""

    engine: Filter | Stage | None
    removed: frozenset[str] = frozenset()

    def match(self, items: pa.Table, bindings: int) -> Notifications:
        if self.engine is None:
            return Notifications()
        if isinstance(self.engine, Stage):
            return self.engine.match(items, bindings)
        return without(_only(self.engine.publish(items, bindings=bindings)), self.removed)


def open_front(path: Path) -> FrontOf:
    """The front of a version, which a worker keeps open."""
    version = opened(("version", path), partial(assembly_at, path))
    if version is None:
        return FrontOf(opened(("front", path), partial(Stage.open, path)))
    front = version.path(version.front.part)
    stage = opened(("front", front), partial(Stage.open, front))
    if version.changes is None:
        return FrontOf(stage, None, version.removed)
    changes = version.path(version.changes)
    return FrontOf(stage, opened(("part", changes), partial(Filter.load, changes)), version.removed)


def open_shard(path: Path, shard: int) -> ShardOf:
    """A shard of a version, which a worker keeps open, for later versions too if they have the same."""
    version = opened(("version", path), partial(assembly_at, path))
    if version is None:
        return ShardOf(opened(("shard", path, shard), partial(Stage.open, path, shard)))
    told = version.shards[shard]
    if told is None:
        return ShardOf(None)
    part = version.path(told.part)
    return ShardOf(opened(("part", part), partial(Filter.load, part)), version.removed)


def assembly_at(path: Path) -> Assembly | None:
    """The parts of a version; None of one that is a saved filter."""
    return Assembly.read(path) if kind_of(path) == KIND else None


def _only(found: Notifications) -> Notifications:
    """Without what was refused: the front has told that. What failed here nobody else tells."""
    failed = [each for each in found.rejected if each.code == FAILED]
    stats = replace(found.stats, rejected=len(failed))
    return Notifications.of_columns(lambda: found.table, len(found), failed, stats)


def without(found: Notifications, removed: frozenset[str]) -> Notifications:
    """Notifications of those who are still there."""
    if not removed or not len(found):
        return found
    table = found.table
    gone = pc.is_in(table["subscription_id"], value_set=pa.array(sorted(removed), pa.string()))
    kept = table.filter(pc.invert(gone))
    stats: Stats = replace(found.stats, notifications=kept.num_rows)
    return Notifications.of_columns(lambda: kept, kept.num_rows, found.rejected, stats)
