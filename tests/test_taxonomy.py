"""Taxonomies: closures, cycles, several parents, and rows that cannot be read."""

from __future__ import annotations

import networkx as nx
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.sparql.solve import Graph
from heliograph.taxonomy import Classes, Taxonomy
from heliograph.terms import RDF_TYPE, RDFS_SUBCLASS_OF, Term, plain_name

nodes = st.sampled_from("abcdefg").map(plain_name)
rows = st.lists(st.tuples(nodes, nodes), max_size=14)


def names(text: str) -> set[Term]:
    return {plain_name(name) for name in text.split()}


def pairs(*texts: str) -> list[tuple[Term, Term]]:
    return [(plain_name(child), plain_name(parent)) for child, parent in (text.split() for text in texts)]


def reached(graph: nx.DiGraph, start: Term) -> set[Term]:
    """What one or more edges reach, by networkx."""
    return {end for step in graph.successors(start) for end in [step, *nx.descendants(graph, step)]}


@settings(max_examples=150, deadline=None)
@given(rows)
def test_closures_and_cycles_agree_with_networkx(given_rows: list[tuple[Term, Term]]) -> None:
    taxonomy, graph = Taxonomy(given_rows), nx.DiGraph(given_rows)
    for term in graph:
        assert taxonomy.ancestors(term) == reached(graph, term)
        assert taxonomy.descendants(term) == reached(graph.reverse(), term)
    parts = nx.strongly_connected_components(graph)
    looped = {frozenset(part) for part in parts if len(part) > 1 or any(graph.has_edge(term, term) for term in part)}
    assert {frozenset(cycle) for cycle in taxonomy.cycles} == looped
    assert len(taxonomy.rejected) == len(looped)


@settings(max_examples=100, deadline=None)
@given(rows, rows)
def test_a_document_joins_the_taxonomy(ours: list[tuple[Term, Term]], theirs: list[tuple[Term, Term]]) -> None:
    document = Graph((child, RDFS_SUBCLASS_OF, parent) for child, parent in theirs)
    classes, joined = Classes(document, Taxonomy(ours)), Taxonomy([*ours, *theirs])
    for term in {term for row in (*ours, *theirs) for term in row}:
        assert classes.ancestors(term) == joined.ancestors(term)
        assert classes.descendants(term) == joined.descendants(term)
    assert set(classes.nested()) == {child for child, _ in (*ours, *theirs)}


def test_types_come_from_rows_and_from_the_document() -> None:
    document = Graph([(plain_name("x"), RDF_TYPE, plain_name("b"))])
    classes = Classes(document, Taxonomy(pairs("x a", "a top", "b top")))
    assert set(classes.types(plain_name("x"))) == names("a b")
    assert set(classes.all_types(plain_name("x"))) == names("a b top")
    assert set(classes.instances(plain_name("top"))) == names("a b")
    assert set(classes.all_instances(plain_name("top"))) == names("a b x")
    assert set(classes.typed()) == names("x a b")


def test_a_cycle_is_reported_with_its_members() -> None:
    taxonomy = Taxonomy(pairs("a b", "b c", "c a", "d a", "e e"))
    assert [sorted(map(str, cycle)) for cycle in taxonomy.cycles] == [["a", "b", "c"], ["e"]]
    first, second = taxonomy.rejected
    assert first.code == second.code == "HG-510"
    assert "a cycle through a, b, c" in first.message
    assert taxonomy.ancestors(plain_name("d")) == names("a b c")


def test_a_long_cycle_neither_hangs_nor_floods_the_message() -> None:
    size = 30_000
    ring = Taxonomy([(plain_name(f"n{i}"), plain_name(f"n{(i + 1) % size}")) for i in range(size)])
    assert len(ring.ancestors(plain_name("n7"))) == size
    assert "and 29980 more" in ring.rejected[0].message


def test_reading_rows() -> None:
    taxonomy = Taxonomy.read(pa.table({"child": ["x", None, "p:q", "y"], "parent": ["top", "top", "top", '"text"']}))
    assert [tuple(map(str, row)) for row in taxonomy.subclasses] == [("x", "top")]
    assert [(entry.source, entry.code) for entry in taxonomy.rejected] == [
        ("taxonomy", "HG-101"),
        ("taxonomy", "HG-104"),
        ("taxonomy", "HG-102"),
    ]
    assert "column child" in taxonomy.rejected[0].message
    assert "row 2" in taxonomy.rejected[0].message
    assert "column parent" in taxonomy.rejected[2].message


def test_a_prefix_of_ones_own() -> None:
    taxonomy = Taxonomy.read([{"child": "ex:x", "parent": "ex:top"}], {"ex": "http://example.org/"})
    assert taxonomy.subclasses == Taxonomy.read([("ex:x", "ex:top")], {"ex": "http://example.org/"}).subclasses
    assert [str(term) for term in taxonomy.subclasses[0]] == ["<http://example.org/x>", "<http://example.org/top>"]
