"""The forest under any history: its laws after every change, and changes that are exactly the difference."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from heliograph.partition.containment import Forest, contains
from heliograph.partition.plan import PlanChange
from heliograph.sparql.normalize import form_of
from heliograph.sparql.query import ClassPattern, Query
from heliograph.taxonomy import Taxonomy
from heliograph.terms import RDFS_SUBCLASS_OF
from tests.partition.patterns import queries, specialised, taxonomies


def roots_of(forest: Forest) -> dict[int, int]:
    """The root of every node."""
    found: dict[int, int] = {}
    for root in forest.roots():
        todo = [root]
        while todo:
            node = todo.pop()
            found[node] = root
            todo.extend(forest.children_of(node))
    return found


def applied(before: dict[int, int], change: PlanChange) -> dict[int, int]:
    """The roots of all nodes after a change, by nothing but what it says."""
    entered = {node: node for node in change.entered}
    moved = {**entered, **dict(change.placed)}
    assert not moved.keys() & set(change.gone)
    assert not entered.keys() & dict(change.placed).keys()
    assert all(before.get(node) != root for node, root in moved.items())
    assert set(change.gone) <= before.keys()
    assert set(change.left) == {node for node, root in change.placed if before.get(node) == node}
    return {node: root for node, root in {**before, **moved}.items() if node not in change.gone}


def climbs(query: Query) -> bool:
    """Whether a query asks for sub-classes itself, of which the index does not know all that follows."""
    return any(
        edge.relation == "subclass-of" if isinstance(edge, ClassPattern) else edge.predicate == RDFS_SUBCLASS_OF
        for edge in query.patterns
    )


class Histories(RuleBasedStateMachine):
    """Subscriptions come and go in batches."""

    def __init__(self) -> None:
        super().__init__()
        self.number = 0
        self.asked: dict[int, Query] = {}
        self.roots: dict[int, int] = {}
        self.forest = Forest()
        self.taxonomy = Taxonomy()

    @initialize(taxonomy=taxonomies)
    def begin(self, taxonomy: Taxonomy) -> None:
        self.taxonomy = taxonomy
        self.forest = Forest(taxonomy)

    @rule(data=st.data(), size=st.integers(1, 4))
    def subscribe(self, data: st.DataObject, size: int) -> None:
        batch = []
        for _ in range(size):
            known = list(self.asked.values())
            drawn = queries if not known else st.one_of(queries, st.sampled_from(known).flatmap(specialised))
            batch.append((self.number, data.draw(drawn)))
            self.asked[self.number] = batch[-1][1]
            self.number += 1
        self.roots = applied(self.roots, self.forest.insert(batch))

    @precondition(lambda self: self.asked)
    @rule(data=st.data())
    def unsubscribe(self, data: st.DataObject) -> None:
        some = data.draw(st.lists(st.sampled_from(list(self.asked)), unique=True, min_size=1, max_size=4))
        for number in some:
            del self.asked[number]
        self.roots = applied(self.roots, self.forest.remove(some))

    @precondition(lambda self: self.asked)
    @rule(data=st.data())
    def unsubscribe_a_root(self, data: st.DataObject) -> None:
        root = data.draw(st.sampled_from(sorted(self.forest.roots())))
        some = self.forest.subscribers_of(root)
        for number in some:
            del self.asked[number]
        self.roots = applied(self.roots, self.forest.remove(some))

    @invariant()
    def changes_are_the_difference(self) -> None:
        assert self.roots == roots_of(self.forest)
        assert all(self.forest.root_of(node) == root for node, root in self.roots.items())
        assert len(self.forest) == len(self.roots)

    @invariant()
    def every_subscription_is_with_its_node(self) -> None:
        for number, query in self.asked.items():
            node = self.forest.node_of(number)
            assert number in self.forest.subscribers_of(node)
            form, own = self.forest.form_of(node), form_of(query)
            assert contains(form, own, self.taxonomy)
            assert contains(own, form, self.taxonomy)
        counts = [len(self.forest.subscribers_of(node)) for node in self.roots]
        assert sum(counts) == len(self.asked)
        assert all(counts)
        assert not any(self.forest.is_synthetic(node) for node in self.roots)

    @invariant()
    def nodes_are_contained_in_their_parents(self) -> None:
        for node in self.roots:
            parent = self.forest.parent_of(node)
            if parent is not None:
                assert contains(self.forest.form_of(parent), self.forest.form_of(node), self.taxonomy)

    @invariant()
    def no_root_contains_another(self) -> None:
        plain = [root for root in self.forest.roots() if not climbs(self.forest.query_of(root))]
        for one in plain:
            for other in plain:
                forms = self.forest.form_of(one), self.forest.form_of(other)
                assert one == other or not contains(*forms, self.taxonomy), forms


TestHistories = Histories.TestCase
TestHistories.settings = settings(max_examples=40, stateful_step_count=12, deadline=None)
