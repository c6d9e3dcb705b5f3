"""The figures of [G]: G-ToPSS, filtering of graph-based metadata."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from benchmarks.experiments import filter_memory, filter_times
from benchmarks.experiments.claims import judged, linear, span
from benchmarks.experiments.experiment import Axis, Experiment, Outcome, Point, Run, Scale, Verdict
from benchmarks.experiments.filter_memory import MATRIX
from benchmarks.experiments.g_sizes import steps, touched
from benchmarks.experiments.g_workload import (
    ALL,
    NOTES,
    NUMBERS,
    PAPER,
    PAPER_NUMBERS,
    SIZES,
    SMALL,
    TIMED,
    TIMED_NOTES,
    named,
    sized,
)

# --- [G] figure 9(a): memory against the number of subscriptions --------------------------------------------------


STEADY = 1.75  # times the least: hash tables double now and then; a square or a root would give more


def measure_9a(run: Run) -> Iterator[Point]:
    return filter_memory.points(run, ALL, [(number, {"subscriptions": number}) for number in run["subscriptions"]])


def judge_9a(outcome: Outcome) -> Verdict:
    """What a further subscription takes is to be the same at every step; a process has costs before the first."""
    each = [
        (after.median - before.median) * 1024 / (float(after.x) - float(before.x))
        for before, after in pairwise(outcome.line("G-ToPSS"))
    ]
    ratio = outcome.last("G-ToPSS") / outcome.last("heliograph")
    sentence = (
        f"A further subscription takes G-ToPSS {span(each, '.1f')} KiB from step to step (as a power of the "
        f"number: {outcome.exponent('G-ToPSS'):.2f}); at the largest number it takes {ratio:.1f} times "
        "the memory of heliograph."
    )
    return judged([min(each) > 0 and max(each) <= STEADY * min(each)], sentence)


EXPERIMENT_9A = Experiment(
    name="g-9a",
    paper="[G] fig. 9 (a)",
    title="memory against the number of subscriptions",
    statement="Memory of G-ToPSS grows linearly: subscriptions of one size and a fixed overlap take the same each.",
    checked="every engine answers a batch as the workload must be answered before its memory counts",
    x=Axis("subscriptions"),
    y=Axis("memory", "MiB"),
    parameters={
        Scale.SMALL: {**SMALL, "subscriptions": NUMBERS, "publications": 5},
        Scale.PAPER: {**PAPER, "subscriptions": PAPER_NUMBERS, "publications": 5},
    },
    measure=measure_9a,
    judge=judge_9a,
    fitted=True,
    notes=(
        f"{NOTES} {filter_memory.NOTES} Judged by what a further subscription takes, not by the exponent as at first: "
        "what a process takes before the first subscription bends that."
    ),
)


# --- [G] figure 9(b): matching time against the number of subscriptions, of which a fixed share matches -----------


def measure_9b(run: Run) -> Iterator[Point]:
    return filter_times.points(run, ALL, [(number, {"subscriptions": number}) for number in run["subscriptions"]])


def judge_9b(outcome: Outcome) -> Verdict:
    slope, times = outcome.exponent("G-ToPSS"), outcome.last("G-ToPSS") / outcome.last("heliograph")
    line = outcome.line("G-ToPSS")
    touched = line[-1].facts["candidates"] / line[-1].facts["matches"]
    grows = all(before.median < after.median for before, after in pairwise(line))
    sentence = (
        f"The time of G-ToPSS {'rises at every step' if grows else 'does not rise at every step'}, as the number of "
        f"subscriptions to the power {slope:.2f}, and it touches {touched:,.0f} subscriptions for each that matches; "
        f"heliograph is {times:,.0f} times as fast at the largest number."
    )
    return judged([grows, linear(slope)], sentence)


EXPERIMENT_9B = Experiment(
    name="g-9b",
    paper="[G] fig. 9 (b)",
    title="matching time against the number of subscriptions",
    statement=(
        "With 0.1 % of the subscriptions matching, the time of G-ToPSS rises by the same amount for as many more of "
        "them, because matches become more by the same amount."
    ),
    checked="notifications of every algorithm are those that the workload must give",
    x=Axis("subscriptions"),
    y=Axis("time a publication", "ms", log=True),
    parameters={
        Scale.SMALL: {**SMALL, "subscriptions": NUMBERS, **TIMED},
        Scale.PAPER: {**PAPER, "subscriptions": PAPER_NUMBERS, **TIMED},
    },
    measure=measure_9b,
    judge=judge_9b,
    fitted=True,
    notes=TIMED_NOTES,
)


# --- [G] figure 9(c): memory against the overlap of subscriptions, of the union graph and of everything -----------


OVERLAPS = [0.0, 0.25, 0.5, 0.75, 0.95]
NOTICED = 0.95  # of the first: less of a change is not told from noise


def measure_9c(run: Run) -> Iterator[Point]:
    names = ["G-ToPSS", MATRIX, "heliograph"]
    return filter_memory.points(run, names, [(100 * share, {"overlap": share}) for share in run["overlap"]])


def judge_9c(outcome: Outcome) -> Verdict:
    matrix, whole, ours = (outcome.growth(name) for name in (MATRIX, "G-ToPSS", "heliograph"))
    sentence = (
        f"From {outcome.xs[0]:g} to {outcome.xs[-1]:g} % overlap the union graph goes to {matrix:.0%} of its memory, "
        f"everything to {whole:.0%}, and heliograph to {ours:.0%}: who holds an edge is still listed for each."
    )
    return judged([matrix < NOTICED, whole < NOTICED], sentence)


EXPERIMENT_9C = Experiment(
    name="g-9c",
    paper="[G] fig. 9 (c)",
    title="memory against the overlap of subscriptions",
    statement=(
        "The space of subscriptions shrinks as more of them overlap; drawn for the union graph (the matrix) and for "
        "the matrix together with the subscriptions themselves."
    ),
    checked="every engine answers a batch as the workload must be answered before its memory counts",
    x=Axis("subscriptions that repeat another's nodes and edges", "%"),
    y=Axis("memory", "MiB"),
    parameters={
        Scale.SMALL: {**SMALL, "overlap": OVERLAPS, "publications": 5},
        Scale.PAPER: {**PAPER, "overlap": OVERLAPS, "publications": 5},
    },
    measure=measure_9c,
    judge=judge_9c,
    notes=f"{NOTES} {filter_memory.NOTES} That of the matrix alone is counted by tracemalloc while edges are inserted.",
)


# --- [G] figure 9(d): memory against the size of subscriptions ----------------------------------------------------


def measure_9d(run: Run) -> Iterator[Point]:
    return filter_memory.points(run, ALL, [(named(size), sized(size)) for size in run["sizes"]])


def judge_9d(outcome: Outcome) -> Verdict:
    found = steps(outcome, "G-ToPSS")
    ours = steps(outcome, "heliograph")
    sentence = (
        f"Twice the edges take G-ToPSS {found.doubled:.2f} times the memory and heliograph {ours.doubled:.2f} times; "
        f"more nodes with as many edges {found.nodes:.2f} and {ours.nodes:.2f} times."
    )
    return judged([found.doubled > 1.25, found.doubled > found.nodes], sentence)


EXPERIMENT_9D = Experiment(
    name="g-9d",
    paper="[G] fig. 9 (d)",
    title="memory against the size of subscriptions",
    statement=(
        "The drawing has no sentence of its own; the analysis of the paper makes space grow with the edges, for each "
        "of which a subscription stands in a list, and not with the nodes."
    ),
    checked="every engine answers a batch as the workload must be answered before its memory counts",
    x=Axis("nodes and edges of a subscription"),
    y=Axis("memory", "MiB"),
    parameters={
        Scale.SMALL: {**SMALL, "sizes": SIZES, "publications": 5},
        Scale.PAPER: {**PAPER, "sizes": SIZES, "publications": 5},
    },
    measure=measure_9d,
    judge=judge_9d,
    notes=f"{NOTES} {filter_memory.NOTES}",
)


# --- [G] figure 9(e): matching time against the size of subscriptions ---------------------------------------------


DOUBLED = 1.6  # what counts as nearly twice the time
UNCHANGED = 0.25  # how far from once the time still counts as no effect


def measure_9e(run: Run) -> Iterator[Point]:
    varied = [(named(size), sized(size)) for size in run["sizes"]]
    return filter_times.points(run, ["OPS", "G-ToPSS", "heliograph"], varied)


def judge_9e(outcome: Outcome) -> Verdict:
    found = steps(outcome, "G-ToPSS")
    ours, met = steps(outcome, "heliograph"), touched(outcome, "G-ToPSS")
    sentence = (
        f"Twice the edges take G-ToPSS {found.doubled:.2f} times as long, more nodes with as many edges "
        f"{found.nodes:.2f} times, where it touches {met.doubled:.2f} and {met.nodes:.2f} times as many subscriptions; "
        f"heliograph takes {ours.doubled:.2f} and {ours.nodes:.2f} times as long."
    )
    return judged([found.doubled >= DOUBLED, abs(found.nodes - 1) <= UNCHANGED], sentence)


EXPERIMENT_9E = Experiment(
    name="g-9e",
    paper="[G] fig. 9 (e)",
    title="matching time against the size of subscriptions",
    statement="Twice the edges (from 4 to 8, say) take G-ToPSS nearly twice as long; how many nodes has no effect.",
    checked="notifications of every algorithm are those that the workload must give",
    x=Axis("nodes and edges of a subscription"),
    y=Axis("time a publication", "ms", log=True),
    parameters={
        Scale.SMALL: {**SMALL, "sizes": SIZES, **TIMED},
        Scale.PAPER: {**PAPER, "sizes": SIZES, **TIMED},
    },
    measure=measure_9e,
    judge=judge_9e,
    notes=TIMED_NOTES,
)


# --- [G] figure 9(f): matching time against the share of subscriptions that match ---------------------------------


SHARES = [0.001, 0.01, 0.03, 0.1]
QUICKLY = 2.0  # times as long at the end as at the beginning


def measure_9f(run: Run) -> Iterator[Point]:
    varied = [(round(100 * share, 3), {"match_share": share}) for share in run["match_share"]]
    return filter_times.points(run, ["OPS", "G-ToPSS", "heliograph"], varied)


def judge_9f(outcome: Outcome) -> Verdict:
    times, ours = outcome.growth("G-ToPSS"), outcome.growth("heliograph")
    sentence = (
        f"From {outcome.xs[0]:g} to {outcome.xs[-1]:g} % matching G-ToPSS takes {times:.1f} times as long, "
        f"{_each(outcome, 'G-ToPSS'):.1f} µs for each further match; heliograph {ours:.1f} times as long, "
        f"{_each(outcome, 'heliograph'):.2f} µs for each."
    )
    return judged([times >= QUICKLY], sentence)


def _each(outcome: Outcome, series: str) -> float:
    """Microseconds for each further match."""
    first, *_, last = outcome.line(series)
    further: float = last.facts["matches"] - first.facts["matches"]
    return 1e3 * (last.median - first.median) / further


EXPERIMENT_9F = Experiment(
    name="g-9f",
    paper="[G] fig. 9 (f)",
    title="matching time against the share that matches",
    statement="The time grows very quickly with the share of subscriptions that match: each needs its bindings joined.",
    checked="notifications of every algorithm are those that the workload must give",
    x=Axis("subscriptions that match", "%"),
    y=Axis("time a publication", "ms", log=True),
    parameters={
        Scale.SMALL: {**SMALL, "match_share": SHARES, **TIMED},
        Scale.PAPER: {**PAPER, "match_share": SHARES, **TIMED},
    },
    measure=measure_9f,
    judge=judge_9f,
    notes=TIMED_NOTES,
)


# --- [G] figure 9(g): G-ToPSS against OPS, where edges have many labels and where they have few -------------------


NAMES = ("OPS", "G-ToPSS", "heliograph")


def measure_9g(run: Run) -> Iterator[Point]:
    """With the generator's own number of labels, and with few."""
    yield from filter_times.points(run, NAMES, [(number, {"subscriptions": number}) for number in run["subscriptions"]])
    few = [(number, {"subscriptions": number, "properties": run["few_properties"]}) for number in run["subscriptions"]]
    for point in filter_times.points(run, NAMES, few):
        yield point._replace(series=f"{point.series}, few labels")


