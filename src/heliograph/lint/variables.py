"""Variables that are asked for and that nothing binds, with the variable that was probably meant.

The law: edges, VALUES and `hg:` functions bind variables; SELECT, GROUP BY and conditions do not. Such a variable is
absent from every solution.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from heliograph.lint.spellings import distance
from heliograph.syntax.query import Query
from heliograph.terms import Variable

_SHORT, _LONG = 3, 8  # letters from which on one letter, or two, may be wrong
_BEGUN = 2  # letters that are enough to begin another name


def never_bound(query: Query) -> Iterator[str]:
    """What is selected, or grouped by, though nothing binds it."""
    known = query.variables
    for names, how in ((query.projection, "selected"), (query.group_by, "grouped by")):
        for name in dict.fromkeys(names):
            if name not in known:
                yield f"{name} is {how}, but {no_edge_binds(name, known)}"


def no_edge_binds(name: Variable, known: Iterable[Variable]) -> str:
    near = nearest(name, known)
    return f"no edge binds {name}" + (f"; did you mean {near}?" if near is not None else "")


def nearest(name: Variable, known: Iterable[Variable]) -> Variable | None:
    """The variable whose name comes nearest, if one is near."""
    one = name.name.casefold()
    ranked = sorted((distance(one, other.name.casefold()), other) for other in known if not other.hidden)
    return next((other for far, other in ranked if far <= _slack(one) or _begins(one, other.name.casefold())), None)


def _slack(name: str) -> int:
    return 0 if len(name) < _SHORT else 1 if len(name) < _LONG else 2


def _begins(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=len)
    return len(short) >= _BEGUN and long.startswith(short)
