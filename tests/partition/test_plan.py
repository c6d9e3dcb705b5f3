"""A plan keeps its laws with an arrangement that is easily seen to be right: the same answers, versions, saves."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from heliograph import Filter
from heliograph.errors import StorageError, UsageError
from heliograph.filter import segment as segments
from heliograph.filter.shards import Stage
from heliograph.partition.plan import FRONT, MERGERS, Plan, Scheme
from heliograph.storage import read_folder, write_folder
from tests.filter.pool import TAXONOMY, Pool
from tests.filter.strategies import subscribe
from tests.filter.test_histories import History, check_history
from tests.filter.test_versions import Chronicle, check_under_load, eager_threads
from tests.partition.arrangements import ByProperty

__all__ = ["eager_threads"]

POOL = Pool.draw(21, 120, 12)
DOCUMENTS = [(f"d{number}", document) for number, document in enumerate(POOL.documents)]
GENERAL = [(f"general {number}", f"ASK {{ ?x :p{number} ?y }}") for number in range(3)]


@pytest.fixture(params=["roots", "mergers"])
def scheme(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """By property, with mergers where nobody asks for all of one, or without."""
    monkeypatch.setattr(Scheme, "arrangement", lambda *_: ByProperty(request.param == "mergers"))
    return {"shards": 3, "partition": "containment"}


def filled(scheme: dict[str, Any]) -> Filter:
    engine, random = Filter(TAXONOMY, **scheme), Random(3)
    engine.subscribe(GENERAL[0])
    for number, interest in enumerate(POOL.interests):
        subscribe(engine, [interest._replace(id=f"s{number}")])
        if random.random() < 0.3:
            engine.unsubscribe(f"s{number}")
        if number == 60:
            engine.subscribe(GENERAL[1:])
    return engine


def plan_of(engine: Filter) -> Plan:
    plan = engine._matcher.planned()
    assert plan is not None
    return plan


def places(plan: Plan) -> dict[str, int]:
    return {each.id: plan.find(each.number) for each in plan.members.values()}


# --- answers and versions ---------------------------------------------------------------------------------------


def test_a_history(scheme: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segments, "LARGE", 30)
    history = History(Filter(TAXONOMY, **scheme), POOL, seed=6, peaks=(100, 30))
    history.engine.subscribe([])
    check_history(history, 600, naive_each=250, reload_each=280, folder=tmp_path)


@pytest.mark.usefixtures("eager_threads")
def test_each_publish_sees_one_version(scheme: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Roots come and go all the time: of the seven queries one is above most of the others."""
    monkeypatch.setattr(segments, "LARGE", 16)
    chronicle = Chronicle(Filter(**scheme), seed=8)
    chronicle.engine.subscribe(("warm", "ASK { ?x :never ?y }"))
    chronicle.engine.unsubscribe("warm")
    check_under_load(chronicle, publishers=2, changes=60)


def test_whoever_is_not_stale_does_not_wait(scheme: dict[str, Any]) -> None:
    """While a writer is at work a reader gets the version before."""
    plan = plan_of(filled(scheme))
    before = plan.version
    with plan._lock:
        assert plan.version is plan._held
        assert plan.version.stamp == before.stamp


def test_a_large_change_lets_nobody_wait(scheme: dict[str, Any]) -> None:
    engine = filled(scheme)
    plan = plan_of(engine)
    stamp = plan.version.stamp
    engine.unsubscribe("general 0")
    engine.subscribe([(f"many {number}", f"ASK {{ :n{number} :p1 ?y }}") for number in range(400)])
    assert plan._held.stamp == stamp + 1
    assert plan.version.stamp == stamp + 2


# --- saving -----------------------------------------------------------------------------------------------------


def test_a_saved_plan_has_everybody_in_the_same_place(scheme: dict[str, Any], tmp_path: Path) -> None:
    engine = filled(scheme)
    engine.save(tmp_path / "filter")
    expected = list(engine.publish(DOCUMENTS, bindings=1))
    loaded = Filter.load(tmp_path / "filter")
    assert list(loaded.publish(DOCUMENTS, bindings=1)) == expected != []
    assert places(plan_of(loaded)) == places(plan_of(engine))
    assert loaded.plan() is not None
    assert loaded.stats().subscriptions == engine.stats().subscriptions
    for place, words in ((FRONT, "at the front"), (2, "in shard 2 of 3")):
        name = next(name for name, found in places(plan_of(engine)).items() if found == place)
        assert loaded.explain(name, DOCUMENTS[0], index=True).index[0].startswith(words)


def test_an_opened_plan_goes_on_with_everybody_in_the_same_place(scheme: dict[str, Any], tmp_path: Path) -> None:
    engine = filled(scheme)
    engine.save(tmp_path / "saved")
    loaded = Filter.load(tmp_path / "saved")
    loaded.subscribe(("late", "ASK { :n1 :p1 :n2 }"))
    before, after = places(plan_of(engine)), places(plan_of(loaded))
    assert {name: place for name, place in after.items() if name != "late"} == before
    engine.subscribe(("late", "ASK { :n1 :p1 :n2 }"))
    for each in (engine, loaded):
        each.unsubscribe([id for id, _ in GENERAL])
    assert list(loaded.publish(DOCUMENTS)) == list(engine.publish(DOCUMENTS))
    loaded.save(tmp_path / "saved")
    assert list(Filter.load(tmp_path / "saved").publish(DOCUMENTS)) == list(engine.publish(DOCUMENTS))


