"""What a notification shows (bindings, a value, and on request the edges that witness a match), and answers over the
graph as it is now, for evidence and explanations.

The law of whole columns: they are the texts that `evidence_text` makes of each match. A term is spelled once a batch.
"""

from __future__ import annotations

import json
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from typing import Any, Protocol, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from heliograph.io.coerce import json_text
from heliograph.sparql.evaluate import Metrics
from heliograph.sparql.query import ClassPattern, ClassRelation, Metric, Node, Pattern, Query, TriplePattern
from heliograph.sparql.solve import Budget, QueryPlan, Readable, Solution, Triple, world
from heliograph.taxonomy import Taxonomy
from heliograph.terms import (
    RDF_TYPE,
    RDFS_MEMBER,
    RDFS_SUBCLASS_OF,
    Position,
    Term,
    Variable,
    is_container_member,
    sort_key,
    spell,
)
from heliograph.vocabulary import Vocabulary
from heliograph.watch.changes import Match
from heliograph.watch.layout import Int32s, Int64s
from heliograph.watch.updates import NO_TERM

Texts: TypeAlias = "list[str | None] | pa.Array[Any]"  # an array where there are many

_FEW = 64  # rows that are sooner spelled one by one
_REMEMBERED = 1 << 17  # terms; forgotten all at once when there are more
_SPECIAL = r'["\\\x00-\x1f]'  # what JSON escapes

_PLACES = (Position.SUBJECT, Position.PROPERTY, Position.OBJECT)


def evidence(
    query: Query, match: Match, witness: WitnessEdges | None, *, is_lost: bool = False
) -> dict[str, Any] | None:
    """The evidence of a match, with the edges of its `witness` if there is one; None where there is nothing to show."""
    shown: dict[str, Any] = {}
    proven = match.witness if witness is not None else None
    bindings = match.bindings
    if bindings is None and proven is not None:  # without blank nodes of the query, which have no name outside it
        bindings = {variable: proven[variable] for variable in query.named_variables if variable in proven}
    if bindings is not None:
        shown["bindings"] = {variable.name: spell(term) for variable, term in bindings.items()}
        if query.group_by and isinstance(match.value, int):  # of a group, under the name that SELECT gives its count
            shown["bindings"] |= {name.name: str(match.value) for name in query.count_names}
    if match.value is not None:
        shown["value"] = match.value
    shown |= match.more or {}
    if proven is not None and witness is not None:
        shown["edges"] = witness.of(query, proven, is_lost) + shown.pop("edges", [])
    return shown or None


def evidence_text(query: Query, match: Match, witness: WitnessEdges | None, *, is_lost: bool = False) -> str | None:
    shown = evidence(query, match, witness, is_lost=is_lost)
    return None if shown is None else json_text(shown)


# --- the edges of a witness -------------------------------------------------------------------------------------

# The law: they are edges of the graph, and with the taxonomy they prove the match. A plain pattern is proven by the
# edge that it stands for. An is-a form is proven by a shortest chain of rdf:type and rdfs:subClassOf; what the taxonomy
# adds to it is no edge, so an is-a form may have none. rdfs:member is proven by an edge with rdf:_n. Of equal ones the
# first in the order of terms is taken, the graph's before the taxonomy's, so that all strategies show the same.


