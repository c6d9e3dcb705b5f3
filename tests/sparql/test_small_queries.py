"""Every small query ends: it is refused with a code, or what is done with it takes time in step with its length.

Lengths of n and 4n are compared: four times the length may take eight times as long, where it takes long at all. After
each, a small query is answered as before.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from heliograph import Filter, Watch
from heliograph.lint import lint_subscriptions
from tests.sparql.small_queries import LONG, METRICS, PRODUCTS, UNREADABLE, Make

TAXONOMY = [(f"c{number}", f"c{number + 1}") for number in range(50)]
TRIPLES = [("a", "p", "7"), ("a", "q", "7"), ("a", "rdf:type", "c1"), ("a", "p", '"some text t5 a1"')]
TRIPLES += [(f"x{number}", "p", f"x{number * 7 % 8}") for number in range(8)]
SMALL = ("small", "ASK { ?a :q ?b }")
FLOOR = 1.0  # seconds of work below which growth is not looked at


def _filter(text: str, folder: Path, **options: Any) -> str:
    engine = Filter(TAXONOMY, **options)
    publication = ("d", TRIPLES)
    engine.subscribe(SMALL)
    outcome = _subscribed(engine, text)
    assert "small" in {each.subscription_id for each in engine.publish([publication])}
    if outcome == "taken":
        engine.explain("q", publication)
        engine.save(folder / "saved")
        assert "small" in {each.subscription_id for each in Filter.load(folder / "saved").publish([publication])}
        engine.unsubscribe("q")
        assert [each.subscription_id for each in engine.publish([publication])] == ["small"]
    return outcome


def _watch(text: str, folder: Path, **options: Any) -> str:
    engine = Watch(taxonomy=TAXONOMY, **options)
    engine.subscribe(SMALL)
    outcome = _subscribed(engine, text)
    gained = engine.publish([{"op": "+", "subject": s, "property": p, "object": o} for s, p, o in TRIPLES])
    assert "small" in {each.subscription_id for each in gained}
    if outcome == "taken":
        engine.explain("q")
        engine.save(folder / "saved")
        engine = Watch.load(folder / "saved")
        engine.unsubscribe("q")
    lost = engine.publish([{"op": "-", "subject": "a", "property": "q", "object": "7"}])
    assert [each.subscription_id for each in lost if each.subscription_id == "small"] == ["small"]
    return outcome


def _subscribed(engine: Filter | Watch, text: str) -> str:
    """`taken`, or the code of the refusal."""
    receipt = engine.subscribe([("q", text)])
    for refused in receipt.rejected:
        assert len(refused.message) < 2_000
        return refused.code
    return "taken"


def _lint(text: str, folder: Path) -> str:
    lint_subscriptions([("q", text), ("again", text + " "), SMALL], taxonomy=TAXONOMY, sample=[("d", TRIPLES)])
    return "taken"


def _taken(work: Callable[[], str]) -> tuple[str, float]:
    started = time.process_time()
    outcome = work()
    return outcome, time.process_time() - started


def _ends(make: Make, n: int, work: Callable[[str], str]) -> str:
    """What became of the query of 4n characters."""
    _, short = _taken(lambda: work(make(n)))
    outcome, long = _taken(lambda: work(make(4 * n)))
    assert long < max(FLOOR, 8 * short), f"{short:.2f} s for {n} characters, {long:.2f} s for four times as many"
    return outcome


@pytest.mark.parametrize("name", UNREADABLE)
def test_what_cannot_be_read_is_refused(name: str, tmp_path: Path) -> None:
    assert _ends(UNREADABLE[name], 20_000, lambda text: _filter(text, tmp_path)).startswith("HG-4")


@pytest.mark.parametrize("name", LONG | PRODUCTS)
def test_a_filter(name: str, tmp_path: Path) -> None:
    _ends((LONG | PRODUCTS)[name], 200, lambda text: _filter(text, tmp_path))


@pytest.mark.parametrize("name", LONG | METRICS)
def test_a_watch(name: str, tmp_path: Path) -> None:
    _ends((LONG | METRICS)[name], 200, lambda text: _watch(text, tmp_path))


@pytest.mark.parametrize("name", LONG | METRICS)
def test_lint(name: str, tmp_path: Path) -> None:
    _ends((LONG | METRICS)[name], 200, lambda text: _lint(text, tmp_path))


STRATEGIES: dict[str, Callable[[str, Path], str]] = {
    "filter indexed": lambda text, folder: _filter(text, folder, algorithm="indexed"),
    "filter naive": lambda text, folder: _filter(text, folder, algorithm="naive"),
    "filter containment": lambda text, folder: _filter(text, folder, shards=2, partition="containment"),
    "filter merging": lambda text, folder: _filter(text, folder, shards=2, partition="merging"),
    "watch indexed": lambda text, folder: _watch(text, folder, algorithm="indexed"),
    "watch plain": lambda text, folder: _watch(text, folder, algorithm="plain"),
    "lint": _lint,
}


@pytest.mark.long
@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("name", UNREADABLE | LONG | METRICS)
def test_up_to_a_megabyte(name: str, strategy: str, tmp_path: Path) -> None:
    _ends((UNREADABLE | LONG | METRICS)[name], 250_000, lambda text: STRATEGIES[strategy](text, tmp_path))
