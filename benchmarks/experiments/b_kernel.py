"""How far [B]'s algorithms get before their first result: a kernel beside `heliograph.kernels.seed_routing`.

Why so little is needed: before a first result nothing but the start's targets is reachable, so no path is ever updated.
All that differs is in which order, and how many, valid nodes are asked of the index until one of these targets comes:

| question | what is asked |
| --- | --- |
| `general` | the index, from the first id on, until it gives a target |
| `scc-skip` | the same, but the index goes on at the next component that holds a target |
| `index-bfs` | the index for all valid nodes; then which target is among them |
| `bfs` | the targets themselves, one after the other |
| `DRAIN` | the index for all valid nodes: what the figures call the time of the index |
| `MATCH` | each of the given nodes: what figure 12 calls the time of evaluation |

It is compiled when it is first called, some ten seconds once on a machine, and kept with the other kernels.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import int64

from heliograph.compiled.arrays import rows
from heliograph.compiled.compile import kernel
from heliograph.papers import route as at
from heliograph.papers.route import _TASK, Lists, Task, add, empty, has, is_valid, least_from, mark, next_entity
from heliograph.predicate.kernels import INT64S, NEW_INT32S, lay_out, numba_type
from heliograph.predicate.layout import LANES, Int32s, Int64s

Counts = npt.NDArray[np.int64]  # a row of counters for each event, as `papers.route` names them
DRAIN, MATCH = -1, -2
_ONE = np.uint64(1)


@kernel((_TASK, int64, INT64S, numba_type(Lists), NEW_INT32S, rows(int64, writable=True)))
def ask(task: Task, question: int, events: Int64s, given: Lists, first: Int32s, counts: Counts) -> None:
    """Asks a question of each event, whose targets (for `MATCH`: nodes) are its list; `first` gets results, or -1."""
    for place in range(len(events)):
        if place % LANES == 0:
            lay_out(task.job.events.cells, events[place : place + LANES], task.job.board)
        task.sets.lane[0] = _ONE << np.uint64(place % LANES)
        targets = given.ids[given.offsets[place] : given.offsets[place + 1]]
        if question == at.BFS or question == MATCH:
            first[place] = _test(task, targets, question == MATCH, counts[place])
        else:
            mark(task.lookup, task.job.events.cells, events[place], task.sets.marked)
            first[place] = _look_up(task, question, targets, counts[place])
            empty(task.sets.reachable)
            empty(task.sets.valid)
            empty(task.sets.marked)


@kernel()
def _test(task: Task, targets: Int32s, all_of_them: Any, counts: Int64s) -> Any:
    """The first target that is valid, or the last of them where all are tested."""
    found = np.int64(-1)
    for target in targets:
        if is_valid(task, np.int64(target), counts):
            found = np.int64(target)
            if not all_of_them:
                break
    return found


@kernel()
def _look_up(task: Task, question: Any, targets: Int32s, counts: Int64s) -> Any:
    reachable, valid = task.sets.reachable, task.sets.valid
    for target in targets:
        add(reachable, target)
    skip = _next_component(task, np.int64(0)) if question == at.SCC_SKIP else np.int64(0)
    while skip >= 0:
        node = next_entity(task, skip, counts)
        if node < 0:
            break
        if question == at.INDEX_BFS:
            add(valid, node)
        elif question != DRAIN and has(reachable, node):
            return node
        skip = node + 1
        if question == at.SCC_SKIP and not _is_near(task, node):
            skip = _next_component(task, skip)
    for target in targets:
        if has(valid, target):
            return np.int64(target)
    return np.int64(-1)


@kernel()
def _is_near(task: Task, node: Any) -> Any:
    """Whether the component of a node holds a target."""
    component = task.graph.components[node]
    least = least_from(task.sets.reachable, np.int64(task.graph.begins[component]))
    return 0 <= least < task.graph.begins[component + 1]


@kernel()
def _next_component(task: Task, id: Any) -> Any:
    """The first id of the next component that holds a target, or -1."""
    least = least_from(task.sets.reachable, id)
    return least if least < 0 else np.int64(task.graph.begins[task.graph.components[least]])
