"""The index of a filter on disk: it opens as it was without being built, goes on as if it had never been saved, and
what is damaged is refused or does no harm."""

from __future__ import annotations

import threading
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from heliograph import Filter
from heliograph.errors import StorageError
from heliograph.filter import save as saving
from heliograph.filter import strategy as auto
from heliograph.filter.segment import Segments
from heliograph.storage import read_folder, write_folder
from tests.filter.pool import TAXONOMY, Pool
from tests.filter.strategies import subscribe

POOL = Pool.draw(7, 250, 12)
DOCUMENTS = [(f"d{number}", document) for number, document in enumerate(POOL.documents)]

# Everything that no interval decides: counts, classes between variables, texts, arithmetic, predicates as variables.
QUERIES = [
    ("count", "SELECT (COUNT(*) AS ?n) { ?x :p0 ?y } HAVING (COUNT(*) >= 1)"),
    ("nothing", "SELECT (COUNT(*) AS ?n) { ?x :p0 ?y } HAVING (COUNT(*) = 0)"),
    ("text", 'ASK { ?x :p5 ?y FILTER(CONTAINS(?y, "w1")) }'),
    ("sum", "ASK { ?x :p4 ?y FILTER(?y + 1 > 50) }"),
    ("any", "ASK { ?x ?p ?x }"),
    ("subclass", "ASK { ?x a ?c . ?c rdfs:subClassOf+ :K0 }"),
]


def indexed(algorithm: str = "indexed", seed: int = 3) -> Filter:
    """A filter with several segments and tombstones in them."""
    engine = Filter(TAXONOMY, algorithm=algorithm)
    random = Random(seed)
    for number, interest in enumerate(POOL.interests):
        subscribe(engine, [interest._replace(id=f"s{number}")])
        if random.random() < 0.3:
            engine.unsubscribe(f"s{number}")
    engine.subscribe(QUERIES)
    return engine


def notified(engine: Filter) -> list[Any]:
    return list(engine.publish(DOCUMENTS, bindings=2))


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("filter") / "saved"
    indexed().save(path)
    return path


def test_the_same_answers_in_the_same_order(saved: Path) -> None:
    plain, loaded = indexed("naive"), Filter.load(saved)
    assert loaded.algorithm == "indexed"
    assert notified(loaded) == notified(plain) != []
    assert loaded.stats().subscriptions == plain.stats().subscriptions


def test_it_goes_on_as_if_it_had_never_been_saved(saved: Path) -> None:
    plain, loaded = indexed("naive"), Filter.load(saved)
    living = [each.id for each in loaded._subscriptions]
    for engine in (plain, loaded):
        engine.unsubscribe(living[::3])
        subscribe(engine, [POOL.interests[number]._replace(id=f"new{number}") for number in range(50)])
        engine.unsubscribe([f"new{number}" for number in range(0, 50, 7)])
    assert notified(loaded) == notified(plain)
    assert loaded.unsubscribe(living[1]).accepted == 1


def test_a_loaded_filter_is_saved_again(saved: Path, tmp_path: Path) -> None:
    first = Filter.load(saved)
    first.save(tmp_path / "again")
    second = Filter.load(tmp_path / "again")
    subscribe(second, [POOL.interests[0]._replace(id="late")])
    second.unsubscribe("any")
    second.save(tmp_path / "again")  # over the very files that are mapped
    expected = [each for each in notified(second) if each.subscription_id != "late"]
    assert notified(Filter.load(tmp_path / "again")) == notified(second)
    assert expected == [each for each in notified(first) if each.subscription_id != "any"]


def test_nothing_is_built_and_nothing_compiled(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("this takes time")

    expected = indexed("naive").stats().subscriptions
    monkeypatch.setattr("heliograph.filter.segment.Segment.build", refuse)
    monkeypatch.setattr("heliograph.subscriptions.compile_sparql", refuse)
    monkeypatch.setattr("heliograph.subscriptions.parse_sparql", refuse)
    loaded = Filter.load(saved)
    assert all(not array.flags.writeable for array in loaded._matcher.version().held.segments[0].index[:4])  # type: ignore[attr-defined]
    assert loaded.stats().subscriptions == expected


def test_auto_keeps_the_index_it_changed_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auto, "FEW", 100)
    engine = indexed("auto")
    engine.save(tmp_path / "saved")
    assert "index.steps" in read_folder(tmp_path / "saved", "filter", {2}).arrays
    loaded = Filter.load(tmp_path / "saved")
    assert loaded.algorithm == "auto"
    assert notified(loaded) == notified(engine)


def test_auto_without_an_index_saves_none(tmp_path: Path) -> None:
    engine = Filter(algorithm="auto")
    engine.subscribe(QUERIES)
    engine.save(tmp_path / "saved")
    assert read_folder(tmp_path / "saved", "filter", {2}).arrays == {}
    assert notified(Filter.load(tmp_path / "saved")) == notified(engine)


