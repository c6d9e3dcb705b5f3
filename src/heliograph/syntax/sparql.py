"""SPARQL interests: one text, or a hundred thousand that share their shapes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from heliograph.errors import SparqlError
from heliograph.syntax.nodes import Scope
from heliograph.syntax.query import Query
from heliograph.syntax.sparql_parser import parse
from heliograph.syntax.tokens import tokenize
from heliograph.terms import PREFIXES


def parse_sparql(text: str, *, verb: str = "filter", prefixes: Mapping[str, str] = PREFIXES) -> Query:
    """The query that a text means for a verb (`filter` or `watch`); raises `SparqlError` with the place and a fix."""
    draft, _ = parse(tokenize(text), Scope(prefixes), verb)
    query = draft.query()
    return replace(query, projection=query.named_variables) if draft.star else query


def compile_sparql(
    texts: Sequence[str], *, verb: str = "filter", prefixes: Mapping[str, str] = PREFIXES
) -> list[Query | SparqlError]:
    """The queries of many texts, or the error of each that is wrong."""
    compiled: list[Query | SparqlError] = []
    for text in texts:
        try:
            compiled.append(parse_sparql(text, verb=verb, prefixes=prefixes))
        except SparqlError as error:
            compiled.append(error)
    return compiled
