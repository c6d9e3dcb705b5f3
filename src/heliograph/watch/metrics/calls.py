"""`hg:` functions as queries write them, made into calls: which measure, and of which vertices.

The law: two calls have the same key exactly if one measure can answer both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeAlias

from heliograph.syntax.query import Expression, Metric
from heliograph.terms import Term, TermKind, Variable

Intern: TypeAlias = Callable[[Term], int]

DEGREES = ("degree", "indegree", "outdegree")
_WHOLE_NUMBERS = frozenset({*DEGREES, "cliques", "steinerPoint"})
_OF_ONE_VERTEX = frozenset({*DEGREES, "clustering", "betweenness", "dense"})
_TERMINALS_FROM = {"steiner": 0, "steinerPoint": 1}
_FAR = frozenset({"distance", "steiner"})  # infinite where a vertex is absent


class Key(NamedTuple):
    """A measure: the function, its options, and the properties it looks at, or none for those that metrics see."""

    name: str
    options: tuple[str | int, ...] = ()
    properties: tuple[int, ...] = ()

    @property
    def is_whole(self) -> bool:
        """Whether values are whole numbers."""
        return self.name in _WHOLE_NUMBERS

    @property
    def is_of_one_vertex(self) -> bool:
        """Whether each vertex is an instance, by its id."""
        return self.name in _OF_ONE_VERTEX or (self.name == "density" and bool(self.options))

    @property
    def counts_vertices(self) -> bool:
        """Whether it depends on how many vertices there are, those without edges too."""
        return self.name in ("averageClustering", "betweenness") or (self.name, self.options) == ("cliques", (1,))

    @property
    def has_interval(self) -> bool:
        """Whether a value may be an estimate or a bound, and shows between what the exact one lies."""
        return self.name in ("betweenness", "dense")

    @property
    def is_estimated(self) -> bool:
        """Whether values may be estimates now and exact later, or the other way round."""
        return self.name == "betweenness"

    @property
    def is_selected(self) -> bool:
        """Whether it looks at the vertices that a query's solutions bind."""
        return self.name == "density" and not self.options

    @property
    def absent(self) -> float:
        """The value of a vertex that is not there."""
        return float("inf") if self.name in _FAR else 0.0


class Call(NamedTuple):
    """A measure asked for vertices: term ids, or ~column of a solution."""

    key: Key
    vertices: tuple[int, ...]

    def of(self, row: tuple[int, ...]) -> tuple[int, ...]:
        """The vertices for one solution; of terminals, whose order does not matter, each once and ascending."""
        vertices = tuple(row[~node] if node < 0 else node for node in self.vertices)
        first = _TERMINALS_FROM.get(self.key.name, len(vertices))
        return vertices[:first] + tuple(sorted(set(vertices[first:])))


def call_of(metric: Metric, columns: Mapping[Variable, int], intern: Intern) -> Call:
    """A function of a query whose variables stand in these columns."""
    name, arguments = metric.name, metric.arguments
    via = [each for argument in arguments if isinstance(argument, Metric) for each in argument.arguments]
    plain: list[Expression] = [argument for argument in arguments if not isinstance(argument, Metric)]
    nodes, options, properties = _parted(name, plain)
    known = tuple(sorted({intern(each) for each in (*properties, *via) if isinstance(each, Term)}))
    vertices = tuple(~columns[node] if isinstance(node, Variable) else intern(node) for node in nodes)
    return Call(Key(name, options, known), vertices)


def _parted(
    name: str, arguments: list[Expression]
) -> tuple[list[Term | Variable], tuple[str | int, ...], list[Expression]]:
    """The vertices, the options and the properties among the arguments of a function."""
    if name == "cliques":
        return [], (_whole(arguments[0]),), []
    if name == "density":
        return _nodes(arguments[:1]), tuple(_whole(each) for each in arguments[1:]), []
    if name in DEGREES:
        return _nodes(arguments[:1]), (), arguments[1:]
    if name == "distance":
        texts = [each for each in arguments[2:] if isinstance(each, Term) and each.kind is TermKind.LITERAL]
        options = tuple(sorted({each.value for each in texts}))
        return _nodes(arguments[:2]), options, [each for each in arguments[2:] if each not in texts]
    return _nodes(arguments), (), []


def _nodes(arguments: list[Expression]) -> list[Term | Variable]:
    return [each for each in arguments if isinstance(each, (Term, Variable))]


def _whole(argument: Expression) -> int:
    assert isinstance(argument, Term)
    return int(argument.value)
