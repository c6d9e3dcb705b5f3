"""`heliograph filter --shards … --partition …`: the same output as without, and what the statistics say of the plan."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.cli.files import CONSTRAINTS, MATCHES, PATTERNS, PUBLICATIONS, SUBSCRIPTIONS, save


@pytest.mark.parametrize("partition", ["hash", "containment", "merging"])
def test_the_same_answer(run: Run, partition: str) -> None:
    subscriptions, publications = save(SUBSCRIPTIONS, "s.csv"), save(PUBLICATIONS, "p.csv")
    inputs = ("filter", "--subscriptions", subscriptions, "--publications", publications, "--bindings", "2")
    plain = run(*inputs)
    found = run(*inputs, "--shards", "2", "--partition", partition, "--stats", "stats.json")
    assert (found.code, found.pairs) == (0, MATCHES)
    assert found.rows == plain.rows
    stats = json.loads(Path("stats.json").read_text())
    assert stats["plan"]["partition"] == partition
    assert sum(stats["plan"]["shards"]) + stats["plan"]["front"] - stats["plan"]["mergers"] == stats["subscriptions"]
    assert stats["candidates"] >= stats["notifications"] == len(MATCHES)


def test_without_shards_there_is_no_plan(run: Run) -> None:
    subscriptions, publications = save(SUBSCRIPTIONS, "s.csv"), save(PUBLICATIONS, "p.csv")
    run("filter", "--subscriptions", subscriptions, "--publications", publications, "--stats", "stats.json")
    assert "plan" not in json.loads(Path("stats.json").read_text())


def test_patterns_by_merging_with_options(run: Run) -> None:
    inputs = ("--patterns", save(PATTERNS, "patterns.csv"), "--constraints", save(CONSTRAINTS, "constraints.csv"))
    options = ("--partition", "merging", "--merge-percentage", "50", "--max-false-positives", "1")
    found = run("filter", *inputs, "--publications", save(PUBLICATIONS, "p.csv"), *options)
    assert (found.code, found.pairs) == (0, MATCHES)


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (("--shards", "0"), 2, "--shards"),
        (("--partition", "luck"), 2, "--partition"),
        (("--merge-percentage", "50"), 2, "HG-032"),
        (("--shards", "2", "--max-false-positives", "5"), 2, "HG-032"),
        (("--shards", "2", "--partition", "merging", "--merge-percentage", "101"), 2, "--merge-percentage"),
        (("--shards", "2", "--algorithm", "naive"), 2, "HG-052"),
    ],
)
def test_what_is_refused(run: Run, options: tuple[str, ...], code: int, said: str) -> None:
    subscriptions, publications = save(SUBSCRIPTIONS, "s.csv"), save(PUBLICATIONS, "p.csv")
    found = run("filter", "--subscriptions", subscriptions, "--publications", publications, *options)
    assert found.code == code
    assert said in found.err
    assert found.out == ""
