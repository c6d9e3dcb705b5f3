"""[R] figure 10: throughput against the merge percentage."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.experiments import r_cluster, r_nodes
from benchmarks.experiments.claims import judged, span
from benchmarks.experiments.experiment import Axis, Experiment, Outcome, Point, Run, Scale, Verdict
from benchmarks.experiments.filter_options import options
from benchmarks.experiments.r_workload import NOTES, OVERLAP, SECTION_5, drawn
from benchmarks.filter_workloads import Tables
from benchmarks.planned import load

MATCHERS = {"RSS matcher": "rss", "heliograph": "indexed"}
ALONE = "one engine"
FOUR_TIMES = 3.0  # what counts as the paper's four times


def measure(run: Run) -> Iterator[Point]:
    tables = drawn(run.seed, options(run), run["contained"])
    yield from _alone(run, tables)
    for share in run["percentages"]:
        for shards in run["shards"]:
            run.tell(f"merging {share:.0%}, {shards} back-end nodes")
            yield from _reckoned(run, tables, share, shards)
    if run["workers"]:
        run.tell("Spark")
        yield from _on_spark(run, tables)


def _batch(run: Run, name: str) -> int:
    return int(run["publications"] * (run["copies"] if name == "heliograph" else 1))


def _alone(run: Run, tables: Tables) -> Iterator[Point]:
    """One engine knows of no percentage: it is the same at each."""
    for name, algorithm in MATCHERS.items():
        found = r_nodes.alone(tables, algorithm, _batch(run, name), run["repeats"], run.seed)
        for share in run["percentages"]:
            yield Point(f"{name}, {ALONE}", 100 * share, found.samples)


def _reckoned(run: Run, tables: Tables, share: float, shards: int) -> Iterator[Point]:
    plan = load(tables, _scheme(share, shards))
    for name, algorithm in MATCHERS.items():
        found = r_nodes.reckoned(plan.case(_batch(run, name), run.seed), algorithm, run["repeats"])
        yield Point(f"{name}, {shards} nodes", 100 * share, found.samples, found.facts)


def _scheme(share: float, shards: int) -> dict[str, Any]:
    return {"partition": "merging", "shards": shards, "merging": {"percentage": share}}


def _on_spark(run: Run, tables: Tables) -> Iterator[Point]:
    with r_cluster.cluster(run["workers"]) as spark:
        for share in run["percentages"]:
            with TemporaryDirectory() as folder:
                job = r_cluster.job(tables, _scheme(share, run["workers"]), run["copies"], Path(folder))
                samples = r_cluster.on_spark(spark, job, run["repeats"], Path(folder))
            yield Point(f"Spark, {run['workers']} at once", 100 * share, samples, {"published": job.published})


def judge(outcome: Outcome) -> Verdict:
    times = {name: outcome.last(name) / outcome.last(_one(name)) for name in outcome.series if "nodes" in name}
    growth = {name: outcome.growth(name) for name in times}
    paper = [name for name in times if name.startswith("RSS")]
    ours = [name for name in times if name.startswith("heliograph")]
    sentence = (
        f"At {outcome.xs[-1]:g} % the nodes with the RSS matcher have {span((times[name] for name in paper), '.1f')} "
        f"times the throughput of one engine and those of heliograph {span((times[name] for name in ours), '.1f')} "
        f"times; from the lowest to the highest percentage it goes to {span((growth[name] for name in paper), '.1f')} "
        f"and {span((growth[name] for name in ours), '.1f')} times, {_limit(outcome, list(times))}."
    )
    claims = [max(times[name] for name in paper) >= FOUR_TIMES, all(growth[name] > 1 for name in paper)]
    return judged(claims, sentence)


def _limit(outcome: Outcome, names: list[str]) -> str:
    """What is busiest at the highest percentage."""
    ends = [(outcome.line(name)[0].facts, outcome.line(name)[-1].facts) for name in names]
    bound = sum(last["busiest"] == "front" for _, last in ends)
    first, last = ends[0]
    return (
        f"where the front has {last['front']:,} patterns instead of {first['front']:,} and is the busiest node in "
        f"{bound} of {len(ends)} cases, since mergers are fewer but take longer each"
        if bound == len(ends) and last["front"] < first["front"] and max(map(outcome.growth, names)) < 1
        else f"where the front is the busiest node in {bound} of {len(ends)} cases"
    )


def _one(name: str) -> str:
    return f"{name.split(',')[0]}, {ALONE}"


EXPERIMENT = Experiment(
    name="r-10",
    paper="[R] fig. 10",
    title="throughput against the merge percentage",
    statement=(
        "With 100,000 subscriptions and 1 % matching, throughput rises with the merge percentage; at 90 % a cluster "
        "has 4 times the throughput of one engine. Drawn for one engine, 2 and 4 back-end nodes."
    ),
    checked="what all nodes find together, and what Spark writes, are the notifications that the workload must give",
    x=Axis("merge percentage", "%"),
    y=Axis("publications a second", log=True),
    parameters={
        Scale.SMALL: {
            **SECTION_5,
            "subscriptions": 1_500,
            "contained": OVERLAP,
            "match_share": 0.01,
            "percentages": [0.1, 0.5, 0.9],
            "shards": [2, 4],
            "workers": 2,
            "publications": 20,
            "copies": 100,
            "repeats": 3,
        },
        Scale.PAPER: {
            **SECTION_5,
            "subscriptions": 100_000,
            "contained": OVERLAP,
            "match_share": 0.01,
            "percentages": [0.1, 0.3, 0.5, 0.7, 0.9],
            "shards": [2, 4],
            "workers": 2,
            "publications": 20,
            "copies": 500,
            "repeats": 3,
        },
    },
    measure=measure,
    judge=judge,
    notes=f"{NOTES} {r_nodes.NOTES} {r_cluster.NOTES}",
    needs=("java",),
)
