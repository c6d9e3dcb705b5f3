"""Containment never claims falsely: what matches the contained query matches the containing one."""

from __future__ import annotations

import os
from random import Random

from hypothesis import event, given, settings
from hypothesis import strategies as st

from heliograph.partition.containment import contains
from heliograph.sparql.normalize import form_of, query_of
from heliograph.sparql.query import Query
from heliograph.taxonomy import Taxonomy
from tests.partition.patterns import matches, publications, queries, specialised, taxonomies, witness

MORE = int(os.environ.get("EXAMPLES", "1"))


@settings(max_examples=250 * MORE)
@given(st.data(), queries, taxonomies)
def test_whatever_matches_the_contained_query_matches_the_containing_one(
    data: st.DataObject, general: Query, taxonomy: Taxonomy
) -> None:
    special = data.draw(st.one_of(specialised(general), specialised(general), queries))
    pairs = [(one, other) for one, other in ((general, special), (special, general)) if _contains(one, other, taxonomy)]
    event(f"{len(pairs)} containments")
    for one, other in pairs:
        random = Random(data.draw(st.integers(0, 2**32)))
        found = [
            triples for triples in (witness(random, other) for _ in range(60)) if matches(other, triples, taxonomy)
        ]
        event(f"publications match: {bool(found)}")
        for triples in found:
            assert matches(one, triples, taxonomy), (triples, one, other)


def _contains(one: Query, other: Query, taxonomy: Taxonomy) -> bool:
    return contains(form_of(one), form_of(other), taxonomy)


@settings(max_examples=100 * MORE)
@given(st.data(), queries, taxonomies)
def test_a_form_means_what_its_query_means(data: st.DataObject, query: Query, taxonomy: Taxonomy) -> None:
    again = query_of(form_of(query))
    random = Random(data.draw(st.integers(0, 2**32)))
    for triples in [data.draw(publications), *(witness(random, query) for _ in range(20))]:
        assert matches(again, triples, taxonomy) == matches(query, triples, taxonomy)
    assert form_of(again) == form_of(query)
    assert contains(form_of(query), form_of(again), taxonomy)
