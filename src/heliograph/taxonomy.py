"""The class taxonomy: which class stands below which, and everything that follows from it.

A row of a table acts as both `rdf:type` and `rdfs:subClassOf`; in a taxonomy that is RDF each triple is what it says.
So there are rows that are types and rows that are sub-classes, and for a table both are the same. The law:
`ancestors(x)` is exactly what `rdfs:subClassOf+` reaches from x, so in an acyclic taxonomy x is not its own ancestor,
and on a cycle every member is an ancestor of every member. A cycle is reported with its members and changes nothing
else.

`Classes` joins a taxonomy with the `rdf:type` and `rdfs:subClassOf` triples of one document.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from typing import TYPE_CHECKING, Any, Protocol

from heliograph.errors import HeliographError, Place, SubscriptionError
from heliograph.model import Rejected, Rejections
from heliograph.terms import (
    PREFIXES,
    RDF_TYPE,
    RDFS_SUBCLASS_OF,
    Position,
    Term,
    TermKind,
    blank,
    parse_cell,
    sort_key,
    spell,
)

if TYPE_CHECKING:
    import pyarrow as pa

    from heliograph.io.sources import Source
    from heliograph.io.tables import TableRows

Row = tuple[Term, Term]
Links = Mapping[Term, Iterable[Term]]
Terms = Set[Term]  # the keys of a dict: a set whose order is the same in every run

RELATION = "relation"  # a column of `Taxonomy.table`
_SHOWN = 20  # members of a cycle that a message names


class Document(Protocol):
    """Triples that can be asked for by any of their three parts; None is a wildcard."""

    def match(
        self, subject: Term | None, predicate: Term | None, object: Term | None
    ) -> Iterable[tuple[Term, Term, Term]]: ...

    def count(self, subject: Term | None, predicate: Term | None, object: Term | None) -> int: ...


class Taxonomy:
    """Rows (child, parent): sub-classes with both closures, computed on demand and kept, and types.

    `types` are the rows that act as `rdf:type`; left out, those are the rows that act as `rdfs:subClassOf` too.
    """

    def __init__(
        self, subclasses: Iterable[Row] = (), rejected: Iterable[Rejected] = (), *, types: Iterable[Row] | None = None
    ) -> None:
        self.subclasses: tuple[Row, ...] = tuple(dict.fromkeys(subclasses))
        self.types = self.subclasses if types is None else tuple(dict.fromkeys(types))
        self._parents, self._children = _links(self.subclasses), _links(map(_reversed, self.subclasses))
        self._types, self._instances = self._parents, self._children
        if self.types == self.subclasses:
            self.types = self.subclasses
        else:
            self._types, self._instances = _links(self.types), _links(map(_reversed, self.types))
        self._above: dict[Term, Terms] = {}
        self._below: dict[Term, Terms] = {}
        self.cycles = _cycles(self._parents)
        self.rejected = Rejections((*rejected, *(_report(cycle) for cycle in self.cycles)))

    @classmethod
    def read(cls, items: Any, prefixes: Mapping[str, str] = PREFIXES) -> Taxonomy:
        """A taxonomy from a table, from items, or from files: a path, a folder, a glob or a list of paths, of tables
        and RDF documents. Rows that spell no terms, and files that cannot be read, are in `rejected`.

        A row of a table is both a type and a sub-class; a triple of a document is what it says.
        """
        from heliograph.io.sources import DOCUMENT_SUFFIXES, TABLE_SUFFIXES, given_sources
        from heliograph.io.tables import TableRows, as_table, is_single, read_all

        is_read = isinstance(items, TableRows) or is_single(items)
        sources = None if is_read else given_sources(items, TABLE_SUFFIXES + DOCUMENT_SUFFIXES)
        documents = [source for source in sources or () if source.suffix in DOCUMENT_SUFFIXES]
        if sources is None:
            tables = as_table("taxonomy", items)
        else:
            tables = read_all("taxonomy", [source for source in sources if source not in documents])
        rows, rejected = _read_rows(tables, prefixes)
        if not documents:
            return cls(rows, rejected)
        said, refused = _read_documents(documents)
        return cls(
            [*rows, *((child, parent) for child, kind, parent in said if kind == RDFS_SUBCLASS_OF)],
            [*rejected, *refused],
            types=[*rows, *((child, parent) for child, kind, parent in said if kind == RDF_TYPE)],
        )

    @classmethod
    def of_table(cls, table: pa.Table) -> Taxonomy:
        """The taxonomy that `table` wrote; raises where one cell is no term or no relation."""
        cells = zip(table["child"].to_pylist(), table["parent"].to_pylist(), strict=True)
        rows = [(parse_cell(child), parse_cell(parent)) for child, parent in cells]
        if RELATION not in table.column_names:
            return cls(rows)
        relations = [parse_cell(cell) for cell in table[RELATION].to_pylist()]
        if not {RDF_TYPE, RDFS_SUBCLASS_OF}.issuperset(relations):
            raise ValueError(f"a relation of its taxonomy is neither {spell(RDF_TYPE)} nor {spell(RDFS_SUBCLASS_OF)}")
        said = list(zip(rows, relations, strict=True))
        return cls(
            [row for row, relation in said if relation == RDFS_SUBCLASS_OF],
            types=[row for row, relation in said if relation == RDF_TYPE],
        )

    def table(self) -> pa.Table:
        """The rows as `of_table` reads them; which relation a row is is only written where that is not both."""
        import pyarrow as pa

        both = self.types is self.subclasses
        rows = self.subclasses if both else (*self.subclasses, *self.types)
        columns = {
            "child": pa.array([spell(child) for child, _ in rows], pa.string()),
            "parent": pa.array([spell(parent) for _, parent in rows], pa.string()),
        }
        if not both:
            relations = [spell(RDFS_SUBCLASS_OF)] * len(self.subclasses) + [spell(RDF_TYPE)] * len(self.types)
            columns[RELATION] = pa.array(relations, pa.string())
        return pa.table(columns)

    def __len__(self) -> int:
        return len(self.subclasses if self.types is self.subclasses else {*self.subclasses, *self.types})

    @property
    def terms(self) -> Terms:
        """Everything that a row names."""
        return dict.fromkeys(term for row in (*self.subclasses, *self.types) for term in row).keys()

    def parents(self, term: Term) -> tuple[Term, ...]:
        """What a term is a sub-class of, by one row."""
        return self._parents.get(term, ())

    def children(self, term: Term) -> tuple[Term, ...]:
        """The sub-classes of a term, by one row."""
        return self._children.get(term, ())

    def ancestors(self, term: Term) -> Terms:
        """Everything one or more sub-class rows above a term."""
        return _closure(term, self.parents, self._above)

    def descendants(self, term: Term) -> Terms:
        """Everything one or more sub-class rows below a term."""
        return _closure(term, self.children, self._below)

    def types_of(self, term: Term) -> tuple[Term, ...]:
        """What a term is an instance of, by one row."""
        return self._types.get(term, ())

    def instances_of(self, term: Term) -> tuple[Term, ...]:
        """The instances of a term, by one row."""
        return self._instances.get(term, ())

    def all_types_of(self, term: Term) -> Terms:
        """What a term is an instance of, directly or through sub-classes."""
        if self.types is self.subclasses:
            return self.ancestors(term)
        direct = self.types_of(term)
        return dict.fromkeys((*direct, *(above for kind in direct for above in self.ancestors(kind)))).keys()


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
        return _distinct(self.taxonomy.types_of(term), (o for _, _, o in self._graph.match(term, RDF_TYPE, None)))

    def instances(self, term: Term) -> Iterable[Term]:
        """The direct instances of a class."""
        return _distinct(self.taxonomy.instances_of(term), (s for s, _, _ in self._graph.match(None, RDF_TYPE, term)))

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
        children = (child for child, _ in self.taxonomy.types)
        return _distinct(children, (s for s, _, _ in self._graph.match(None, RDF_TYPE, None)))

    def nested(self) -> Iterable[Term]:
        """Every term that is a sub-class of something."""
        children = (child for child, _ in self.taxonomy.subclasses)
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


def _reversed(row: Row) -> Row:
    return row[1], row[0]


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


def _read_rows(read: TableRows, prefixes: Mapping[str, str]) -> tuple[list[Row], list[Rejected]]:
    cells = zip(read.table["child"].to_pylist(), read.table["parent"].to_pylist(), strict=True)
    rows: list[Row] = []
    refused = list(read.rejected)
    for index, (child, parent) in enumerate(cells):
        outcome = _read_row(child, parent, prefixes, read.place(index))
        if isinstance(outcome, Rejected):
            refused.append(outcome)
        else:
            rows.append(outcome)
    return rows, refused


def _read_row(child: str | None, parent: str | None, prefixes: Mapping[str, str], place: Place) -> Row | Rejected:
    cells = []
    for column, text in (("child", child), ("parent", parent)):
        try:
            cells.append(parse_cell(text, Position.SUBJECT, prefixes))
        except HeliographError as error:
            message = f"{error.message} in row {place.item}, column {column}"
            where = Place(place.source or "taxonomy", place.item)
            return Rejected.of(type(error)(error.code, message, place=where, fix=error.fix))
    return cells[0], cells[1]


def _read_documents(sources: Sequence[Source]) -> tuple[list[tuple[Term, Term, Term]], Rejections]:
    """What documents say with rdf:type and rdfs:subClassOf. Their blank nodes are nobody else's."""
    from heliograph.io.documents import read_graph
    from heliograph.vocabulary import Vocabulary

    found = read_graph(sources, Vocabulary())
    triples = (triple for _, graph in found.publications.graphs() for triple in sorted(graph))
    said = [triple for triple in triples if triple[1] in (RDF_TYPE, RDFS_SUBCLASS_OF)]
    return [(_own(child), kind, _own(parent)) for child, kind, parent in said], found.rejected


def _own(term: Term) -> Term:
    return blank(f"taxonomy-{term.value}") if term.kind is TermKind.BLANK else term
