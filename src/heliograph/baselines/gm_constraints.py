"""Constraints on a star: [G] section 3.2's `(?x, op, v)`, comparing values or asking the taxonomy, and CheckConstraint.

The law: a star's constraints are ANDed, and each depends on the star's value alone; so a row of a binding table passes
exactly if each of its columns does, and a column may be checked whenever it is at hand.

Mends of [G]'s isTrue (SEED_NOTES, filter 6 and 7): printed, it knows only the taxonomy, `=` tests whether value and
class are one node where the text says "direct instance", and `<=` cannot tell an instance from a sub-class. Here values
are compared by SPARQL's rules, and there are four class relations. The taxonomy is not walked for each value: ancestors
come from its closure, so a cycle never hangs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import NamedTuple

from heliograph.semantics.comparison import compare, equal
from heliograph.syntax.query import And, ClassPattern, ClassRelation, Compare, Expression, In, Pattern, TriplePattern
from heliograph.taxonomy import Classes
from heliograph.terms import RDF_TYPE, Term, Variable

_MIRRORED = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


class Relation(StrEnum):
    """How a value stands to a class."""

    IS_A = "is-a"
    DIRECT = "direct-is-a"
    BELOW = "subclass-of"
    ABOVE = "superclass-of"


class ValueConstraint(NamedTuple):
    """`?x op v` for = != < <= > >=."""

    operator: str
    value: Term


class Choice(NamedTuple):
    """`?x IN (…)`: equal to one of these."""

    values: tuple[Term, ...]


class ClassConstraint(NamedTuple):
    """`?x relation class`."""

    relation: Relation
    of: Term


Constraint = ValueConstraint | Choice | ClassConstraint


def holds(constraint: Constraint, value: Term, classes: Classes) -> bool:
    """[G]'s isTrue(v, op, c, T), mended."""
    match constraint:
        case ValueConstraint(operator, bound):
            return compare(operator, value, bound) is True
        case Choice(values):
            return any(equal(value, choice) is True for choice in values)
        case ClassConstraint(relation, of):
            return of in related(relation, value, classes)


def check_constraints(constraints: tuple[Constraint, ...], value: Term, classes: Classes) -> bool:
    """[G]'s CheckConstraint for one star: whether its value satisfies all that is asked of it."""
    return all(holds(constraint, value, classes) for constraint in constraints)


def related(relation: Relation, value: Term, classes: Classes) -> Iterable[Term]:
    """The classes that a value stands in a relation to; a set wherever that is at hand."""
    match relation:
        case Relation.IS_A:
            return classes.all_types(value)
        case Relation.DIRECT:
            return classes.types(value)
        case Relation.BELOW:
            return classes.ancestors(value)
        case Relation.ABOVE:
            return classes.descendants(value)


# --- reading a query --------------------------------------------------------------------------------------------


def conjuncts(expression: Expression) -> Iterator[Expression]:
    """The expression's ANDed parts; it holds exactly if all of them do."""
    stack = [expression]
    while stack:
        part = stack.pop()
        if isinstance(part, And):
            stack.extend(reversed(part.operands))
        else:
            yield part


def value_constraints(part: Expression) -> tuple[Variable, tuple[Constraint, ...]] | None:
    """The variable and the constraints that a part of a FILTER puts on it; None if it is more than the seeds know."""
    match part:
        case Compare(operator, Variable() as name, Term() as value):
            return name, (ValueConstraint(operator, value),)
        case Compare(operator, Term() as value, Variable() as name):
            return name, (ValueConstraint(_MIRRORED[operator], value),)
        case In(Variable() as name, choices, negated):
            values = tuple(choice for choice in choices if isinstance(choice, Term))
            if len(values) < len(choices):
                return None
            return name, tuple(ValueConstraint("!=", value) for value in values) if negated else (Choice(values),)
        case _:
            return None


def class_constraint(pattern: Pattern) -> tuple[Variable, ClassConstraint] | None:
    """The variable and the class relation of an is-a form between a variable and a constant; else None."""
    match pattern:
        case ClassPattern(ClassRelation.IS_A, Variable() as name, Term() as of):
            return name, ClassConstraint(Relation.IS_A, of)
        case ClassPattern(ClassRelation.SUBCLASS_OF, Variable() as name, Term() as of):
            return name, ClassConstraint(Relation.BELOW, of)
        case ClassPattern(ClassRelation.SUBCLASS_OF, Term() as of, Variable() as name):
            return name, ClassConstraint(Relation.ABOVE, of)
        case TriplePattern(Variable() as name, predicate, Term() as of) if predicate == RDF_TYPE:
            return name, ClassConstraint(Relation.DIRECT, of)
        case _:
            return None
