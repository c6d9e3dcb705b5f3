"""How many patterns stand at the front of a plan whose answers are known to be right ([R] figures 9(c) and (d))."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from benchmarks.experiments.filter_options import Options
from benchmarks.experiments.r_workload import MERGE_PERCENTAGE, drawn
from benchmarks.partition_filters import load, outline

SERIES: Mapping[str, dict[str, Any]] = {
    "containment": {"partition": "containment", "shards": 2},
    f"merging {MERGE_PERCENTAGE:.0%}": {
        "partition": "merging",
        "shards": 2,
        "merging": {"percentage": MERGE_PERCENTAGE},
    },
}
MERGING = list(SERIES)[1]


@lru_cache(maxsize=64)
def front(seed: int, given: Options, overlap: float, series: str) -> int:
    """Patterns at the front, mergers among them."""
    found = load(drawn(seed, given, overlap), SERIES[series])
    size = outline(found.engine).front
    found.case(1, seed)  # publishes everything once, and compares
    return size