class WitnessEdges:
    """The edges that a solution rests on in the graph as it is. What was lost rests on those of the graph before an
    update: `changes` gives the triples that it added and removed, once for each time that one came or went."""

    def __init__(self, answers: Reevaluation, changes: Callable[[], Iterable[Triple]] = tuple) -> None:
        self._graph, self._taxonomy = answers.graph, answers.taxonomy or Taxonomy()
        self._changes = changes

    def of(self, query: Query, solution: Mapping[Variable, Term], is_lost: bool = False) -> list[list[str]]:
        """The edges of a solution as `[s, p, o]`, in the order of the patterns; those of a chain are listed once."""
        found: list[list[str]] = []
        for pattern in query.patterns:
            subject, object = (_bound(node, solution) for node in (pattern.subject, pattern.object))
            is_derived = isinstance(pattern, ClassPattern) or pattern.predicate in (RDF_TYPE, RDFS_MEMBER)
            if is_derived and isinstance(subject, Term) and isinstance(object, Term):
                chain = self._chain(pattern, subject, object, self._before if is_lost else self._graph)
                found += [edge for edge in map(_spelled, chain) if edge not in found]
            elif isinstance(pattern, TriplePattern):
                found.append(_spelled((subject, _bound(pattern.predicate, solution), object)))
        return found

    @cached_property
    def _before(self) -> _GraphBefore:
        return _GraphBefore(self._graph, self._changes())

    def _chain(self, pattern: Pattern, subject: Term, object: Term, graph: Readable | _GraphBefore) -> Iterable[Triple]:
        """The graph's edges of a shortest way from a term up to a class, or of one that says the same."""
        if isinstance(pattern, TriplePattern):
            if pattern.predicate == RDF_TYPE:
                if object not in self._taxonomy.types_of(subject):  # then the graph has it, or had it
                    return [(subject, RDF_TYPE, object)]
                return graph.match(subject, RDF_TYPE, object)
            edges = graph.match(subject, None, object)
            members = [each for each in edges if each[1] == RDFS_MEMBER or is_container_member(each[1])]
            return sorted(members, key=lambda each: sort_key(each[1]))[:1]
        ways: dict[Term, tuple[Term | None, Triple | None]] = {}  # to each class: from which, and by which edge
        waiting: deque[Term] = deque()

        def climb(start: Term, before: Term | None, predicate: Term, rows: Iterable[Term]) -> None:
            edges = {triple[2]: triple for triple in graph.match(start, predicate, None)}
            for end in sorted({*edges, *rows}, key=sort_key):
                if end not in ways:
                    ways[end] = before, edges.get(end)
                    waiting.append(end)

        if pattern.relation is ClassRelation.IS_A:
            climb(subject, None, RDF_TYPE, self._taxonomy.types_of(subject))
        else:
            climb(subject, None, RDFS_SUBCLASS_OF, self._taxonomy.parents(subject))
        while waiting and object not in ways:
            above = waiting.popleft()
            climb(above, above, RDFS_SUBCLASS_OF, self._taxonomy.parents(above))
        found: list[Triple] = []
        at: Term | None = object if object in ways else None
        while at is not None:
            at, edge = ways[at]
            found += [] if edge is None else [edge]
        return reversed(found)


class _GraphBefore:
    """A graph before some changes: what came or went an odd number of times was not there, or was."""

    def __init__(self, graph: Readable, changes: Iterable[Triple]) -> None:
        self._graph = graph
        changed = {triple for triple, times in Counter(changes).items() if times % 2}
        self._came = {triple for triple in changed if any(graph.match(*triple))}
        self._gone = changed - self._came

    def match(self, subject: Term | None, predicate: Term | None, object: Term | None) -> Iterator[Triple]:
        yield from (triple for triple in self._graph.match(subject, predicate, object) if triple not in self._came)
        asked = subject, predicate, object
        for triple in self._gone:
            if all(part is None or part == own for part, own in zip(asked, triple, strict=True)):
                yield triple


def _bound(node: Node, solution: Mapping[Variable, Term]) -> Node:
    return solution.get(node, node) if isinstance(node, Variable) else node


def _spelled(terms: Sequence[Node]) -> list[str]:
    return [
        spell(term, place) if isinstance(term, Term) else str(term) for term, place in zip(terms, _PLACES, strict=True)
    ]


# --- whole columns ----------------------------------------------------------------------------------------------


