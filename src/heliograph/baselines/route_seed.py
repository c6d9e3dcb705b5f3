"""The seed's route algorithms: [B], graph constraints in content-based publish/subscribe, section 3, as printed.

What they compute, all the same: the valid nodes that are reachable from the publisher through valid nodes. An index of
the nodes' expressions gives valid nodes in the order of their ids; a graph gives children; the evaluator intersects.

| name | in [B] | how |
| --- | --- | --- |
| `dag` | figure 3 | ids in topological order: when the index returns a node, it is known whether it is reachable |
| `dag-skip` | figure 5 | and the index goes on with the next reachable id |
| `general` | figure 6 | any graph: valid nodes are kept until something reaches them (updatePath) |
| `scc-skip` | figure 8 | ids component.node: the index goes on with the next reachable component |
| `index-bfs` | 3.4 | all valid nodes first, then breadth first among them |
| `bfs` | 3.4 | breadth first, match called for each reachable node |

Mends, where the figures as printed do not give the answer that the text promises:

1. `while (n = getNextEntity(…))` ends at the node with id 0. Here -1 ends it.
2. min and minMoreThan of a set without such a member (figure 5 lines 2 and 8, figure 8 lines 6 and 16) are undefined:
   then nothing more can be reached, and the evaluation ends. The paper's lemma 2 says "at least as big as n" where line
   8 needs "greater than n"; line 8 is right, since n has been returned.
3. updatePath recurses, as deep as the longest path. Here it has a stack; the set it makes is the same.
4. updatePath leaves a child that is valid already out of the reachable set (figure 6 line 6, figure 8 line 7), although
   the table of figure 7 has node 1 there. Here it is added; nothing else changes.
5. A start that a path leads back to is a node like any other: it is returned if it is valid. Its edges, though, were
   examined at the beginning (line 1) and are not again; printed, theorem 3's "at most once" fails for them.
   The bounds of section 3.4 leave out the start's own edges: |N_V| + out(N_R ∩ N_V) + out(s).
6. Figure 3 begins after the start: right, since in a topological order nothing before it is reachable. An exchange with
   a cycle has no such order, and a self-loop is one: figures 3 and 5 refuse it (HG-066).
7. Edge targeting: [B] splits the edge and gives the new node the targeting. Here an edge is tested where it is
   examined, once at most, and not if its target is known to be reachable.
8. Nodes that no edge leads to are not in the index (`baselines.route_index`), as in [B] table 2.
9. After an update that merges components [B] goes on without skipping. Here the structures belong to one version of the
   exchange, and are built again for the next.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from heliograph.baselines.route_index import build_index
from heliograph.baselines.route_numbering import ORDERS, Numbered, number_nodes
from heliograph.errors import UsageError
from heliograph.exchange.version import Version
from heliograph.index.arrays import fixed
from heliograph.kernels import seed_layout as layout
from heliograph.kernels.exchange_layout import Graph
from heliograph.kernels.quick_layout import Job
from heliograph.kernels.seed_layout import Deliveries, SeedIndex, Task
from heliograph.kernels.targeting_layout import Int32s, Int64s
from heliograph.targeting.store import Compiled

ALGORITHMS: Mapping[str, int] = {
    "dag": layout.DAG,
    "dag-skip": layout.DAG_SKIP,
    "general": layout.GENERAL,
    "scc-skip": layout.SCC_SKIP,
    "index-bfs": layout.INDEX_BFS,
    "bfs": layout.BFS,
}
_NEEDS_ORDER = {layout.DAG, layout.DAG_SKIP}
_RESULTS_AT_ONCE = 1 << 20


class Routed(NamedTuple):
    """Event e reached nodes[offsets[e] : offsets[e + 1]], ascending numbers; `seed_layout` names the counters."""

    offsets: Int64s
    nodes: Int32s
    counters: npt.NDArray[np.int64]

    def of(self, event: int) -> Int32s:
        """The nodes that one event reached."""
        return self.nodes[self.offsets[event] : self.offsets[event + 1]]


class SeedExchange:
    """One version of an exchange as the seed keeps it, built before any event comes."""

    def __init__(self, graph: Graph, compiled: Compiled, order: str = ORDERS[0]) -> None:
        self.numbered: Numbered = fixed(number_nodes(graph, order))
        expressions, entered = self.numbered.graph.expressions, self.numbered.entered
        self.cyclic = self.numbered.cyclic
        self._same = self.numbered.same
        words = compiled.names.word_attributes
        self.index: SeedIndex = fixed(build_index(compiled.programs, words, expressions, entered))

    @classmethod
    def of_version(cls, version: Version, order: str = ORDERS[0]) -> SeedExchange:
        return cls(version.graph, version.targeting.compiled(version.programs), order)

    def route(self, job: Job, starts: Int32s, algorithm: str) -> Routed:
        """Routes every event of a job from the node beside it; -1 routes it nowhere."""
        chosen = self._choice(algorithm)
        ids = np.where(starts < 0, -1, self.numbered.ids[starts]).astype(np.int32)
        sets = layout.make_sets(len(self.numbered.ids))
        return self._renumber(_run(Task(self.numbered.graph, self.index, job, sets), chosen, fixed(ids)))

    def _choice(self, algorithm: str) -> int:
        chosen = ALGORITHMS.get(algorithm)
        if chosen is None:
            fix = f"write one of {', '.join(ALGORITHMS)}"
            raise UsageError("HG-045", f"no algorithm is called {algorithm!r}", fix=fix)
        if chosen in _NEEDS_ORDER and self.cyclic:
            message = f"the exchange has cycles, and {algorithm} needs its nodes in topological order"
            raise UsageError("HG-066", message, fix="use general or scc-skip")
        return chosen

    def _renumber(self, found: Deliveries) -> Routed:
        """From ids to the exchange's numbers, in ascending order within each event."""
        if self._same:
            return Routed(*found)
        numbers = self.numbered.numbers[found.ids]
        event = np.repeat(np.arange(len(found.offsets) - 1), np.diff(found.offsets))
        return Routed(found.offsets, numbers[np.lexsort((numbers, event))].astype(np.int32), found.counters)


def _run(task: Task, algorithm: int, starts: Int32s) -> Deliveries:
    """As many events at a time as there is room for the results of."""
    from heliograph.kernels.seed_routing import route_events

    events = fixed(np.arange(len(starts)))
    room = np.empty(max(len(task.graph.expressions), _RESULTS_AT_ONCE), np.int32)
    offsets, counters = np.zeros(len(starts) + 1, np.int64), np.empty((len(starts), layout.COUNTERS), np.int64)
    parts, done = [room[:0]], 0
    while done < len(starts):
        part = Deliveries(np.zeros(len(starts) - done + 1, np.int64), room, counters[done:])
        count = route_events(task, algorithm, events[done:], starts[done:], part)
        parts.append(room[: part.offsets[count]].copy())
        offsets[done + 1 : done + count + 1] = offsets[done] + part.offsets[1 : count + 1]
        done += count
    return Deliveries(offsets, np.concatenate(parts), counters)
