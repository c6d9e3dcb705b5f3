"""`heliograph bench`: runs the speed tables of the source tree and prints what was measured beside each target."""

from __future__ import annotations

import importlib
import json
import os
import platform
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from heliograph._version import __version__
from heliograph.errors import SetupError, UsageError

if TYPE_CHECKING:
    from benchmarks.check import Outcome, Row


def bench(
    names: Annotated[list[str] | None, typer.Argument(help="Speed tables to run; none means all.")] = None,
    check: Annotated[str | None, typer.Option(help="Run every row of one speed table and fail if a row fails.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the workloads.")] = 1,
    out: Annotated[Path | None, typer.Option(help="Folder for the JSON of the run.")] = None,
    list_only: Annotated[
        bool, typer.Option("--list", help="List the speed tables and their rows; run nothing.")
    ] = False,
) -> None:
    """Measure: row, workload, measured, spread, target, pass."""
    tables = _chosen(_tables(), [check] if check else names or [])
    if list_only:
        _print_list(tables)
        return
    outcomes = {name: _run(name, rows, seed) for name, rows in tables.items()}
    if out:
        _write(out, outcomes, seed)
    if check and not all(outcome.passed for outcome in outcomes[check]):
        raise typer.Exit(1)


def _tables() -> Mapping[str, list[Row]]:
    """The speed tables; they live beside the package in the source tree, not in the wheel."""
    root = Path(__file__).resolve().parents[3]
    if not (root / "benchmarks" / "tables.py").is_file():
        raise SetupError(
            "HG-904", "the benchmarks are not part of the installed package", fix="run `make bench` in a source tree"
        )
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
    tables: Mapping[str, list[Row]] = importlib.import_module("benchmarks.tables").TABLES
    return tables


def _chosen(tables: Mapping[str, list[Row]], names: list[str]) -> dict[str, list[Row]]:
    unknown = [name for name in names if name not in tables]
    if unknown:
        raise UsageError("HG-007", f"no speed table {unknown[0]!r}", fix=f"there are: {', '.join(tables)}")
    return {name: tables[name] for name in names or tables}


def _print_list(tables: Mapping[str, list[Row]]) -> None:
    for name, rows in tables.items():
        for row in rows:
            print(f"{name:<12} {row.name:<34} {row.target_text:<22} {row.workload}")


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


def _write(folder: Path, outcomes: Mapping[str, list[Outcome]], seed: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, rows in outcomes.items():
        document = {
            "table": name,
            "version": __version__,
            "python": platform.python_version(),
            "machine": _machine(),
            "seed": seed,
            "rows": [_record(outcome) for outcome in rows],
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
