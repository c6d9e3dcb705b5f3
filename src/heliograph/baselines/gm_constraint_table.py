"""The constraint table of one end of an edge of G_M ([R] section 4.1, figure 4): whom a value satisfies.

[R] prints four lists, for = > < and !=, each ordered by value, an entry leading from a value to the subscriptions that
compare with it. The law: `satisfied(v)` holds every item one of whose constraints is known to hold of v and none is
known not to hold by the list it stands in; the rest of an item's constraints is its own affair.

The mends: = > < and ranges between two ends are one tree of intervals for each axis of values (SEED_NOTES, filter 9);
= and IN are intervals of one point, looked up by hash. != keeps [R]'s list, in which each distinct value is compared
once, by value. A fifth list holds the classes, which [R] dropped (SEED_NOTES, filter 6): by relation and class, looked
up for each class that the value stands in that relation to.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, TypeVar

from heliograph.baselines.gm_constraints import ClassConstraint, Constraint, Relation, ValueConstraint, holds, related
from heliograph.baselines.gm_intervals import Interval, IntervalTree, Point, intervals, point
from heliograph.taxonomy import Classes
from heliograph.terms import Term

T = TypeVar("T")


class ConstraintTable(Generic[T]):
    """Items under the constraints of a variable. One writer; readers may be in it."""

    def __init__(self) -> None:
        self._equal: dict[Point, list[T]] = {}
        self._between: dict[tuple[str, ...], IntervalTree[T]] = {}
        self._unequal: dict[Term, list[T]] = {}
        self._unequal_values: list[Term] = []
        self._classes: dict[Relation, dict[Term, list[T]]] = {relation: {} for relation in Relation}

    def insert(self, constraints: tuple[Constraint, ...], item: T) -> None:
        """Puts an item under the constraints that say most: a place among values, else a class, else !=."""
        places = intervals(constraints)
        kinds = [each for each in constraints if isinstance(each, ClassConstraint)]
        if places is not None:
            for place in places:
                self._insert_interval(place, item)
        elif kinds:
            self._classes[kinds[0].relation].setdefault(kinds[0].of, []).append(item)
        else:
            self._insert_unequal(constraints[0], item)

    def _insert_interval(self, place: Interval, item: T) -> None:
        if place.low == place.high:
            self._equal.setdefault(Point(place.axis, place.low), []).append(item)
        else:
            self._between.setdefault(place.axis, IntervalTree()).add(place, item)

    def _insert_unequal(self, constraint: Constraint, item: T) -> None:
        assert isinstance(constraint, ValueConstraint)
        if constraint.value not in self._unequal:
            self._unequal[constraint.value] = []
            self._unequal_values.append(constraint.value)
        self._unequal[constraint.value].append(item)

    def satisfied(self, value: Term, classes: Classes) -> Iterator[T]:
        """The items whose constraint in this table the value satisfies, as far as the table can tell."""
        at = point(value)
        if at is not None:
            yield from self._equal.get(at, ())
            if at.axis in self._between:
                yield from self._between[at.axis].stab(at.bound)
        for other in self._unequal_values:
            if holds(ValueConstraint("!=", other), value, classes):
                yield from self._unequal[other]
        for relation, items in self._classes.items():
            if items:
                for kind in related(relation, value, classes):
                    yield from items.get(kind, ())
