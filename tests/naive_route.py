"""[B]'s algorithms as printed, in plain Python over sets, with the state after each call of the index.

The slow obvious twin of `kernels.seed_routing`. Node ids are 0 … n − 1. For the figures 3 and 5 they are in topological
order; for figure 8 the nodes of a component are consecutive and components are numbered in topological order. The
mends are those of `baselines.route_seed`, and are marked here too.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple


class Link(NamedTuple):
    """An edge; `open` tells whether its own targeting accepts the event."""

    target: int
    open: bool = True


class Step(NamedTuple):
    """The sets after one call of the index; `node` is what it returned. The first step stands before the first call."""

    node: int
    valid: frozenset[int]
    reachable: frozenset[int]
    result: frozenset[int]


@dataclass
class Case:
    """A graph, the component of each node, and the nodes that are valid for the event."""

    links: Sequence[Sequence[Link]]
    valid: Collection[int]
    components: Sequence[int] = ()

    def first_of(self, component: int) -> int:
        return list(self.components).index(component)


@dataclass
class Run:
    """What an algorithm did: counters are named as the columns of `kernels.seed_layout`."""

    case: Case
    start: int
    valid: set[int] = field(default_factory=set)
    reachable: set[int] = field(default_factory=set)
    result: set[int] = field(default_factory=set)
    steps: list[Step] = field(default_factory=list)
    calls: int = 0
    returned: int = 0
    skipped: int = 0
    edges: int = 0
    updates: int = 0
    recursive: int = 0
    first: int = -1

    def children(self, node: int) -> list[int]:
        """The children over edges that accept the event; all edges are examined."""
        self.edges += len(self.case.links[node])
        return [link.target for link in self.case.links[node] if link.open]

    def entity(self, least: int) -> int | None:
        """getNextEntity(Q, n): the next valid node with an id not below n."""
        self.calls += 1
        found = min((node for node in self.case.valid if node >= least), default=None)
        self.returned += found is not None
        return found

    def emit(self, node: int) -> None:
        self.result.add(node)
        if self.first < 0:
            self.first = self.calls

    def skip(self, after: int, to: int | None) -> int | None:
        """Counts the ids that lie between; None ends the evaluation."""
        self.skipped += (len(self.case.links) if to is None else to) - after
        return to

    def keep(self, node: int) -> None:
        self.steps.append(Step(node, frozenset(self.valid), frozenset(self.reachable), frozenset(self.result)))


def least_above(ids: Collection[int], least: int) -> int | None:
    return min((id for id in ids if id >= least), default=None)


def dag(case: Case, start: int, *, skipping: bool = False) -> Run:
    """Figure 3, and figure 5 with skipping. Its N_V of figure 4 is what the index has returned."""
    run = Run(case, start)
    run.reachable.update(run.children(start))
    run.keep(start)
    after: int | None = start + 1
    if skipping:
        after = run.skip(start + 1, least_above(run.reachable, start + 1))
    while after is not None and (node := run.entity(after)) is not None:
        run.valid.add(node)
        if node in run.reachable:
            run.emit(node)
            run.reachable.update(run.children(node))
        run.keep(node)
        after = run.skip(node + 1, least_above(run.reachable, node + 1)) if skipping else node + 1
    return run


def dag_skip(case: Case, start: int) -> Run:
    return dag(case, start, skipping=True)


def general(case: Case, start: int) -> Run:
    """Figure 6."""
    run = Run(case, start)
    run.reachable.update(run.children(start))
    run.keep(start)
    after = 0
    while (node := run.entity(after)) is not None:
        run.valid.add(node)
        if node in run.reachable:
            _update_path(run, node)
        run.keep(node)
        after = node + 1
    return run


def scc_skip(case: Case, start: int) -> Run:
    """Figure 8."""
    run = Run(case, start)
    run.reachable.update(run.children(start))
    run.keep(start)
    after: int | None = run.skip(0, _first_id(case, least_above(_components(run), 0)))
    while after is not None and (node := run.entity(after)) is not None:
        component = case.components[node]
        if component in _components(run):
            run.valid.add(node)
            if node in run.reachable:
                _update_path(run, node)
            after = node + 1
        else:
            after = run.skip(node + 1, _first_id(case, least_above(_components(run), component + 1)))
        run.keep(node)
    return run


def _components(run: Run) -> set[int]:
    return {run.case.components[node] for node in run.reachable}


def _first_id(case: Case, component: int | None) -> int | None:
    return None if component is None else case.first_of(component)


def _update_path(run: Run, node: int) -> None:
    """updatePath of figures 6 and 8, with a stack. Mends: the start's edges are not examined again; N_R keeps what is
    valid already, as the table of figure 7 has it and the printed code has not."""
    stack = [node]
    run.emit(node)
    run.updates += 1
    while stack:
        node = stack.pop()
        for child in run.children(node) if node != run.start else ():
            if child in run.result:
                continue
            run.reachable.add(child)
            if child in run.valid:
                run.emit(child)
                run.updates += 1
                run.recursive += 1
                stack.append(child)


def index_bfs(case: Case, start: int) -> Run:
    """The index baseline of section 3.4: all valid nodes first, then a search among them."""
    run = Run(case, start)
    run.valid.update(_all_valid(run))
    _search(run, lambda node: node in run.valid)
    return run


def _all_valid(run: Run) -> Iterator[int]:
    after = 0
    while (node := run.entity(after)) is not None:
        yield node
        after = node + 1


def bfs(case: Case, start: int) -> Run:
    """The BFS baseline of section 3.4: match is called for every node that is reachable."""
    run = Run(case, start)
    _search(run, lambda node: node in case.valid)
    return run


def _search(run: Run, accepts: Callable[[int], bool]) -> None:
    queue = deque([run.start])
    while queue:
        for child in run.children(queue.popleft()):
            if child not in run.reachable:
                run.reachable.add(child)
                if accepts(child):
                    run.emit(child)
                    if child != run.start:
                        queue.append(child)


ALGORITHMS: dict[str, Callable[[Case, int], Run]] = {
    "dag": dag,
    "dag-skip": dag_skip,
    "general": general,
    "scc-skip": scc_skip,
    "index-bfs": index_bfs,
    "bfs": bfs,
}