class TermTexts:
    """The terms of an engine as evidence has them: what JSON has for each, and their order."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self.known: dict[int, str] = {}  # what was quoted so far

    def quoted(self, id: int) -> str:
        text = self.known.get(id)
        if text is None:
            if len(self.known) >= _REMEMBERED:
                self.known = {}
            text = self.known[id] = quote(spell(self._vocabulary.term(id)))
        return text

    def column(self, ids: Int32s) -> Texts:
        """A column of terms, each spelled once."""
        met, inverse = np.unique(ids, return_inverse=True)
        spelled: Any = self._vocabulary.spell(met)
        special = pc.match_substring_regex(spelled, _SPECIAL).to_numpy(zero_copy_only=False)
        quoted: Any = _join('"', spelled, '"')
        if special.any():
            texts = [quote(text) for text in spelled.filter(pa.array(special)).to_pylist()]
            quoted = pc.replace_with_mask(quoted, special, pa.array(texts, pa.string()))
        column: Texts = quoted.take(inverse)
        return column

    def ranks(self, terms: Int32s) -> Int64s:
        """For each of the ids its place in the order of terms; one that is none comes first."""
        ids, inverse = np.unique(terms, return_inverse=True)
        known = ids[ids != NO_TERM].tolist()
        ordered = sorted(known, key=lambda id: sort_key(self._vocabulary.term(id)))
        places = dict(zip(ordered, range(1, len(ordered) + 1), strict=True))
        ranks = np.array([places.get(id, 0) for id in ids.tolist()], np.int64)
        return ranks[inverse].reshape(terms.shape)


def as_list(texts: Texts) -> list[str | None]:
    return texts if isinstance(texts, list) else texts.to_pylist()


def quote(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def value_texts(values: Int64s) -> Texts:
    """The evidence of counts."""
    if len(values) < _FEW:
        return [f'{{"value":{value}}}' for value in values.tolist()]
    return _join('{"value":', pa.array(values).cast(pa.string()), "}")


def binding_texts(names: Sequence[str], terms: Int32s, book: TermTexts) -> Texts:
    """The evidence of rows of bindings; NO_TERM is left out."""
    if len(terms) < _FEW or not names or (terms == NO_TERM).any():
        return [_bindings(names, row, book) for row in terms.tolist()]
    pieces: list[Any] = []
    for place, name in enumerate(names):
        pieces += ["," if place else '{"bindings":{', f"{quote(name)}:", book.column(terms[:, place])]
    return _join(*pieces, "}}")


def with_values(bindings: Texts, values: Iterable[Any]) -> Texts:
    """The evidence of bindings, each with a value besides."""
    opened = pc.utf8_slice_codeunits(pa.array(bindings, pa.string()), 0, -1)
    return _join(opened, ',"value":', pa.array(map(json_text, values), pa.string()), "}")


def _join(*pieces: Any) -> Texts:
    """Columns and texts, one after the other."""
    join: Any = pc.binary_join_element_wise  # the stubs do not know that columns and texts may be mixed
    joined: Texts = join(*pieces, "")
    return joined


def _bindings(names: Sequence[str], row: list[int], book: TermTexts) -> str:
    bound = [(name, id) for name, id in zip(names, row, strict=True) if id != NO_TERM]
    shown = ",".join(f"{quote(name)}:{book.quoted(id)}" for name, id in bound)
    return f'{{"bindings":{{{shown}}}}}'


# --- answers ----------------------------------------------------------------------------------------------------


class Measuring(Protocol):
    """What answers `hg:` functions."""

    @property
    def vertices(self) -> Collection[Term]: ...

    def selected(self, query: Query) -> frozenset[Term]: ...

    def term(self, metric: Metric, bindings: Mapping[Variable, Term], selected: frozenset[Term]) -> Term | None: ...

    def shown(self, metric: Metric, bindings: Mapping[Variable, Term]) -> Mapping[str, Any]: ...


class Reevaluation:
    """Answers queries over the graph as it is now; one that asks for too much is given up (`HG-543`)."""

    def __init__(self, graph: Readable, taxonomy: Taxonomy | None = None, measuring: Measuring | None = None) -> None:
        self.graph = graph
        self.taxonomy = taxonomy
        self._measuring = measuring

    def solutions(self, plan: QueryPlan) -> Iterator[Solution]:
        measuring, here, budget = self._measuring, world(self.graph, self.taxonomy), Budget(self.graph, in_all=True)
        if measuring is None or not plan.query.metrics:
            return plan.solutions(here, budget=budget)
        metrics = self.metrics(plan.query)
        return plan.solutions(here, metrics=metrics, vertices=measuring.vertices, budget=budget)

    @property
    def vertices(self) -> Collection[Term]:
        """What variables of metrics range over, where metrics are answered."""
        return () if self._measuring is None else self._measuring.vertices

    def metrics(self, query: Query) -> Metrics:
        """What `hg:` functions of a query say of bindings, where metrics are answered."""
        measuring = self._measuring
        if measuring is None:
            return lambda metric, bindings: None
        selected = measuring.selected(query)
        return lambda metric, bindings: measuring.term(metric, bindings, selected)

    def shown(self, metric: Metric, bindings: Mapping[Variable, Term]) -> Mapping[str, Any]:
        """What an `hg:` function shows beside its value: an interval, or the edges of a path or tree."""
        return {} if self._measuring is None else self._measuring.shown(metric, bindings)

    def answer(self, query: Query) -> Iterator[Solution]:
        """The solutions of a query that is asked but once."""
        return self.solutions(QueryPlan.of(query))


# Answers within a budget: a query with 10^7 matches, or one that is sought in vain through 10^6 edges, costs no more. A
# step is a triple read; a look-up counts as several. So any search is stopped wherever it is, inside a closure of
# classes too. The law: what is answered is answered rightly; where `cut` is not set, it is everything.

Parts = tuple[Term | None, Term | None, Term | None]

_LOOK_UP = 4  # steps; in flat arrays it takes about 10 times as long as to read a triple, in dictionaries as long


class _Spent(Exception):
    """The budget is used up."""


class Bounded:
    """Answers over the graph as it is now. `steps` are left for all of them together."""

    def __init__(self, answers: Reevaluation, steps: int) -> None:
        self._graph = answers.graph
        self._taxonomy = answers.taxonomy
        self._counts: dict[Parts, int] = {}
        self.steps = steps
        self.cut = False

    def some(self, query: Query, most: int, steps: int | None = None) -> list[Solution]:
        """The first solutions of a query, as far as the steps reach that are left, or that this query may take."""
        granted = self.steps if steps is None else min(steps, self.steps)
        meter = _Meter(self._graph, self._counts, granted)
        found: list[Solution] = []
        try:
            found.extend(islice(QueryPlan.of(query).solutions(world(meter, self._taxonomy)), most))
        except _Spent:
            self.cut = True
        self.steps -= granted - max(meter.left, 0)
        return found


class _Meter:
    """A graph that counts what is read of it."""

    def __init__(self, graph: Readable, counts: dict[Parts, int], left: int) -> None:
        self._graph = graph
        self._counts = counts  # of whole properties, for which a graph may have to be scanned
        self.left = left

    def __len__(self) -> int:
        return len(self._graph)

    def __iter__(self) -> Iterator[Triple]:
        return self.match(None, None, None)

    def match(self, subject: Term | None, predicate: Term | None, object: Term | None) -> Iterator[Triple]:
        self._spend(_LOOK_UP)
        for triple in self._graph.match(subject, predicate, object):
            self._spend(1)
            yield triple

    def count(self, subject: Term | None, predicate: Term | None, object: Term | None) -> int:
        self._spend(_LOOK_UP)
        if subject is not None or object is not None:
            return self._graph.count(subject, predicate, object)
        parts = subject, predicate, object
        if parts not in self._counts:
            self._counts[parts] = self._graph.count(*parts)
        return self._counts[parts]

    def _spend(self, steps: int) -> None:
        self.left -= steps
        if self.left < 0:
            raise _Spent