def test_the_manifest_says_what_is_where(scheme: dict[str, Any], tmp_path: Path) -> None:
    engine = filled(scheme)
    engine.save(tmp_path / "saved")
    opened = read_folder(tmp_path / "saved", "filter", {3})
    manifest, roots = opened.meta["plan"], opened.tables["roots"].to_pylist()
    found = places(plan_of(engine))
    assert manifest["partition"] == "containment"
    assert manifest["counts"] == [list(found.values()).count(shard) for shard in range(3)]
    assert manifest["front"] == len(roots) == list(found.values()).count(FRONT) + manifest["mergers"]
    assert {row["subscription_id"] for row in roots} - {None} == {n for n, place in found.items() if place == FRONT}
    general = next(row for row in roots if row["subscription_id"] == "general 0")
    assert general["shards"] == [0, 1, 2]


def test_stages_run_apart(scheme: dict[str, Any], tmp_path: Path) -> None:
    """One process opens the front and others a shard each; together they find what all of it finds."""
    engine = filled(scheme)
    engine.save(tmp_path / "saved")
    first = Stage.open(tmp_path / "saved").front(DOCUMENTS)
    found = list(first.notifications)
    for number, wanted in enumerate(first.wanted):
        reached = list(Stage.open(tmp_path / "saved", number).match(DOCUMENTS))
        assert {first.ids.index(str(each.publication_id)) for each in reached} <= set(wanted.tolist())
        found += reached
    assert sorted(map(str, found)) == sorted(map(str, engine.publish(DOCUMENTS)))


def test_a_part_of_a_plan_cannot_change(scheme: dict[str, Any], tmp_path: Path) -> None:
    filled(scheme).save(tmp_path / "saved")
    opened = Stage.open(tmp_path / "saved", 1)._matcher.plan
    with pytest.raises(UsageError) as raised:
        opened.remove(list(opened.members.values())[:1])
    assert raised.value.code == "HG-053"


def test_an_empty_plan_is_saved(scheme: dict[str, Any], tmp_path: Path) -> None:
    engine = Filter(**scheme)
    engine.save(tmp_path / "saved")
    loaded = Filter.load(tmp_path / "saved")
    assert list(loaded.publish(DOCUMENTS)) == []
    loaded.subscribe(GENERAL)
    assert len(loaded.publish(DOCUMENTS)) > 0


# --- damage -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "spoil",
    [
        lambda arrays, tables, meta: arrays.pop("front.rows"),
        lambda arrays, tables, meta: arrays.pop("shard-1.index.steps"),
        lambda arrays, tables, meta: arrays.update({"shard-0.rows": arrays["shard-0.rows"][::-1]}),
        lambda arrays, tables, meta: arrays.update({"shard-0.rows": arrays["shard-0.rows"] + 1000}),
        lambda arrays, tables, meta: arrays.update({"shard-0.rows": arrays["shard-0.rows"].astype(np.int32)}),
        lambda arrays, tables, meta: arrays.update(
            {f"shard-0.{k[8:]}": v for k, v in arrays.items() if k[:8] == "shard-1."}
        ),
        lambda arrays, tables, meta: tables.pop("roots"),
        lambda arrays, tables, meta: tables.update(roots=tables["roots"].slice(1)),
        lambda arrays, tables, meta: tables.update(roots=tables["taxonomy"]),
        lambda arrays, tables, meta: meta["plan"].update(shards=2),
        lambda arrays, tables, meta: meta["plan"].update(shards="3"),
        lambda arrays, tables, meta: meta["plan"].update(partition="luck"),
        lambda arrays, tables, meta: meta["plan"].update(shards=None, partition=None),
        lambda arrays, tables, meta: meta.update(plan=None),
    ],
)
def test_what_is_damaged_is_refused(spoil: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Scheme, "arrangement", lambda *_: ByProperty(True))
    engine = Filter(TAXONOMY, shards=3, partition="containment")
    engine.subscribe([*GENERAL, *((f"s{n}", f"ASK {{ ?x :p{n % 3} :n{n} }}") for n in range(12))])
    engine.save(tmp_path / "saved")
    arrays, tables, meta, _ = read_folder(tmp_path / "saved", "filter", {3})
    spoil(arrays, tables, meta)
    write_folder(tmp_path / "spoilt", "filter", 3, arrays=arrays, tables=tables, meta=meta)
    with pytest.raises(StorageError) as raised:
        Filter.load(tmp_path / "spoilt")
    assert raised.value.code == "HG-810"


def test_mergers_are_never_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Scheme, "arrangement", lambda *_: ByProperty(True))
    engine = Filter(shards=2, partition="containment")
    engine.subscribe([("a", "ASK { ?x :p :A }"), ("b", "ASK { ?x :p :B }")])
    assert any(number >= MERGERS for number in plan_of(engine).routes)
    assert list(engine.publish(("d", [("X", "p", "C")]))) == []
    assert [each.subscription_id for each in engine.publish(("d", [("X", "p", "B")]))] == ["b"]
