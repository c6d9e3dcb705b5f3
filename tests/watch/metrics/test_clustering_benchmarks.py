"""The benchmark of local metrics measures what it says, on small workloads, and nothing where an answer is wrong."""

from __future__ import annotations

import networkx as nx
import pytest
from benchmarks import metric_local
from benchmarks.filter_workloads import WrongAnswer
from benchmarks.metric_local import PlainSets, Size, attached, paper_log

from heliograph.kernels.metric_layout import CAME, WENT

SMALL = Size(vertices=300, additions=800, attached=60, cap=12, samples=2)


def test_every_measurement_runs() -> None:
    rates = [
        metric_local.measure_plain(1, SMALL),
        metric_local.measure_rate(1, SMALL),
        metric_local.measure_degree_rate(1, SMALL),
        metric_local.measure_plain_rate(1, SMALL),
        metric_local.measure_cliques(1, SMALL),
    ]
    assert all(len(samples) == 2 and min(samples) > 0 for samples in rates)
    assert metric_local.measure_rerun(1, SMALL) > 0
    assert metric_local.measure_cliques_rerun(1, SMALL) > 0


def test_a_third_of_the_updates_are_deletions() -> None:
    for log in (paper_log(1, SMALL), attached(1, SMALL).changes):
        assert (log.change == WENT).mean() == pytest.approx(1 / 3, abs=0.01)
        assert set(log.change.tolist()) == {CAME, WENT}


def test_no_vertex_has_more_than_the_cap() -> None:
    stage = attached(1, SMALL)
    assert max(degree for _, degree in nx.Graph(stage.after.tolist()).degree) <= SMALL.cap
    assert len(stage.after) == len(stage.before.step) + int((stage.changes.change == CAME).sum()) - int(
        (stage.changes.change == WENT).sum()
    )


def test_a_wrong_answer_is_no_measurement(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PlainSets, "coefficient", lambda self, vertex: 2.0)
    with pytest.raises(WrongAnswer):
        metric_local.measure_plain(2, SMALL)
    monkeypatch.setattr(metric_local, "four_cliques", lambda graph: -1)
    with pytest.raises(WrongAnswer):
        metric_local.measure_cliques_rerun(2, SMALL)
