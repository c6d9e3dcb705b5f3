"""How a filter is to be divided: into how many shards, and by which arrangement."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from heliograph.errors import UsageError
from heliograph.partition.arrangement import Arrangement
from heliograph.partition.hashing import Hashing
from heliograph.taxonomy import Taxonomy

PARTITIONS = ("hash", "containment", "merging")
MOST_SHARDS = 1024


@dataclass(frozen=True, slots=True)
class Scheme:
    """A partitioning by name, the number of its shards, and what merging is told."""

    partition: str
    shards: int
    merging: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, shards: Any = None, partition: Any = None, merging: Mapping[str, Any] | None = None) -> Self | None:
        """What was asked for, None if nothing was. Shards alone are dealt by a hash; a partitioning alone gets a shard
        for each processor."""
        if merging and partition != "merging":
            raise UsageError("HG-032", "options of merging without it", fix='ask for the partition "merging" as well')
        if shards is None and partition is None:
            return None
        if partition is not None and partition not in PARTITIONS:
            raise UsageError(
                "HG-050", f"no partitioning {partition!r}", fix=f"use {' or '.join(map(repr, PARTITIONS))}"
            )
        count = (os.cpu_count() or 1) if shards is None else shards
        if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= MOST_SHARDS:
            raise UsageError("HG-051", f"shards is {shards!r}", fix=f"give how many, from 1 to {MOST_SHARDS}")
        return cls(partition or "hash", count, dict(merging or {}))

    def arrangement(self, taxonomy: Taxonomy) -> Arrangement:
        """An arrangement of nothing yet."""
        if self.partition == "hash":
            return Hashing()
        if self.partition == "containment":
            from heliograph.partition.forest import Forest

            return Forest(taxonomy)
        from heliograph.partition.merging import Merging

        return Merging(taxonomy, **self.merging)

    def meta(self) -> dict[str, Any]:
        """As plain data, for a save."""
        return {"partition": self.partition, "shards": self.shards, "merging": dict(self.merging)}
