"""Containments that must be found, and near misses that must not; [R] figures 5 and 6."""

from __future__ import annotations

from itertools import pairwise

import pytest

from heliograph.partition.containment import contains, witness
from heliograph.sparql.normalize import NormalForm, form_of, numbered
from heliograph.sparql.query import Query, TriplePattern
from heliograph.sparql.templates import parse_sparql
from heliograph.taxonomy import Taxonomy
from heliograph.terms import Variable, plain_name

TAXONOMY = Taxonomy(
    [(plain_name(child), plain_name(parent)) for child, parent in (("Dog", "Mammal"), ("Mammal", "Animal"))]
)
NONE = Taxonomy()


def form(body: str) -> NormalForm:
    return form_of(parse_sparql(f"ASK {{ {body} }}", verb="filter"))


FOUND = [
    ("?x :p ?y", ":A :p :B"),
    ("?x :p ?y", "?x :p ?x"),
    ("?x :p ?y", "?x :p ?y . ?y :q ?z"),
    ("?x :p ?y . ?x :p ?z", "?x :p ?y"),
    ("?x ?r :B", ":A :p :B"),
    ("?x ?r ?y . ?y ?r ?z", "?x :p ?x"),
    ("?x :p ?y FILTER(?y > 5)", "?x :p ?y FILTER(?y > 10)"),
    ("?x :p ?y FILTER(?y > 5)", "?x :p 7"),
    ("?x :p ?y FILTER(?y > 5)", "?x :p ?a . ?x :p ?b FILTER(?a < 0) FILTER(?b > 10)"),
    ("?x :p ?y FILTER(?x != ?y)", ":A :p :B"),
    ("?x :p ?y FILTER(?x != ?y)", "?a :p ?b FILTER(?b != ?a)"),
    ('?x :p ?y FILTER(REGEX(?y, "a+"))', '?a :p ?b FILTER(REGEX(?b, "a+")) FILTER(?a = :A)'),
    ('?x :p ?y FILTER(CONTAINS(?y, "ell"))', '?x :p "Hello"'),
    ("?x :p ?y VALUES ?y { :A :B :C }", "?x :p ?y VALUES ?y { :A :C }"),
    ("?x :p ?y VALUES ?y { :A :B }", "?x :p :A"),
    ("?x rdfs:member :A", "?x rdf:_3 :A"),
    ("?x rdfs:member ?y", ":B rdfs:member :A"),
    ("?x a/rdfs:subClassOf* :Animal", "?x a/rdfs:subClassOf* :Dog"),
    ("?x a/rdfs:subClassOf* :Animal", "?x a :Dog"),
    ("?x a/rdfs:subClassOf* :Animal", ":Rex a :Mammal . :Rex :p :B"),
    ("?x a/rdfs:subClassOf* :Animal", "?x a ?k . ?k rdfs:subClassOf+ :Mammal"),
    ("?x a/rdfs:subClassOf* :Animal", "?x a ?k . ?k rdfs:subClassOf :Mammal"),
    ("?x a/rdfs:subClassOf* ?k", "?x a :Dog"),
    ("?x rdfs:subClassOf+ :Animal", "?x rdfs:subClassOf+ :Mammal"),
    ("?x rdfs:subClassOf+ ?z", "?x rdfs:subClassOf ?y . ?y rdfs:subClassOf ?z"),
    ("?x rdfs:subClassOf+ :C", "?x rdfs:subClassOf ?y . ?y rdfs:subClassOf :C"),
    (":Dog rdfs:subClassOf+ :Animal . ?x :p ?y", "?a :p ?b"),
    (":Dog a :Mammal . ?x :p ?y", "?a :p ?b"),
    (":Dog a/rdfs:subClassOf* :Animal . ?x :p ?y", "?a :p ?b"),
    ("?x ?r :Other", "?x a :Other"),  # no row of the taxonomy could answer it
]

# Conditions on one variable, what implies them, and what does not.
IMPLIED = [
    ("?b > 5", ["?b > 10", "?b IN (6, 7.5)", "?b > 6 || ?b = 5.5"], ["?b > 4", "?b > 6 || ?b = 4.5"]),
    ("?b != 5", ["?b < 5"], ["?b <= 5"]),
    ("?b >= 0 && ?b < 10", ["?b > 1 && ?b <= 9"], []),
    ("isIRI(?b)", ["?b IN (:A, :B)"], []),
    ("isLiteral(?b)", ["?b > 1"], []),
    ("?b != :A", ['?b = "text"'], []),
    ("!(?b < 5)", ["?b >= 5"], []),
    ("?b >= 5", [], ["!(?b < 5)"]),  # not-a-number
    ("?b > 16777216", [], ["?b >= 16777217"]),  # 16777216 as xsd:float
]
# Conditions on two, the ends of two edges, and what stands there in another pattern.
BOTH = "?x :p ?a ; :q ?b "
SATISFIED = [
    ("?b = 5", "?x :p ?a ; :q 5.0"),
    ("?b != :B", "?x :p ?a ; :q :A"),
    ('?b IN ("a", "b")', '?x :p ?a ; :q "a"'),
    ("?a != ?b", f"{BOTH}FILTER(?b != ?a)"),
    ("?a < ?b", "?x :p 1 ; :q ?b FILTER(?b > 5)"),
    ("?a != ?b", "?x :p :A ; :q :B"),
]
NOT_SATISFIED = [
    ("?b > 5", "?x :p ?a ; :q 5"),
    ('?b IN ("a", "b")', '?x :p ?a ; :q "a"@en'),
    ('CONTAINS(?b, "x")', '?x :p ?a ; :q "age"'),
    ("?a < ?b", f"{BOTH}FILTER(?b < ?a)"),
    ("?a < ?b", "?x :p 1 ; :q ?b FILTER(?b < 5)"),
    ("?a != ?b", "?x :p :A ; :q :A"),
]
FOUND += [(f"?x :p ?b FILTER({one})", f"?x :p ?b FILTER({each})") for one, several, _ in IMPLIED for each in several]
FOUND += [(f"{BOTH}FILTER({one})", other) for one, other in SATISFIED]
FOUND += [(f"{BOTH}VALUES (?a ?b) {{ (:A :B) (:C :D) }}", f"{BOTH}VALUES (?a ?b) {{ (:C :D) (:A :B) }}")]

