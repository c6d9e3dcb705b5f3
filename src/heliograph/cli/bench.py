"""`heliograph bench`: the experiments of the papers, the peers and growth; with `--check`, a speed table."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from heliograph.cli.hiding import show_pandas
from heliograph.cli.speed import check_speed, from_source_tree, print_rows
from heliograph.errors import SetupError, UsageError

if TYPE_CHECKING:
    from benchmarks.experiments.experiment import Experiment
    from benchmarks.experiments.record import Record

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
        Path | None, typer.Option(help=f"Folder for page, drawings and JSON; {_OUT} unless told.", show_default=False)
    ] = None,
    list_only: Annotated[bool, typer.Option("--list", help="List what there is; run nothing.")] = False,
) -> None:
    """Run the papers' tables and figures again, beside ours; or check a speed table."""
    if list_only:
        _print_experiments()
        print_rows()
    elif check:
        check_speed(check, seed, out)
    else:
        _run_experiments(_chosen(names or []), scale, seed, out or _OUT)


def _chosen(names: list[str]) -> list[Experiment]:
    running = from_source_tree("benchmarks.experiments.running")
    try:
        chosen: list[Experiment] = running.chosen(names)
    except KeyError as unknown:
        fix = "see `heliograph bench --list`; a speed table is run by --check"
        raise UsageError("HG-007", f"no experiment {unknown.args[0]!r}", fix=fix) from None
    return chosen


def _print_experiments() -> None:
    for experiment in _chosen([]):
        print(f"{experiment.name:<24} {experiment.paper:<18} {experiment.title}")


def _run_experiments(chosen: list[Experiment], scale: Scale, seed: int, out: Path) -> None:
    show_pandas()  # some run on Spark
    _check_drawing()
    for number, experiment in enumerate(chosen, 1):
        _run(experiment, scale, seed, out, f"{number} of {len(chosen)}")
    print(f"{out / 'experiments.md'}: page, drawings and JSON of what was run")


def _check_drawing() -> None:
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise SetupError("HG-904", "no matplotlib to draw with", fix="run `make bench` in a source tree") from None


def _run(experiment: Experiment, scale: Scale, seed: int, out: Path, place: str) -> None:
    from benchmarks.experiments.experiment import Run
    from benchmarks.experiments.experiment import Scale as Size
    from benchmarks.experiments.running import missing, perform

    print(f"\n{experiment.name} ({place}), {experiment.paper}: {experiment.title}", flush=True)
    lacking = missing(experiment)
    if lacking:
        print(f"  not run: {lacking} is not there", flush=True)
        return
    size = Size(scale)
    record = perform(experiment, size, Run(seed, experiment.at(size), _tell), out)
    _clear()
    _print(record)


def _print(record: Record) -> None:
    from benchmarks.experiments.page import grid

    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in grid(record)]
    wide = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    print(f"  {record.y.text} by {record.x.text}; medians of all repeats, ± half their range")
    for row in rows[:1] + rows[2:]:
        print("  " + "  ".join(cell.rjust(width) for cell, width in zip(row, wide, strict=True)))
    print(f"  {record.verdict.word}: {record.verdict.sentence} [{record.facts['seconds']:g} s]", flush=True)


def _tell(text: str) -> None:
    """What is being done, on one line of a terminal."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K  {text} …", end="", file=sys.stderr, flush=True)


def _clear() -> None:
    if sys.stderr.isatty():
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)
