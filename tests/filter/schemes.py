"""The partitionings that sharded filters are tried with."""

from __future__ import annotations

from typing import Any

# Thresholds of merging so low that a few dozen patterns are merged, into mergers of mergers too.
SCHEMES: dict[str, dict[str, Any]] = {
    "hash": {"shards": 3, "partition": "hash"},
    "containment": {"shards": 2, "partition": "containment"},
    "merging": {"shards": 4, "partition": "merging", "merging": {"upper": 6, "lower": 3}},
}
