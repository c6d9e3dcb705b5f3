"""Whether a change of an instance's value is to be told."""

from __future__ import annotations

from typing import Any

from heliograph.kernels.cache import kernel
from heliograph.kernels.metric_cuts import passes_cut
from heliograph.kernels.metric_layout import SILENT
from heliograph.kernels.simple_graph_layout import Asked


@kernel(inline=True)
def asked_number(asked: Asked, instance: Any) -> Any:
    """The number of an instance's own list of cuts, SILENT or EVERY."""
    return asked.numbers[instance] if instance < len(asked.numbers) else SILENT


@kernel(inline=True)
def is_asked(asked: Asked, instance: Any) -> Any:
    """Whether anybody might be told of an instance."""
    return asked.everyone != SILENT or asked_number(asked, instance) != SILENT


@kernel()
def is_told(asked: Asked, instance: Any, before: Any, after: Any) -> Any:
    """Whether a value passes a cut of the instance's own, or one of all."""
    if passes_cut(asked.points, asked.firsts, asked.everyone, before, after):
        return True
    return passes_cut(asked.points, asked.firsts, asked_number(asked, instance), before, after)
