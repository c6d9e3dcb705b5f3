"""SPARQL interests: one text, or a hundred thousand that share their shapes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from heliograph.errors import SparqlError
from heliograph.syntax.bulk import collector_paused
from heliograph.syntax.nodes import Scope
from heliograph.syntax.query import Query
from heliograph.syntax.shapes import Shapes, parse_alone
from heliograph.terms import PREFIXES


def parse_sparql(text: str, *, verb: str = "filter", prefixes: Mapping[str, str] = PREFIXES) -> Query:
    """The query that a text means for a verb (`filter` or `watch`); raises `SparqlError` with the place and a fix."""
    return parse_alone(text, Scope(prefixes), verb)


def compile_sparql(
    texts: Iterable[str], *, verb: str = "filter", prefixes: Mapping[str, str] = PREFIXES
) -> list[Query | SparqlError]:
    """The queries of many texts, or the error of each that is wrong; each equals what `parse_sparql` gives."""
    shapes = Shapes(verb, prefixes)
    with collector_paused():
        return [_outcome(shapes, text) for text in texts]


def _outcome(shapes: Shapes, text: str) -> Query | SparqlError:
    try:
        return shapes.compile(text)
    except SparqlError as error:
        return error
