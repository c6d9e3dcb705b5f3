"""[R] figure 9(f): time to insert a subscription against how many there are."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from benchmarks.experiments.claims import judged
from benchmarks.experiments.experiment import Axis, Experiment, Outcome, Point, Run, Scale, Verdict
from benchmarks.experiments.filter_options import options
from benchmarks.experiments.r_workload import NOTES, OVERLAP, SECTION_5, drawn
from benchmarks.filter_workloads import Tables, check, numbers
from benchmarks.planned import load
from heliograph import Filter

SAMPLES = 5
SCHEMES: Mapping[str, dict[str, Any]] = {
    "without": {"partition": "hash", "shards": 1},
    "containment": {"partition": "containment", "shards": 1},
}


def measure(run: Run) -> Iterator[Point]:
    tables = drawn(run.seed, options(run, subscriptions=max(run["subscriptions"])), run["contained"])
    for series, scheme in SCHEMES.items():
        run.tell(series)
        load(tables, scheme)  # once at once, so that everything is there before a clock runs
        taken = _inserted(tables, scheme, run["together"])
        for number in run["subscriptions"]:
            end = number // run["together"]
            yield Point(series, number, [seconds / run["together"] * 1e6 for seconds in taken[end - SAMPLES : end]])


def _inserted(tables: Tables, scheme: dict[str, Any], together: int) -> list[float]:
    """Seconds of the processor for so many subscriptions at a time; the answers are compared."""
    engine, taken = Filter(tables["taxonomy"], **scheme), []
    number = numbers(tables["patterns"]["subscription_id"]) // together
    for part in range(int(number.max()) + 1):
        rows = tables["patterns"].filter(pa.array(number == part))
        started = time.process_time()
        engine.subscribe(patterns=rows)
        taken.append(time.process_time() - started)
    check(engine.publish(tables["publications"]), tables["expected"])
    return taken


def judge(outcome: Outcome) -> Verdict:
    lines = (outcome.line(name) for name in ("containment", "without"))
    times = [slow.median / fast.median for slow, fast in zip(*lines, strict=True)]
    growth, slope = outcome.growth("containment"), outcome.exponent("containment")
    sentence = (
        f"With containment an insertion takes {min(times):.1f} to {max(times):.1f} times as long as without, and "
        f"{growth:.1f} times as long at the largest number as at the smallest: it grows to the power {slope:.2f}, "
        "where the paper's check is linear in the subscriptions."
    )
    return judged([min(times) > 1, growth > 1.2], sentence)


EXPERIMENT = Experiment(
    name="r-9f",
    paper="[R] fig. 9 (f)",
    title="insertion time against the number of subscriptions",
    statement=(
        "An insertion takes longer with containment than without any indexing, and longer the more subscriptions "
        "there are, for a fixed ratio of overlap."
    ),
    checked="every plan, made step by step, notifies as the workload must be answered",
    x=Axis("subscriptions"),
    y=Axis("time a subscription", "µs"),
    parameters={
        Scale.SMALL: {
            **SECTION_5,
            "subscriptions": [1_000, 2_000, 3_000, 4_000],
            "contained": OVERLAP,
            "match_share": 0.001,
            "publications": 10,
            "together": 100,
        },
        Scale.PAPER: {
            **SECTION_5,
            "subscriptions": [20_000, 40_000, 60_000, 80_000, 100_000],
            "contained": OVERLAP,
            "match_share": 0.001,
            "publications": 100,
            "together": 200,
        },
    },
    measure=measure,
    judge=judge,
    fitted=True,
    notes=f"{NOTES} Processor time of `subscribe`, reading included; each repeat is the next `together` subscriptions.",
)
