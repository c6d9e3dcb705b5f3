"""The forest by example: [R] figures 5 and 8, equal patterns, many of one structure, chains without end."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest

from heliograph.partition.containment import Forest, RootIndex
from heliograph.partition.plan import Arrangement, PlanChange
from heliograph.sparql.normalize import form_of
from heliograph.sparql.query import Query
from heliograph.sparql.templates import parse_sparql
from heliograph.taxonomy import Taxonomy
from heliograph.terms import plain_name


def query(body: str) -> Query:
    return parse_sparql(f"ASK {{ {body} }}", verb="filter")


def planted(*bodies: str, taxonomy: Taxonomy | None = None) -> Forest:
    """Node n is the n-th body, unless it equals another."""
    forest = Forest(taxonomy)
    for number, body in enumerate(bodies):
        forest.insert([(number, query(body))])
    return forest


def trees(forest: Forest) -> dict[int, tuple[int, ...]]:
    return {root: tuple(sorted(below(forest, root))) for root in forest.roots()}


def below(forest: Forest, node: int) -> list[int]:
    found, todo = [], list(forest.children_of(node))
    while todo:
        found.append(todo.pop())
        todo.extend(forest.children_of(found[-1]))
    return found


def test_a_forest_is_an_arrangement() -> None:
    arrangement: Arrangement = planted("?x :p ?y")
    assert list(arrangement.roots()) == [0]
    assert arrangement.node_of(0) == 0
    assert form_of(arrangement.query_of(0)) == form_of(query("?x :p ?y"))
    assert not arrangement.is_synthetic(0)


# --- [R] figures 5 and 8: five subscriptions in a tree; the drawings are lost, the sentences about them kept ----------

FIVE = (
    "?x :e1 ?y",  # 0, the root
    "?x :e1 ?y . ?y :e2 ?z",  # 1, an inner node
    ":a :e1 ?y",  # 2
    ":a :e1 :b . :b :e2 ?z",  # 3, in 1 and 2
    "?x :e1 ?y . ?y :e2 :d",  # 4, in 1
)


@pytest.mark.parametrize("order", [(0, 1, 2, 3, 4), (4, 3, 2, 1, 0), (3, 0, 4, 1, 2)])
def test_figure_5_only_the_root_is_at_the_front(order: Sequence[int]) -> None:
    forest = planted(*(FIVE[each] for each in order))
    assert list(forest.roots()) == [order.index(0)]
    assert len(forest) == 5


def grown() -> Forest:
    """The five so that 1 is an inner node: it came before the root and after those below it."""
    return planted(FIVE[4], FIVE[3], FIVE[1], FIVE[0], FIVE[2])  # now 2 is the inner node, 3 the root


def test_a_new_root_takes_over_those_that_it_contains() -> None:
    forest = planted(FIVE[4], FIVE[3])
    assert trees(forest) == {0: (), 1: ()}
    assert forest.insert([(2, query(FIVE[1]))]) == PlanChange(entered=(2,), left=(0, 1), placed=((0, 2), (1, 2)))
    assert forest.insert([(3, query(FIVE[0]))]) == PlanChange(entered=(3,), left=(2,), placed=((0, 3), (1, 3), (2, 3)))
    assert trees(forest) == {3: (0, 1, 2)}
    assert forest.parent_of(0) == 2


def test_figure_8_the_children_of_a_root_return_to_the_front() -> None:
    forest = grown()
    assert forest.remove([3]) == PlanChange(entered=(2, 4), placed=((0, 2), (1, 2)), gone=(3,))
    assert trees(forest) == {2: (0, 1), 4: ()}


def test_figure_8_the_children_of_an_inner_node_go_to_its_parent() -> None:
    forest = grown()
    assert forest.remove([2]) == PlanChange(gone=(2,))
    assert forest.parent_of(0) == forest.parent_of(1) == 3
    assert trees(forest) == {3: (0, 1, 4)}


def test_figure_8_a_leaf_just_goes() -> None:
    forest = grown()
    assert forest.remove([0]) == PlanChange(gone=(0,))
    assert trees(forest) == {3: (1, 2, 4)}


def test_children_of_a_root_that_goes_find_another_that_contains_them() -> None:
    forest = planted("?x :p ?y FILTER(?y > 0)", "?x :p ?y FILTER(?y < 9)", "?x :p ?y FILTER(?y > 3) FILTER(?y < 5)")
    root, other = (0, 1) if forest.root_of(2) == 0 else (1, 0)
    assert forest.remove([root]) == PlanChange(placed=((2, other),), gone=(root,))


def test_a_root_and_those_below_it_may_go_at_once() -> None:
    forest = grown()
    assert forest.remove([3, 2]) == PlanChange(entered=(0, 4), placed=((1, 4),), gone=(2, 3))
    assert trees(forest) == {0: (), 4: (1,)}
    assert forest.remove([0, 1, 4]).gone == (0, 1, 4)
    assert len(forest) == 0


# --- equal patterns ---------------------------------------------------------------------------------------------------


def test_identical_patterns_are_one_node_with_many_subscribers() -> None:
    forest = planted("?x :p ?y . ?y :q :C", "?b :q :C . ?a :p ?b", "?x :p ?y . ?y :q :D")
    assert [forest.node_of(number) for number in (0, 1, 2)] == [0, 0, 1]
    assert forest.subscribers_of(0) == (0, 1)
    assert forest.remove([0]) == PlanChange()
    assert forest.subscribers_of(0) == (1,)
    assert forest.remove([1]) == PlanChange(gone=(0,))


def test_patterns_that_contain_each_other_are_one_node() -> None:
    forest = planted("?x :p ?y", "?x :p ?y . ?x :p ?z", "?a :p ?b FILTER(BOUND(?a))")
    assert {forest.node_of(number) for number in range(3)} == {0}


def test_counts_are_roots_of_their_own() -> None:
    forest = planted("?x :p ?y")
    count = parse_sparql("SELECT (COUNT(*) AS ?n) { ?x :p ?y } HAVING (COUNT(*) > 2)", verb="filter")
    assert forest.insert([(1, count), (2, count)]) == PlanChange(entered=(1,))
    assert forest.subscribers_of(1) == (1, 2)
    assert forest.remove([1, 2]) == PlanChange(gone=(1,))


# --- many -------------------------------------------------------------------------------------------------------------


def ranges(count: int) -> list[str]:
    return [f"?x :p ?y FILTER(?y >= {low * 10} && ?y < {low * 10 + 9})" for low in range(count)]


def test_one_structure_and_many_intervals() -> None:
    bodies = ranges(100)
    Random(3).shuffle(bodies)
    forest = planted(*bodies)
    assert len(list(forest.roots())) == 100
    inner = [f"?x :p ?y FILTER(?y >= {low * 10 + 2} && ?y < {low * 10 + 5})" for low in range(100)]
    forest.insert([(100 + number, query(body)) for number, body in enumerate(inner)])
    assert len(list(forest.roots())) == 100
    change = forest.insert([(1000, query("?x :p ?y FILTER(?y >= 0 && ?y < 500)"))])
    assert len(change.left) == 50
    assert len(list(forest.roots())) == 51
    assert len(forest.insert([(1001, query("?x :p ?y"))]).left) == 51
    assert len(forest.remove([1001]).entered) == 51


def test_one_structure_and_many_words() -> None:
    bodies = [f'?x :p ?y FILTER(CONTAINS(?y, "w{number}")) FILTER(?x != :A)' for number in range(200)]
    forest = planted(*bodies)
    assert len(list(forest.roots())) == 200
    special = [f'?x :p ?y FILTER(CONTAINS(?y, "w{number}")) FILTER(?x = :B)' for number in range(150, 200)]
    change = forest.insert([(200 + number, query(body)) for number, body in enumerate(special)])
    assert not change.entered
    assert change.placed == tuple((200 + number, 150 + number) for number in range(50))
    general = query('?x :p ?y FILTER(CONTAINS(?y, "w180"))')
    assert forest.insert([(300, general)]) == PlanChange(entered=(250,), left=(180,), placed=((180, 250), (230, 250)))


def test_one_structure_and_many_constants() -> None:
    forest = planted(*(f"?x :p ?y FILTER(?y = :n{number})" for number in range(100)))
    few = forest.insert([(100, query("?x :p ?y FILTER(?y IN (:n1, :n5, :n77))"))])
    assert set(few.left) == {1, 5, 77}
    assert forest.insert([(101, query("?x :p :n5"))]).placed == ((101, 100),)
    assert len(forest.insert([(102, query("?x ?r ?y"))]).left) == 98


def test_classes_are_found_above_and_below() -> None:
    chain = Taxonomy([(plain_name(f"K{number}"), plain_name(f"K{number + 1}")) for number in range(50)])
    forest = planted(*(f"?x a/rdfs:subClassOf* :K{number}" for number in range(0, 50, 2)), taxonomy=chain)
    assert list(forest.roots()) == [24]
    assert forest.insert([(100, query("?x a :K7"))]).placed == ((25, 24),)
    assert len(forest.remove([24]).entered) == 1
    assert forest.insert([(101, query(":K1 rdfs:subClassOf+ :K3"))]).left == (23,)  # the taxonomy says so: always true


def test_patterns_that_always_match_contain_everything() -> None:
    forest = planted("?x :p ?y", ":A :q ?z")
    assert forest.insert([(2, Query())]) == PlanChange(entered=(2,), left=(0, 1), placed=((0, 2), (1, 2)))
    assert forest.insert([(3, query("?a ?b ?c"))]).placed == ((3, 2),)


def test_deep_chains_need_no_recursion() -> None:
    """Each contains all before it, so that a tree as deep as there are patterns grows, and falls from the top."""
    count = 1_500
    forest = Forest()
    bodies = [query(f"?x :p ?y FILTER(?y > {count - number})") for number in range(count)]
    for first in range(0, count, 300):
        forest.insert(list(enumerate(bodies[first : first + 300], first)))
    assert list(forest.roots()) == [count - 1]
    assert forest.parent_of(0) == 1
    change = forest.remove(range(count // 2, count))
    assert change.entered == (count // 2 - 1,)
    assert len(change.placed) == count // 2 - 1
    assert forest.root_of(0) == count // 2 - 1


# --- the index --------------------------------------------------------------------------------------------------------


def test_candidates_are_few() -> None:
    """Counted, not timed: of 2,000 patterns those that share the rarest edge are looked at."""
    random = Random(5)
    found = RootIndex(Taxonomy())
    bodies = [f":n{random.randrange(200)} :p{random.randrange(9)} ?x . ?x :q :n{number}" for number in range(2_000)]
    forms = [form_of(query(body)) for body in bodies]
    for number, each in enumerate(forms):
        found.add(number, each.edges, found.keys(each.edges))
    looked = [len(found.containing(found.keys(each.edges))) for each in forms[::50]]
    assert max(looked) <= 2
    asked = [len(list(found.contained(found.keys(each.edges)))) for each in forms[::50]]
    assert max(asked) <= 2


def test_what_went_is_cleared_away() -> None:
    found = RootIndex(Taxonomy())
    forms = [form_of(query(f"?x :p :n{number}")) for number in range(3_000)]
    keys = [found.add(number, each.edges, found.keys(each.edges)) for number, each in enumerate(forms)]
    for number in range(2_900):
        found.remove(number, keys[number])
    assert sum(map(len, found._posted.values())) < 3_000
    assert list(found.contained(found.keys(form_of(query("?x :p ?y")).edges))) == list(range(2_900, 3_000))
