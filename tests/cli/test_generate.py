"""`heliograph generate` writes what the verbs read, and the answer they must give."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyarrow import parquet

from tests.cli.conftest import Run

SMALL = {
    "filter": "--subscriptions 60 --publications 5 --matches 3 --constraints 0.5 --classes 20".split(),
    "watch": "--vertices 400 --updates 300 --queries 40 --deletions 0.1".split(),
    "route": "--scale 0.01 --events 4".split(),
}
OPTIONS = {
    "filter": ("patterns", "constraints", "publications", "taxonomy"),
    "watch": ("subscriptions", "updates"),
    "route": ("nodes", "edges", "events"),
}


@pytest.mark.parametrize("verb", SMALL)
def test_the_answer_is_the_expected_one(run: Run, verb: str) -> None:
    made = run("generate", verb, "--out", "w", "--seed", "7", *SMALL[verb])
    assert (made.code, made.out) == (0, "")
    assert f"next: heliograph {verb} " in made.err
    inputs = [argument for name in OPTIONS[verb] for argument in (f"--{name}", f"w/{name}.parquet")]
    answered = run(verb, *inputs, "--out", "n.parquet")
    assert (answered.code, answered.err) == (0, "")
    expected, found = parquet.read_table("w/expected.parquet"), parquet.read_table("n.parquet")
    assert expected.num_rows > 0
    columns = [name for name in ("subscription_id", "publication_id", "change") if name in expected.column_names]
    rows = [sorted(map(str, table.select(columns).to_pylist())) for table in (found, expected)]
    assert rows[0] == rows[1]


def test_the_same_seed_gives_the_same_files(run: Run) -> None:
    for folder, seed in (("a", "1"), ("b", "1"), ("c", "2")):
        run("generate", "route", "--out", folder, "--seed", seed, *SMALL["route"])
    a, b, c = (parquet.read_table(f"{folder}/events.parquet") for folder in "abc")
    assert a.equals(b)
    assert not a.equals(c)


def test_bad_parameters_are_usage(run: Run) -> None:
    assert run("generate", "route", "--out", "w", "--scale", "-1").code == 2
    assert run("generate", "nothing").code == 2
    Path("file").write_text("")
    assert run("generate", "route", "--out", "file", *SMALL["route"]).code == 2


def test_help_lists_the_parameters(run: Run) -> None:
    shown = run("generate", "filter", "--help").out
    assert "--publication-nodes" in shown
    assert "[default: 30]" in shown
