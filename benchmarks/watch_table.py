"""The rows of the watch table: 1,000,000 additions over 1,200,000 vertices with power-law degrees, 5 edges a query.

Concrete: 50,000 queries, 5 % of which become true. With variables: 10 properties, 30 classes that are in the graph
beforehand, degrees up to 1,000, at most 200 structures, half of the queries with one concrete vertex; many of them are
measured at the end of the stream, most of which is loaded silently (see `watch_patterns`). As in the other tables a row
takes its samples from one workload, that of the seed.
"""

from __future__ import annotations

from functools import partial

from benchmarks import watch_patterns, watch_size, watch_speed, watch_subscriptions
from benchmarks.check import Row
from benchmarks.watch_speed import HALF, MIXED

_least = partial(Row, at_least=True, repeats=1)
_most = partial(Row, repeats=1)

_CONCRETE = [
    _least("concrete", "50,000, interned, against packed-integer INV", "×", 6, watch_speed.measure_inv),
    _most("concrete, rate", "the same, the engine's", "updates/s", None, watch_speed.measure_rate),
    _most("concrete, INV's rate", "the same, INV's", "updates/s", None, watch_speed.measure_inv_rate),
    _least(
        "concrete, Parquet", "from a file of text to the notifications", "updates/s", 1e6, watch_speed.measure_parquet
    ),
    _most("concrete, BF", "against BF, on 40 updates; the paper: 45,000", "×", None, watch_speed.measure_brute_force),
    _most("concrete, tries", "against shared tries, on 20,000 updates", "×", None, watch_speed.measure_trie),
    _most("deletions, concrete", "half of the updates; against additions", "×", 2, watch_speed.measure_deletions),
    _most("deletions, rate", "the same, the engine's", "updates/s", None, partial(watch_speed.measure_rate, mix=HALF)),
    _most("deletions, INV", "the same, against INV", "×", None, partial(watch_speed.measure_inv, mix=HALF)),
    _most(
        "duplicates",
        "20 % repeated, 20 % deletions; against INV",
        "×",
        None,
        partial(watch_speed.measure_inv, mix=MIXED),
    ),
    _most(
        "duplicates, rate", "the same, the engine's", "updates/s", None, partial(watch_speed.measure_rate, mix=MIXED)
    ),
]


def _one(shape: str) -> list[Row]:
    """One query over the whole stream."""
    return [
        _least(
            f"one {shape}, {form}",
            "5 edges and 2 classes, the whole stream",
            "updates/s",
            300_000,
            partial(watch_patterns.measure_one, shape=shape, form=form),
        )
        for form in ("change", "count")
    ]


def _many(text: str, queries: int, rate: float) -> list[Row]:
    """Many queries at the end of the stream."""
    median, worst = (partial(watch_patterns.measure_latency, queries=queries, percent=percent) for percent in (50, 99))
    return [
        _least(
            f"variables {text}",
            "after 798,000 additions, the next 100,000",
            "updates/s",
            rate,
            partial(watch_patterns.measure_many, queries=queries),
        ),
        _most(f"variables {text}, p50", "the next 2,000 one by one, the median", "µs", None, median),
        _most(f"variables {text}, p99", "the same, 99 % of them", "µs", None, worst),
        _most(
            f"deletions {text}",
            "every other of the next 100,000; against additions",
            "×",
            2,
            partial(watch_patterns.measure_deletions, queries=queries),
        ),
    ]


def _uncapped(text: str, queries: int) -> list[Row]:
    rate = partial(watch_patterns.measure_many, queries=queries, cap=watch_patterns.UNCAPPED)
    latency = partial(watch_patterns.measure_latency, queries=queries, cap=watch_patterns.UNCAPPED)
    return [
        _most(
            f"uncapped {text}",
            "the same without a largest degree",
            "updates/s",
            None,
            rate,
        ),
        *(
            _most(
                f"uncapped {text}, p{percent}",
                f"the next one by one, {percent} % of them",
                "µs",
                None,
                partial(latency, percent=percent),
            )
            for percent in (50, 99)
        ),
    ]


def _memory(kind: str, edges: str) -> list[Row]:
    """100 bytes an edge and 300 a query edge may stay."""
    share, edge, query_edge = (
        partial(measure, kind=kind)
        for measure in (watch_size.measure_memory, watch_size.measure_edge, watch_size.measure_query_edge)
    )
    return [
        _most(f"memory, {kind}", "of 100 B an edge and 300 a query edge, text included", "×", 1, share),
        _most(f"memory, {kind}, edge", f"the same, {edges}", "B", None, edge),
        _most(f"memory, {kind}, query", "the same, a query edge and what it remembers", "B", None, query_edge),
    ]


_TOGETHER = "50,000 in one call to a graph of 1,000,000 edges"
_ONE_BY_ONE = "500 one by one to the others, an update after each"
_SUBSCRIBING = [
    _most("subscribe, concrete", _TOGETHER, "µs", 50, watch_subscriptions.measure_together),
    _most("subscribe, concrete, one", _ONE_BY_ONE, "µs", None, watch_subscriptions.measure_one_by_one),
]


def _subscribing(queries: int) -> list[Row]:
    together, one, new = (
        partial(measure, queries=queries)
        for measure in (watch_patterns.measure_together, watch_patterns.measure_one_by_one, watch_patterns.measure_new)
    )
    return [
        _most("subscribe, variables", _TOGETHER, "µs", 1_000, together),
        _most("subscribe, variables, one", _ONE_BY_ONE, "µs", None, one),
        _most("subscribe, new structure", "3 one by one, an update after each", "µs", None, new),
    ]


# Rows that share an engine stand together, so that it is made once.
WATCH = [
    *_CONCRETE,
    *_memory("concrete", "an edge"),
    *_SUBSCRIBING,
    *(row for shape in ("chain", "star", "cyclic") for row in _one(shape)),
    *_many("1,000", 1_000, 50_000),
    *_many("50,000", 50_000, 10_000),
    *_subscribing(50_000),
    *_memory("variables", "an edge or a class of a vertex"),
    *_uncapped("1,000", 1_000),
    *_uncapped("50,000", 50_000),
]