NOT_FOUND = [
    (":A :p :B", "?x :p ?y"),
    ("?x :p ?x", "?x :p ?y"),
    ("?x :p ?y . ?y :p ?z", "?x :p ?y"),
    ("?x :p ?y FILTER(?y > 10)", "?x :p ?y FILTER(?y > 5)"),
    ("?x :p ?y FILTER(?y > 5)", "?x :p ?y"),
    ("?x :p ?y FILTER(?y > 5)", "?x :p :A"),
    ("?x :p ?y FILTER(?x != ?y)", "?x :p ?y"),
    ('?x :p ?y FILTER(CONTAINS(?y, "a"))', '?x :p ?y FILTER(CONTAINS(?y, "ab"))'),
    ("?x :p ?y VALUES ?y { 1 }", "?x :p ?y FILTER(?y = 1)"),
    ("?x rdf:_3 :A", "?x rdfs:member :A"),
    ("?x ?r ?y", "?x rdfs:member ?y"),  # ?r would be some rdf:_n, which nobody knows
    ("?x ?r :Mammal", "?x a :Mammal"),  # a row of the taxonomy may answer it
    ("?x a/rdfs:subClassOf* :Dog", "?x a/rdfs:subClassOf* :Animal"),
    ("?x a :Animal", "?x a :Dog"),
    ("?x a :Animal", "?x a/rdfs:subClassOf* :Animal"),
    ("?x rdfs:subClassOf :C", "?x rdfs:subClassOf+ :C"),
    (":Animal rdfs:subClassOf+ :Dog . ?x :p ?y", "?a :p ?b"),
    (f"{BOTH}VALUES (?a ?b) {{ (:A :B) (:C :D) }}", f"{BOTH}VALUES (?a ?b) {{ (:A :B) }}"),
    *((f"?x :p ?b FILTER({one})", f"?x :p ?b FILTER({each})") for one, _, several in IMPLIED for each in several),
    *((f"{BOTH}FILTER({one})", other) for one, other in NOT_SATISFIED),
]


@pytest.mark.parametrize(("general", "special"), FOUND)
def test_obvious_containments_are_found(general: str, special: str) -> None:
    assert contains(form(general), form(special), TAXONOMY)


@pytest.mark.parametrize(("general", "special"), NOT_FOUND)
def test_near_misses_are_none(general: str, special: str) -> None:
    assert not contains(form(general), form(special), TAXONOMY)


def test_classes_need_the_taxonomy() -> None:
    assert not contains(form("?x a/rdfs:subClassOf* :Animal"), form("?x a :Dog"), NONE)
    assert contains(form("?x ?r ?y"), form("?x a :Mammal"), NONE)


def test_counts_contain_themselves_alone() -> None:
    count = form_of(parse_sparql("SELECT (COUNT(*) AS ?n) { ?x :p ?y } HAVING (COUNT(*) > 2)", verb="filter"))
    assert contains(count, count, NONE)
    assert not contains(form("?x :p ?y"), count, NONE)
    assert not contains(count, form("?x :p ?y"), NONE)


# --- the figures of [R]: their drawings are lost, so graphs are made that agree with every sentence about them --------


def test_figure_5_a_variable_contains_a_constant() -> None:
    s1 = form(":a :e1 :b . :a :e2 :c . :c :e3 :d")
    s2 = form(":a :e1 ?x . :a :e2 :c")
    assert contains(s2, s1, NONE)
    assert not contains(s1, s2, NONE)


def test_figure_6_the_binding_tables_join_to_one_entry() -> None:
    s = form(":a :e1 :b . :a :e1 ?x . ?x :e2 :d")
    other = form(":a :e1 :b . :a :e1 :c . :b :e2 :d . :c :e2 :d")
    assert contains(s, other, NONE)
    found = witness(s, other, NONE)
    assert found is not None
    assert found[numbered(0)] in (plain_name("b"), plain_name("c"))
    assert not contains(other, s, NONE)


# --- searches that would take too long --------------------------------------------------------------------------------


def test_a_search_gives_up_and_that_is_no_containment() -> None:
    """Colouring a clique of seven with six colours: no map exists, and trying all would take ages."""
    clique = " . ".join(f"?x{a} :p ?x{b}" for a in range(7) for b in range(7) if a != b)
    colours = " . ".join(f":c{a} :p :c{b}" for a in range(6) for b in range(6) if a != b)
    assert not contains(form(clique), form(colours), NONE)
    assert contains(form(clique), form(clique.replace("?x", ":c")), NONE, steps=100_000)
    assert not contains(form(clique), form(clique.replace("?x", ":c")), NONE, steps=3)


def test_long_paths_need_no_recursion() -> None:
    nodes = [Variable(f"x{number}") for number in range(3_001)]  # more than a text may have
    path = form_of(Query(patterns=tuple(TriplePattern(s, plain_name("p"), o) for s, o in pairwise(nodes))))
    assert contains(form("?a :p ?b . ?b :p ?c"), path, NONE)
    assert contains(path, form(":A :p :A"), NONE, steps=10_000)
