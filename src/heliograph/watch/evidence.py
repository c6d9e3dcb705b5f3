"""What a notification shows (bindings, a value, and on request the edges that witness a match), and answers over the
graph as it is now, for evidence and explanations.

The law of whole columns: they are the texts that `evidence_text` makes of each match. A term is spelled once a batch.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Protocol, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from heliograph.io.coerce import json_text
from heliograph.sparql.evaluate import Metrics
from heliograph.sparql.query import ClassPattern, ClassRelation, Metric, Pattern, Query, TriplePattern
from heliograph.sparql.solve import Budget, QueryPlan, Readable, Solution, Triple, world
from heliograph.taxonomy import Taxonomy
from heliograph.terms import RDF_TYPE, RDFS_SUBCLASS_OF, Position, Term, Variable, sort_key, spell
from heliograph.vocabulary import Vocabulary
from heliograph.watch.changes import Match
from heliograph.watch.layout import Int32s, Int64s
from heliograph.watch.updates import NO_TERM

Texts: TypeAlias = "list[str | None] | pa.Array[Any]"  # an array where there are many

_FEW = 64  # rows that are sooner spelled one by one
_REMEMBERED = 1 << 17  # terms; forgotten all at once when there are more
_SPECIAL = r'["\\\x00-\x1f]'  # what JSON escapes

_RELATIONS = {ClassRelation.IS_A: RDF_TYPE, ClassRelation.SUBCLASS_OF: RDFS_SUBCLASS_OF}


def evidence(query: Query, match: Match, witness: bool) -> dict[str, Any] | None:
    """The evidence of a match, or None where there is nothing to show."""
    shown: dict[str, Any] = {}
    proven = match.witness if witness else None
    bindings = match.bindings
    if bindings is None and proven is not None:  # without blank nodes of the query, which have no name outside it
        bindings = {variable: proven[variable] for variable in query.named_variables if variable in proven}
    if bindings is not None:
        shown["bindings"] = {variable.name: spell(term) for variable, term in bindings.items()}
    if match.value is not None:
        shown["value"] = match.value
    shown |= match.more or {}
    if proven is not None:
        shown["edges"] = [edge(pattern, proven) for pattern in query.patterns] + shown.pop("edges", [])
    return shown or None


def evidence_text(query: Query, match: Match, witness: bool) -> str | None:
    shown = evidence(query, match, witness)
    return None if shown is None else json_text(shown)


def edge(pattern: Pattern, solution: Mapping[Variable, Term]) -> list[str]:
    """A pattern with its variables replaced, as `[s, p, o]`; an is-a form is the derived triple it stands for."""
    if isinstance(pattern, ClassPattern):
        pattern = TriplePattern(pattern.subject, _RELATIONS[pattern.relation], pattern.object)
    terms = [solution.get(node, node) if isinstance(node, Variable) else node for node in pattern]
    places = (Position.SUBJECT, Position.PROPERTY, Position.OBJECT)
    return [
        spell(term, place) if isinstance(term, Term) else str(term) for term, place in zip(terms, places, strict=True)
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
