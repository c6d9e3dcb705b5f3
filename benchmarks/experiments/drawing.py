"""A figure as PNG and SVG. The same record gives the same bytes, so a drawing changes only when figures do."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from benchmarks.experiments.experiment import Outcome, Point
from benchmarks.experiments.record import Record

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#8c6d31", "#7f7f7f")
MARKS = "osD^vP*Xd"
_SETTINGS: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "heliograph",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.3,
    "legend.frameon": False,
}


def draw(record: Record, folder: Path) -> None:
    """Writes NAME.png and NAME.svg."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    with pyplot.rc_context(_SETTINGS):
        figure, axes = pyplot.subplots(figsize=(7.2, 4.0), layout="constrained")
        _lines(axes, record)
        _axes(axes, record)
        figure.savefig(folder / f"{record.name}.png", dpi=110, metadata={"Software": None})
        figure.savefig(folder / f"{record.name}.svg", metadata={"Date": None})
        pyplot.close(figure)


def _lines(axes: Any, record: Record) -> None:
    outcome = record.outcome
    places = _places(outcome)
    for number, series in enumerate(outcome.series):
        line = outcome.line(series)
        style = {"color": COLOURS[number % len(COLOURS)], "marker": MARKS[number % len(MARKS)], "markersize": 4}
        axes.errorbar(
            [places[point.x] for point in line],
            [point.median for point in line],
            yerr=[*zip(*map(_reach, line), strict=True)] if any(len(point.samples) > 1 for point in line) else None,
            label=_label(record, outcome, series),
            linewidth=1.4,
            elinewidth=0.8,
            capsize=2,
            **style,
        )


def _reach(point: Point) -> tuple[float, float]:
    """How far the repeats lie below and above the median."""
    return point.median - min(point.samples), max(point.samples) - point.median


def _label(record: Record, outcome: Outcome, series: str) -> str:
    if not record.facts["fitted"] or len(outcome.line(series)) < 2:
        return series
    return f"{series}: ∝ x^{outcome.exponent(series):.2f}"


def _places(outcome: Outcome) -> dict[Any, float]:
    """Where each x stands: numbers at their value, names one after the other."""
    if all(isinstance(x, (int, float)) for x in outcome.xs):
        return {x: float(x) for x in outcome.xs}
    return {x: float(number) for number, x in enumerate(outcome.xs)}


def _decades(low: float, high: float) -> tuple[float, float]:
    """Limits that hold at least a power of ten, so that a flat line looks flat."""
    return (low, high) if high > 10 * low else (10 ** math.floor(math.log10(low)), 10 ** math.ceil(math.log10(high)))


def _axes(axes: Any, record: Record) -> None:
    x, y = record.x, record.y
    axes.set_xlabel(x.text)
    axes.set_ylabel(y.text)
    named = _places(record.outcome)
    if any(isinstance(each, str) for each in named):
        axes.set_xticks(list(named.values()), [str(each) for each in named])
    elif x.log:
        axes.set_xscale("log")
    if y.log:
        axes.set_yscale("log")
        axes.set_ylim(*_decades(*axes.get_ylim()))
    else:
        axes.set_ylim(bottom=0)
    axes.set_title(f"{record.facts['paper']}: {record.facts['title']} ({record.facts['scale']} scale)", fontsize=9)
    many = len(record.outcome.series) > 3
    axes.legend(fontsize=8, **({"loc": "center left", "bbox_to_anchor": (1.01, 0.5)} if many else {}))
