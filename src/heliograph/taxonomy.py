"""The class taxonomy: which class stands below which, and everything that follows from it.

Each row acts as both `rdf:type` and `rdfs:subClassOf`. The law: `ancestors(x)` is exactly what `rdfs:subClassOf+`
reaches from x, so in an acyclic taxonomy x is not its own ancestor, and on a cycle every member is an ancestor of every
member. A cycle is reported with its members and changes nothing else.

`Classes` joins a taxonomy with the `rdf:type` and `rdfs:subClassOf` triples of one document.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from typing import Any, Protocol

from heliograph.errors import HeliographError, Place, SubscriptionError
from heliograph.model import Rejected, Rejections
from heliograph.terms import PREFIXES, RDF_TYPE, RDFS_SUBCLASS_OF, Position, Term, parse_cell, sort_key, spell

Row = tuple[Term, Term]
Links = Mapping[Term, Iterable[Term]]
Terms = Set[Term]  # the keys of a dict: a set whose order is the same in every run

_SHOWN = 20  # members of a cycle that a message names


class Document(Protocol):
    """Triples that can be asked for by any of their three parts; None is a wildcard."""

    def match(
        self, subject: Term | None, predicate: Term | None, object: Term | None
    ) -> Iterable[tuple[Term, Term, Term]]: ...

    def count(self, subject: Term | None, predicate: Term | None, object: Term | None) -> int: ...


class Taxonomy:
    """Rows (child, parent) with both closures, computed on demand and kept."""

    def __init__(self, rows: Iterable[Row] = (), rejected: Iterable[Rejected] = ()) -> None:
        self.rows: tuple[Row, ...] = tuple(dict.fromkeys(rows))
        self._parents = _links(self.rows)
        self._children = _links((parent, child) for child, parent in self.rows)
        self._above: dict[Term, Terms] = {}
        self._below: dict[Term, Terms] = {}
        self.cycles = _cycles(self._parents)
        self.rejected = Rejections((*rejected, *(_report(cycle) for cycle in self.cycles)))

    @classmethod
    def read(cls, items: Any, prefixes: Mapping[str, str] = PREFIXES) -> Taxonomy:
        """A taxonomy from a table or from items; rows that spell no terms are in `rejected`."""
        from heliograph.io.tables import as_table

        read = as_table("taxonomy", items)
        cells = zip(read.table["child"].to_pylist(), read.table["parent"].to_pylist(), strict=True)
        rows: list[Row] = []
        refused = list(read.rejected)
        for number, (child, parent) in zip(read.rows.tolist(), cells, strict=True):
            outcome = _read_row(child, parent, prefixes, str(number))
            if isinstance(outcome, Rejected):
                refused.append(outcome)
            else:
                rows.append(outcome)
        return cls(rows, refused)

    def __len__(self) -> int:
        return len(self.rows)

    def parents(self, term: Term) -> tuple[Term, ...]:
        return self._parents.get(term, ())

    def children(self, term: Term) -> tuple[Term, ...]:
        return self._children.get(term, ())

    def ancestors(self, term: Term) -> Terms:
        """Everything one or more rows above a term."""
        return _closure(term, self.parents, self._above)

    def descendants(self, term: Term) -> Terms:
        """Everything one or more rows below a term."""
        return _closure(term, self.children, self._below)


class Classes:
    """The classes that one document and the taxonomy know together."""

    def __init__(self, graph: Document, taxonomy: Taxonomy) -> None:
        self._graph = graph
        self.taxonomy = taxonomy
        self._nested = graph.count(None, RDFS_SUBCLASS_OF, None) > 0  # the document has sub-classes of its own
        self._above: dict[Term, Terms] = {}
        self._below: dict[Term, Terms] = {}

    def types(self, term: Term) -> Iterable[Term]:
        """The classes a term is a direct instance of."""
        return _distinct(self.taxonomy.parents(term), (o for _, _, o in self._graph.match(term, RDF_TYPE, None)))

    def instances(self, term: Term) -> Iterable[Term]:
        """The direct instances of a class."""
        return _distinct(self.taxonomy.children(term), (s for s, _, _ in self._graph.match(None, RDF_TYPE, term)))

    def all_types(self, term: Term) -> Iterable[Term]:
        """The classes a term is an instance of, directly or through sub-classes."""
        direct = self.types(term)
        return _distinct(direct, (above for kind in direct for above in self.ancestors(kind)))

    def all_instances(self, term: Term) -> Iterable[Term]:
        """The instances of a class and of its sub-classes."""
        below = (member for kind in self.descendants(term) for member in self.instances(kind))
        return _distinct(self.instances(term), below)

    def typed(self) -> Iterable[Term]:
        """Every term that is an instance of something."""
        children = (child for child, _ in self.taxonomy.rows)
        return _distinct(children, (s for s, _, _ in self._graph.match(None, RDF_TYPE, None)))

    def nested(self) -> Iterable[Term]:
        """Every term that is a sub-class of something."""
        children = (child for child, _ in self.taxonomy.rows)
        return _distinct(children, (s for s, _, _ in self._graph.match(None, RDFS_SUBCLASS_OF, None)))

    def ancestors(self, term: Term) -> Terms:
        if not self._nested:
            return self.taxonomy.ancestors(term)
        return _closure(term, self._superclasses, self._above)

    def descendants(self, term: Term) -> Terms:
        if not self._nested:
            return self.taxonomy.descendants(term)
        return _closure(term, self._subclasses, self._below)

    def _superclasses(self, term: Term) -> Iterator[Term]:
        yield from self.taxonomy.parents(term)
        yield from (o for _, _, o in self._graph.match(term, RDFS_SUBCLASS_OF, None))

    def _subclasses(self, term: Term) -> Iterator[Term]:
        yield from self.taxonomy.children(term)
        yield from (s for s, _, _ in self._graph.match(None, RDFS_SUBCLASS_OF, term))


def _links(rows: Iterable[Row]) -> dict[Term, tuple[Term, ...]]:
    linked: dict[Term, list[Term]] = {}
    for start, end in rows:
        linked.setdefault(start, []).append(end)
    return {start: tuple(ends) for start, ends in linked.items()}


def _distinct(*parts: Iterable[Term]) -> Iterable[Term]:
    return dict.fromkeys(term for part in parts for term in part)


def _closure(start: Term, step: Callable[[Term], Iterable[Term]], known: dict[Term, Terms]) -> Terms:
    """What one or more steps reach from `start`; closures known already are not walked again."""
    if start in known:
        return known[start]
    reached: dict[Term, None] = {}
    todo = list(step(start))
    while todo:
        term = todo.pop()
        if term in reached:
            continue
        reached[term] = None
        if term in known:
            reached.update(dict.fromkeys(known[term]))
        else:
            todo.extend(step(term))
    known[start] = reached.keys()
    return known[start]


def _cycles(links: Links) -> tuple[tuple[Term, ...], ...]:
    """The strongly connected parts that hold a cycle, each in term order."""
    looped = [part for part in _components(links) if len(part) > 1 or part[0] in links.get(part[0], ())]
    return tuple(sorted((tuple(sorted(part, key=sort_key)) for part in looped), key=lambda part: sort_key(part[0])))


def _components(links: Links) -> Iterator[list[Term]]:
    """Tarjan's strongly connected components, with a stack of its own: a taxonomy may be deeper than Python's."""
    order: dict[Term, int] = {}
    lowest: dict[Term, int] = {}  # only of terms whose component is still open
    opened: list[Term] = []
    for root in links:
        path = [] if root in order else [(root, iter(links[root]))]
        while path:
            term, ends = path[-1]
            if term not in order:
                order[term] = lowest[term] = len(order)
                opened.append(term)
            unmet: Term | None = None
            for end in ends:
                if end not in order:
                    unmet = end
                    break
                if end in lowest:  # still open: the term reaches back to it
                    lowest[term] = min(lowest[term], order[end])
            if unmet is not None:
                path.append((unmet, iter(links.get(unmet, ()))))
                continue
            path.pop()
            if path:
                below = path[-1][0]
                lowest[below] = min(lowest[below], lowest[term])
            if lowest[term] == order[term]:
                start = opened.index(term)
                part = opened[start:]
                del opened[start:]
                for member in part:
                    del lowest[member]
                yield part


def _report(cycle: tuple[Term, ...]) -> Rejected:
    names = [spell(term) for term in cycle[:_SHOWN]]
    more = f" and {len(cycle) - _SHOWN} more" if len(cycle) > _SHOWN else ""
    error = SubscriptionError(
        "HG-510",
        f"the taxonomy has a cycle through {', '.join(names)}{more}",
        place=Place("taxonomy", names[0]),
        fix="remove one of the rows between them; until then each counts as above and below every other",
    )
    return Rejected.of(error)


def _read_row(child: str | None, parent: str | None, prefixes: Mapping[str, str], place: str) -> Row | Rejected:
    cells = []
    for column, text in (("child", child), ("parent", parent)):
        try:
            cells.append(parse_cell(text, Position.SUBJECT, prefixes))
        except HeliographError as error:
            message = f"{error.message} in row {place}, column {column}"
            return Rejected.of(type(error)(error.code, message, place=Place("taxonomy", place), fix=error.fix))
    return cells[0], cells[1]
