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
from heliograph.sparql.query import ClassPattern, ClassRelation, Query, TriplePattern
from heliograph.sparql.regions import EVERYTHING, NOTHING, holds, just, region_where
from heliograph.sparql.templates import parse_sparql
from heliograph.taxonomy import Taxonomy
from heliograph.terms import Term, Variable, literal, plain_name
from heliograph.values import XSD_INTEGER
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


def test_constants_that_differ_become_a_choice() -> None:
    form = merge("?x :author :Arno", "?y :author :Bea", "?z :author :Cem")
    assert form is not None
    assert form == form_of(query("?x :author ?a VALUES ?a { :Arno :Bea :Cem }"))._replace(
        edges=form.edges, regions=form.regions
    )
    ((_, region),) = form.regions
    assert region == just({plain_name(name) for name in ("Arno", "Bea", "Cem")})


def test_a_constant_that_all_have_stays() -> None:
    form = merge("?x :author :Arno ; :year 2001", "?x :author :Arno ; :year 2002")
    assert form is not None
    years = {literal(year, XSD_INTEGER) for year in ("2001", "2002")}
    assert TriplePattern(Variable("v0"), plain_name("author"), plain_name("Arno")) in form.edges
    assert [region for _, region in form.regions] == [just(years)]


def test_intervals_become_their_union() -> None:
    form = merge("?x :year ?y FILTER(?y > 1 && ?y < 5)", "?x :year ?y FILTER(?y > 10)")
    assert form is not None
    ((_, region),) = form.regions
    held = [number for number in range(15) if holds(region, literal(str(number), XSD_INTEGER))]
    assert held == [2, 3, 4, 11, 12, 13, 14]


def test_many_intervals_are_filled_up_to_one() -> None:
    texts = [f"?x :year ?y FILTER(?y >= {10 * number} && ?y < {10 * number + 5})" for number in range(80)]
    form = merge(*texts)
    assert form is not None
    ((_, region),) = form.regions
    held = [number for number in range(-3, 900) if holds(region, literal(str(number), XSD_INTEGER))]
    assert held == list(range(795))


def test_many_terms_become_any_term() -> None:
    form = merge(*(f"?x :author :A{number}" for number in range(300)))
    assert form is not None
    assert form.regions == ()


def test_an_interval_and_a_constant_are_joined() -> None:
    form = merge("?x :year ?y FILTER(?y > 2000)", "?x :year 1990")
    assert form is not None
    ((_, region),) = form.regions
    assert [holds(region, literal(year, XSD_INTEGER)) for year in ("1989", "1990", "1991", "2001")] == [
        False,
        True,
        False,
        True,
    ]


def test_what_only_one_asks_is_given_up() -> None:
    form = merge("?x :year ?y FILTER(?y > 2000)", "?x :year ?y", "?x :year ?y FILTER(?y < 5)")
    assert form is not None
    assert (form.regions, form.residue) == ((), ())


@pytest.mark.parametrize(
    ("left", "right"), [("?x :p ?y", "?x :q ?y"), ("?x a ?y", "?x :p ?y"), ("?x rdfs:member ?y", "?x :p ?y")]
)
def test_edges_with_different_labels_are_not_followed(left: str, right: str) -> None:
    form = merge(f":A :o ?x . {left}", f":A :o ?x . {right}")
    assert form is not None
    assert [edge for edge in form.edges if isinstance(edge, TriplePattern)] == list(form.edges)
    assert len(form.edges) == 1


def test_labels_that_differ_become_a_choice_where_they_are_laid_side_by_side() -> None:
    form = merge(":A :p ?x", ":A :q ?x")
    assert form is not None
    ((subject, predicate, _),) = form.edges
    assert subject == plain_name("A")
    assert form.region(predicate) == just({plain_name("p"), plain_name("q")})  # type: ignore[arg-type]


def test_patterns_of_different_sizes_keep_what_both_have() -> None:
    form = merge(":A :p ?x . ?x :q :B . ?x :r :C", ":A :p ?y . ?y :r :C . :C :q :D")
    assert form is not None
    assert contains(form_of(query(":A :p ?x . ?x :r :C")), form, Taxonomy())
    assert len(form.edges) == 2


def test_a_cycle_and_a_path_have_a_path_in_common() -> None:
    form = merge("?x :p ?y . ?y :p ?x", "?x :p ?y . ?y :p ?z . ?z :p :A")
    assert form is not None
    assert contains(form, form_of(query("?x :p ?y . ?y :p ?x")), Taxonomy())
    assert contains(form, form_of(query("?x :p ?y . ?y :p ?z . ?z :p :A")), Taxonomy())


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


def test_types_become_a_choice_where_there_is_no_taxonomy() -> None:
    form = merge(*(f":A :owns ?x . ?x a :{kind}" for kind in ("Cat", "Dog")))
    assert form is not None
    assert [region for _, region in form.regions] == [just({plain_name("Cat"), plain_name("Dog")})]


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


def test_too_many_alternatives_are_given_up() -> None:
    form = merge(*(f'?x :title ?t FILTER(CONTAINS(?t, "w{number}"))' for number in range(70)))
    assert form is not None
    assert form.residue == ()


def test_patterns_that_never_match_change_nothing() -> None:
    form = merge("?x :p ?y FILTER(?y < 1 && ?y > 2)", "?x :p ?y FILTER(?y = 7)")
    assert form is not None
    assert form.region(form.edges[0].object) not in (EVERYTHING, NOTHING)  # type: ignore[arg-type]
