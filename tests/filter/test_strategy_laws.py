"""The laws that every algorithm of a filter keeps by itself, on workloads with every feature mixed."""

from __future__ import annotations

from hypothesis import assume, given
from hypothesis import strategies as st

from heliograph import Filter
from heliograph.filter.strategy import ALGORITHMS
from heliograph.model import Notifications
from tests.filter.conditions import WILD
from tests.filter.strategies import Cells, Workload, documents, examples, subscribe, workloads

algorithms = st.sampled_from(sorted(ALGORITHMS))


def pairs(found: Notifications) -> set[tuple[str, str | None]]:
    return {(each.subscription_id, each.publication_id) for each in found}


@examples(25)
@given(workloads(), algorithms, st.randoms(use_true_random=False))
def test_the_order_of_subscribing_changes_only_the_order(workload: Workload, algorithm: str, random: object) -> None:
    shuffled = list(workload.interests)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    one, other = workload.engine(algorithm), Filter(workload.taxonomy[::-1], algorithm=algorithm)
    for interest in shuffled:
        subscribe(other, [interest])
    found = other.publish(workload.publications)
    assert pairs(found) == pairs(one.publish(workload.publications))
    place = {interest.id: number for number, interest in enumerate(shuffled)}
    for publication, _ in workload.publications:
        places = [place[each.subscription_id] for each in found if each.publication_id == publication]
        assert places == sorted(places)


@examples(25)
@given(workloads(), algorithms, st.randoms(use_true_random=False))
def test_the_order_of_triples_and_repeated_ones_change_nothing(
    workload: Workload, algorithm: str, random: object
) -> None:
    engine, other = workload.engine(algorithm), []
    for id, triples in workload.publications:
        mixed = [*triples, triples[0]]
        random.shuffle(mixed)  # type: ignore[attr-defined]
        other.append((id, mixed))
    assert list(engine.publish(other, bindings=5)) == list(engine.publish(workload.publications, bindings=5))


@examples(20)
@given(workloads(), workloads(most=12), algorithms)
def test_inserting_and_removing_restores(kept: Workload, passing: Workload, algorithm: str) -> None:
    engine = kept.engine(algorithm)
    before = engine.publish(kept.publications, bindings=3)
    added = [interest._replace(id=f"t{interest.id}") for interest in passing.interests]
    subscribe(engine, added)
    engine.unsubscribe([interest.id for interest in added])
    after = engine.publish(kept.publications, bindings=3)
    assert list(after) == list(before)
    assert after.stats.subscriptions == before.stats.subscriptions


@examples(25)
@given(workloads(), documents(WILD), algorithms)
def test_adding_triples_never_loses_a_match(workload: Workload, more: list[Cells], algorithm: str) -> None:
    """Of queries that do not count: a solution stays one, because conditions look at its own terms alone."""
    monotone = [each for each in workload.interests if "COUNT" not in (each.text or "")]
    assume(monotone)
    engine = workload._replace(interests=monotone).engine(algorithm)
    grown = [(id, [*triples, *more]) for id, triples in workload.publications]
    assert pairs(engine.publish(workload.publications)) <= pairs(engine.publish(grown))


@examples(25)
@given(workloads(), algorithms)
def test_renaming_blank_nodes_changes_nothing(workload: Workload, algorithm: str) -> None:
    names = {"_:b0": "_:zero", "_:b1": "_:a.9"}
    renamed = [
        (id, [(names.get(s, s), p, names.get(o, o)) for s, p, o in triples]) for id, triples in workload.publications
    ]
    engine = workload.engine(algorithm)
    assert pairs(engine.publish(renamed)) == pairs(engine.publish(workload.publications))


@examples(20)
@given(workloads(), workloads(), algorithms)
def test_a_match_depends_on_nothing_else(one: Workload, other: Workload, algorithm: str) -> None:
    """Neither what else is subscribed nor what else is published or was published before changes a notification."""
    alone = one.engine(algorithm).publish(one.publications, bindings=2)
    crowded = one.engine(algorithm)
    subscribe(crowded, [interest._replace(id=f"o{interest.id}") for interest in other.interests])
    crowded.publish(other.publications)
    more = [(f"o{id}", triples) for id, triples in other.publications]
    found = crowded.publish([*more, *one.publications], bindings=2)
    asked, published = {each.id for each in one.interests}, {id for id, _ in one.publications}
    kept = [each for each in found if each.subscription_id in asked and each.publication_id in published]
    assert kept == list(alone)


@examples(20)
@given(workloads(most=40), algorithms)
def test_candidates_are_counted(workload: Workload, algorithm: str) -> None:
    """Every match is a candidate, no pair is one twice, and the stats of an engine are the sums of its calls."""
    engine = workload.engine(algorithm)
    found = [engine.publish(publication).stats for publication in workload.publications]
    assert all(each.notifications <= each.candidates <= len(workload.interests) for each in found)
    assert all(each.verified <= each.candidates for each in found)
    total = engine.stats()
    assert total.candidates == sum(each.candidates for each in found)
    assert total.notifications == sum(each.notifications for each in found)


@examples(20)
@given(workloads(most=8), algorithms)
def test_what_is_explained_is_what_is_notified(workload: Workload, algorithm: str) -> None:
    engine = workload.engine(algorithm)
    for publication in workload.publications:
        notified = {each.subscription_id for each in engine.publish(publication)}
        told = {each.id: engine.explain(each.id, publication) for each in workload.interests}
        assert {id for id, explained in told.items() if explained.matched} == notified
        assert all(explained.failed for explained in told.values() if not explained.matched)
