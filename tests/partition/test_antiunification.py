"""Whatever matches a member matches the merger, which is one connected pattern with an edge and keeps what it can."""

from __future__ import annotations

import os
from collections.abc import Sequence
from random import Random

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from heliograph.partition.containment import contains
from heliograph.partition.merging import Candidate, PlacedEdge, TermNumbers, antiunify, merged_region
from heliograph.partition.merging import merger_of as merger_form
from heliograph.sparql.normalize import NormalForm, form_of, query_of
from heliograph.sparql.query import ClassPattern, ClassRelation, Query
from heliograph.sparql.regions import holds, region_where
from heliograph.sparql.templates import parse_sparql
from heliograph.taxonomy import Taxonomy
from heliograph.terms import Term, Variable, literal, plain_name
from tests.partition.patterns import LITERALS, filters, matches, queries, specialised, taxonomies, witness

MORE = int(os.environ.get("EXAMPLES", "1"))


def query(text: str) -> Query:
    return parse_sparql(f"ASK {{ {text} }}", verb="filter")


def candidates(asked: Sequence[Query], taxonomy: Taxonomy) -> list[Candidate]:
    names = TermNumbers(taxonomy)
    found = [names.candidate(form_of(each)) for each in asked]
    assert None not in found
    return [each for each in found if each is not None]


def merger_of(asked: Sequence[Query], rows: Sequence[Sequence[PlacedEdge]], taxonomy: Taxonomy) -> NormalForm | None:
    members = candidates(asked, taxonomy)
    product = antiunify(members, rows)
    return merger_form(members, product, taxonomy)


def merge(*texts: str, taxonomy: Taxonomy | None = None) -> NormalForm | None:
    """The merger around the first edges of some queries."""
    known = taxonomy or Taxonomy()
    asked = [query(text) for text in texts]
    return merger_of(asked, [each.edges[:1] for each in candidates(asked, known)], known)


def is_connected(form: NormalForm) -> bool:
    """Whether every edge is reached from the first, over nodes that edges share."""
    reached, left = {form.edges[0].subject, form.edges[0].object}, list(form.edges[1:])
    while touching := [edge for edge in left if {edge.subject, edge.object} & reached]:
        reached.update(end for edge in touching for end in (edge.subject, edge.object))
        left = [edge for edge in left if edge not in touching]
    return not left


# --- the law ----------------------------------------------------------------------------------------------------


@st.composite
def families(draw: st.DrawFn) -> list[Query]:
    """Queries of which some are special cases of the first, so that they have much in common."""
    first = draw(queries)
    return [first, *draw(st.lists(st.one_of(specialised(first), specialised(first), queries), min_size=1, max_size=3))]


@settings(max_examples=300 * MORE)
@given(st.data(), families(), taxonomies)
def test_whatever_matches_a_member_matches_the_merger(
    data: st.DataObject, asked: list[Query], taxonomy: Taxonomy
) -> None:
    usable = [each for each in asked if not form_of(each).opaque]
    if len(usable) < 2:
        return
    members = candidates(usable, taxonomy)
    rows = [[data.draw(st.sampled_from(each.edges))] for each in members]
    if not _may_lie_side_by_side([row[0] for row in rows]):
        return
    form = merger_of(usable, rows, taxonomy)
    event(f"merger: {form is not None}")
    if form is None:
        return
    assert form.edges
    assert is_connected(form)
    merger, random = query_of(form), Random(data.draw(st.integers(0, 2**32)))
    for member in usable:
        for triples in (witness(random, member) for _ in range(25)):
            if matches(member, triples, taxonomy):
                assert matches(merger, triples, taxonomy), (triples, member, merger)


def _may_lie_side_by_side(edges: Sequence[PlacedEdge]) -> bool:
    """Labels that differ may become a variable only if each is that of one edge of the document."""
    return len({edge.label for edge in edges}) == 1 or all(edge.label >= -1 for edge in edges)


@settings(max_examples=150 * MORE)
@given(st.lists(st.lists(filters, min_size=1, max_size=2), min_size=1, max_size=4))
def test_a_hull_holds_the_regions(tests: list[list[object]]) -> None:
    asked = [region_where(each) for group in tests for each in group]  # type: ignore[arg-type]
    regions = [each for each in asked if each is not None]
    if regions:
        found = merged_region(regions)
        assert all(holds(found, term) for term in LITERALS if any(holds(region, term) for region in regions))


