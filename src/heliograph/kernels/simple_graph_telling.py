"""Writing down what is said of instances, and where one step of a log ends."""

from __future__ import annotations

from typing import Any

from heliograph.kernels.cache import kernel
from heliograph.kernels.metric_layout import INSTANCE, STEP, Log
from heliograph.kernels.simple_graph_telling_layout import SAID, Telling


@kernel(inline=True)
def step_end(log: Log, row: Any) -> Any:
    """The row after the last change of a row's step."""
    step = log.step[row]
    while row < len(log.step) and log.step[row] == step:
        row += 1
    return row


@kernel(inline=True)
def can_tell(telling: Telling, sayings: Any) -> Any:
    """Whether there is room for so many more sayings."""
    return telling.counters[SAID] + sayings <= len(telling.values)


@kernel(inline=True)
def tell(telling: Telling, step: Any, instance: Any, value: Any) -> None:
    """Writes one saying down; there is room."""
    row = telling.counters[SAID]
    telling.rows[row, STEP], telling.rows[row, INSTANCE] = step, instance
    telling.values[row] = value
    telling.counters[SAID] = row + 1