def judge_9g(outcome: Outcome) -> Verdict:
    """OPS is slower everywhere, and grows faster, in either setting."""
    claims, texts = [], []
    for few in ("", ", few labels"):
        lines = (outcome.line(f"{name}{few}") for name in NAMES[:2])
        times = [slow.median / fast.median for slow, fast in zip(*lines, strict=True)]
        slopes = [outcome.exponent(f"{name}{few}") for name in NAMES[:2]]
        claims += [min(times) > 1, slopes[0] > slopes[1]]
        texts.append(
            f"{span(times, '.1f')} times as long as G-ToPSS and grows as the number to the power "
            f"{slopes[0]:.2f} (G-ToPSS {slopes[1]:.2f})"
        )
    sentence = (
        f"With many edge labels OPS takes {texts[0]}; with few it takes {texts[1]}. "
        "How many labels the paper had is not said."
    )
    return judged(claims, sentence)


EXPERIMENT_9G = Experiment(
    name="g-9g",
    paper="[G] fig. 9 (g)",
    title="G-ToPSS against OPS",
    statement=(
        "OPS, which takes every node of a subscription for a variable, becomes slower very quickly with the number of "
        "subscriptions; G-ToPSS is always faster."
    ),
    checked="notifications of every algorithm are those that the workload must give",
    x=Axis("subscriptions"),
    y=Axis("time a publication", "ms", log=True),
    parameters={
        Scale.SMALL: {**SMALL, "subscriptions": NUMBERS, "few_properties": 5, **TIMED},
        Scale.PAPER: {**PAPER, "subscriptions": PAPER_NUMBERS, "few_properties": 5, **TIMED},
    },
    measure=measure_9g,
    judge=judge_9g,
    fitted=True,
    notes=(
        f"{TIMED_NOTES} [G] tells of OPS in words only; this is the classic algorithm of that description. Edges have "
        "one of 50 labels, the generator's own number; the setting with few was added once the first had contradicted "
        "the paper, to see what decides."
    ),
)


