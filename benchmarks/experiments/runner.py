"""Runs experiments one after the other, and writes record, drawing and page as soon as each is done."""

from __future__ import annotations

import importlib
import pkgutil
import time
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path

from benchmarks import figures
from benchmarks.experiments.drawing import draw
from benchmarks.experiments.experiment import Experiment, Point, Run, Scale
from benchmarks.experiments.page import CHAPTERS, chapter, write_page
from benchmarks.experiments.record import FOLDER, Record, in_order
from heliograph.spark.environment import find_java


def experiments() -> dict[str, Experiment]:
    """All of them by name, chapter by chapter."""
    names = sorted(module.name for module in pkgutil.iter_modules(figures.__path__))
    modules = [importlib.import_module(f"{figures.__name__}.{name}") for name in names]
    found = [each for module in modules for each in vars(module).values() if isinstance(each, Experiment)]
    order = list(CHAPTERS)
    return {
        each.name: each
        for each in sorted(found, key=lambda each: (order.index(chapter(each.name)), in_order(each.name)))
    }


def chosen(names: Sequence[str]) -> list[Experiment]:
    """Those of these names or chapters; raises KeyError for a name that nothing has."""
    known = experiments()
    for name in names:
        if name not in known and name not in CHAPTERS:
            raise KeyError(name)
    return [each for each in known.values() if not names or {each.name, chapter(each.name)} & set(names)]


def missing(experiment: Experiment) -> str | None:
    """What this machine lacks for it."""
    for need in experiment.needs:
        if need == "java":
            if find_java() is None:
                return "Java"
        elif find_spec(need) is None:
            return need
    return None


def measure(experiment: Experiment, run: Run) -> Iterator[Point]:
    """Its points as they come; a measurement without any is a mistake in it."""
    count = 0
    for point in experiment.measure(run):
        count += 1
        yield point
    if not count:
        raise ValueError(f"{experiment.name} measured nothing")


def perform(experiment: Experiment, scale: Scale, run: Run, out: Path) -> Record:
    """Measures, and writes what was found."""
    started = time.perf_counter()
    points = list(measure(experiment, run))
    record = Record.of(experiment, scale, run.seed, points, time.perf_counter() - started)
    record.write(out / FOLDER)
    if not experiment.table:
        draw(record, out / FOLDER)
    write_page(out)
    return record
