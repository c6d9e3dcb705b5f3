"""Corners of saving and of counting where what stands depends on more than the graph."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from heliograph import Watch

ALGORITHMS = ("plain", "indexed")
EDGES = "SELECT * { ?a :p ?b }"


def ranked(**options: Any) -> dict[str, str]:
    more = "".join(f', "{name}": {str(value).lower()}' for name, value in options.items())
    return {"subscription_id": "t", "query": EDGES, "options": f'{{"top_k_of": {{"set": "s", "k": 2}}{more}}}'}


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_set_that_lost_its_last_member_is_saved(tmp_path: Path, algorithm: str) -> None:
    engine = Watch(algorithm=algorithm)
    engine.subscribe(ranked())
    engine.unsubscribe(["t"])
    engine.save(tmp_path / "saved")
    for other in ALGORITHMS:
        again = Watch.load(tmp_path / "saved", algorithm=other)
        assert list(again.publish([("+", "x", "p", "z")])) == []
        assert again.seq == 1


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_initial_ranks_show_their_counts_after_a_restore(tmp_path: Path, algorithm: str) -> None:
    engine = Watch(algorithm=algorithm)
    engine.load_graph([("a", "p", "b"), ("a", "p", "c")])
    engine.subscribe(ranked(initial=True))
    engine.save(tmp_path / "saved")
    for other in ALGORITHMS:
        again = Watch.load(tmp_path / "saved", algorithm=other)
        assert [(each.change, each.proof) for each in again.publish([])] == [("+", {"value": 2})]


def test_a_count_too_large_to_be_told_is_not_complete() -> None:
    star = " . ".join(f"?x :p ?y{leaf}" for leaf in range(16))
    engine = Watch(algorithm="indexed")
    engine.subscribe(("c", f"SELECT (COUNT(*) AS ?n) {{ {star} }} HAVING (COUNT(*) >= 1000)"))
    small = engine.publish([("+", "a", "p", f"b{leaf}") for leaf in range(14)])
    assert [(each.publication_id, each.proof) for each in small] == [("2", {"value": 2**16})]
    assert small.complete
    assert not engine.publish([("+", "a", "p", "c"), ("+", "a", "p", "d")]).complete
