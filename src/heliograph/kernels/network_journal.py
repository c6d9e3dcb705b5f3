"""What became of edges, written down for whoever measures the graph.

The law: while a journal is kept, every change of an edge that is no derived one stands in it once, in order. Room is
asked for before anything is done, so a run that lacks it can go on from where it stands.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from heliograph.kernels.cache import kernel
from heliograph.kernels.evolution_layout import OBJECT, PREDICATE, SUBJECT, VIRTUAL, VIRTUALS
from heliograph.kernels.metric_layout import CHANGED
from heliograph.kernels.network_layout import (
    J_CHANGE,
    J_OBJECT,
    J_PHASE,
    J_PREDICATE,
    J_SUBJECT,
    J_UPDATE,
    JOURNALLED,
    KEPT,
)
from heliograph.kernels.network_world import counters, edge_weights, edges, journal, journal_state, journal_weights


@kernel(inline=True)
def keeps_journal(world: Any) -> Any:
    return journal_state(world)[KEPT] != 0


@kernel(inline=True)
def has_journal_room(world: Any) -> Any:
    """Whether another change can be written down, if it has to be."""
    return not keeps_journal(world) or journal_state(world)[JOURNALLED] < len(journal(world))


@kernel()
def write_down(world: Any, update: Any, phase: Any, change: Any, edge: Any) -> None:
    """Writes down what became of an edge, unless it is a derived one; there is room."""
    state, known = journal_state(world), edges(world)[edge]
    derived = counters(world)[VIRTUAL] <= known[PREDICATE] < counters(world)[VIRTUAL] + VIRTUALS
    if derived:
        return
    row = journal(world)[state[JOURNALLED]]
    row[J_UPDATE], row[J_PHASE], row[J_CHANGE] = update, phase, change
    row[J_SUBJECT], row[J_PREDICATE], row[J_OBJECT] = known[SUBJECT], known[PREDICATE], known[OBJECT]
    journal_weights(world)[state[JOURNALLED]] = edge_weights(world)[edge] if len(edge_weights(world)) else np.nan
    state[JOURNALLED] += 1


@kernel()
def write_down_weight(world: Any, update: Any, phase: Any, edge: Any, weight: Any) -> None:
    """The same for a present edge that is given a weight; the edge has not taken it yet."""
    if np.isnan(weight) or len(edge_weights(world)) == 0:
        return
    if weight != edge_weights(world)[edge]:
        write_down(world, update, phase, CHANGED, edge)
        journal_weights(world)[journal_state(world)[JOURNALLED] - 1] = weight
