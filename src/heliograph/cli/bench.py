"""`heliograph bench`: the experiments of the papers, the peers and growth; with `--check`, a speed table."""

from __future__ import annotations

import importlib
import json
import os
import platform
import sys
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from heliograph import __version__
from heliograph.cli.main import show_pandas
from heliograph.errors import SetupError, UsageError

if TYPE_CHECKING:
    from benchmarks.check import Outcome, Row
    from benchmarks.experiments.experiment import Experiment
    from benchmarks.experiments.record import Record


# --- `--check`: a speed table of the source tree, with what was measured beside each target ---


def check_speed(table: str, seed: int, out: Path | None) -> None:
    """Runs every row of one speed table; exits with 1 where a row fails."""
    tables = speed_tables()
    if table not in tables:
        raise UsageError("HG-007", f"no speed table {table!r}", fix=f"there are: {', '.join(tables)}")
    from benchmarks.check import run

    print(f"{table}: heliograph {__version__}, Python {platform.python_version()}, {_machine()}, seed {seed}")
    print(_line("row", "workload", "measured", "spread", "target", "pass"), flush=True)
    outcomes = []
    for outcome in run(tables[table], seed):
        outcomes.append(outcome)
        print(_outcome_line(outcome), flush=True)
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


def _machine() -> str:
    return f"{os.cpu_count()} cores, {platform.machine()}, {platform.system()}"


def _outcome_line(outcome: Outcome) -> str:
    row = outcome.row
    measured = f"{outcome.measured:{',.0f' if outcome.measured >= 1000 else ',.4g'}} {row.unit}"
    passed = "–" if row.target is None else "yes" if outcome.passed else "NO"
    return _line(row.name, row.workload, measured, f"{outcome.spread:.0%}", row.target_text, passed)


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


# --- the experiments ---

_OUT = Path("benchmarks/out")


class Scale(StrEnum):
    """How large the experiments are; the same words as theirs."""

    SMALL = "small"
    PAPER = "paper"
    LARGE = "large"


def bench(
    names: Annotated[
        list[str] | None, typer.Argument(help="Experiments, or chapters: g r z b peers growth; none means all.")
    ] = None,
    check: Annotated[str | None, typer.Option(help="Run every row of one speed table and fail if a row fails.")] = None,
    scale: Annotated[
        Scale, typer.Option(help="small: minutes for all; paper: the papers' own parameters; large: beyond.")
    ] = Scale.SMALL,
    seed: Annotated[int, typer.Option(help="Seed of the workloads.")] = 1,
    out: Annotated[
        Path | None, typer.Option(help=f"Folder for page, drawings and JSON; {_OUT} unless given.", show_default=False)
    ] = None,
    list_only: Annotated[bool, typer.Option("--list", help="List what there is; run nothing.")] = False,
) -> None:
    """Run the papers' tables and figures again, beside ours; or check a speed table."""
    if list_only:
        for experiment in _chosen([]):
            print(f"{experiment.name:<24} {experiment.paper:<18} {experiment.title}")
        print_rows()
    elif check:
        check_speed(check, seed, out)
    else:
        _run_experiments(_chosen(names or []), scale, seed, out or _OUT)


def _chosen(names: list[str]) -> list[Experiment]:
    running = from_source_tree("benchmarks.experiments.runner")
    try:
        chosen: list[Experiment] = running.chosen(names)
    except KeyError as unknown:
        fix = "see `heliograph bench --list`; a speed table is run by --check"
        raise UsageError("HG-007", f"no experiment {unknown.args[0]!r}", fix=fix) from None
    return chosen


def _run_experiments(chosen: list[Experiment], scale: Scale, seed: int, out: Path) -> None:
    show_pandas()  # some run on Spark
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise SetupError("HG-904", "no matplotlib to draw with", fix="run `make bench` in a source tree") from None
    for number, experiment in enumerate(chosen, 1):
        _run_one(experiment, scale, seed, out, f"{number} of {len(chosen)}")
    print(f"{out / 'experiments.md'}: page, drawings and JSON of what was run")


def _run_one(experiment: Experiment, scale: Scale, seed: int, out: Path, place: str) -> None:
    from benchmarks.experiments.experiment import Run
    from benchmarks.experiments.experiment import Scale as Size
    from benchmarks.experiments.runner import missing, perform

    print(f"\n{experiment.name} ({place}), {experiment.paper}: {experiment.title}", flush=True)
    lacking = missing(experiment)
    if lacking:
        print(f"  not run: {lacking} is not there", flush=True)
        return
    size = Size(scale)
    record = perform(experiment, size, Run(seed, experiment.at(size), _show_step), out)
    if sys.stderr.isatty():
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)
    _print(record)


def _print(record: Record) -> None:
    from benchmarks.experiments.page import grid

    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in grid(record)]
    wide = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    print(f"  {record.y.text} by {record.x.text}; medians of all repeats, ± half their range")
    for row in rows[:1] + rows[2:]:
        print("  " + "  ".join(cell.rjust(width) for cell, width in zip(row, wide, strict=True)))
    print(f"  {record.verdict.word}: {record.verdict.sentence} [{record.facts['seconds']:g} s]", flush=True)


def _show_step(text: str) -> None:
    """What is being done, on one line of a terminal."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K  {text} …", end="", file=sys.stderr, flush=True)
