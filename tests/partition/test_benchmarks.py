"""The speed table of partitioning measures what it says, on small workloads, and sees what is lost or doubled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from benchmarks import partition_changes, partition_containment, partition_filters, partition_merging, partition_shards
from benchmarks.check import Row, run
from benchmarks.filter_workloads import Size, WrongAnswer
from benchmarks.tables import TABLES

from heliograph import Filter
from heliograph.model import Notifications
from heliograph.partition.containment import contains
from heliograph.sparql.normalize import form_of

SMALL = Size(subscriptions=400, few=200, publications=10, different=20, matches=5, batch=40, changes=30)
MEASURES: dict[str, Callable[..., float | Sequence[float]]] = {
    f"{module.__name__.rpartition('.')[2]}.{name}": measure
    for module in (partition_containment, partition_merging, partition_shards, partition_changes)
    for name, measure in vars(module).items()
    if name.startswith("measure_")
}
MAY_BE_NONE = ("vain", "stray", "wrong")  # what may be 0


@pytest.mark.parametrize("name", MEASURES)
def test_a_row_measures(name: str) -> None:
    (outcome,) = run([Row(name, "small", "", None, lambda seed: MEASURES[name](seed, SMALL), repeats=1)], 5)
    assert len(outcome.samples) in (1, partition_containment.SAMPLES, partition_shards.SAMPLES)
    assert all(sample > 0 for sample in outcome.samples) or name.endswith(MAY_BE_NONE)


def test_every_row_of_the_issue_is_in_the_table() -> None:
    rows = TABLES["partition"]
    measured = {getattr(row.measure, "func", row.measure) for row in rows}
    assert measured == set(MEASURES.values())
    assert len({row.name for row in rows}) == len(rows)
    assert all(len(row.workload) <= 58 and len(row.name) <= 26 for row in rows)  # the columns of the printed table


# --- the workload of containment --------------------------------------------------------------------------------


@pytest.mark.parametrize("ratio", partition_containment.RATIOS)
def test_as_many_are_contained_as_is_said(ratio: float) -> None:
    found = partition_containment._overlapping(3, SMALL, ratio)
    assert found.roots == pytest.approx(found.subscriptions * (1 - ratio), abs=SMALL.subscriptions / 50)
    assert found.roots <= found.nodes <= found.subscriptions == SMALL.subscriptions


def test_what_repeats_another_is_contained_in_it() -> None:
    (query,), taxonomy = partition_containment.drawn(2, 1, {"variable_share": 1.0})
    special = partition_containment._special(query, Random(1), 7)
    assert len(special.variables) < len(query.variables)
    assert contains(form_of(query), form_of(special), taxonomy)
    assert not contains(form_of(special), form_of(query), taxonomy)


def test_rates_are_of_the_last_tenth() -> None:
    found = partition_containment.Inserted(100, (0.5,) * 90 + (0.25,) * 10, nodes=1, roots=1)
    assert found.sustained == [4.0] * partition_containment.SAMPLES
    assert found.growth == 0.5


def test_all_workloads_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    partition_containment.main(["100"])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 + len(partition_containment.RATIOS) + len(partition_containment.STRUCTURES)


# --- changed plans ----------------------------------------------------------------------------------------------


PUBLICATIONS = pa.table({"publication_id": ["d0"], "subject": ["A"], "property": ["p"], "object": ["B"]})
BATCH = partition_changes.Batch(PUBLICATIONS, frozenset({(0, 1), (0, 2)}), frozenset({(0, 3)}))


def answer(*numbers: int) -> Notifications:
    """What is answered when exactly these are subscribed."""
    engine = Filter()
    engine.subscribe([(f"s{number}", "ASK { ?x :p ?y }") for number in numbers])
    return engine.publish(PUBLICATIONS)


@pytest.mark.parametrize(
    ("answered", "versions", "wrong"),
    [
        ((1, 2), [set()], 0),
        ((1, 2), [{3}], 1),  # lost
        ((1, 2, 3), [set(), {3}], 0),  # one of the two
        ((1, 2, 3), [set()], 1),  # too much
        ((3,), [set(), {3}], 2),
        ((), [{3}], 3),
    ],
)
def test_what_is_lost_is_seen(answered: tuple[int, ...], versions: list[set[int]], wrong: int) -> None:
    assert BATCH.wrong(answer(*answered), [frozenset(each) for each in versions]) == wrong


def test_what_is_doubled_is_seen() -> None:
    table = answer(1, 2).table

    class Twice:
        def __init__(self) -> None:
            self.table = pa.concat_tables([table, table])

    twice: Any = Twice()
    assert BATCH.wrong(twice, [frozenset()]) == 2


def test_what_a_plan_loses_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    def forgetful(self: Filter, items: Any, **given: Any) -> Notifications:
        return publish(self, items.slice(0, 0), **given)

    publish = Filter.publish
    monkeypatch.setattr(Filter, "publish", forgetful)
    assert partition_changes.changed(77, SMALL, "hash").wrong > 0


def test_what_goes_wrong_in_a_publisher_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: Filter, items: Any, **given: Any) -> Notifications:
        raise WrongAnswer("no answer")

    monkeypatch.setattr(Filter, "publish", broken)
    with pytest.raises(WrongAnswer, match="no answer"):
        partition_changes.changed(78, SMALL, "hash")


# --- engines ----------------------------------------------------------------------------------------------------


def test_an_engine_is_loaded_once_unless_somebody_changes_it() -> None:
    first = partition_filters.planned(4, SMALL, "hash")
    assert partition_filters.planned(4, SMALL, "hash") is first
    assert partition_filters.take(4, SMALL, "hash") is first
    assert partition_filters.planned(4, SMALL, "hash") is not first


def test_a_wrong_workload_is_not_measured() -> None:
    tables = dict(partition_filters.workload(1, 10, 2, 1))
    assert partition_filters.load(tables, {"shards": 1}).engine.stats().subscriptions == 10
    wrong = tables["patterns"].rename_columns(["subscription_id", "variable", "operator", "value"])
    with pytest.raises(WrongAnswer, match="refused"):
        partition_filters.load({**tables, "constraints": wrong}, {"shards": 1})
    with pytest.raises(WrongAnswer, match="no plan"):
        partition_filters.outline(Filter())
