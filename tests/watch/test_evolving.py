"""The evolving graph's own rules, one by one, and against its slow twin."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from heliograph.terms import Term, parse_cell
from heliograph.watch.plain import EdgeFacts, Effect, EvolvingGraph
from heliograph.watch.updates import Update, WindowExtent
from tests.watch.naive import NaiveGraph, Step
from tests.watch.streams import steps


def term(cell: str) -> Term:
    return parse_cell(cell)


def triple(text: str) -> tuple[Term, Term, Term]:
    subject, predicate, object = map(term, text.split())
    return subject, predicate, object


def update(text: str, seq: int = 1, weight: float | None = None, at: int | None = None) -> Update:
    op, *cells = text.split()
    subject, predicate, object = (term(cell) if cell else None for cell in (*cells, "", "")[:3])
    assert subject is not None
    return Update(seq, op, subject, predicate, object, weight, at)


def as_update(step: Step, seq: int) -> Update:
    predicate = None if step.predicate is None else term(step.predicate)
    object = None if step.object is None else term(step.object)
    return Update(seq, step.op, term(step.subject), predicate, object, None, step.at)


def applied(made: EvolvingGraph, change: Update) -> Effect:
    """The net effect of an update with what expires before it."""
    net = Effect()
    for each in made.apply(change):
        net.remove(each.removed)
        for added in each.added:
            net.add(added)
    return net


def graph(*texts: str) -> EvolvingGraph:
    made = EvolvingGraph()
    for number, text in enumerate(texts, 1):
        applied(made, update(text, number))
    return made


def effect(text: str, *before: str) -> tuple[list[str], list[str]]:
    changed = applied(graph(*before), update(text, 9))
    return [" ".join(map(str, t)) for t in changed.added], [" ".join(map(str, t)) for t in changed.removed]


def test_adding_a_present_triple_changes_nothing() -> None:
    assert effect("+ a p b", "+ a p b") == ([], [])


def test_adding_with_a_weight_changes_the_weight() -> None:
    made = graph("+ a p b")
    applied(made, update("+ a p b", 2, weight=2.5))
    assert made.edges[triple("a p b")].weight == 2.5
    applied(made, update("+ a p b", 3))
    assert made.edges[triple("a p b")].weight == 2.5


def test_without_a_window_an_edge_keeps_its_time() -> None:
    made = EvolvingGraph()
    applied(made, update("+ a p b", 1, at=5))
    applied(made, update("+ a p b", 2, at=9))
    assert made.edges[triple("a p b")] == EdgeFacts(None, 5, 1, 1)


def test_setting_replaces_the_other_values() -> None:
    assert effect("= a p c", "+ a p b", "+ a p d", "+ a q b") == (["a p c"], ["a p b", "a p d"])


def test_setting_a_present_value_removes_only_the_others() -> None:
    assert effect("= a p b", "+ a p b", "+ a p d") == ([], ["a p d"])


def test_removing_an_absent_triple_changes_nothing() -> None:
    assert effect("- a p b", "+ a p c") == ([], [])


def test_removing_a_vertex_takes_edges_both_ways_and_attributes() -> None:
    added, removed = effect("- a", "+ a p b", "+ b p a", "+ a p a", "+ a age 5", "+ b p c")
    assert (added, set(removed)) == ([], {"a p b", "b p a", "a p a", "a age 5"})


def test_removing_a_vertex_leaves_it_as_a_property() -> None:
    assert effect("- p", "+ a p b") == ([], [])


def test_an_effect_is_net() -> None:
    net = Effect()
    net.add(triple("a p b"))
    net.remove([triple("a p b"), triple("a p c")])
    net.add(triple("a p c"))
    assert (len(net), list(net)) == (0, [])


def test_an_edge_that_expires_and_is_added_at_once_goes_and_comes() -> None:
    made = EvolvingGraph(WindowExtent(span=10))
    applied(made, update("+ a p b", 1, at=0))
    effects = [(list(each.removed), list(each.added)) for each in made.apply(update("+ a p b", 2, at=10))]
    assert effects == [([triple("a p b")], []), ([], [triple("a p b")])]
    assert made.edges[triple("a p b")].at == 10


def test_expiry_by_time_takes_the_bound_itself() -> None:
    made = EvolvingGraph(WindowExtent(span=10))
    applied(made, update("+ a p b", 1, at=0))
    applied(made, update("+ a p c", 2, at=1))
    assert list(applied(made, update("+ a p d", 3, at=10)).removed) == [triple("a p b")]


def test_a_late_update_is_taken_and_goes_with_the_next() -> None:
    made = EvolvingGraph(WindowExtent(span=10))
    applied(made, update("+ a p b", 1, at=100))
    assert list(applied(made, update("+ a p c", 2, at=5)).added) == [triple("a p c")]
    assert list(applied(made, update("- x p y", 3, at=6)).removed) == [triple("a p c")]


def test_a_late_duplicate_does_not_age_an_edge() -> None:
    made = EvolvingGraph(WindowExtent(span=10))
    applied(made, update("+ a p b", 1, at=9))
    applied(made, update("+ a p b", 2, at=3))
    assert made.edges[triple("a p b")].at == 9


def test_the_last_updates_count_even_where_they_change_nothing() -> None:
    made = EvolvingGraph(WindowExtent(updates=2))
    applied(made, update("+ a p b", 1))
    assert len(applied(made, update("- x p y", 2))) == 0
    assert list(applied(made, update("- x p y", 3)).removed) == [triple("a p b")]


def test_background_without_a_time_never_expires() -> None:
    made = EvolvingGraph(WindowExtent(span=10, updates=1))
    made.load([update("+ a p b"), update("+ a p c", at=1), update("+ a p d", at=12)])
    assert set(made.edges) == {triple("a p b"), triple("a p d")}
    applied(made, update("+ a p b", 1, at=20))
    assert list(applied(made, update("+ x p y", 2, at=1000)).removed) == [triple("a p d")]


@given(st.lists(steps(timed=True), max_size=40), st.none() | st.integers(1, 8), st.none() | st.integers(1, 6))
def test_like_its_twin(stream: list[Step], span: int | None, last: int | None) -> None:
    made, twin = EvolvingGraph(WindowExtent(span, last)), NaiveGraph(span, last)
    for seq, step in enumerate(stream, 1):
        before = set(made.edges)
        changed = applied(made, as_update(step, seq))
        twin.expire(step)
        twin.apply(step)
        assert set(made.edges) == {triple(" ".join(each)) for each in twin.edges} == set(made.triples)
        assert set(changed.added) == set(made.edges) - before
        assert set(changed.removed) == before - set(made.edges)


@given(st.lists(steps(), max_size=20), steps())
def test_removing_what_was_added_restores(stream: list[Step], step: Step) -> None:
    made = EvolvingGraph()
    for seq, each in enumerate((*stream, Step("+", "n", "p", "m")), 1):
        applied(made, as_update(each, seq))
    before = dict(made.edges)
    applied(made, update(f"+ new p {step.subject}", 100))
    applied(made, update("- new", 101))
    assert made.edges == before
