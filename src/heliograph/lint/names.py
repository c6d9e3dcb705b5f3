"""Properties and classes that a query names and nobody uses, with the known name that comes nearest.

A class is known if the sample or the taxonomy has it. Without a sample only a class that looks like one of the taxonomy
is told: documents may have classes of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from heliograph.lint.choices import alternatives
from heliograph.lint.demands import conjuncts
from heliograph.lint.findings import UNSEEN_CLASS, UNSEEN_PROPERTY
from heliograph.lint.sample import Sample, frequent
from heliograph.lint.spellings import Near, Spellings
from heliograph.syntax.query import ClassPattern, ClassRelation, Node, Query, TriplePattern
from heliograph.taxonomy import Taxonomy
from heliograph.terms import PLAIN, PREFIXES, RDF_TYPE, Position, Term, TermKind, Variable, spell


class Unseen(NamedTuple):
    """A name that nobody uses: the code, what to say, and the name that was probably meant."""

    code: str
    message: str
    nearest: str | None


class Names:
    """The names that are known; asked for one query after another."""

    def __init__(self, taxonomy: Taxonomy, sample: Sample | None) -> None:
        met = sample or Sample(taxonomy)
        declared = dict.fromkeys(term for row in taxonomy.rows for term in row)
        self._sampled = met.size > 0
        places = (("the sample", self._sampled), ("the taxonomy", bool(declared)))
        self._looked_in = " or ".join(place for place, known in places if known)
        self._properties = _Known([*frequent(met.properties), *([RDF_TYPE] if declared else ())])
        self._classes = _Known([*frequent(met.classes), *declared])

    def unseen(self, query: Query) -> Iterator[Unseen]:
        """The names of a query that are not known."""
        if self._sampled:
            for term in _properties(query):
                if term not in self._properties:
                    yield _unseen_property(term, self._properties.nearest(term))
        for term in _classes(query):
            if term not in self._classes:
                near = self._classes.nearest(term)
                if self._sampled or near is not None:
                    yield _unseen_class(term, near, self._looked_in)


class _Known:
    """A set of names that knows which of them comes nearest to another; each is looked for once."""

    def __init__(self, names: Iterable[Term]) -> None:
        self._names = dict.fromkeys(names)
        self._spellings: Spellings | None = None
        self._found: dict[Term, Near | None] = {}

    def __contains__(self, term: Term) -> bool:
        return term in self._names

    def nearest(self, term: Term) -> Near | None:
        if term not in self._found:
            self._spellings = self._spellings or Spellings(self._names)
            self._found[term] = self._spellings.nearest(term)
        return self._found[term]


def _unseen_property(term: Term, near: Near | None) -> Unseen:
    message = f"no publication of the sample has the property {_short(term, Position.PROPERTY)}"
    return Unseen(UNSEEN_PROPERTY, *_with_nearest(message, near, Position.PROPERTY))


def _unseen_class(term: Term, near: Near | None, where: str) -> Unseen:
    message = f"nothing in {where} has to do with the class {_short(term)}"
    return Unseen(UNSEEN_CLASS, *_with_nearest(message, near, Position.OBJECT))


def _with_nearest(message: str, near: Near | None, position: Position) -> tuple[str, str | None]:
    if near is None:
        return message, None
    name = _short(near.term, position)
    return f"{message}; did you mean {name}? ({near.how})", name


def _short(term: Term, position: Position = Position.OBJECT) -> str:
    """A name as in tables, with a built-in prefix where it has one."""
    for prefix, namespace in PREFIXES.items():
        end = term.value.removeprefix(namespace)
        if namespace != PLAIN and end != term.value and end.isidentifier():
            return f"{prefix}:{end}"
    return spell(term, position)


# --- the names of a query ---------------------------------------------------------------------------------------


def _properties(query: Query) -> Iterable[Term]:
    nodes = [pattern.predicate for pattern in query.patterns if isinstance(pattern, TriplePattern)]
    return _named(nodes, query)


def _classes(query: Query) -> Iterable[Term]:
    return _named([node for pattern in query.patterns for node in _class_nodes(pattern)], query)


def _class_nodes(pattern: TriplePattern | ClassPattern) -> tuple[Node, ...]:
    """The nodes of a pattern that stand for classes."""
    if isinstance(pattern, TriplePattern):
        return (pattern.object,) if pattern.predicate == RDF_TYPE else ()
    return (pattern.object,) if pattern.relation is ClassRelation.IS_A else (pattern.subject, pattern.object)


def _named(nodes: Iterable[Node], query: Query) -> Iterable[Term]:
    """The IRIs among nodes, and those that conditions and VALUES put in the place of variables."""
    found = dict.fromkeys(nodes)
    variables = [node for node in found if isinstance(node, Variable)]
    if variables and (query.filters or query.values):
        pinned = _pinned(query)
        found.update((term, None) for variable in variables for term in pinned.get(variable, ()))
    return [node for node in found if isinstance(node, Term) and node.kind is TermKind.IRI]


def _pinned(query: Query) -> dict[Variable, list[Term]]:
    """The terms that variables are asked to be."""
    pinned: dict[Variable, list[Term]] = {}
    for condition in conjuncts(query.filters):
        for alternative in alternatives(condition) or ():
            for subject, term in alternative.items():
                if isinstance(subject, Variable):
                    pinned.setdefault(subject, []).append(term)
    for block in query.values:
        for at, variable in enumerate(block.variables):
            pinned.setdefault(variable, []).extend(row[at] for row in block.rows if row[at] is not None)  # type: ignore
    return pinned
