"""What a filter's notification shows on demand: bindings in term order, and the count that a HAVING tested.

The law: as long as the guard is not reached, the bindings shown are the first of all distinct rows in term order,
hence the same in every run and for every strategy.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Any, NamedTuple

from heliograph.baselines.solve import GroupKey, Plan, World
from heliograph.syntax.query import Query
from heliograph.tables.cells import json_text
from heliograph.terms import Term, Variable, sort_key, spell

GUARD = 10_000  # solutions of one match that are looked at for evidence
_CELLS = 200_000  # bindings in them: of a query with more than 20 variables fewer solutions are looked at

_SortKey = tuple[Any, ...]


class Evidence(NamedTuple):
    """What to show, and whether a limit or the guard kept anything back."""

    shown: dict[str, Any]
    cut: bool

    @property
    def text(self) -> str:
        return json_text(self.shown)


def evidence(plan: Plan, world: World, limit: int) -> Evidence:
    """The evidence of a match, with at most `limit` bindings."""
    if plan.query.counted:
        return _counted(plan, world, limit)
    names = shown_variables(plan.query)
    guard = min(GUARD, _CELLS // max(1, len(plan.variables)))
    found = list(islice(plan.solutions(world), guard + 1))
    rows = {tuple(solution.get(name) for name in names): None for solution in found[:guard]}
    shown = spelled(names, sorted(rows, key=_row_key)[:limit])
    return Evidence({"bindings": shown}, cut=len(rows) > limit or len(found) > guard)


def shown_variables(query: Query) -> tuple[Variable, ...]:
    """The variables that SELECT lists; for `*`, ASK and pattern tables all that have a name."""
    return query.projection or query.named_variables


def spelled(names: Iterable[Variable], rows: Iterable[GroupKey]) -> list[dict[str, str]]:
    return [{name.name: spell(term) for name, term in zip(names, row, strict=True) if term is not None} for row in rows]


def _counted(plan: Plan, world: World, limit: int) -> Evidence:
    """The groups that satisfy HAVING; `value` is the count of the first."""
    counts = plan.counts(world)
    held = sorted((key for key, count in counts.items() if plan.holds_count(key, count)), key=_row_key)
    shown: dict[str, Any] = {}
    grouped = bool(plan.query.group_by) and limit > 0
    if grouped:
        shown["bindings"] = spelled(plan.query.group_by, held[:limit])
    shown["value"] = counts[held[0]]
    return Evidence(shown, cut=grouped and len(held) > limit)


def _row_key(row: GroupKey) -> _SortKey:
    return tuple(_cell_key(term) for term in row)


def _cell_key(term: Term | None) -> _SortKey:
    """What is unbound comes first."""
    return () if term is None else sort_key(term)
