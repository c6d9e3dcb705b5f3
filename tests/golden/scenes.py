"""Commands whose whole output was frozen: seeded workloads and the examples, through the command line.

`python -m tests.golden.scenes` writes the outputs anew into `outputs/`; a change of one must be meant, and say why.
"""

from __future__ import annotations

import hashlib
import io
import json
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

from typer.testing import CliRunner

ROOT = Path(__file__).resolve().parents[2]
OUTPUTS = Path(__file__).parent / "outputs"

_FILTER = "generate filter --seed 7 --subscriptions 600 --publications 25 --labels 60 --properties 9"
_WATCH = "generate watch --seed 7 --vertices 60 --updates 1500 --queries 120 --matching 0.5"
_VARIABLES = f"{_WATCH} --vertices 300 --variables --structures 20 --form select --edges 2"
_MIXED = "tests/golden/mixed"

# What is generated first, and the command; {0} is the folder of what was generated.
SCENES: dict[str, tuple[str, str]] = {
    "filter": (_FILTER, "filter --patterns {0}/patterns.parquet --publications {0}/publications.parquet"),
    "filter-bindings": (
        f"{_FILTER} --constraints 0.5 --classes 12",
        "filter --patterns {0}/patterns.parquet --constraints {0}/constraints.parquet --taxonomy {0}/taxonomy.parquet"
        " --publications {0}/publications.parquet --bindings 2",
    ),
    "filter-feeds": (
        "",
        "filter --subscriptions examples/feed-alerts/queries --publications examples/feed-alerts/feeds",
    ),
    "watch": (
        f"{_WATCH} --deletions 0.2 --duplicates 0.1",
        "watch --subscriptions {0}/subscriptions.parquet --updates {0}/updates.parquet",
    ),
    "watch-variables": (
        f"{_VARIABLES} --deletions 0.2",
        "watch --graph {0}/graph.parquet --subscriptions {0}/subscriptions.parquet --updates {0}/updates.parquet"
        " --mode each --witness",
    ),
    "watch-window": (
        _VARIABLES,
        "watch --graph {0}/graph.parquet --subscriptions {0}/subscriptions.parquet --updates {0}/updates.parquet"
        " --window-updates 100",
    ),
    "watch-mixed": ("", f"watch --subscriptions {_MIXED}/queries.csv --updates {_MIXED}/updates.csv --window 3h"),
    "watch-mixed-initial": (
        "",
        f"watch --subscriptions {_MIXED}/queries.csv --updates {_MIXED}/updates.csv --graph {_MIXED}/graph.nt"
        " --initial --witness",
    ),
    "watch-fraud": (
        "",
        "watch --subscriptions examples/fraud-ring/rings.csv --updates examples/fraud-ring/payments.csv",
    ),
    "route": (
        "generate route --seed 7 --scale 0.03 --events 12",
        "route --nodes {0}/nodes.parquet --edges {0}/edges.parquet --events {0}/events.parquet",
    ),
    "route-rank": (
        "generate route --seed 8 --scale 0.03 --events 12 --selectivity 0.5",
        "route --nodes {0}/nodes.parquet --edges {0}/edges.parquet --events {0}/events.parquet --subscribers-only"
        " --rank cost --limit 5",
    ),
    "route-on-call": (
        "",
        "route --nodes examples/on-call/nodes.csv --edges examples/on-call/edges.csv"
        " --events examples/on-call/alerts.ndjson --paths",
    ),
    "lint": (
        f"{_FILTER} --constraints 0.8",
        "lint --patterns {0}/patterns.parquet --constraints {0}/constraints.parquet",
    ),
}

STRATEGIES = {
    "filter": ("naive", "indexed"),
    "route": ("walk", "lanes"),
}
KEPT = 120  # lines; of longer outputs the first of them, the number of lines and a digest of all are kept


def play(name: str, folder: Path, *more: str) -> str:
    """The output of a scene; rejected items go to standard error and count too."""
    from heliograph.cli.main import app

    generated, command = SCENES[name]
    if generated:
        made = CliRunner().invoke(app, [*generated.split(), "--out", str(folder)])
        assert made.exit_code == 0, made.output
    result = CliRunner().invoke(app, [*command.format(folder).split(), *more])
    assert result.exit_code in (0, 3), (result.output, result.exception)
    return result.stdout.replace(str(folder), "FOLDER")


def frozen(output: str) -> str:
    """What is kept of an output."""
    lines = output.splitlines()
    if len(lines) <= KEPT:
        return output
    digest = hashlib.sha256(output.encode()).hexdigest()
    return "\n".join([*lines[:KEPT], json.dumps({"lines": len(lines), "sha256": digest})]) + "\n"


if __name__ == "__main__":
    import os
    import tempfile

    os.chdir(ROOT)
    OUTPUTS.mkdir(exist_ok=True)
    for scene in sys.argv[1:] or SCENES:
        with tempfile.TemporaryDirectory() as folder, redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            (OUTPUTS / f"{scene}.ndjson").write_text(frozen(play(scene, Path(folder))))
