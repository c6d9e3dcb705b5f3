"""The generated workload: its sizes, its determinism, and that `expected` is exactly what a filter says."""

from __future__ import annotations

from typing import Any

import pytest

from heliograph import Filter
from heliograph.errors import UsageError
from heliograph.workloads.filter import generate_filter

SMALL = {"subscriptions": 120, "publications": 5, "matches": 8}

# So few labels that every triple stands in several publications.
ALIKE = {"publications": 100, "labels": 5, "properties": 6, "publication_nodes": 5, "publication_edges": 14}
ALIKE |= {"subscription_nodes": 4, "subscription_edges": 3, "variables": 0}


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"drawing": "uniform"},
        {"hard_negatives": 0.8},
        {"constraints": 0.7, "hard_negatives": 0.3},
        {"classes": 30, "is_a": 1.0},
        {"classes": 12, "is_a": 0.5, "hard_negatives": 0.5},
        {"constraints": 0.8, "one_sided": 0.5},
        {"one_structure": True, "variables": 1},
        {"one_structure": True, "one_sided": 0.5},
        {"one_structure": True, "one_sided": 1.0, "publications": 1},
        {"one_structure": True, "one_sided": 1.0, "publications": 0},
        {"labels": 31, "properties": 10},
        {"labels": 40, "properties": 5, "classes": 3, "constraints": 1.0, "overlap": 1.0, "variables": 3},
        {"variable_share": 0.0, "overlap": 0.0},
        {
            "publication_nodes": 4,
            "publication_edges": 6,
            "subscription_nodes": 2,
            "subscription_edges": 1,
            "variables": 0,
        },
        {"subscriptions": 0, "matches": 0},
        {"publications": 0},
        {"matches": 0, "hard_negatives": 1.0},
    ],
)
def test_expected_is_what_the_filter_says_in_its_order(options: dict[str, Any]) -> None:
    tables = generate_filter(5, **{**SMALL, **options})
    engine = Filter(tables["taxonomy"])
    receipt = engine.subscribe(patterns=tables["patterns"], constraints=tables["constraints"])
    assert not receipt.rejected
    found = engine.publish(tables["publications"])
    assert not found.rejected
    assert found.table.select(["subscription_id", "publication_id"]).equals(tables["expected"])
    assert not engine.rejected


def test_the_sizes_are_the_seeds() -> None:
    tables = generate_filter(1, **SMALL)
    assert tables["publications"].num_rows == 5 * 90
    assert len(set(tables["publications"]["subject"].to_pylist())) <= 5 * 30
    assert tables["patterns"].num_rows == 120 * 10
    assert tables["expected"].num_rows == 5 * 8
    starred = {id for id, *ends in _rows(tables["patterns"], "subject", "object") if any(end[0] == "?" for end in ends)}
    assert len(starred) == pytest.approx(0.9 * 120, abs=3)


def _rows(table: Any, *columns: str) -> list[tuple[str, ...]]:
    return list(zip(*(table[name].to_pylist() for name in ("subscription_id", *columns)), strict=True))


def test_half_of_the_others_overlap() -> None:
    """Those that match come from publications; of the 80 others half repeat the edges of another."""
    tables = generate_filter(2, **SMALL, variable_share=0.0)
    edges: dict[str, set[tuple[str, ...]]] = {}
    for id, *edge in _rows(tables["patterns"], "subject", "property", "object"):
        edges.setdefault(id, set()).add(tuple(edge))
    matching = set(tables["expected"]["subscription_id"].to_pylist())
    others = [frozenset(edge) for id, edge in edges.items() if id not in matching]
    assert (len(others), len(set(others))) == (80, 40)


def test_a_hard_negative_differs_from_a_match_by_one_edge() -> None:
    tables = generate_filter(3, **{**SMALL, "matches": 0}, hard_negatives=1.0, variable_share=0.0)
    known = set(
        zip(*(tables["publications"][name].to_pylist() for name in ("subject", "property", "object")), strict=True)
    )
    missing: dict[str, int] = {}
    for id, *edge in _rows(tables["patterns"], "subject", "property", "object"):
        missing[id] = missing.get(id, 0) + (tuple(edge) not in known)
    assert set(missing.values()) == {1}


def test_one_structure_is_one_pattern() -> None:
    tables = generate_filter(4, **SMALL, one_structure=True)
    shapes: dict[str, set[tuple[str, ...]]] = {}
    for id, *edge in _rows(tables["patterns"], "subject", "property", "object"):
        shapes.setdefault(id, set()).add(tuple(edge))
    assert len({frozenset(shape) for shape in shapes.values()}) == 1
    assert tables["constraints"].num_rows == 2 * 120


def test_ranges_of_one_structure_are_one_or_two_sided_and_differ() -> None:
    tables = generate_filter(4, **{**SMALL, "subscriptions": 400}, one_structure=True, one_sided=0.5)
    ends: dict[str, set[tuple[str, ...]]] = {}
    for id, *end in _rows(tables["constraints"], "operator", "value"):
        ends.setdefault(id, set()).add(tuple(end))
    assert [sum(len(each) == sides for each in ends.values()) for sides in (1, 2)] == [200, 200]
    assert len({frozenset(each) for each in ends.values()}) == 400
    matching = {id for (id,) in _rows(tables["expected"]) if len(ends[id]) == 1}
    assert {next(iter(ends[id]))[0] for id in matching} == {">=", "<="}
    assert tables["expected"].num_rows == 5 * 8


def test_half_of_the_variables_ask_for_a_class() -> None:
    tables = generate_filter(6, **SMALL, classes=200, is_a=0.5)
    asked = _rows(tables["constraints"], "variable", "operator")
    assert len(asked) == len(set(asked)) == 108  # of 2 variables in 108 of 120 subscriptions
    children = tables["taxonomy"]["child"].to_pylist()
    assert max(map(children.count, children)) == 2


def test_a_seed_decides_everything() -> None:
    options = {**SMALL, "classes": 9, "constraints": 0.5, "hard_negatives": 0.2}
    one, same, other = (generate_filter(seed, **options) for seed in (7, 7, 8))
    assert all(one[name].equals(same[name]) for name in one)
    assert not one["patterns"].equals(other["patterns"])


@pytest.mark.parametrize(
    "options",
    [
        {"nodes": 3},
        {"overlap": 1.5},
        {"matches": -1},
        {"drawing": "circular"},
        {"variables": 4},
        {"subscription_nodes": 1},
        {"subscription_nodes": 31, "subscription_edges": 40},
        {"publication_edges": 20},
        {"matches": 1000},
        {"one_sided": -0.1},
        {"one_structure": True, "one_sided": 0.5, "publications": 1, "matches": 100},
        {"labels": 29},
        {"properties": 1},
        {**ALIKE, "matches": 1},
        {**ALIKE, "matches": 0},
        {**ALIKE, "matches": 0, "hard_negatives": 1.0},
    ],
)
def test_impossible_parameters_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError) as raised:
        generate_filter(0, **{**SMALL, **options})
    assert raised.value.fix


def test_a_small_workload_needs_no_other_options() -> None:
    tables = generate_filter(3, subscriptions=40, publications=5)
    assert tables["expected"].num_rows == 20
