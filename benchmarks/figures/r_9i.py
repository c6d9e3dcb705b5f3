"""[R] figure 9(i): throughput against the size of the cluster."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.experiments import r_cluster, r_nodes
from benchmarks.experiments.claims import judged
from benchmarks.experiments.experiment import Axis, Experiment, Outcome, Point, Run, Scale, Verdict
from benchmarks.experiments.filter_options import options
from benchmarks.experiments.r_workload import NOTES, OVERLAP, SECTION_5, drawn
from benchmarks.filter_workloads import Tables
from benchmarks.planned import load

PARTITIONS = ("containment", "merging")
MATCHERS = {"RSS matcher": "rss", "heliograph": "indexed"}
PAPERS = {"containment": 2.0, "merging": 4.0}  # times the throughput of one node, in a cluster of 7
NEAR = 0.75  # of the paper's figure


def measure(run: Run) -> Iterator[Point]:
    tables = drawn(run.seed, options(run), run["contained"])
    yield from _reckoned(run, tables)
    for workers in run["workers"]:
        run.tell(f"Spark, {workers} at once")
        yield from _on_spark(run, tables, workers)


def scheme(run: Run, partition: str, shards: int) -> dict[str, Any]:
    merging = {"merging": {"percentage": run["percentage"]}} if partition == "merging" else {}
    return {"partition": partition, "shards": shards, **merging}


def _reckoned(run: Run, tables: Tables) -> Iterator[Point]:
    for size in run["clusters"]:
        for partition in PARTITIONS if size > 1 else (None,):
            run.tell(f"a cluster of {size}, {partition}")
            plan = load(tables, scheme(run, partition, size - 1)) if partition else None
            for name, algorithm in MATCHERS.items():
                batch = run["publications"] * (run["copies"] if name == "heliograph" else 1)
                found = (
                    r_nodes.alone(tables, algorithm, batch, run["repeats"], run.seed)
                    if plan is None
                    else r_nodes.reckoned(plan.case(batch, run.seed), algorithm, run["repeats"])
                )
                yield from _drawn(name, partition, size, found)


def _on_spark(run: Run, tables: Tables, workers: int) -> Iterator[Point]:
    with r_cluster.cluster(workers) as spark:
        for partition in PARTITIONS if workers > 1 else (None,):
            with TemporaryDirectory() as folder:
                divided = scheme(run, partition, workers) if partition else {}
                job = r_cluster.job(tables, divided, run["copies"], Path(folder))
                samples = r_cluster.on_spark(spark, job, run["repeats"], Path(folder))
            yield from _drawn("Spark", partition, workers, r_nodes.Reckoned(samples, {"published": job.published}))


def _drawn(name: str, partition: str | None, size: int, found: r_nodes.Reckoned) -> Iterator[Point]:
    """One node is where the lines of all partitions begin."""
    for each in (partition,) if partition else PARTITIONS:
        yield Point(f"{name}, {each}", size, found.samples, found.facts)


def judge(outcome: Outcome) -> Verdict:
    times = {name: outcome.growth(name) for name in outcome.series}
    paper = {partition: times[f"RSS matcher, {partition}"] for partition in PARTITIONS}
    clusters = [float(point.x) for point in outcome.line("RSS matcher, containment")]
    told = "; ".join(
        f"{name} {times[f'{name}, containment']:.1f} and {times[f'{name}, merging']:.1f} times"
        for name in ("RSS matcher", "heliograph", "Spark")
        if f"{name}, merging" in times
    )
    sentence = (
        f"A cluster of {clusters[-1]:.0f} has, with containment and with merging, so many times the throughput of "
        f"{clusters[0]:.0f} node: {told} (Spark at its largest, on the cores of one machine); {_limit(outcome)}."
    )
    enough = [paper[partition] >= NEAR * wanted for partition, wanted in PAPERS.items()]
    return judged([*enough, paper["merging"] > paper["containment"]], sentence)


def _limit(outcome: Outcome) -> str:
    """What is busiest in the largest cluster, which more nodes do not relieve if it is the front."""
    busiest = {
        name: outcome.line(name)[-1].facts.get("busiest") for name in outcome.series if not name.startswith("Spark")
    }
    bound = [name for name, place in busiest.items() if place == "front"]
    return (
        f"the front, which more nodes do not relieve, is the busiest in {len(bound)} of {len(busiest)} reckoned cases"
    )


EXPERIMENT = Experiment(
    name="r-9i",
    paper="[R] fig. 9 (i)",
    title="throughput against the size of the cluster",
    statement=(
        "With 100,000 subscriptions and 0.5 % matching, throughput rises with the number of nodes; 7 of them have "
        "400 % of one node's throughput with merging (70 %), and more than 200 % with containment."
    ),
    checked="what all nodes find together, and what Spark writes, are the notifications that the workload must give",
    x=Axis("nodes"),
    y=Axis("publications a second", log=True),
    parameters={
        Scale.SMALL: {
            **SECTION_5,
            "subscriptions": 2_000,
            "contained": OVERLAP,
            "match_share": 0.005,
            "percentage": 0.7,
            "clusters": [1, 2, 4, 7],
            "workers": [1, 2, 3],
            "publications": 20,
            "copies": 100,
            "repeats": 3,
        },
        Scale.PAPER: {
            **SECTION_5,
            "subscriptions": 100_000,
            "contained": OVERLAP,
            "match_share": 0.005,
            "percentage": 0.7,
            "clusters": [1, 2, 3, 5, 7],
            "workers": [1, 2, 3],
            "publications": 20,
            "copies": 500,
            "repeats": 3,
        },
    },
    measure=measure,
    judge=judge,
    notes=f"{NOTES} A cluster of n has n − 1 shards. {r_nodes.NOTES} {r_cluster.NOTES}",
    needs=("java",),
)
