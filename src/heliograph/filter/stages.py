"""One stage of a saved filter, opened by itself: the front that says where a publication goes, or one shard.

The laws: the notifications of the front and of the shards that it names, together, are those of the whole filter; a
stage opens no other place's arrays and makes no other place's subscriptions, so a process that runs one shard is as
large as that shard.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

import pyarrow as pa
import pyarrow.compute

from heliograph.errors import Place, StorageError
from heliograph.filter import saving
from heliograph.filter.encoding import encode
from heliograph.filter.failures import Aside, Failures
from heliograph.filter.options import check_options
from heliograph.filter.reporting import Times, report
from heliograph.filter.sharded import ShardedMatcher
from heliograph.kernels.filter_layout import Int64s
from heliograph.model import Notifications
from heliograph.partition.placement import FRONT
from heliograph.partition.plan import Context, Plan
from heliograph.partition.plan_saving import rows_of, unpack
from heliograph.subscriptions import Subscription, Subscriptions

pc: Any = pyarrow.compute


class Fronted(NamedTuple):
    """What the front found: its notifications, the ids that were published, and by shard which of them go there."""

    notifications: Notifications
    ids: tuple[str, ...]
    wanted: tuple[Int64s, ...]


class Stage:
    """The front of a saved filter, or one of its shards."""

    def __init__(self, plan: Plan, place: int) -> None:
        self.place = place
        self.shards = plan.scheme.shards
        self._context = plan.context
        self._matcher = ShardedMatcher(plan)
        self._aside: Aside = {}

    @classmethod
    def open(cls, path: str | Path, place: int = FRONT) -> Self:
        """Opens one place: -1 is the front, any other a shard."""
        saved = saving.read(path)
        if saved.plan is None or saved.scheme is None or not FRONT <= place < saved.scheme.shards:
            message = f"a saved filter without a place {place}"
            raise StorageError("HG-810", message, place=Place(str(path)), fix="save one that is divided into shards")
        subscriptions = Subscriptions("filter", saved.prefixes)
        plan = Plan(saved.scheme, Context(saved.vocabulary, saved.taxonomy, subscriptions.prefixes))
        unpack(plan, saved.plan, _Some(subscriptions, saved.tables, rows_of(saved.plan, place)), [place])
        return cls(plan, place)

    def front(self, items: Any, bindings: int = 0) -> Fronted:
        """The first stage: what the front itself notifies, and where the publications go from there."""
        started = time.perf_counter_ns()
        batch = encode(items, self._context.vocabulary, self._context.prefixes)
        times = Times(started, time.perf_counter_ns())
        failures = Failures(self._aside)
        found = self._matcher.version().front(batch.publications, failures)
        told = report(found.matches, batch, self._context.taxonomy, bindings, times, failures)
        return Fronted(told, batch.publications.ids, found.wanted)

    def match(self, items: Any, bindings: int = 0) -> Notifications:
        """The second stage: what this shard notifies of publications that the front sent here."""
        started = time.perf_counter_ns()
        batch = encode(items, self._context.vocabulary, self._context.prefixes)
        times = Times(started, time.perf_counter_ns())
        failures = Failures(self._aside)
        matches = self._matcher.version().shard(self.place, batch.publications, failures)
        return report(matches, batch._replace(rejected=()), self._context.taxonomy, bindings, times, failures)


class _Some(Sequence[Subscription]):
    """The subscriptions of a save by their rows, of which only some were made."""

    def __init__(self, registry: Subscriptions, tables: Mapping[str, pa.Table], rows: Int64s) -> None:
        self._size = tables["subscriptions"].num_rows
        made = registry.reopen(_chosen(tables, rows), check_options)
        self._made = dict(zip(rows.tolist(), made, strict=True))

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, row: Any) -> Any:
        return self._made[row]


def _chosen(tables: Mapping[str, pa.Table], rows: Int64s) -> dict[str, pa.Table]:
    """The rows of all tables that belong to these subscriptions."""
    subscriptions = tables["subscriptions"].take(rows)
    ids: Any = subscriptions["subscription_id"].combine_chunks()
    own = {
        name: tables[name].filter(pc.is_in(tables[name]["subscription_id"], value_set=ids))
        for name in ("patterns", "constraints")
    }
    return {"subscriptions": subscriptions, **own}
