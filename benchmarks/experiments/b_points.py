"""The points that the tables and figures of [B] share, what the paper prints beside them, and what is said of them."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence

from benchmarks.experiments.b_exchange import INDEX, OURS, PAPER, SETS, WALK, Setting, measured
from benchmarks.experiments.experiment import Outcome, Point, Run, Verdict, Word, X
from benchmarks.experiments.page import number

EVALUATE, SKIPPING, INDEX_BFS, BFS = PAPER
RUNNING = (*PAPER, WALK, OURS)
_SAME = 1.1  # a median within this factor of another takes no longer
_NEAR = 1.5  # averages of sets within this factor agree

CHECKED = "every algorithm reaches exactly the nodes that the workload's own fixpoint gives, for every event"
CHECKED_FIRST = "every first node is one that the event must reach"
NOTES = (
    "`general` is the evaluate of figure 6, which the paper measures; `scc-skip` is that of figure 8. Both, the index "
    "and the two baselines run in kernels on compiled predicates, as Heliograph does; `dag` and `dag-skip` need an "
    "exchange without cycles. All start from one batch of events that have been read and encoded."
)
NOTES_FIRST = (
    f"{NOTES} Events that reach nobody are left out. The paper's algorithms and the plain walk stop at the first node. "
    "Heliograph answers each event in a call of its own (`stream`), and what such a call takes before it walks is in "
    "its time; the paper's algorithms get all events in one call, and are spared that."
)

# Averages over 1,000 events, as printed in tables 2 and 3.
TABLE_2 = {
    "1/16": (693, 34, 3, 47),
    "1/8": (1_336, 83, 11, 127),
    "1/4": (3_081, 452, 125, 740),
    "1/2": (7_064, 1_756, 1_126, 3_310),
    "1": (11_086, 4_837, 4_837, 8_588),
}
TABLE_3 = {
    1: (2_751, 596, 166, 1_000),
    2: (5_489, 1_153, 320, 1_934),
    3: (8_263, 1_675, 466, 2_833),
    4: (10_968, 2_141, 593, 3_613),
    5: (13_677, 2_806, 782, 4_746),
}


# --- what is varied ---------------------------------------------------------------------------------------------


def selectivities(run: Run) -> Iterator[tuple[str, Setting]]:
    """Figures 12 to 14 and table 2: the same exchange, more and more of it valid."""
    for divisor in run["divisors"]:
        name = f"1/{divisor}" if divisor > 1 else "1"
        run.tell(f"selectivity {name}")
        yield name, Setting(run.seed, run["scale"], 1 / divisor, run["events"], run["repeats"])


def sizes(run: Run) -> Iterator[tuple[int, Setting]]:
    """Figures 15 and 16 and table 3: larger and larger exchanges at one selectivity."""
    for times in run["times"]:
        run.tell(f"× {times}")
        yield times, Setting(run.seed, run["scale"] * times, 1 / run["divisor"], run["events"], run["repeats"])


# --- points -----------------------------------------------------------------------------------------------------


def time_points(x: X, given: Setting, names: Sequence[str]) -> Iterator[Point]:
    """Milliseconds an event by some of the algorithms."""
    found = measured(given)
    averages = {name: round(mean.value, 1) for name, mean in found.sets.items()}
    for name in names:
        yield Point(name, x, found.times[name], averages)


def first_points(x: X, given: Setting) -> Iterator[Point]:
    """Milliseconds to the first node by every algorithm, over the events that reach one."""
    found = measured(given)
    for name, samples in found.first.items():
        yield Point(name, x, samples, {"events": found.reaching})


def set_points(x: X, given: Setting, printed: Sequence[float]) -> Iterator[Point]:
    """The averages of the sets beside the paper's."""
    found = measured(given)
    for name, figure in zip(SETS, printed, strict=True):
        mean = found.sets[name]
        yield Point(f"{name}, paper", x, [figure])
        yield Point(name, x, [mean.value], {"standard error": round(mean.error, 1), "events": given.events})


# --- judging ----------------------------------------------------------------------------------------------------


def ratios(outcome: Outcome, one: str, other: str) -> list[float]:
    """The one's time over the other's, at each place."""
    return [outcome.at(one, x) / outcome.at(other, x) for x in outcome.xs]


def span(values: Sequence[float]) -> str:
    """The least and the greatest, unless they read the same."""
    low, high = number(min(values)), number(max(values))
    return low if low == high else f"{low} to {high}"


def judge_sets(outcome: Outcome) -> Verdict:
    """Reproduced: every average within a factor of 1.5 of the printed one; different: fewer than half of them are.

    The error of an average is told but does not decide: else fewer events would agree better.
    """
    found = {name: ratios(outcome, name, f"{name}, paper") for name in SETS}
    every = [ratio for values in found.values() for ratio in values]
    far = [point for name in SETS for point in outcome.line(name) if not _is_near(outcome, point)]
    near, within = len(every) - len(far), sum(_is_within_error(outcome, point) for point in far)
    word = Word.PARTLY if far else Word.REPRODUCED
    if near * 2 < len(every):
        word = Word.DIFFERENT
    each = ", ".join(f"{name} {span(values)}" for name, values in found.items())
    sentence = (
        f"{near} of {len(every)} averages lie within a factor of {_NEAR} of the printed ones, {within} of the others "
        f"within two standard errors; as shares of the printed ones they are {each}, the median "
        f"{statistics.median(every):.2f}."
    )
    return Verdict(word, sentence)


def _is_near(outcome: Outcome, point: Point) -> bool:
    printed = outcome.at(f"{point.series}, paper", point.x)
    return printed / _NEAR <= point.median <= printed * _NEAR


def _is_within_error(outcome: Outcome, point: Point) -> bool:
    printed = outcome.at(f"{point.series}, paper", point.x)
    return abs(point.median - printed) <= 2 * float(point.facts["standard error"])


def judge_against_index(outcome: Outcome) -> Verdict:
    """Whether evaluate takes no longer than the index baseline, everywhere or anywhere, and what the index takes."""
    against = ratios(outcome, EVALUATE, INDEX_BFS)
    held = [ratio <= _SAME for ratio in against]
    word = Word.REPRODUCED if all(held) else Word.PARTLY if any(held) else Word.DIFFERENT
    sentence = (
        f"Evaluate takes {span(against)} times as long as the index baseline, and the index alone "
        f"{span(ratios(outcome, INDEX, EVALUATE))} of that; skipping components takes "
        f"{span(ratios(outcome, SKIPPING, EVALUATE))} times as long as evaluate, walking without an index "
        f"{span(ratios(outcome, BFS, EVALUATE))}, heliograph {span(ratios(outcome, OURS, EVALUATE))}."
    )
    return Verdict(word, sentence)
