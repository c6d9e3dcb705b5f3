"""Why a query can never match, as far as that can be proved.

The law: what is said never to match matches no publication, whatever it adds to the taxonomy. So classes are never
called disjoint here: a document may type anything with any two classes. What is said is a smallest set of demands that
contradict each other: without any one of them the others do not, as far as we can tell.

A count may be satisfied by no solution at all, and such a query is left alone.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from math import ceil, floor

from heliograph.lint.choices import no_choice
from heliograph.lint.demands import Demand, demands_of, shortened
from heliograph.lint.opposites import opposed, texts_apart
from heliograph.lint.regions import no_region, numbers_in
from heliograph.lint.variables import no_edge_binds
from heliograph.semantics.expressions import Condition
from heliograph.syntax.query import And, Compare, Count, Expression, In, Not, Or, Query, children
from heliograph.syntax.spelling import spell_expression
from heliograph.terms import Term

_WHOLE = 2**53  # up to here every integer is a double


def why_never(query: Query) -> str | None:
    """Why no publication can match, or None."""
    if query.having is not None:
        if _no_count(query.having, first=1 if query.group_by else 0):
            return f"can never match: no count satisfies HAVING({shortened(spell_expression(query.having))})"
        if not query.group_by and Condition.of(query.having).holds({}, count=0):
            return None
    if not query.filters and not query.values:
        return None
    demands = demands_of(query)
    return f"can never match: {_said(_smallest(demands), query)}" if _contradict(demands) else None


def _contradict(demands: Sequence[Demand]) -> bool:
    """Whether nothing satisfies all demands. If that holds of some demands, it holds of more."""
    conditions = [demand.condition for demand in demands if demand.condition is not None]
    return (
        any(demand.lost for demand in demands)
        or opposed(conditions)
        or texts_apart(conditions)
        or no_region(demands)
        or no_choice(demands)
    )


def _smallest(demands: Sequence[Demand]) -> list[Demand]:
    """Demands that contradict each other, none of them needless: the last that is needed, then the one before it."""
    left, core = list(demands), list[Demand]()
    while not _contradict(core):
        needed = bisect_left(range(len(left)), True, key=lambda size: _contradict([*core, *left[:size]]))
        left, core = left[: needed - 1], [left[needed - 1], *core]
    return core


def _said(core: Sequence[Demand], query: Query) -> str:
    if len(core) > 1:
        return f"{' and '.join(demand.text for demand in core)} cannot hold together"
    [only] = core
    if only.values is not None:
        return f"{only.text} has no row that fits"
    unbound = ", and ".join(no_edge_binds(name, query.variables) for name in only.lost)
    return f"FILTER({only.text}) cannot hold" + (f": {unbound}" if unbound else "")


# --- counts -----------------------------------------------------------------------------------------------------


def _no_count(having: Expression, first: int) -> bool:
    """Whether no number of solutions satisfies a condition on the count alone: between two constants nothing changes,
    and those are small enough to be compared without rounding."""
    numbers = list(numbers_in(having))
    if not _only_counts(having) or not all(-_WHOLE < number < _WHOLE for number in numbers):
        return False
    test, near = Condition.of(having), [end for number in numbers for end in (floor(number), ceil(number))]
    counts = {first, first + 1, *(count + step for count in near for step in (-1, 0, 1))}
    return not any(test.holds({}, count=count) for count in counts if count >= first)


def _only_counts(expression: Expression) -> bool:
    match expression:
        case And() | Or() | Not():
            return all(map(_only_counts, children(expression)))
        case Compare() | In():
            return all(isinstance(part, (Term, Count)) for part in children(expression))
    return False
