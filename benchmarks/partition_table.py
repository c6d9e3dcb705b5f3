"""The speed table of partitioning: containment, partition_merging, shards, and plans that change.

100,000 subscriptions of the filter workload, 100 matches a publication, unless the row says otherwise. A row takes its
samples from one workload, that of the seed. Figures of [R], where it has one, stand in the row.
"""

from __future__ import annotations

from functools import partial

from benchmarks import partition_changes, partition_containment, partition_merging, partition_shards
from benchmarks.check import Row

SUSTAINED = 2_000  # insertions a second


def _overlap(ratio: float) -> list[Row]:
    """Insertion and its growth where a share of the subscriptions is contained in others."""
    share = f"{ratio:.0%}".replace("%", " %")
    rate, growth, front = (
        partial(measure, ratio=ratio)
        for measure in (
            partition_containment.measure_insertion,
            partition_containment.measure_growth,
            partition_containment.measure_front,
        )
    )
    return [
        Row(f"insert, {share}", "so many contained; the last tenth", "/s", SUSTAINED, rate, at_least=True, repeats=1),
        Row(f"insert, {share}, growth", "the last tenth, against the first; [R] 9(f)", "×", None, growth, repeats=1),
        Row(f"front, {share}", _FRONT, "×", 1.1 * (1 - ratio) if ratio else None, front, repeats=1),
    ]


_FRONT = "of the subscriptions; [R] 9(d): what is not contained"


def _containment() -> list[Row]:
    generated = partition_containment.measure_generated
    return [
        Row("insert", "as generated; the last tenth", "/s", SUSTAINED, generated, at_least=True, repeats=1),
        Row(
            "front",
            "as generated, of the subscriptions",
            "×",
            None,
            partition_containment.measure_generated_front,
            repeats=1,
        ),
        *(row for ratio in (0.0, 0.5, 0.9) for row in _overlap(ratio)),
    ]


def _merging() -> list[Row]:
    return [
        Row(
            "merge 90 %, front",
            "patterns at the front",
            "",
            None,
            partition_merging.measure_front,
            repeats=1,
        ),
        Row(
            "merge 90 %, in vain",
            "of the mergers' answers; [R] 9(e): 0.13 %, of what unsaid",
            "%",
            1,
            partition_merging.measure_vain,
            repeats=1,
        ),
        Row(
            "merge 90 %, strangers",
            "vain answers, of 500 that match nothing",
            "each",
            None,
            partition_merging.measure_stray,
            repeats=1,
        ),
        Row(
            "merge 90 %, time",
            "subscribing to all at once; [R] 9(h)",
            "s",
            None,
            partition_merging.measure_seconds,
            repeats=1,
        ),
        Row(
            "merge 90 %, 10,000",
            "of the mergers' answers, as many as in [R] 9(e)",
            "%",
            None,
            partition_merging.measure_few_vain,
            repeats=1,
        ),
        Row(
            "merge 99 %, 10,000",
            "patterns at the front; [R] 9(g): 629",
            "",
            None,
            partition_merging.measure_few_front,
            repeats=1,
        ),
    ]


def _shards() -> list[Row]:
    return [
        Row(
            "two shards",
            "throughput against one, by the clock",
            "×",
            1.5,
            partition_shards.measure_two,
            at_least=True,
            repeats=1,
        ),
        Row(
            "two shards, reckoned",
            "the same, by the processor's time",
            "×",
            None,
            partition_shards.measure_two_reckoned,
            repeats=1,
        ),
        Row(
            "two shards, 0.5 %",
            "match, as in [R] 9(i); by the clock",
            "×",
            None,
            partition_shards.measure_two_often,
            repeats=1,
        ),
        Row(
            "two shards, 0.5 %, reck.",
            "the same, by the processor's time",
            "×",
            None,
            partition_shards.measure_two_often_reckoned,
            repeats=1,
        ),
        *(_against_one_index(name) for name in ("hash", "containment", "merging")),
    ]


def _against_one_index(name: str) -> Row:
    measure = partial(partition_shards.measure_plan, partition=name)
    return Row(f"{name}, two shards", "throughput against one index, by the clock", "×", None, measure, repeats=1)


def _changes(name: str) -> list[Row]:
    wrong, change = (
        partial(measure, partition=name)
        for measure in (partition_changes.measure_wrong, partition_changes.measure_change)
    )
    under_load = "1,000 changes, two publishers: lost or doubled"
    return [
        Row(f"changed plan, {name}", under_load, "matches", 0, wrong, repeats=1),
        Row(f"change, {name}", "one of them, the writer's processor time", "ms", None, change, repeats=1),
    ]


PARTITION = [
    *_containment(),
    *_merging(),
    *_shards(),
    *(row for name in ("hash", "containment", "merging") for row in _changes(name)),
]
