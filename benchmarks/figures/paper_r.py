"""The figures of [R]: filtering RSS documents on a cluster."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa

from benchmarks.experiments import filter_times, r_cluster, r_nodes
from benchmarks.experiments.claims import judged, linear, span
from benchmarks.experiments.experiment import Axis, Experiment, Outcome, Point, Run, Scale, Verdict
from benchmarks.experiments.filter_options import options
from benchmarks.experiments.r_front import MERGING, SERIES, front
from benchmarks.experiments.r_merging import PAPER, SMALL, sweep
from benchmarks.experiments.r_workload import NOTES, OVERLAP, SECTION_5, drawn
from benchmarks.filter_workloads import Tables, check, numbers
from benchmarks.partition_filters import load
from heliograph import Filter

# --- [R] figure 10: throughput against the merge percentage -------------------------------------------------------


MATCHERS_10 = {"RSS matcher": "rss", "heliograph": "indexed"}
ALONE_10 = "one engine"
FOUR_TIMES = 3.0  # what counts as the paper's four times


def measure_10(run: Run) -> Iterator[Point]:
    tables = drawn(run.seed, options(run), run["contained"])
    yield from _alone(run, tables)
    for share in run["percentages"]:
        for shards in run["shards"]:
            run.tell(f"merging {share:.0%}, {shards} back-end nodes")
            yield from _reckoned_10(run, tables, share, shards)
    if run["workers"]:
        run.tell("Spark")
        yield from _on_spark_10(run, tables)


def _batch(run: Run, name: str) -> int:
    return int(run["publications"] * (run["copies"] if name == "heliograph" else 1))


def _alone(run: Run, tables: Tables) -> Iterator[Point]:
    """One engine knows of no percentage: it is the same at each."""
    for name, algorithm in MATCHERS_10.items():
        found = r_nodes.alone(tables, algorithm, _batch(run, name), run["repeats"], run.seed)
        for share in run["percentages"]:
            yield Point(f"{name}, {ALONE_10}", 100 * share, found.samples)


def _reckoned_10(run: Run, tables: Tables, share: float, shards: int) -> Iterator[Point]:
    plan = load(tables, _scheme(share, shards))
    for name, algorithm in MATCHERS_10.items():
        found = r_nodes.reckoned(plan.case(_batch(run, name), run.seed), algorithm, run["repeats"])
        yield Point(f"{name}, {shards} nodes", 100 * share, found.samples, found.facts)


def _scheme(share: float, shards: int) -> dict[str, Any]:
    return {"partition": "merging", "shards": shards, "merging": {"percentage": share}}


def _on_spark_10(run: Run, tables: Tables) -> Iterator[Point]:
    with r_cluster.cluster(run["workers"]) as spark:
        for share in run["percentages"]:
            with TemporaryDirectory() as folder:
                job = r_cluster.job(tables, _scheme(share, run["workers"]), run["copies"], Path(folder))
                samples = r_cluster.on_spark(spark, job, run["repeats"], Path(folder))
            yield Point(f"Spark, {run['workers']} at once", 100 * share, samples, {"published": job.published})


def judge_10(outcome: Outcome) -> Verdict:
    times = {name: outcome.last(name) / outcome.last(_one(name)) for name in outcome.series if "nodes" in name}
    growth = {name: outcome.growth(name) for name in times}
    paper = [name for name in times if name.startswith("RSS")]
    ours = [name for name in times if name.startswith("heliograph")]
    sentence = (
        f"At {outcome.xs[-1]:g} % the nodes with the RSS matcher have {span((times[name] for name in paper), '.1f')} "
        f"times the throughput of one engine and those of heliograph {span((times[name] for name in ours), '.1f')} "
        f"times; from the lowest to the highest percentage it goes to {span((growth[name] for name in paper), '.1f')} "
        f"and {span((growth[name] for name in ours), '.1f')} times, {_limit_10(outcome, list(times))}."
    )
    claims = [max(times[name] for name in paper) >= FOUR_TIMES, all(growth[name] > 1 for name in paper)]
    return judged(claims, sentence)


def _limit_10(outcome: Outcome, names: list[str]) -> str:
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
    return f"{name.split(',')[0]}, {ALONE_10}"


EXPERIMENT_10 = Experiment(
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
    measure=measure_10,
    judge=judge_10,
    notes=f"{NOTES} {r_nodes.NOTES} {r_cluster.NOTES}",
    needs=("java",),
)


# --- [R] figure 9(a): time of an index look-up against the number of subscriptions, of which a fixed share matches ---


NAMES_9A = ("RSS matcher", "G-ToPSS", "heliograph")


def measure_9a(run: Run) -> Iterator[Point]:
    return filter_times.points(run, NAMES_9A, [(number, {"subscriptions": number}) for number in run["subscriptions"]])


def judge_9a(outcome: Outcome) -> Verdict:
    slope, ours = outcome.exponent("RSS matcher"), outcome.exponent("heliograph")
    last = outcome.line("RSS matcher")[-1].facts
    sentence = (
        f"The time of the RSS matcher grows as the number of subscriptions to the power {slope:.2f}, with "
        f"{last['candidates'] / last['matches']:,.0f} of them taken to the join for each that matches; that of "
        f"heliograph to the power {ours:.2f}."
    )
    return judged([linear(slope)], sentence)


EXPERIMENT_9A = Experiment(
    name="r-9a",
    paper="[R] fig. 9 (a)",
    title="index look-up against the number of subscriptions",
    statement=(
        "With a fixed share of matching subscriptions, matches and the time of a look-up at the server both grow "
        "linearly with the number of subscriptions."
    ),
    checked="notifications of every algorithm are those that the workload must give",
    x=Axis("subscriptions"),
    y=Axis("time a publication", "ms", log=True),
    parameters={
        Scale.SMALL: {
            **SECTION_5,
            "overlap": 0.5,
            "subscriptions": [1_000, 2_000, 4_000, 6_000],
            "match_share": 0.001,
            "publications": 5,
            "copies": 100,
            "repeats": 3,
        },
        Scale.PAPER: {
            **SECTION_5,
            "overlap": 0.5,
            "subscriptions": [20_000, 40_000, 60_000, 80_000, 100_000],
            "match_share": 0.001,
            "publications": 100,
            "copies": 5,
            "repeats": 3,
        },
    },
    measure=measure_9a,
    judge=judge_9a,
    fitted=True,
    notes=(
        "Processor time of the matching, publications interned before; heliograph takes each of them `copies` times in "
        "a call, in other orders, the others once."
    ),
)


# --- [R] figure 9(b): the paper's matcher against G-ToPSS, on one structure with a range of its own for each ------


NAMES_9B = ("G-ToPSS", "RSS matcher", "heliograph")
FLAT = 0.25  # an exponent below which a time counts as constant
ONE_STRUCTURE = {
    **SECTION_5,
    "one_structure": True,
    "one_sided": 0.5,
    "publication_nodes": 25,  # the shared pattern and its value are the other 5 nodes and 11 edges
    "publication_edges": 79,
}


def measure_9b(run: Run) -> Iterator[Point]:
    return filter_times.points(run, NAMES_9B, [(number, {"subscriptions": number}) for number in run["subscriptions"]])


def judge_9b(outcome: Outcome) -> Verdict:
    slopes = {name: outcome.exponent(name) for name in NAMES_9B}
    times = outcome.last("G-ToPSS") / outcome.last("RSS matcher")
    sentence = (
        f"With as many matches at every number, G-ToPSS grows to the power {slopes['G-ToPSS']:.2f}, the RSS matcher to "
        f"the power {slopes['RSS matcher']:.2f} and heliograph {slopes['heliograph']:.2f}; at the largest number "
        f"G-ToPSS takes {times:,.0f} times as long as the RSS matcher."
    )
    return judged([linear(slopes["G-ToPSS"]), abs(slopes["RSS matcher"]) <= FLAT], sentence)


EXPERIMENT_9B = Experiment(
    name="r-9b",
    paper="[R] fig. 9 (b)",
    title="RSS matcher against G-ToPSS on one structure",
    statement=(
        "All subscriptions share one structure and differ in their constraints, the number of matches is fixed: "
        "G-ToPSS rises to 2,500 ms at 100,000 subscriptions, the RSS matcher stays at about 20 ms."
    ),
    checked="notifications of every algorithm are those that the workload must give",
    x=Axis("subscriptions", log=True),
    y=Axis("time a publication", "ms", log=True),
    parameters={
        Scale.SMALL: {
            **ONE_STRUCTURE,
            "subscriptions": [500, 1_000, 2_000, 4_000],
            "matches": 20,
            "publications": 3,
            "copies": 40,
            "repeats": 3,
        },
        Scale.PAPER: {
            **ONE_STRUCTURE,
            "subscriptions": [10_000, 20_000, 50_000, 100_000],
            "matches": 100,
            "publications": 10,
            "copies": 20,
            "repeats": 3,
        },
    },
    measure=measure_9b,
    judge=judge_9b,
    fitted=True,
    notes=(
        "Processor time of the matching. Ranges with one end and with two. Two faults of the printed matcher are "
        "mended, without which it cannot be flat; see docs/algorithms.md."
    ),
)


# --- [R] figure 9(c): the size of the server's index against the number of subscriptions --------------------------


ALONE_9C = "centralised"


def measure_9c(run: Run) -> Iterator[Point]:
    for number in run["subscriptions"]:
        yield Point(ALONE_9C, number, [number])
        given = options(run, subscriptions=number)
        for series in SERIES:
            run.tell(f"{series}, {number:,} subscriptions")
            yield Point(series, number, [front(run.seed, given, run["contained"], series)])


def judge_9c(outcome: Outcome) -> Verdict:
    shares = {
        name: [small.median / whole.median for small, whole in zip(*map(outcome.line, (name, ALONE_9C)), strict=True)]
        for name in SERIES
    }
    told = {name: span(found, ".0%") for name, found in shares.items()}
    sentence = (
        f"Containment leaves {told['containment']} of the subscriptions at the server where half of them are "
        f"contained in others, merging {told[MERGING]}."
    )
    return judged([max(found) <= 0.55 for found in shares.values()], sentence)


EXPERIMENT_9C = Experiment(
    name="r-9c",
    paper="[R] fig. 9 (c)",
    title="server index size against the number of subscriptions",
    statement="Compared with a centralised index, indexing leaves 50 % of the subscriptions at the server.",
    checked="every plan notifies as the workload must be answered",
    x=Axis("subscriptions"),
    y=Axis("patterns at the server"),
    parameters={
        Scale.SMALL: {
            **SECTION_5,
            "subscriptions": [1_000, 2_000, 3_000],
            "contained": OVERLAP,
            "match_share": 0.001,
            "publications": 10,
        },
        Scale.PAPER: {
            **SECTION_5,
            "subscriptions": [20_000, 40_000, 60_000, 80_000, 100_000],
            "contained": OVERLAP,
            "match_share": 0.001,
            "publications": 100,
        },
    },
    measure=measure_9c,
    judge=judge_9c,
    notes=f"{NOTES} A size is counted, so there is nothing to repeat. Merging may ask for any size: see figure 9 (g).",
)


# --- [R] figure 9(d): the size of the server's index against the ratio of overlap ---------------------------------


RATIOS = [0.0, 0.25, 0.5, 0.75, 0.9]
FORMULA_9D = "number × (1 − overlap)"
CLOSE = 0.1  # how far from the formula counts as approximately equal
FIRM = 0.2  # how much of a change counts as none


def measure_9d(run: Run) -> Iterator[Point]:
    given = options(run)
    for ratio in run["contained"]:
        yield Point(FORMULA_9D, 100 * ratio, [run["subscriptions"] * (1 - ratio)])
        for series in SERIES:
            run.tell(f"{series}, {ratio:.0%} contained")
            yield Point(series, 100 * ratio, [front(run.seed, given, ratio, series)])


def judge_9d(outcome: Outcome) -> Verdict:
    pairs = zip(outcome.line("containment"), outcome.line(FORMULA_9D), strict=True)
    off = max(abs(found.median / wanted.median - 1) for found, wanted in pairs)
    sizes = [point.median for point in outcome.line(MERGING)]
    sentence = (
        f"Containment's index is within {off:.1%} of the number × (1 − overlap) at every ratio; that of merging has "
        f"{span(sizes, ',.0f')} patterns over all ratios."
    )
    return judged([off <= CLOSE, max(sizes) / min(sizes) - 1 <= FIRM], sentence)


EXPERIMENT_9D = Experiment(
    name="r-9d",
    paper="[R] fig. 9 (d)",
    title="index size against the ratio of overlap",
    statement=(
        "Containment leaves about number × (1 − overlap) subscriptions at the server; what merging leaves depends on "
        "its threshold and not on the overlap."
    ),
    checked="every plan notifies as the workload must be answered",
    x=Axis("subscriptions contained in another", "%"),
    y=Axis("patterns at the server"),
    parameters={
        Scale.SMALL: {
            **SECTION_5,
            "subscriptions": 2_000,
            "contained": RATIOS,
            "match_share": 0.001,
            "publications": 10,
        },
        Scale.PAPER: {
            **SECTION_5,
            "subscriptions": 100_000,
            "contained": RATIOS,
            "match_share": 0.001,
            "publications": 100,
        },
    },
    measure=measure_9d,
    judge=judge_9d,
    notes=f"{NOTES} A size is counted, so there is nothing to repeat.",
)


# --- [R] figure 9(e): false positives against the merge percentage ------------------------------------------------


PAPERS_90 = 0.13  # per cent, at a merge percentage of 90: [R] section 5.1
ALL, ANSWERS = "of all publications", "of the mergers' answers"


def measure_9e(run: Run) -> Iterator[Point]:
    for share, found in sweep(run):
        x = round(100 * share, 3)
        facts = {"published": found.published, "went on": found.sent, "in vain": found.vain, "answers": found.answers}
        yield Point(ALL, x, [100 * found.vain / found.published], facts)
        yield Point(ANSWERS, x, [100 * found.false / max(1, found.answers)], facts)


def judge_9e(outcome: Outcome) -> Verdict:
    at = max(x for x in map(float, outcome.xs) if x <= 90)
    found, answers = (outcome.at(name, at) for name in (ALL, ANSWERS))
    rises = outcome.last(ALL) >= outcome.first(ALL)
    sentence = (
        f"Merged by {at:g} %, {found:.2f} % of the publications go to the shards in vain, and {answers:.2f} % of the "
        f"mergers' answers to publications that match something are false; the paper says {PAPERS_90} %, of what is "
        "not told, and its publications are not told either: here most are strangers that match nothing."
    )
    return judged([rises, min(found, answers) <= 1, max(found, answers) <= 1], sentence)


EXPERIMENT_9E = Experiment(
    name="r-9e",
    paper="[R] fig. 9 (e)",
    title="false positives against the merge percentage",
    statement=(
        "Of 10,000 subscriptions and 20,000 publications, a merge percentage of 90 % gives 0.13 % false positives; "
        "the more is merged, the more of them."
    ),
    checked="every plan notifies as the workload must be answered",
    x=Axis("merge percentage", "%"),
    y=Axis("false positives", "%"),
    parameters={Scale.SMALL: SMALL, Scale.PAPER: PAPER},
    measure=measure_9e,
    judge=judge_9e,
    notes=(
        f"{NOTES} Mergers are made by what patterns share: nothing was published before. Counted, so there is nothing "
        "to repeat."
    ),
)


# --- [R] figure 9(f): time to insert a subscription against how many there are ------------------------------------


SAMPLES = 5
SCHEMES: Mapping[str, dict[str, Any]] = {
    "without": {"partition": "hash", "shards": 1},
    "containment": {"partition": "containment", "shards": 1},
}


def measure_9f(run: Run) -> Iterator[Point]:
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


def judge_9f(outcome: Outcome) -> Verdict:
    lines = (outcome.line(name) for name in ("containment", "without"))
    times = [slow.median / fast.median for slow, fast in zip(*lines, strict=True)]
    growth, slope = outcome.growth("containment"), outcome.exponent("containment")
    sentence = (
        f"With containment an insertion takes {min(times):.1f} to {max(times):.1f} times as long as without, and "
        f"{growth:.1f} times as long at the largest number as at the smallest: it grows to the power {slope:.2f}, "
        "where the paper's check is linear in the subscriptions."
    )
    return judged([min(times) > 1, growth > 1.2], sentence)


EXPERIMENT_9F = Experiment(
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
    measure=measure_9f,
    judge=judge_9f,
    fitted=True,
    notes=f"{NOTES} Processor time of `subscribe`, reading included; each repeat is the next `together` subscriptions.",
)


# --- [R] figure 9(g): the size of the server's index against the merge percentage ---------------------------------


FORMULA_9G = "number × (1 − percentage)"
REACHED = 1.1  # times the formula


def measure_9g(run: Run) -> Iterator[Point]:
    for share, found in sweep(run):
        x = round(100 * share, 3)
        yield Point("merging", x, [found.front])
        yield Point(FORMULA_9G, x, [run["subscriptions"] * (1 - share)])


def judge_9g(outcome: Outcome) -> Verdict:
    line, wanted = outcome.line("merging"), outcome.line(FORMULA_9G)
    falls = all(after.median <= before.median for before, after in pairwise(line))
    above = line[-1].median > wanted[-1].median
    reached = [at.x for at, goal in zip(line, wanted, strict=True) if at.median <= REACHED * goal.median]
    sentence = (
        f"The index {'shrinks' if falls else 'does not shrink'} at every step, to {line[-1].median:,.0f} patterns at "
        f"{line[-1].x:g} %, {line[-1].median / wanted[-1].median:.1f} times number × (1 − percentage); what was asked "
        f"for is reached up to {max(map(float, reached), default=0):g} %."
    )
    return judged([falls, above], sentence)


EXPERIMENT_9G = Experiment(
    name="r-9g",
    paper="[R] fig. 9 (g)",
    title="index size against the merge percentage",
    statement=(
        "The index shrinks as the merge percentage rises, to 629 at 99 %; it stays above number × (1 − percentage), "
        "since subscriptions without anything in common are left alone."
    ),
    checked="every plan notifies as the workload must be answered",
    x=Axis("merge percentage", "%"),
    y=Axis("patterns at the server"),
    parameters={Scale.SMALL: SMALL, Scale.PAPER: PAPER},
    measure=measure_9g,
    judge=judge_9g,
    notes=f"{NOTES} Counted, so there is nothing to repeat.",
)


# --- [R] figure 9(h): merging time against the merge percentage ---------------------------------------------------


def measure_9h(run: Run) -> Iterator[Point]:
    for share, found in sweep(run):
        yield Point("merging", round(100 * share, 3), [found.seconds], {"front": found.front})


def judge_9h(outcome: Outcome) -> Verdict:
    line = outcome.line("merging")
    rising = sum(after.median > before.median for before, after in pairwise(line))
    times = outcome.growth("merging")
    sentence = (
        f"From {line[0].x:g} to {line[-1].x:g} % merging takes {times:.1f} times as long, and longer at {rising} of "
        f"{len(line) - 1} steps."
    )
    return judged([times > 1.2, rising == len(line) - 1], sentence)


EXPERIMENT_9H = Experiment(
    name="r-9h",
    paper="[R] fig. 9 (h)",
    title="merging time against the merge percentage",
    statement="Merging takes longer the higher the merge percentage is, since more subscriptions are merged.",
    checked="every plan notifies as the workload must be answered",
    x=Axis("merge percentage", "%"),
    y=Axis("time to subscribe and merge", "s"),
    parameters={Scale.SMALL: SMALL, Scale.PAPER: PAPER},
    measure=measure_9h,
    judge=judge_9h,
    notes=(
        f"{NOTES} Processor time to subscribe to all at once, reading, merging and indexing; once for each percentage, "
        "since it is the same run that figures 9 (e) and (g) are drawn from."
    ),
)


# --- [R] figure 9(i): throughput against the size of the cluster --------------------------------------------------


PARTITIONS = ("containment", "merging")
MATCHERS_9I = {"RSS matcher": "rss", "heliograph": "indexed"}
PAPERS = {"containment": 2.0, "merging": 4.0}  # times the throughput of one node, in a cluster of 7
NEAR = 0.75  # of the paper's figure


def measure_9i(run: Run) -> Iterator[Point]:
    tables = drawn(run.seed, options(run), run["contained"])
    yield from _reckoned_9i(run, tables)
    for workers in run["workers"]:
        run.tell(f"Spark, {workers} at once")
        yield from _on_spark_9i(run, tables, workers)


def scheme(run: Run, partition: str, shards: int) -> dict[str, Any]:
    merging = {"merging": {"percentage": run["percentage"]}} if partition == "merging" else {}
    return {"partition": partition, "shards": shards, **merging}


def _reckoned_9i(run: Run, tables: Tables) -> Iterator[Point]:
    for size in run["clusters"]:
        for partition in PARTITIONS if size > 1 else (None,):
            run.tell(f"a cluster of {size}, {partition}")
            plan = load(tables, scheme(run, partition, size - 1)) if partition else None
            for name, algorithm in MATCHERS_9I.items():
                batch = run["publications"] * (run["copies"] if name == "heliograph" else 1)
                found = (
                    r_nodes.alone(tables, algorithm, batch, run["repeats"], run.seed)
                    if plan is None
                    else r_nodes.reckoned(plan.case(batch, run.seed), algorithm, run["repeats"])
                )
                yield from _drawn(name, partition, size, found)


def _on_spark_9i(run: Run, tables: Tables, workers: int) -> Iterator[Point]:
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


def judge_9i(outcome: Outcome) -> Verdict:
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
        f"{clusters[0]:.0f} node: {told} (Spark at its largest, on the cores of one machine); {_limit_9i(outcome)}."
    )
    enough = [paper[partition] >= NEAR * wanted for partition, wanted in PAPERS.items()]
    return judged([*enough, paper["merging"] > paper["containment"]], sentence)


def _limit_9i(outcome: Outcome) -> str:
    """What is busiest in the largest cluster, which more nodes do not relieve if it is the front."""
    busiest = {
        name: outcome.line(name)[-1].facts.get("busiest") for name in outcome.series if not name.startswith("Spark")
    }
    bound = [name for name, place in busiest.items() if place == "front"]
    return (
        f"the front, which more nodes do not relieve, is the busiest in {len(bound)} of {len(busiest)} reckoned cases"
    )


EXPERIMENT_9I = Experiment(
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
    measure=measure_9i,
    judge=judge_9i,
    notes=f"{NOTES} A cluster of n has n − 1 shards. {r_nodes.NOTES} {r_cluster.NOTES}",
    needs=("java",),
)
