"""How large a query may be. Beyond these limits it is refused with `HG-436`, so that one query cannot hold up the rest.

They are far above what people write, and what they leave takes at most seconds to take, explain and lint. Lists of
constants, in IN and in one VALUES block, may be as long as the text: their cost is linear.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from math import prod

from heliograph.syntax.query import Expression, Values, walk
from heliograph.terms import Term, Variable

MAX_PATTERNS = 300  # a search looks at all that are left before each step: k² / 2 looks for each solution
MAX_CONDITIONS = 1_000  # operators and functions of FILTER and HAVING; explanations try them out one by one
MAX_CONSTRAINTS = 300  # rows of the constraints table for one subscription: a row may be a pattern
MAX_VARIABLES = 1_000  # of SELECT, or of one VALUES block; patterns and conditions are limited already
MAX_COMBINATIONS = 100_000  # of rows of VALUES blocks: those that no pattern narrows down are all tried
MAX_RANGING = 3  # variables that only metrics name: each ranges over all vertices
MAX_BASES = 100  # each may lengthen the one before
MAX_NAMESPACE = 2_000  # characters of the IRI of PREFIX and BASE: each short name that uses it takes as much memory


def size_of(expression: Expression) -> int:
    """What an expression counts for `MAX_CONDITIONS`: its nodes without constants and variables."""
    return sum(not isinstance(node, (Term, Variable)) for node in walk(expression))


def combinations(blocks: Iterable[Values], bound: Collection[object] = ()) -> int:
    """How many combinations of rows the VALUES blocks have. A block without UNDEF whose variables are all `bound` by
    patterns only narrows solutions down, so it counts as one."""
    return prod(len(block.rows) or 1 for block in blocks if _is_free(block, bound))


def _is_free(block: Values, bound: Collection[object]) -> bool:
    return any(name not in bound for name in block.variables) or any(None in row for row in block.rows)
