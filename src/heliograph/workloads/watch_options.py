"""The parameters of a watch workload, and which values of them make sense."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from heliograph.errors import UsageError
from heliograph.workloads.watch_graph import Size
from heliograph.workloads.watch_queries import FORMS, SHAPES, Cut, Form

_MODES = ("", "each", "change")


@dataclass(frozen=True, slots=True)
class WatchWorkload:
    """The parameters, with the defaults of the paper on evolving graphs. `edges` is the average of a query, give or
    take `spread`, `matching` the share of the queries whose edges all come; `shape` is one of any, chain, star, graph
    and cyclic.

    `deletions` and `duplicates` are shares of the updates: removals of an edge that is there, and additions of one that
    came before. `variables` asks for patterns, over `properties` and `classes` (0: none), of at most `structures`
    kinds, a share of them (`concrete`) with one concrete vertex; `degree_cap` bounds a vertex's edges, 0 does not.
    `form` is what patterns ask: ask, select or count (of at least `threshold`); `mode` goes into their options.
    """

    vertices: int = 1_200_000
    updates: int = 1_000_000
    queries: int = 50_000
    edges: int = 5
    spread: int = 2
    shape: str = "any"
    matching: float = 0.05
    deletions: float = 0.0
    duplicates: float = 0.0
    variables: bool = False
    properties: int = 10
    classes: int = 30
    structures: int = 200
    concrete: float = 0.5
    degree_cap: int = 1000
    form: str = "ask"
    threshold: int = 1
    mode: str = ""

    @property
    def removals(self) -> int:
        return round(self.updates * self.deletions)

    @property
    def repeats(self) -> int:
        return round(self.updates * self.duplicates)

    @property
    def size(self) -> Size:
        added = self.updates - self.removals - self.repeats
        if self.variables:
            return Size(self.vertices, added, self.properties, self.degree_cap)
        return Size(self.vertices, added)

    @property
    def cut(self) -> Cut:
        return Cut.of(self.shape, self.variables, self.edges, self.spread)

    @property
    def asking(self) -> Form:
        return Form(self.form, self.threshold)


def checked(options: dict[str, Any]) -> WatchWorkload:
    names = [field.name for field in fields(WatchWorkload)]
    unknown = sorted(set(options) - set(names))
    if unknown:
        raise refused(f"no option {unknown[0]!r}", f"the options are {', '.join(names)}")
    workload = WatchWorkload(**options)
    _check_values(workload)
    if workload.size.edges < max(1, workload.removals):
        raise refused("too few additions for the deletions and duplicates", "deletions are at most half of the rest")
    if not workload.variables and (workload.form, workload.mode) != ("ask", ""):
        raise refused("concrete queries are ASK, in no mode", "ask for variables, or leave out form and mode")
    return workload


def _check_values(workload: WatchWorkload) -> None:
    for name, (low, high) in _BOUNDS.items():
        if not low <= getattr(workload, name) <= high:
            raise refused(f"{name} is {getattr(workload, name)!r}", f"give a number from {low} to {high}")
    for name, choices in _CHOICES.items():
        if getattr(workload, name) not in choices:
            raise refused(f"{name} is {getattr(workload, name)!r}", f"write one of {', '.join(filter(None, choices))}")


_CHOICES = {"shape": SHAPES, "form": FORMS, "mode": _MODES}
_BOUNDS = {
    "vertices": (3, 2**31 - 1),
    "updates": (1, 2**31 - 1),
    "queries": (0, 10**8),
    "edges": (1, 100),
    "spread": (0, 100),
    "matching": (0, 1),
    "deletions": (0, 0.5),
    "duplicates": (0, 0.9),
    "properties": (1, 10**6),
    "classes": (0, 10**6),
    "structures": (1, 10**6),
    "concrete": (0, 1),
    "degree_cap": (0, 2**31 - 1),
    "threshold": (1, 2**63 - 1),
}


def refused(message: str, fix: str) -> UsageError:
    return UsageError("HG-075", f"a watch workload: {message}", fix=fix)