# --- what is kept -----------------------------------------------------------------------------------------------

TITLED = "?x :title ?t FILTER("


@pytest.mark.parametrize(
    ("members", "merger"),
    [
        (["?x :author :Arno", "?y :author :Bea", "?z :author :Cem"], "?x :author ?a VALUES ?a { :Arno :Bea :Cem }"),
        ([f"?x :author :Arno ; :year {year}" for year in (1, 2)], "?x :author :Arno ; :year ?y VALUES ?y { 1 2 }"),
        (
            ["?x :year ?y FILTER(?y > 1 && ?y < 5)", "?x :year ?y FILTER(?y > 10)"],
            "?x :year ?y FILTER((?y > 1 && ?y < 5) || ?y > 10)",
        ),
        (  # many intervals are filled up to one
            [f"?x :year ?y FILTER(?y >= {10 * number} && ?y < {10 * number + 5})" for number in range(80)],
            "?x :year ?y FILTER(?y >= 0 && ?y < 795)",
        ),
        ([f"?x :author :A{number}" for number in range(300)], "?x :author ?a"),  # many terms become any term
        (["?x :year ?y FILTER(?y > 2000)", "?x :year 1990"], "?x :year ?y FILTER(?y > 2000 || ?y = 1990)"),
        (["?x :year ?y FILTER(?y > 2000)", "?x :year ?y", "?x :year ?y FILTER(?y < 5)"], "?x :year ?y"),
        ([":A :o ?x . ?x :p ?y", ":A :o ?x . ?x :q ?y"], ":A :o ?x"),
        ([":A :o ?x . ?x a ?y", ":A :o ?x . ?x :p ?y"], ":A :o ?x"),
        ([":A :o ?x . ?x rdfs:member ?y", ":A :o ?x . ?x :p ?y"], ":A :o ?x"),
        ([":A :p ?x", ":A :q ?x"], ":A ?r ?x VALUES ?r { :p :q }"),  # laid side by side labels become a choice
        ([":A :p ?x . ?x :q :B . ?x :r :C", ":A :p ?y . ?y :r :C . :C :q :D"], ":A :p ?x . ?x :r :C"),
        (["?x :p ?y . ?y :p ?x", "?x :p ?y . ?y :p ?z . ?z :p :A"], "?x :p ?y . ?y :p ?z"),
        ([f":A :owns ?x . ?x a :{kind}" for kind in ("Cat", "Dog")], ":A :owns ?x . ?x a ?k VALUES ?k { :Cat :Dog }"),
        ([f'{TITLED}CONTAINS(?t, "w{number}"))' for number in range(70)], "?x :title ?t"),  # too many alternatives
        (["?x :p ?y FILTER(?y < 1 && ?y > 2)", "?x :p ?y FILTER(?y = 7)"], "?x :p ?y FILTER(?y = 7)"),
    ],
)
def test_a_merger_keeps(members: list[str], merger: str) -> None:
    form, expected = merge(*members), form_of(query(merger))
    assert form is not None
    assert contains(form, expected, Taxonomy())
    assert contains(expected, form, Taxonomy())


# --- figure 7 ---------------------------------------------------------------------------------------------------


def test_figure_7_the_merger_is_what_both_subscriptions_share() -> None:
    """[R] figure 7: the merger holds the edges of both; a publication may match it and none of the two.

    The drawing is lost; these subscriptions share two edges and have one each of their own, as the text says.
    """
    common = "?paper :author :Arno . ?paper :topic :RSS"
    first, second = f"{common} . ?paper :year 2007", f"{common} . ?paper :venue :WWW"
    form = merge(first, second)
    assert form is not None
    assert contains(form, form_of(query(common)), Taxonomy())
    assert contains(form_of(query(common)), form, Taxonomy())
    paper = plain_name("P")
    publication: list[tuple[Term, Term, Term]] = [
        (paper, plain_name("author"), plain_name("Arno")),
        (paper, plain_name("topic"), plain_name("RSS")),
    ]
    assert matches(query_of(form), publication, Taxonomy())
    assert not matches(query(first), publication, Taxonomy())
    assert not matches(query(second), publication, Taxonomy())


# --- classes ----------------------------------------------------------------------------------------------------

KINDS = Taxonomy(
    [(plain_name(child), plain_name(parent)) for child, parent in (("Cat", "Pet"), ("Dog", "Pet"), ("Pet", "Thing"))]
)