@pytest.mark.parametrize("emptied", [False, True])
def test_an_index_of_nothing(tmp_path: Path, emptied: bool) -> None:
    engine = Filter(TAXONOMY, algorithm="indexed")
    if emptied:
        engine.subscribe(QUERIES)
        engine.unsubscribe([id for id, _ in QUERIES])
    engine.save(tmp_path / "saved")
    loaded = Filter.load(tmp_path / "saved")
    assert notified(loaded) == []
    loaded.subscribe(QUERIES)
    assert notified(loaded) != []


def test_a_newer_save_is_refused(saved: Path, tmp_path: Path) -> None:
    opened = read_folder(saved, "filter", {2})
    write_folder(tmp_path / "newer", "filter", 4, arrays=opened.arrays, tables=opened.tables, meta=opened.meta)
    with pytest.raises(StorageError) as raised:
        Filter.load(tmp_path / "newer")
    assert raised.value.code == "HG-804"


def test_a_save_while_a_merge_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The merge ends while the save waits for it."""
    monkeypatch.setattr("heliograph.filter.segment.LARGE", 64)
    begun, release = threading.Event(), threading.Event()
    merge = Segments._run

    def slow(segments: Segments, *given: Any) -> None:
        begun.set()
        assert release.wait(60)
        merge(segments, *given)

    monkeypatch.setattr(Segments, "_run", slow)
    engine = Filter(TAXONOMY, algorithm="indexed")
    for start in range(0, 200, 50):
        several = [POOL.interests[number]._replace(id=f"s{number}") for number in range(start, start + 50)]
        subscribe(engine, several)
    engine.unsubscribe([f"s{number}" for number in range(0, 200, 9)])
    assert begun.is_set()
    threading.Timer(0.05, release.set).start()
    engine.save(tmp_path / "saved")
    assert release.is_set()
    assert notified(Filter.load(tmp_path / "saved")) == notified(engine)


# --- damage -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("without", ["index.steps", "keys.slots", "names.numbers", "vocabulary.heads"])
def test_a_save_that_lacks_an_array_is_refused(saved: Path, tmp_path: Path, without: str) -> None:
    opened = read_folder(saved, "filter", {2})
    arrays = {name: array for name, array in opened.arrays.items() if name != without}
    write_folder(tmp_path / "spoilt", "filter", 2, arrays=arrays, tables=opened.tables, meta=opened.meta)
    with pytest.raises(StorageError) as raised:
        Filter.load(tmp_path / "spoilt")
    assert raised.value.code in ("HG-805", "HG-810")


@pytest.mark.parametrize("meta", [None, {}, {"qualifiers": 5}, []])
def test_a_save_without_the_qualifiers_of_its_terms_is_refused(saved: Path, tmp_path: Path, meta: Any) -> None:
    opened = read_folder(saved, "filter", {2})
    spoilt = {**opened.meta, "vocabulary": meta}
    write_folder(tmp_path / "spoilt", "filter", 2, arrays=opened.arrays, tables=opened.tables, meta=spoilt)
    with pytest.raises(StorageError):
        Filter.load(tmp_path / "spoilt")


def test_fewer_subscriptions_than_members_are_refused(saved: Path, tmp_path: Path) -> None:
    opened = read_folder(saved, "filter", {2})
    tables = {**opened.tables, "subscriptions": opened.tables["subscriptions"].slice(1)}
    write_folder(tmp_path / "spoilt", "filter", 2, arrays=opened.arrays, tables=tables, meta=opened.meta)
    with pytest.raises(StorageError) as raised:
        Filter.load(tmp_path / "spoilt")
    assert raised.value.code == "HG-810"


_ODD = (-(1 << 62), -(1 << 31), -3, -1, 0, 1, 2, 7, 8, 100, (1 << 15) - 1, (1 << 31) - 1, 1 << 40, float("nan"))


def spoil(array: np.ndarray[Any, Any], random: Random) -> np.ndarray[Any, Any]:
    """The array with a few of its numbers changed, cut short, or of another type."""
    way = random.randrange(10)
    if way == 0:
        return array[: random.randrange(len(array) + 1)]
    if way == 1:
        return np.zeros(array.shape, random.choice([np.int8, np.uint64, np.float32]))
    copied = array.copy()
    flat = copied.reshape(-1)
    for _ in range(random.choice([1, 1, 1, 3]) if len(flat) else 0):
        value = random.choice([*_ODD, *(float(flat[random.randrange(len(flat))]) for _ in range(5))])
        if np.issubdtype(array.dtype, np.integer):
            value = 0 if value != value else max(np.iinfo(array.dtype).min, min(np.iinfo(array.dtype).max, int(value)))
        flat[random.randrange(len(flat))] = value
    return copied


def test_whatever_is_spoilt_is_refused_or_does_no_harm(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels do not check where they read: an array that passes the checks must not lead them astray."""
    opened, random, refused = saving.read(saved), Random(11), 0
    for _ in range(200):
        name = random.choice(sorted(opened.arrays))
        spoilt = opened._replace(arrays={**opened.arrays, name: spoil(opened.arrays[name], random)})
        monkeypatch.setattr(saving, "read", lambda _, spoilt=spoilt: spoilt)
        try:
            loaded = Filter.load(saved)
        except StorageError:
            refused += 1
        else:
            assert loaded.publish(DOCUMENTS).stats.publications == len(DOCUMENTS)
    assert 60 < refused < 200
