"""Where the demands leave no value for a variable: intervals, sets and kinds of term, as the filter's index sees them.

The law is that of `index.conditions`: a term for which the conditions hold lies in every conjunct of its variable, so
an empty conjunct is a contradiction. An xsd:float is in every interval of numbers there, because it is compared after
rounding the other side; where floats alone are left, the ones that matter are tried. Between two constants, as
floats, comparisons do not change, so it is enough to try each constant and its neighbours.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from math import inf, isfinite, isnan, nan

import numpy as np

from heliograph.index.comparing import identity
from heliograph.index.conditions import conditions_of
from heliograph.index.domains import Domain
from heliograph.index.regions import Box, Region, any_of
from heliograph.index.truths import Intern
from heliograph.lint.demands import Demand, Place, abstracted, names_in
from heliograph.semantics.expressions import Condition
from heliograph.syntax.query import And, Compare, Expression, In, Not, Or, Values, children, walk
from heliograph.terms import Term, Variable, literal, value_of
from heliograph.values import NUMERIC, XSD_FLOAT, Instant, to_float32

Number = int | float | Decimal


def no_region(demands: Sequence[Demand]) -> bool:
    """Whether some variable has nowhere to lie."""
    conditions = [demand.condition for demand in demands if demand.condition is not None and demand.settled]
    found = [made for made in map(abstracted, conditions) if made is not None]
    places = [demand.place for demand in demands if demand.place is not None]
    places += [place for made in found for place in made.places]
    everything = conditions + [made.condition for made in found]
    ids: dict[Term, int] = {}
    boxes = [*map(_box, places), *_choices(demands, lambda term: ids.setdefault(term, len(ids)))]
    asked = conditions_of(everything, lambda term: ids.setdefault(term, len(ids)), boxes)
    return asked.never or any(
        not atoms or (_floats_alone(atoms) and _no_float(variable, everything)) for variable, atoms in asked.conjuncts
    )


def _box(place: Place) -> Box:
    return Box({place.variable: Region(place.lines)})


def _choices(demands: Sequence[Demand], intern: Intern) -> Iterator[Box]:
    """What VALUES leaves of each variable for which it has no UNDEF."""
    for block in [demand.values for demand in demands if demand.values is not None]:
        for at, variable in enumerate(block.variables):
            yield from _choice(block, at, variable, intern)


def _choice(block: Values, at: int, variable: Variable, intern: Intern) -> Iterator[Box]:
    terms = {row[at] for row in block.rows}
    known = [term for term in terms if term is not None]
    if len(known) == len(terms):
        boxes = [Box({variable: Region(identity(term, intern).lines)}) for term in known]
        yield any_of(boxes) if boxes else Box({variable: Region({})})


# --- floats -----------------------------------------------------------------------------------------------------


def _floats_alone(atoms: Sequence[tuple[int, float, float, int]]) -> bool:
    return all(atom[0] == Domain.FLOAT for atom in atoms)


def _no_float(variable: Variable, conditions: Sequence[Expression]) -> bool:
    """Whether the comparisons of a variable with constants are satisfied by no xsd:float."""
    asked = [each for each in conditions if names_in(each) == {variable} and _compares(each)]
    tests = [Condition.of(each) for each in asked]
    numbers = {number for each in asked for number in numbers_in(each)}
    return not any(all(test.holds({variable: term}) for test in tests) for term in _floats(numbers))


def _compares(expression: Expression) -> bool:
    """Whether it is made of comparisons of a variable with constants, and nothing else."""
    match expression:
        case And() | Or() | Not():
            return all(map(_compares, children(expression)))
        case Compare() | In():
            parts = children(expression)
            return all(isinstance(part, (Term, Variable)) for part in parts)
    return False


def numbers_in(expression: Expression) -> Iterator[Number]:
    """The numeric constants of an expression."""
    for node in walk(expression):
        value = value_of(node) if isinstance(node, Term) else None
        if value is not None and value.kind in NUMERIC and not isinstance(value.value, Instant):
            yield value.value


def _floats(numbers: set[Number]) -> Iterator[Term]:
    """The floats at and beside these numbers, the infinities and not-a-number."""
    at = [to_float32(_as_double(number)) for number in numbers]
    with np.errstate(all="ignore"):
        beside = [float(np.nextafter(np.float32(each), np.float32(end))) for each in at for end in (-inf, inf)]
    for each in dict.fromkeys([*at, *beside, -inf, inf, nan, 0.0]):
        yield literal(_spelled(each), XSD_FLOAT)


def _as_double(number: Number) -> float:
    try:
        return float(number)
    except OverflowError:
        return inf if number > 0 else -inf


def _spelled(number: float) -> str:
    if isfinite(number):
        return repr(number)
    return "NaN" if isnan(number) else "INF" if number > 0 else "-INF"
