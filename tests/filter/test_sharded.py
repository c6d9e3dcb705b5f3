"""A filter in shards notifies exactly as one without: while subscriptions come and go, after it was saved and opened,
and beside publishers who are at work."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import settings
from hypothesis.stateful import initialize

from heliograph import Filter
from heliograph.errors import UsageError
from heliograph.filter import segment as segments
from heliograph.filter import shards as sharded
from heliograph.filter.strategy import Failures
from heliograph.partition.plan import Outline
from tests.filter.pool import TAXONOMY, Pool
from tests.filter.schemes import SCHEMES
from tests.filter.strategies import Workload, subscribe, workloads
from tests.filter.test_histories import Histories, History, check_history
from tests.filter.test_versions import Chronicle, check_under_load, eager_threads

__all__ = ["eager_threads"]

POOL = Pool.draw(11, 200, 15)
DOCUMENTS = [(f"d{number}", document) for number, document in enumerate(POOL.documents)]


def outline(engine: Filter) -> Outline:
    found = engine.plan()
    assert found is not None
    return found


def check_balance(engine: Filter) -> None:
    sizes = outline(engine).shards
    assert max(sizes) - min(sizes) <= max(1, sum(sizes) / len(sizes) / 10)


def filled(scheme: dict[str, Any], seed: int = 3) -> Filter:
    """A filter whose subscriptions came and went."""
    engine, random = Filter(TAXONOMY, **scheme), Random(seed)
    for number, interest in enumerate(POOL.interests):
        subscribe(engine, [interest._replace(id=f"s{number}")])
        if random.random() < 0.3:
            engine.unsubscribe(f"s{number}")
    return engine


# --- the same answers -------------------------------------------------------------------------------------------


class ShardedHistories(Histories):
    """All partitionings live through the same history as the naive engine."""

    @initialize(workload=workloads(most=12))
    def begin(self, workload: Workload) -> None:
        super().begin(workload)
        self.engines = {"naive": Filter(workload.taxonomy, algorithm="naive")}
        self.engines |= {name: Filter(workload.taxonomy, **scheme) for name, scheme in SCHEMES.items()}


TestShardedHistories = ShardedHistories.TestCase
TestShardedHistories.settings = settings(max_examples=8, stateful_step_count=8, deadline=None)


@pytest.mark.parametrize("name", SCHEMES)
def test_a_history(name: str, tmp_path: Path) -> None:
    history = History(Filter(TAXONOMY, **SCHEMES[name]), POOL, seed=2, peaks=(150, 20, 60))
    check_history(history, 1_000, naive_each=400, reload_each=450, folder=tmp_path)
    check_balance(history.engine)


@pytest.mark.parametrize("name", SCHEMES)
def test_a_history_with_merges_in_the_background(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segments, "LARGE", 20)
    history = History(Filter(TAXONOMY, **SCHEMES[name]), POOL, seed=5, peaks=(120, 30))
    check_history(history, 600, naive_each=500, reload_each=450, folder=tmp_path)


@pytest.mark.parametrize("name", SCHEMES)
def test_parts_do_not_matter(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    engine, plain = filled(SCHEMES[name]), filled({"algorithm": "naive"})
    pairs = len(DOCUMENTS) * engine.stats().subscriptions
    expected = list(plain.publish(DOCUMENTS, bindings=2))
    for part in (1, 3, 256):
        monkeypatch.setattr(sharded, "PART", part)
        found = engine.publish(DOCUMENTS, bindings=2)
        assert list(found) == expected != []
        assert len(found) <= found.stats.candidates <= pairs


@pytest.mark.parametrize("name", SCHEMES)
def test_many_who_ask_the_same(name: str) -> None:
    """They are one pattern; its first subscriber leaves again and again."""
    engine, plain = Filter(**SCHEMES[name]), Filter(algorithm="naive")
    names = [f"s{number}" for number in range(40)]
    document = ("d", [("A", "p", "B")])
    for each in (engine, plain):
        each.subscribe([(name, "ASK { ?x :p ?y }") for name in names])
    while names:
        assert [n.subscription_id for n in engine.publish(document)] == names
        check_balance(engine)
        gone, names = names[:3], names[3:]
        engine.unsubscribe(gone)
    assert outline(engine).front == 0


# --- who says what about it -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SCHEMES)
def test_explain_says_where_a_subscription_stands(name: str) -> None:
    engine, plain = filled(SCHEMES[name]), filled({"algorithm": "indexed"})
    for id in [f"s{number}" for number in range(0, 200, 9)]:
        if id in engine._subscriptions:
            found, expected = (each.explain(id, DOCUMENTS[3], index=True) for each in (engine, plain))
            assert found.matched == expected.matched
            assert found.summary == expected.summary
            assert found.index[0].startswith(("at the front", "in shard"))
            assert "looked up" in found.index[1]


def test_slow_ones_are_subscriptions() -> None:
    engine = filled(SCHEMES["merging"])
    assert outline(engine).mergers > 0
    slow = engine.publish(DOCUMENTS).slow
    assert slow != ()
    assert all(entry.subscription_id in engine._subscriptions for entry in slow)


def test_false_positives_are_counted() -> None:
    engine = filled({"shards": 2, "partition": "merging", "merging": {"upper": 6, "lower": 3}})
    before = outline(engine)
    assert before.mergers > 0
    assert before.answers == before.false_positives == 0
    engine.publish(DOCUMENTS)
    after = outline(engine)
    assert after.answers > after.false_positives > 0
    assert sum(each.answers for each in after.worst) <= after.answers
    assert all(each.subscriptions > 1 and each.answers >= each.false_positives for each in after.worst)


def test_a_merger_that_errs_is_taken_apart() -> None:
    strict = {"upper": 6, "lower": 3, "max_false_positives": 0.0}
    engine = filled({"shards": 2, "partition": "merging", "merging": strict})
    before, expected = outline(engine), list(engine.publish(DOCUMENTS))
    after = before
    while after.mergers == before.mergers:
        assert list(engine.publish(DOCUMENTS)) == expected
        after = outline(engine)
        assert after.answers < 10_000
    assert after.mergers < before.mergers
    assert after.front > before.front - before.mergers
    check_balance(engine)


# --- at one moment ----------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("eager_threads")
@pytest.mark.parametrize("name", SCHEMES)
@pytest.mark.parametrize("changes", [60, pytest.param(1_000, marks=[pytest.mark.long, pytest.mark.timeout(1800)])])
def test_each_publish_sees_one_version(name: str, changes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segments, "LARGE", 16)
    chronicle = Chronicle(Filter(**SCHEMES[name]), seed=5)
    check_under_load(chronicle, publishers=2, changes=changes)
    check_balance(chronicle.engine)


@pytest.mark.parametrize("name", SCHEMES)
def test_a_version_outlives_its_subscriptions(name: str) -> None:
    engine = filled(SCHEMES[name])
    version, expected = engine._matcher.version(), list(engine.publish(DOCUMENTS))
    from heliograph.filter.encode import encode
    from heliograph.terms import PREFIXES

    batch = encode(DOCUMENTS, engine.vocabulary, PREFIXES).publications
    engine.unsubscribe([f"s{number}" for number in range(0, 200, 2) if f"s{number}" in engine._subscriptions])
    subscribe(engine, [POOL.interests[number]._replace(id=f"t{number}") for number in range(100)])
    matches = version.match(batch, Failures())
    names = [each.id for each in matches.subscribed(matches.place)]
    found = [(batch.ids[row], name) for row, name in zip(matches.publication, names, strict=True)]
    assert found == [(each.publication_id, each.subscription_id) for each in expected]


# --- how it is asked for ----------------------------------------------------------------------------------------


def test_shards_alone_are_dealt_by_a_hash() -> None:
    assert outline(Filter(shards=2)).partition == "hash"
    assert len(outline(Filter(partition="merging")).shards) >= 1
    assert Filter().plan() is None
    assert Filter(algorithm="indexed").plan() is None


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"shards": 0}, "HG-051"),
        ({"shards": 2.0}, "HG-051"),
        ({"shards": True}, "HG-051"),
        ({"shards": 5000}, "HG-051"),
        ({"shards": 2, "partition": "luck"}, "HG-050"),
        ({"shards": 2, "algorithm": "naive"}, "HG-052"),
        ({"shards": 2, "merging": {"percentage": 0.5}}, "HG-032"),
        ({"shards": 2, "partition": "merging", "merging": {"percent": 0.5}}, "HG-031"),
        ({"shards": 2, "partition": "merging", "merging": {"percentage": 5}}, "HG-031"),
    ],
)
def test_what_is_refused(given: dict[str, Any], code: str) -> None:
    with pytest.raises(UsageError) as raised:
        Filter(**given)
    assert raised.value.code == code


def test_an_outline_is_plain_data() -> None:
    from dataclasses import asdict

    engine = filled(SCHEMES["merging"])
    engine.publish(DOCUMENTS)
    told = json.loads(json.dumps(asdict(outline(engine))))
    assert told["partition"] == "merging"
    assert sum(told["shards"]) + told["front"] - told["mergers"] == engine.stats().subscriptions
