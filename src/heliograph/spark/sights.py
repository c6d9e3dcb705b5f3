"""What of an evolving graph a query can see: keys, each a triple with None for whatever may stand there.

The law: what a query tells depends on the graph only through the triples that one of its keys matches. A pattern is its
own key; the is-a forms see all classes; an `hg:` function that is told its properties sees those, for what no edge of
them touches counts as absent. Any other function, and a variable that ranges over all vertices, sees everything.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import product

from heliograph.syntax.query import ClassPattern, Metric, Node, Pattern, Query, walk
from heliograph.terms import RDF_TYPE, RDFS_SUBCLASS_OF, Term, Variable, iri
from heliograph.watch.metrics.calls import call_of

Key = tuple[Term | None, Term | None, Term | None]
Keys = frozenset[Key]

ANYTHING: Key = (None, None, None)
EVERYTHING: Keys = frozenset({ANYTHING})

TICK = iri("urn:heliograph:fn:tick")
"""An update that a shard does not see, but must count, comes as the removal of a triple of this name three times."""

_CLASSES: Keys = frozenset({(None, RDF_TYPE, None), (None, RDFS_SUBCLASS_OF, None)})
_MASKS = tuple(product((True, False), repeat=3))


def keys_of(query: Query) -> Keys:
    """The keys of all triples that can change what a query tells."""
    keys = {key for pattern in query.patterns for key in _of_pattern(pattern)}
    bound = {node for pattern in query.patterns for node in pattern if isinstance(node, Variable)}
    for metric in query.metrics:
        if metric.name != "via":
            keys |= _of_metric(metric, bound)
    names_tick = any(TICK in key for key in keys)  # such a query must not be told a tick
    return EVERYTHING if ANYTHING in keys or names_tick else frozenset(keys)


def _of_pattern(pattern: Pattern) -> Collection[Key]:
    if isinstance(pattern, ClassPattern):
        return _CLASSES
    return [(_constant(pattern.subject), _constant(pattern.predicate), _constant(pattern.object))]


def _constant(node: Node) -> Term | None:
    return None if isinstance(node, Variable) else node


def _of_metric(metric: Metric, bound: Collection[Variable]) -> Keys:
    variables = [node for node in walk(metric) if isinstance(node, Variable)]
    if not set(variables) <= set(bound):
        return EVERYTHING
    terms = list(dict.fromkeys(node for node in walk(metric) if isinstance(node, Term)))
    call = call_of(metric, dict.fromkeys(variables, 0), terms.index)
    return frozenset((None, terms[id], None) for id in call.key.properties) or EVERYTHING


def covers(known: Collection[Key], wanted: Collection[Key]) -> bool:
    """Whether whoever sees what `known` matches sees all that `wanted` matches."""
    return all(any(general in known for general in _generalisations(key)) for key in wanted)


def _generalisations(key: Key) -> Iterator[tuple[Term | None, ...]]:
    for mask in _MASKS:
        yield tuple(part if kept else None for part, kept in zip(key, mask, strict=True))