# --- [G] figure 9(h): OPS against asking one subscription after the other -----------------------------------------


FAR = 3.0  # times as long


def measure_9h(run: Run) -> Iterator[Point]:
    names = ["naive", "OPS", "heliograph"]
    return filter_times.points(run, names, [(number, {"subscriptions": number}) for number in run["subscriptions"]])


def judge_9h(outcome: Outcome) -> Verdict:
    times = [slow.median / fast.median for slow, fast in zip(*map(outcome.line, ("naive", "OPS")), strict=True)]
    sentence = (
        f"Asking one subscription after the other takes {span(times, '.1f')} times as long as OPS, and "
        f"{outcome.last('naive') / outcome.last('heliograph'):,.0f} times as long as heliograph at the largest number."
    )
    return judged([min(times) >= FAR, min(times) > 1], sentence)


EXPERIMENT_9H = Experiment(
    name="g-9h",
    paper="[G] fig. 9 (h)",
    title="OPS against naive",
    statement="OPS scales worse than G-ToPSS, but is far better than checking all subscriptions one after the other.",
    checked="notifications of every algorithm are those that the workload must give",
    x=Axis("subscriptions"),
    y=Axis("time a publication", "ms", log=True),
    parameters={
        Scale.SMALL: {**SMALL, "subscriptions": NUMBERS, **TIMED},
        Scale.PAPER: {**PAPER, "subscriptions": PAPER_NUMBERS, **TIMED},
    },
    measure=measure_9h,
    judge=judge_9h,
    fitted=True,
    notes=TIMED_NOTES,
)
