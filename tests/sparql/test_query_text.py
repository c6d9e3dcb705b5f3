"""Queries as text that a process gives to another."""

from __future__ import annotations

import pytest

from heliograph.sparql.query import Query, from_text, to_text
from heliograph.sparql.templates import compile_sparql
from heliograph.terms import PREFIXES
from tests.sparql.cases import read_cases


def test_a_query_comes_out_as_it_went_in() -> None:
    texts = [case.subscription for case in read_cases()]
    read = compile_sparql(texts, verb="filter", prefixes=PREFIXES)
    queries = [query for query in read if isinstance(query, Query)]
    assert [from_text(to_text(query)) for query in queries] == queries
    assert len(queries) > 50


def test_nothing_else_is_made() -> None:
    assert from_text(to_text(Query())) == Query()
    with pytest.raises(KeyError, match="Path"):
        from_text('["Path","x"]')
    with pytest.raises(ValueError, match="no query"):
        from_text('["Variable","x"]')