def classes_of(form: NormalForm | None) -> list[tuple[ClassRelation, Term | Variable, Term | Variable]]:
    assert form is not None
    return [tuple(edge) for edge in form.edges if isinstance(edge, ClassPattern)]  # type: ignore[misc]


def test_classes_become_the_nearest_class_above() -> None:
    texts = [f":A :owns ?x . ?x a/rdfs:subClassOf* :{kind}" for kind in ("Cat", "Dog")]
    assert [edge[2] for edge in classes_of(merge(*texts, taxonomy=KINDS))] == [plain_name("Pet")]
    direct = [f":A :owns ?x . ?x a :{kind}" for kind in ("Cat", "Pet")]
    assert [edge[2] for edge in classes_of(merge(*direct, taxonomy=KINDS))] == [plain_name("Pet")]


def test_classes_without_one_above_are_given_up() -> None:
    texts = [f":A :owns ?x . ?x a/rdfs:subClassOf* :{kind}" for kind in ("Cat", "Stone")]
    assert classes_of(merge(*texts, taxonomy=KINDS)) == []
    direct = merge(*(f":A :owns ?x . ?x a :{kind}" for kind in ("Cat", "Stone")), taxonomy=KINDS)
    assert direct is not None
    assert len(direct.edges) == 1


def test_superclasses_become_the_nearest_class_below() -> None:
    texts = [f":A :owns ?x . :{kind} rdfs:subClassOf+ ?x" for kind in ("Cat", "Pet")]
    assert [edge[1] for edge in classes_of(merge(*texts, taxonomy=KINDS))] == [plain_name("Cat")]
    apart = [f":A :owns ?x . :{kind} rdfs:subClassOf+ ?x" for kind in ("Cat", "Dog")]
    assert classes_of(merge(*apart, taxonomy=KINDS)) == []


def test_classes_alone_are_no_merger() -> None:
    texts = [f"?x a/rdfs:subClassOf* :{kind}" for kind in ("Cat", "Dog")]
    assert merge(*texts, taxonomy=KINDS) is None


# --- texts and other conditions ---------------------------------------------------------------------------------


def test_text_tests_become_alternatives() -> None:
    texts = [f'?x :title ?t FILTER(CONTAINS(?t, "{word}"))' for word in ("cup", "golf", "ski")]
    form = merge(*texts)
    assert form is not None
    x, title = plain_name("X"), plain_name("title")
    told = [matches(query_of(form), [(x, title, literal(text))], Taxonomy()) for text in ("a ski", "golf", "chess")]
    assert told == [True, True, False]


def test_alternatives_of_a_merger_are_not_nested() -> None:
    first = merge(*(f'?x :title ?t FILTER(CONTAINS(?t, "{word}"))' for word in ("cup", "golf")))
    assert first is not None
    both = [query_of(first), query('?x :title ?t FILTER(CONTAINS(?t, "ski"))')]
    form = merger_of(both, [each.edges[:1] for each in candidates(both, Taxonomy())], Taxonomy())
    assert form is not None
    flat = form_of(query('?x :title ?t FILTER(CONTAINS(?t, "cup") || CONTAINS(?t, "golf") || CONTAINS(?t, "ski"))'))
    assert [len(each) for each in form.residue] == [len(each) for each in flat.residue]


def test_conditions_that_all_have_are_kept_and_values_of_several_variables_only_then() -> None:
    block = "VALUES (?x ?t) { (:A :B) (:C :D) }"
    same = merge(f"?x :p ?t {block}", f"?y :p ?u {block.replace('?x', '?y').replace('?t', '?u')}")
    assert same is not None
    assert len(same.residue) == 1
    other = merge(f"?x :p ?t {block}", "?x :p ?t VALUES (?x ?t) { (:A :A) }")
    assert other is not None
    assert other.residue == ()


def test_conditions_that_go_together_stay_together() -> None:
    left = '?x :p ?t FILTER(CONTAINS(?t, "a") && STRENDS(?t, "z"))'
    form = merge(left, '?x :p ?t FILTER(CONTAINS(?t, "q"))')
    assert form is not None
    x, p = plain_name("X"), plain_name("p")
    told = [matches(query_of(form), [(x, p, literal(text))], Taxonomy()) for text in ("az", "ab", "bz", "q")]
    assert told == [True, False, False, True]
