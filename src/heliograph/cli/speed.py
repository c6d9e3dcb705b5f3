"""`heliograph bench --check`: runs a speed table of the source tree and prints what was measured beside each target."""

from __future__ import annotations

import importlib
import json
import os
import platform
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from heliograph._version import __version__
from heliograph.errors import SetupError, UsageError

if TYPE_CHECKING:
    from benchmarks.check import Outcome, Row


def check_speed(table: str, seed: int, out: Path | None) -> None:
    """Runs every row of one speed table; exits with 1 where a row fails."""
    rows = _chosen(speed_tables(), table)
    outcomes = _run(table, rows, seed)
    if out:
        _write(out, table, outcomes, seed)
    if not all(outcome.passed for outcome in outcomes):
        raise typer.Exit(1)


def print_rows() -> None:
    """The speed tables and their rows; runs nothing."""
    for name, rows in speed_tables().items():
        for row in rows:
            print(f"--check {name:<12} {row.name:<34} {row.target_text:<22} {row.workload}")


def speed_tables() -> Mapping[str, list[Row]]:
    tables: Mapping[str, list[Row]] = from_source_tree("benchmarks.tables").TABLES
    return tables


def from_source_tree(module: str) -> Any:
    """A module of the benchmarks; they live beside the package in the source tree, not in the wheel."""
    root = Path(__file__).resolve().parents[3]
    if not (root / "benchmarks" / "tables.py").is_file():
        raise SetupError(
            "HG-904", "the benchmarks are not part of the installed package", fix="run `make bench` in a source tree"
        )
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
    return importlib.import_module(module)


def _chosen(tables: Mapping[str, list[Row]], name: str) -> list[Row]:
    if name not in tables:
        raise UsageError("HG-007", f"no speed table {name!r}", fix=f"there are: {', '.join(tables)}")
    return tables[name]


def _run(name: str, rows: list[Row], seed: int) -> list[Outcome]:
    from benchmarks.check import run

    print(f"{name}: heliograph {__version__}, Python {platform.python_version()}, {_machine()}, seed {seed}")
    print(_line("row", "workload", "measured", "spread", "target", "pass"), flush=True)
    outcomes = []
    for outcome in run(rows, seed):
        outcomes.append(outcome)
        print(_outcome_line(outcome), flush=True)
    return outcomes


def _machine() -> str:
    return f"{os.cpu_count()} cores, {platform.machine()}, {platform.system()}"


def _outcome_line(outcome: Outcome) -> str:
    row = outcome.row
    measured = f"{outcome.measured:,.4g} {row.unit}"
    if outcome.measured >= 1000:
        measured = f"{outcome.measured:,.0f} {row.unit}"
    spread = f"{outcome.spread:.0%}"
    passed = "–" if row.target is None else "yes" if outcome.passed else "NO"
    return _line(row.name, row.workload, measured, spread, row.target_text, passed)


def _line(name: str, workload: str, measured: str, spread: str, target: str, passed: str) -> str:
    return f"{name:<26} {workload:<58} {measured:>20} {spread:>7} {target:>22} {passed:>5}"


def _write(folder: Path, name: str, outcomes: list[Outcome], seed: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    document = {
        "table": name,
        "version": __version__,
        "python": platform.python_version(),
        "machine": _machine(),
        "seed": seed,
        "rows": [_record(outcome) for outcome in outcomes],
    }
    (folder / f"{name}.json").write_text(json.dumps(document, indent=2) + "\n")


def _record(outcome: Outcome) -> dict[str, Any]:
    row = outcome.row
    return {
        "row": row.name,
        "workload": row.workload,
        "unit": row.unit,
        "samples": outcome.samples,
        "median": outcome.measured,
        "target": row.target,
        "at_least": row.at_least,
        "passed": outcome.passed,
    }
