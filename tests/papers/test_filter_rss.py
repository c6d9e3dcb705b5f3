"""The RSS matcher: the tables of [R] figures 3 and 4, constraints before joins, and what the mends change."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.papers.filter import (
    ClassConstraint,
    Constraint,
    ConstraintTable,
    Relation,
    RssMatcher,
    ValueConstraint,
    holds,
)
from heliograph.papers.filter import RssMatching as Matching
from heliograph.sparql.solve import Graph
from heliograph.taxonomy import Classes, Taxonomy
from heliograph.terms import Term, literal, plain_name
from heliograph.values import XSD_INTEGER
from tests.papers.matchers import (
    NAMES,
    VALUES,
    Row,
    candidates,
    edges,
    found,
    indexed,
    names,
    objects,
    operators,
    publication,
    rows,
)

NOTHING = Classes(Graph(), Taxonomy())


def number(value: int) -> Term:
    return literal(str(value), XSD_INTEGER)


def valued(*values: int) -> list[tuple[Term, Term, Term]]:
    return [(plain_name("A"), plain_name("E2"), number(value)) for value in values]


# --- figure 4 ---------------------------------------------------------------------------------------------------


def test_r_figure_4_the_constraint_table_of_an_edge() -> None:
    """ "an entry in the > list contains a key value 10 and subscriptions S2 and S5. This means that S2 and S5 contain a
    common edge E2(A,*) with the same constraint * > 10". The other entries of the drawing are lost; one for each list
    stands in for them."""
    table: ConstraintTable[str] = ConstraintTable()
    printed = {"S1": ("=", 7), "S2": (">", 10), "S5": (">", 10), "S3": ("<", 8), "S4": ("!=", 7), "S6": (">", 20)}
    for name, (operator, value) in printed.items():
        table.insert((ValueConstraint(operator, number(value)),), name)
    satisfied = {value: sorted(table.satisfied(number(value), NOTHING)) for value in (7, 9, 15, 25)}
    assert satisfied == {7: ["S1", "S3"], 9: ["S4"], 15: ["S2", "S4", "S5"], 25: ["S2", "S4", "S5", "S6"]}


class_constraints = st.builds(ClassConstraint, st.sampled_from(Relation), names)
value_constraints = st.builds(ValueConstraint, operators, objects)
constraint_sets = st.lists(st.one_of(value_constraints, class_constraints), min_size=1, max_size=3).map(tuple)


@settings(max_examples=300, deadline=None)
@given(st.lists(constraint_sets, max_size=8), rows)
def test_a_constraint_table_misses_nobody(given_sets: list[tuple[Constraint, ...]], given_rows: list[Row]) -> None:
    classes = Classes(Graph(), Taxonomy(given_rows))
    table: ConstraintTable[int] = ConstraintTable()
    for place, constraints in enumerate(given_sets):
        table.insert(constraints, place)
    for value in (*NAMES, *VALUES):
        satisfied = {
            place for place, asked in enumerate(given_sets) if all(holds(each, value, classes) for each in asked)
        }
        assert satisfied <= set(table.satisfied(value, classes))


def test_r_figure_3_label_first_and_four_pairs() -> None:
    """A publication edge has four pairs to look up under its label, however many variables there are."""
    asked = ["ASK { :A :E2 :B }", "ASK { :A :E2 ?x }", "ASK { ?x :E2 :B }", "ASK { ?y :E2 ?x . ?x :E3 ?y }"]
    version = indexed(RssMatcher(), asked)
    assert candidates(version, publication(edges("A E2 B"))) == ["s0", "s1", "s2", "s3"]
    assert candidates(version, publication(edges("A E1 B"))) == []
    assert candidates(version, publication(edges("C E2 D"))) == ["s3"]
    search = version.search(publication(edges("A E2 B, B E2 B, C E3 D")))
    assert isinstance(search, Matching)
    assert sorted(map(len, search.tables.values())) == [1, 1, 1, 2, 2]


# --- constraints before joins -----------------------------------------------------------------------------------


def test_only_satisfied_constraints_make_candidates() -> None:
    """[R] figure 9(b): one structure and many ranges; candidates follow the matches, not the subscriptions."""
    shared = ":A :E1 ?x . ?x :E1 :B . :A :E2 ?v"
    document = edges("A E1 C, C E1 B") + valued(505)
    for size in (200, 1000):
        asked = [f"ASK {{ {shared} FILTER(?v >= {low} && ?v < {low + 10}) }}" for low in range(0, size * 10, 10)]
        version = indexed(RssMatcher(), asked)
        assert found(version, publication(document)) == ["s50"]
        assert candidates(version, publication(document)) == ["s50"]


def test_whoever_is_constrained_elsewhere_does_not_enter_through_a_shared_edge() -> None:
    """Printed, C holds all without a constraint on this edge, so SubSet is everybody who shares it."""
    asked = ["ASK { :A :E1 ?x }", "ASK { :A :E1 ?x . :A :E2 ?v FILTER(?v > 5) }"]
    version = indexed(RssMatcher(), asked)
    assert candidates(version, publication(edges("A E1 B"))) == ["s0"]
    assert candidates(version, publication(edges("A E1 B") + valued(7))) == ["s0", "s1"]
    assert candidates(version, publication(edges("A E1 B") + valued(3))) == ["s0"]


def test_note_4_a_shared_table_holds_what_anybody_accepts() -> None:
    """The row (A, 7) is in the table that both share, because of `?x > 5`; only its own constraint lets S10 join it."""
    asked = ["ASK { :A :E2 ?x . :B :E2 ?x FILTER(?x > 5) }", "ASK { :A :E2 ?x . :B :E2 ?x FILTER(?x > 10) }"]
    document = [*valued(7, 12), (plain_name("B"), plain_name("E2"), number(7))]
    version = indexed(RssMatcher(), asked)
    assert candidates(version, publication(document)) == ["s0", "s1"]
    assert found(version, publication(document)) == ["s0"]


def test_note_5_both_ends_of_an_edge() -> None:
    """The union would take S for a1 → 3 because of its source and for b1 → 7 because of its target."""
    asked = ["ASK { ?x :e ?y FILTER(?x = :a1) FILTER(?y > 5) }"]
    version = indexed(RssMatcher(), asked)
    a1, b1, e = map(plain_name, ("a1", "b1", "e"))
    apart = publication([(a1, e, number(3)), (b1, e, number(7))])
    assert candidates(version, apart) == ["s0"]
    assert found(version, apart) == []
    search = version.search(apart)
    assert isinstance(search, Matching)
    assert not search.subset
    assert found(version, publication([(a1, e, number(7))])) == ["s0"]


def test_note_5_a_variable_on_several_edges() -> None:
    asked = ["ASK { :p :low ?v . :p :high ?v FILTER(?v > 5) FILTER(?v < 9) }"]
    version = indexed(RssMatcher(), asked)
    p, low, high = map(plain_name, ("p", "low", "high"))
    assert found(version, publication([(p, low, number(7)), (p, high, number(8))])) == []
    assert found(version, publication([(p, low, number(12)), (p, high, number(12))])) == []
    assert found(version, publication([(p, low, number(7)), (p, high, number(7))])) == ["s0"]


def test_note_9_two_sided_ranges_are_one_look_up() -> None:
    """With [R]'s lists, every range that ends above 50 or begins below it would be looked at."""
    asked = [f"ASK {{ :A :E2 ?x FILTER(?x >= {low} && ?x <= {low + 2}) }}" for low in range(100)]
    version = indexed(RssMatcher(), asked)
    assert candidates(version, publication(valued(50))) == ["s48", "s49", "s50"]
    never = indexed(RssMatcher(), ["ASK { :A :E2 ?x FILTER(?x > 9 && ?x < 5) }"])
    assert candidates(never, publication(valued(7))) == []


def test_note_6_classes_are_looked_up_too() -> None:
    asked = [f"ASK {{ ?x :p :y . ?x a/rdfs:subClassOf* :C{number} }}" for number in range(30)]
    version = indexed(RssMatcher(), asked)
    tree: list[Row] = [(plain_name(f"C{number}"), plain_name(f"C{number // 2}")) for number in range(1, 30)]
    published = publication(edges("n p y"), [*tree, (plain_name("n"), plain_name("C20"))])
    expected = ["s0", "s1", "s2", "s5", "s10", "s20"]
    assert candidates(version, published) == expected
    assert found(version, published) == expected


def test_an_inequality_keeps_its_list() -> None:
    asked = [f"ASK {{ :A :E2 ?x FILTER(?x != {value}) }}" for value in (5, 7)] + ["ASK { :A :E2 ?x FILTER(?x != :A) }"]
    version = indexed(RssMatcher(), asked)
    assert candidates(version, publication(valued(5))) == ["s1", "s2"]
    assert candidates(version, publication(edges("A E2 B"))) == ["s0", "s1", "s2"]
