"""What a shape foretells. The law: a way in is what the index looks a subscription up by."""

from __future__ import annotations

import pytest
from hypothesis import given

from heliograph.filter.interests import interest_of
from heliograph.lint.cost import expenses, is_way_in
from heliograph.sparql.templates import parse_sparql
from heliograph.taxonomy import Taxonomy
from heliograph.vocabulary import Vocabulary
from tests.filter.conditions import WILD
from tests.filter.strategies import Workload, workloads

TAXONOMY = Taxonomy.read([("Journal", "Publication")])


def said(text: str) -> list[str]:
    return list(expenses(parse_sparql(text, verb="watch"), TAXONOMY))


@pytest.mark.parametrize(
    "body",
    [
        "?s ?p ?o",
        "?s ?p ?o . ?o ?q ?r",
        "?x a/rdfs:subClassOf* :Publication",
        "?x a :Publication",  # taxonomy rows answer it too
        "?x rdfs:member ?y",
        ":Ann rdfs:subClassOf+ ?x",
    ],
)
def test_no_way_in(body: str) -> None:
    [only] = said(f"ASK {{ {body} }}")
    assert "no edge of it has a constant" in only


@pytest.mark.parametrize(
    "body",
    [
        "?x :p ?y",
        "?x ?p 5",
        ":Ann ?p ?y",
        "?x a :Unheard-of",
        "?x ?p ?y . ?y :q ?z",
        "?x a/rdfs:subClassOf* :Publication ; :p ?y",
        "?x :p ?y . ?z :q 5",  # few edges have the constant
        ":Ann :p ?x . :Bob :q ?y",
        "?x :p ?y . :Ann :q :Bob",
        "?x :p ?a, ?b",
        "?x :p ?a, ?b, ?c FILTER(?a = 1 && ?b = 2 && ?c = 3)",
        "?x :p ?a, ?b, ?c . ?a :q 1 . ?b :q 2 . ?c :q 3",
        "VALUES (?x ?y) { (:A 1) (:B 2) } ?x :p ?u . ?y :q ?v",
    ],
)
def test_what_is_cheap(body: str) -> None:
    assert said(f"ASK {{ {body} }}") == []


def test_parts_that_share_nothing() -> None:
    [only] = said("ASK { ?x :p ?y . ?a :q ?b . ?b :r ?c . ?k a :K }")
    assert "3 parts that share no variable (?x p ?y | ?a q ?b | ?k a K)" in only
    assert only.endswith("tie them with a common variable")
    [joined] = said("ASK { ?x :p ?y . ?a :q ?b FILTER(?x != ?y) FILTER(?y = ?b) }")
    assert "only FILTER(?y = ?b) ties them" in joined
    [many] = said(f"ASK {{ {' . '.join(f'?x{n} :p ?y{n}' for n in range(5))} }}")
    assert "5 parts that share no variable (?x0 p ?y0 | ?x1 p ?y1 | ?x2 p ?y2 | …)" in many


def test_variables_that_range_over_the_same() -> None:
    [only] = said("ASK { ?x :author ?a, ?b, ?c, ?d }")
    assert "?a, ?b, ?c, … range over the same values of author, so n of them give n^4 bindings" in only
    [incoming] = said("ASK { ?a :cites :P . ?b :cites :P . ?c :cites :P }")
    assert "n^3" in incoming


def test_a_named_instance_is_looked_up_unless_the_taxonomy_answers() -> None:
    taxonomy = Taxonomy.read([{"child": ":A", "parent": ":K"}])
    [named, given_, free] = parse_sparql("ASK { :B a :K . :A a :K . ?x a :K }").patterns
    assert [is_way_in(each, taxonomy) for each in (named, given_, free)] == [True, False, False]


@given(workloads(WILD))
def test_a_way_in_is_what_the_index_uses(workload: Workload) -> None:
    taxonomy = Taxonomy.read(workload.taxonomy)
    for each in workload.engine("naive")._subscriptions:
        interest = interest_of(each.query, Vocabulary(), taxonomy)
        if not each.query.counted:  # a count may hold of nothing: then the index has no edges of it
            looked_up = any(node >= 0 for edge in interest.edges for node in edge)
            assert looked_up == any(is_way_in(pattern, taxonomy) for pattern in each.query.patterns)
