"""Summaries are common parts, counted; both memories are bounded; a sample knows where edges stand."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from heliograph.io.publications import Publications, Triples
from heliograph.partition.statistics import Graph, Sample, Summaries, graphs_of
from heliograph.terms import Term, blank, plain_name
from heliograph.vocabulary import Vocabulary

NAMES = [plain_name(name) for name in "abcdef"]


def graph(text: str) -> Graph:
    """Edges of one letter each: subject, property, object."""
    return frozenset(tuple(plain_name(letter) for letter in edge) for edge in text.split())  # type: ignore[misc]


triples = st.tuples(*[st.sampled_from(NAMES[:3])] * 3)
graphs = st.frozensets(triples, max_size=6)


# --- summaries --------------------------------------------------------------------------------------------------


def test_similar_publications_become_one_summary_with_their_matches_added_up() -> None:
    known = Summaries(threshold=0.4)
    known.collect(graph("apb aqc bpd"), 10)
    known.collect(graph("apb aqc bpe"), 5)
    known.collect(graph("crd"), 12)
    first, second = known.ranked()
    assert (first.edges, first.frequency, first.publications) == (graph("apb aqc"), 15, 2)
    assert (second.edges, second.frequency, second.publications) == (graph("crd"), 12, 1)


def test_the_most_similar_summary_is_taken_first_and_the_result_may_join_another() -> None:
    known = Summaries(threshold=0.5)
    known.collect(graph("apb bpc"), 1)
    known.collect(graph("apb bpc cpd dpe epf"), 1)  # 2 of 5 edges in common: not alike
    assert len(known) == 2
    known.collect(graph("apb bpc cpd"), 1)  # 3 of 5 with the second, 2 of 3 with the first
    assert [summary.publications for summary in known.ranked()] == [2, 1]
    assert known.ranked()[0].edges == graph("apb bpc")


def test_a_similarity_equal_to_the_threshold_is_not_enough() -> None:
    known = Summaries(threshold=0.5)
    known.collect(graph("apb bpc"), 1)
    known.collect(graph("apb"), 1)
    assert len(known) == 2


def test_of_too_many_summaries_the_least_frequent_goes() -> None:
    known = Summaries(threshold=0.9, capacity=2)
    for text, matched in (("apb", 3), ("bpc", 1), ("cpd", 2)):
        known.collect(graph(text), matched)
    assert [summary.edges for summary in known.ranked()] == [graph("apb"), graph("cpd")]


@given(st.lists(st.tuples(graphs, st.integers(0, 9)), max_size=12), st.sampled_from([0.0, 0.3, 0.5, 0.9]))
def test_summaries_are_common_parts_and_lose_no_match(stream: list[tuple[Graph, int]], threshold: float) -> None:
    known = Summaries(threshold)
    for each, matched in stream:
        known.collect(each, matched)
    found = known.ranked()
    assert all(any(summary.edges <= each for each, _ in stream) for summary in found)
    assert sum(summary.frequency for summary in found) == sum(matched for each, matched in stream if each)
    assert sum(summary.publications for summary in found) == sum(1 for each, _ in stream if each)
    pairs = [(one.edges, other.edges) for one, other in combinations(found, 2)]
    assert all(len(one & other) <= threshold * len(one | other) for one, other in pairs)


# --- the sample -------------------------------------------------------------------------------------------------


@given(st.lists(graphs, max_size=12), triples, st.integers(1, 5))
def test_a_sample_knows_where_edges_stand(stream: list[Graph], edge: tuple[Term, Term, Term], capacity: int) -> None:
    sample = Sample(capacity, seed=3)
    for each in stream:
        sample.add(each)
    subject, predicate, object = edge
    assert len(sample) == min(capacity, len(stream))
    assert sample.everything == 2 ** len(sample) - 1
    kept = sample._graphs
    with_subject = [any(triple[:2] == (subject, predicate) for triple in each) for each in kept]
    with_object = [any(triple[1:] == (predicate, object) for triple in each) for each in kept]
    with_property = [any(triple[1] == predicate for triple in each) for each in kept]
    assert sample.holding([subject], predicate, None) == bits(with_subject)
    assert sample.holding(None, predicate, [object, plain_name("nowhere")]) == bits(with_object)
    assert sample.holding(None, predicate, None) == bits(with_property)
    both = [left and right for left, right in zip(with_subject, with_object, strict=True)]
    assert sample.holding([subject], predicate, [object]) == bits(both)
    assert sample.holding([], predicate, None) == 0


def bits(flags: list[bool]) -> int:
    return sum(1 << place for place, flag in enumerate(flags) if flag)


def test_a_sample_holds_early_and_late_publications_alike() -> None:
    sample = Sample(50, seed=1)
    for number in range(1000):
        sample.add(frozenset([(plain_name(f"n{number}"), NAMES[0], NAMES[1])]))
    numbers = [int(subject.value.rsplit("n", 1)[1]) for each in sample._graphs for subject, _, _ in each]
    assert len(numbers) == 50
    assert 350 < sum(numbers) / 50 < 650


# --- reading publications ---------------------------------------------------------------------------------------


def test_interned_publications_are_read_evenly_and_without_blank_nodes() -> None:
    vocabulary = Vocabulary()
    a, p, b, x = vocabulary.intern_many([NAMES[0], NAMES[1], NAMES[2], blank("x")])
    columns = (np.array(column, np.int32) for column in ([a, x, a, a], [p, p, p, p], [b, b, x, a]))
    given = Publications(vocabulary, ("1", "2", "3"), np.array([0, 2, 3, 4]), Triples(*columns))
    one, two = (NAMES[0], NAMES[1], NAMES[2]), (NAMES[0], NAMES[1], NAMES[0])
    assert list(graphs_of(given, 10)) == [(0, frozenset([one])), (1, frozenset()), (2, frozenset([two]))]
    assert [place for place, _ in graphs_of(given, 2)] == [0, 2]
