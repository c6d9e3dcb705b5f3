"""An engine that measures, saved and loaded in mid-stream, goes on as if nothing had happened."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any
from unittest import mock

import numpy as np
import pytest

from heliograph import Watch
from heliograph.errors import StorageError
from heliograph.storage import MANIFEST, read_folder, write_folder
from heliograph.watch import strategy as strategies
from heliograph.watch.indexed import IndexedStrategy
from heliograph.watch.metrics import betweenness
from heliograph.watch.metrics.betweenness import Betweenness

ALGORITHMS = ("plain", "indexed")
VERTICES, PROPERTIES = "abcdefgh", "pqr"
FUNCTIONS = {  # with a limit that random streams pass now and then, and a hysteresis
    "hg:degree(?x)": (4, 1),
    "hg:indegree(?x, :p)": (2, 1),
    "hg:outdegree(?x)": (3, 1),
    "hg:clustering(?x)": (0.5, 0.2),
    "hg:transitivity()": (0.4, 0.1),
    "hg:averageClustering()": (0.4, 0.1),
    "hg:distance(?x, :b)": (2, 1),
    'hg:distance(?x, :c, "undirected", "weight", :p, :q)': (1.3, 0.4),
    "hg:cliques(1)": (7, 1),
    "hg:cliques(3)": (4, 2),
    "hg:betweenness(?x)": (0.15, 0.05),
    "hg:density(?x, 1)": (0.5, 0.1),
    "hg:density()": (0.3, 0.1),
    "hg:dense(?x)": (1.4, 0.2),
    "hg:steiner(:a, ?x, :e)": (2.2, 0.5),
    "hg:steiner(:b, ?x, :h, hg:via(:p))": (3, 1),
    "hg:steinerPoint(?x, :a, :e, :g)": (1, 0),
}
SHAPES: tuple[tuple[str, dict[str, Any]], ...] = (  # beside every function alone, some of them in other queries
    ("SELECT * {{ ?x :p ?y FILTER({0}) }}", {}),
    ("SELECT DISTINCT ?y {{ ?x :q ?y FILTER({0}) }}", {}),
    ("ASK {{ ?x :p ?y . ?y :q ?z FILTER({0} && hg:degree(?z) > 2) }}", {}),
    ("SELECT (COUNT(*) AS ?n) {{ FILTER({0}) }} HAVING (COUNT(*) >= 3)", {"hysteresis": 1}),
    ("SELECT (COUNT(*) AS ?n) {{ ?x :p ?y FILTER({0}) }} GROUP BY ?y HAVING (COUNT(*) >= 2)", {"hysteresis": 1}),
    ("SELECT * {{ ?x :p ?y FILTER({0}) }}", {"top_k_of": {"set": "s", "k": 2}, "hysteresis": 0.5}),
    ("SELECT * {{ ?x :r ?y FILTER({0}) }}", {"top_k_of": {"set": "s", "k": 2}}),
    ("SELECT * {{ ?x :q ?y FILTER({0}) }}", {"initial": True, "mode": "change"}),
)


def item(id: str, query: str, **options: Any) -> dict[str, str]:
    return {"subscription_id": id, "query": query, "options": json.dumps(options)}


def items(r: Random) -> list[dict[str, str]]:
    """A subscription for every function, and some of other shapes."""
    found = []
    for number, (function, (limit, hysteresis)) in enumerate(FUNCTIONS.items()):
        operator = r.choice(("<=", "<") if "distance" in function or "steiner(" in function else (">=", ">="))
        pattern = "?x :p ?y" if function.endswith("()") or "cliques" in function else ""
        query = f"SELECT * {{ {pattern} FILTER({function} {operator} {limit}) }}"
        found.append(item(f"f{number}", query, hysteresis=hysteresis, mode=r.choice(("each", "each", "change"))))
    asked = [(function, limit) for function, (limit, _) in FUNCTIONS.items() if "?x" in function]
    for number, (shape, options) in enumerate(SHAPES):
        function, limit = r.choice(asked)
        found.append(item(f"s{number}", shape.format(f"{function} >= {limit}"), **options))
    return found


def updates(r: Random, count: int, vertices: str = VERTICES) -> Iterator[dict[str, Any]]:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    for _ in range(count):
        at += timedelta(minutes=r.choice((0, 1, 5)))
        op = r.choice("++++++--=")
        row = {"op": op, "subject": r.choice(vertices), "property": r.choice((*PROPERTIES * 4, "a")), "at": at}
        row["object"] = r.choice((*vertices * 3, "7"))
        if op == "-" and r.random() < 0.2:
            row["property"] = row["object"] = None
        row["weight"] = r.choice((0.1, 0.2, 0.3, 0.7, 2.0)) if op != "-" and r.random() < 0.4 else None
        yield row


def moved(engine: Watch, folder: Path, algorithm: str) -> Watch:
    engine.save(folder / "saved")
    return Watch.load(folder / "saved", algorithm=algorithm)


def told(engine: Watch, rows: list[dict[str, Any]], folder: Path, then: Mapping[int, str]) -> list[Any]:
    """What is told of updates, saved and loaded before some of them: as (seq, subscription, change, evidence)."""
    lines: list[Any] = []
    cuts = sorted({0, *then, len(rows)})
    for first, last in pairwise(cuts):
        engine = moved(engine, folder, then[first]) if first in then else engine
        lines += ((n.publication_id, n.subscription_id, n.change, n.evidence) for n in engine.publish(rows[first:last]))
    return lines


def watching(asked: list[dict[str, str]], algorithm: str, **settings: Any) -> Watch:
    engine = Watch(algorithm=algorithm, witness=True, **settings)
    engine.load_graph([("a", "p", "b"), ("b", "q", "c"), ("c", "p", "a"), ("h", "r", "a")])
    engine.subscribe(asked)
    return engine


def check_stream(seed: int, folder: Path, first: str, others: Collection[str], count: int) -> int:
    """How much was told, with saves or without."""
    r = Random(seed)
    asked, rows = items(r), list(updates(r, count))
    settings = r.choice(({}, {"window": "3h"}, {"window_updates": 25}))
    then = {r.randrange(count): r.choice(list(others)) for _ in range(3)}
    expected = told(watching(asked, first, **settings), rows, folder, {})
    assert told(watching(asked, first, **settings), rows, folder, then) == expected
    return len(expected)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_all_functions_go_on(algorithm: str, tmp_path: Path) -> None:
    assert check_stream(1, tmp_path, algorithm, [algorithm], 40) > 40


@pytest.mark.long
@pytest.mark.parametrize("seed", range(40))
def test_all_functions_go_on_by_any_algorithm(seed: int, tmp_path: Path) -> None:
    for algorithm in ALGORITHMS:
        assert check_stream(seed, tmp_path, algorithm, ALGORITHMS, 60) > 0


# --- what the graph does not tell -------------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize(("options", "lost"), [({}, ["4"]), ({"hysteresis": 1}, ["5"])])
def test_a_hysteresis_holds_what_it_held(algorithm: str, options: Any, lost: list[str], tmp_path: Path) -> None:
    engine = Watch(algorithm=algorithm)
    engine.subscribe(item("hub", "SELECT * { FILTER(hg:degree(?x) >= 3) }", **options))
    engine.publish([("+", "a", "p", end) for end in "bcd"])
    for other in ALGORITHMS:
        again = moved(engine, tmp_path, other)
        found = list(again.publish([("-", "a", "p", "b")]))
        again = moved(again, tmp_path, algorithm)
        found += again.publish([("-", "a", "p", "c")])
        assert [(n.publication_id, n.change) for n in found] == [(lost[0], "-")]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_place_and_what_a_hysteresis_holds_are_both_kept(algorithm: str, tmp_path: Path) -> None:
    """A member of a set that is ranked by solutions which a hysteresis holds, beside one that has not been ranked."""
    engine, query = Watch(algorithm=algorithm), "SELECT * {{ :{0} :p ?y FILTER(hg:degree(?y) >= 2) }}"
    top = {"top_k_of": {"set": "s", "k": 1}, "hysteresis": 1}
    engine.subscribe(item("x", query.format("x"), **top))
    engine.publish([("+", "x", "p", "b"), ("+", "b", "q", "c"), ("-", "b", "q", "c")])
    engine.subscribe(item("a", query.format("a"), **top))
    for other in ALGORITHMS:
        again = moved(engine, tmp_path, other)
        rows = [("+", "a", "p", "d"), ("+", "d", "q", "c"), ("-", "x", "p", "b")]
        found = [(n.publication_id, n.subscription_id, n.change) for n in again.publish(rows)]
        assert found == [("5", "x", "-"), ("5", "a", "+")]


# --- estimates --------------------------------------------------------------------------------------------------

LIMIT = 12  # vertices up to which betweenness is exact: estimated again below it, down to three quarters
ESTIMATED = [item(f"t{limit}", f"SELECT * {{ FILTER(hg:betweenness(?x) >= 0.{limit}) }}") for limit in (1, 2, 3, 4)]


@contextmanager
def estimating() -> Iterator[None]:
    with mock.patch.object(betweenness, "Betweenness", partial(Betweenness, limit=LIMIT, epsilon=0.3)):
        yield


def check_estimates(seed: int, folder: Path) -> list[Any]:
    """Estimates of a graph that passes the limit up and down are the same, saved or not."""
    r = Random(seed)
    rows = list(updates(r, 120, "abcdefghijklmno"))
    then = dict.fromkeys(r.sample(range(120), 4), "indexed")
    with estimating():
        expected = told(watching(ESTIMATED, "indexed"), rows, folder, {})
        assert told(watching(ESTIMATED, "indexed"), rows, folder, then) == expected
    return expected


def test_estimates_go_on(tmp_path: Path) -> None:
    shown = [json.loads(evidence) for _, _, _, evidence in check_estimates(1, tmp_path)]
    assert {"interval" in each for each in shown} == {True, False}


@pytest.mark.long
@pytest.mark.parametrize("seed", range(40))
def test_many_estimates_go_on(seed: int, tmp_path: Path) -> None:
    assert check_estimates(seed, tmp_path)


def estimated(vertices: int) -> Watch:
    """An engine that estimates, at fewer vertices than it would begin to."""
    engine = Watch(algorithm="indexed")
    engine.subscribe(ESTIMATED)
    ring = [("+", f"v{each}", "p", f"v{(each + 1) % (LIMIT + 1)}") for each in range(LIMIT + 1)]
    engine.publish([*ring, *(("-", f"v{each}") for each in range(vertices, LIMIT + 1))])
    return engine


def kept_by(engine: Watch) -> list[Any]:
    """What its measures keep beside the edges, wherever it runs."""
    engine.publish([])
    return [kept for kept in engine._strategy.snapshot().memory.measures.values() if kept]


def test_kernels_go_on_with_estimates_and_whoever_comes_later_begins_anew(tmp_path: Path) -> None:
    with estimating(), mock.patch.object(strategies, "WARM_NS", 1 << 60):
        engine = estimated(LIMIT - 1)
        (kept,) = kept_by(engine)
        again = moved(engine, tmp_path, "auto")
        assert isinstance(again._strategy._held, IndexedStrategy)  # type: ignore[attr-defined]
        assert [each["sampling"].tolist() for each in kept_by(again)] == [kept["sampling"].tolist()]
        for each in (engine, again):
            each.unsubscribe([one["subscription_id"] for one in ESTIMATED])
            each.subscribe(ESTIMATED)
            assert kept_by(each) == []


# --- the format -------------------------------------------------------------------------------------------------


def manifest(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / MANIFEST).read_text())
    return found


def test_only_who_measures_needs_the_newer_version(tmp_path: Path) -> None:
    engine = watching([item("e", "SELECT * { ?x :p ?y }"), item("d", "ASK { FILTER(hg:degree(:a) > 2) }")], "plain")
    engine.save(tmp_path / "both")
    assert manifest(tmp_path / "both")["version"] == 2
    assert manifest(tmp_path / "both")["files"]["arrays"] == {}
    engine.unsubscribe(["d"])
    engine.save(tmp_path / "one")
    assert manifest(tmp_path / "one")["version"] == 1
    assert len(Watch.load(tmp_path / "one").publish([("+", "x", "p", "y")])) == 1


@pytest.mark.parametrize(
    "damage",
    [
        {"metrics": None},
        {"metrics": {"satisfied": []}},
        {"metrics": {"satisfied": [["nobody", []]], "measures": []}},
        {"metrics": {"satisfied": [["t1", [["no term: "]]]], "measures": []}},
        {"metrics": {"satisfied": [], "measures": [["betweenness", [], ["no term: "]]]}},
        {"metrics": {"satisfied": [], "measures": [["betweenness", []]]}},
    ],
)
def test_a_damaged_save_is_refused(damage: dict[str, Any], tmp_path: Path) -> None:
    with estimating():
        estimated(LIMIT - 1).save(tmp_path / "s")
    saved = read_folder(tmp_path / "s", "watch", {2})
    write_folder(tmp_path / "s", "watch", 2, arrays=saved.arrays, tables=saved.tables, meta={**saved.meta, **damage})
    with pytest.raises(StorageError, match="HG-810"):
        Watch.load(tmp_path / "s", algorithm="plain")


@pytest.mark.parametrize(
    "sampling", [[-1, LIMIT], [1 << 40, LIMIT], [900, LIMIT + 1], [900, -1], [900], [[900, LIMIT]]]
)
def test_damaged_estimates_are_refused(sampling: list[Any], tmp_path: Path) -> None:
    with estimating():
        estimated(LIMIT - 1).save(tmp_path / "s")
        saved = read_folder(tmp_path / "s", "watch", {2})
        (name,) = saved.arrays
        arrays = {name: np.array(sampling, np.int64)}
        write_folder(tmp_path / "s", "watch", 2, arrays=arrays, tables=saved.tables, meta=saved.meta)
        with pytest.raises(StorageError, match="HG-810"):
            Watch.load(tmp_path / "s", algorithm="indexed")
