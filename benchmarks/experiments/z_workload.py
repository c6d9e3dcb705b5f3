"""What the four parts of [Z] figure 1 share: the workload of section 3.2, and every algorithm on it.

BF and INV run twice, like with like: over triples as `baselines` has them, and over packed integers, as quick as plain
Python makes them. What each tells of the updates it is given is held against the workload's own answer.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, NamedTuple

from benchmarks.experiments.experiment import Outcome, Point, Run, Verdict, Word, X
from benchmarks.filter_workloads import Tables, check
from benchmarks.watch_opponents import Numbers, Told, brute_force_seconds, inv_seconds, trie_seconds
from benchmarks.watch_workloads import load_kernels, seconds, settled, subscribed
from heliograph.model import Notifications
from heliograph.papers.watch import Algorithm, BruteForce, Inv, PackedBruteForce, PackedInv, Trie, pattern
from heliograph.sparql.query import Query
from heliograph.workloads.watch import generate_watch

BF, INV, PACKED_BF, PACKED_INV, TRIES, OURS = "BF", "INV", "BF, packed", "INV, packed", "tries", "heliograph"
PAIRS = ((BF, INV), (PACKED_BF, PACKED_INV))
PROPERTY = "links"
PRINTED_RATIO, PRINTED_QUERIES = 45_000, 50_000  # [Z] section 3.2: BF's time over INV's, at so many queries

Samples = Sequence[float]

NOTES = (
    "BF and INV stand there twice: over triples, and over packed integers as quick as plain Python makes them. Java "
    "and Python differ in what a step costs, which a ratio of two algorithms in one language leaves out. BF is "
    "measured on a few updates around the middle one of those that complete a query, the tries on the first of the "
    "stream, the others on all of it. The graph is drawn with power-law degrees in place of Wikipedia's links; tries, "
    "in the manner of TriC, are not in the paper. Heliograph is given interned updates in one batch, packed INV too."
)
CHECKED = "every algorithm tells exactly the notifications that the workload must give for the updates it was given"


class Setting(NamedTuple):
    """A workload, and how much of it the slow ones go through."""

    seed: int
    vertices: int
    updates: int
    queries: int
    length: int
    matching: float
    scanned: int
    walked: int
    repeats: int


def setting(run: Run, **changed: Any) -> Setting:
    """That of the parameters, with some of them changed."""
    known = {name: run[name] for name in Setting._fields[1:] if name not in changed}
    return Setting(run.seed, **known, **changed)


def tables_of(given: Setting) -> Tables:
    return generate_watch(
        given.seed,
        vertices=given.vertices,
        updates=given.updates,
        queries=given.queries,
        edges=given.length,
        matching=given.matching,
    )


@contextmanager
def settled_heap() -> Iterator[None]:
    """What is there already is not looked at when garbage is collected: neither before a timing nor within one."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


# --- filtering --------------------------------------------------------------------------------------------------


class Filtered(NamedTuple):
    """Microseconds an update by each algorithm, all repeats."""

    times: Mapping[str, Samples]
    told: int


@lru_cache(maxsize=32)
def filtered(given: Setting) -> Filtered:
    load_kernels()
    tables = tables_of(given)
    numbers = Numbers.of(tables)
    queries = queries_of(numbers)
    ways: dict[str, Callable[[], float]] = {
        BF: lambda: _scanned(numbers, queries, given.scanned),
        INV: lambda: _counted(numbers, queries),
        PACKED_BF: lambda: brute_force_seconds(numbers, given.scanned),
        PACKED_INV: lambda: inv_seconds(numbers),
        TRIES: lambda: trie_seconds(numbers, given.walked),
        OURS: lambda: _ours(tables),
    }
    with settled_heap():
        turns = [{name: way() * 1e6 for name, way in ways.items()} for _ in range(given.repeats)]
    return Filtered({name: [turn[name] for turn in turns] for name in ways}, len(numbers.expected))


def filtering_points(x: X, given: Setting) -> Iterator[Point]:
    """Every algorithm at one place."""
    found = filtered(given)
    for name, samples in found.times.items():
        yield Point(name, x, samples, {"queries": given.queries, "notifications": found.told})


def _ours(tables: Tables) -> float:
    engine = settled(subscribed(tables["subscriptions"]))
    batch, found = engine.encode(tables["updates"]), list[Notifications]()
    took = seconds(lambda: found.append(engine.publish(batch)))
    check(found[0], tables["expected"])
    return took / len(batch)


def _counted(numbers: Numbers, queries: list[Query]) -> float:
    """INV over triples, the whole stream."""
    inv, rows = Inv(), _rows(numbers, 0, len(numbers.subject))
    _subscribe(inv, queries)
    return _published(inv, numbers, rows, 0)


def _scanned(numbers: Numbers, queries: list[Query], count: int) -> float:
    """BF over triples, for so many updates around the middle one of those that are told of."""
    middle = numbers.expected[len(numbers.expected) // 2][0] if numbers.expected else len(numbers.subject) // 2
    begin = max(0, middle - count // 2)
    force, end = BruteForce(), min(begin + count, len(numbers.subject))
    for op, edge in _rows(numbers, 0, begin):
        force.update(op, edge)
    _subscribe(force, queries)
    return _published(force, numbers, _rows(numbers, begin, end), begin)


Rows = list[tuple[str, tuple[int, str, int]]]


def _rows(numbers: Numbers, begin: int, end: int) -> Rows:
    columns = (column.tolist() for column in numbers.updates(begin, end))
    return [("+" if added else "-", (subject, PROPERTY, object)) for subject, object, added in zip(*columns)]


def _published(algorithm: Algorithm, numbers: Numbers, rows: Rows, begin: int) -> float:
    """Seconds an update; what was told is checked."""
    told = Told()

    def publish() -> None:
        for row, (op, edge) in enumerate(rows, begin):
            changes = algorithm.update(op, edge)
            if changes.rose or changes.fell:
                told.extend((row, True, int(id)) for id in changes.rose)
                told.extend((row, False, int(id)) for id in changes.fell)

    took = seconds(publish)
    numbers.check(told, begin, begin + len(rows))
    return took / len(rows)


def queries_of(numbers: Numbers) -> list[Query]:
    return [pattern((subject, PROPERTY, object) for subject, object in pairs) for pairs in numbers.queries]


def _subscribe(algorithm: Algorithm, queries: Iterable[Query]) -> None:
    for number, query in enumerate(queries):
        algorithm.subscribe(str(number), query)


# --- inserting --------------------------------------------------------------------------------------------------


def inserted(tables: Tables, numbers: Numbers, count: int, repeats: int) -> Mapping[str, Samples]:
    """Microseconds a query where the first so many queries come to an empty engine."""
    queries, packed, text = queries_of(numbers)[:count], numbers.packed[:count], tables["subscriptions"][:count]
    ways: dict[str, Callable[[], Any]] = {
        BF: lambda: _subscribe(BruteForce(), queries),
        INV: lambda: _subscribe(Inv(), queries),
        PACKED_BF: lambda: PackedBruteForce().subscribe(packed),
        PACKED_INV: lambda: PackedInv().subscribe(packed),
        TRIES: lambda: _subscribe(Trie(), queries),
        OURS: lambda: settled(subscribed(text)),
    }
    with settled_heap():
        turns = [{name: seconds(way) / count * 1e6 for name, way in ways.items()} for _ in range(repeats)]
    return {name: [turn[name] for turn in turns] for name in ways}


# --- judging ----------------------------------------------------------------------------------------------------


def ratios(outcome: Outcome, slow: str, quick: str) -> list[float]:
    """How many times as long the slow one takes, at each place."""
    return [outcome.at(slow, x) / outcome.at(quick, x) for x in outcome.xs]


def orders(outcome: Outcome) -> tuple[Word, str]:
    """Whether INV is as far ahead of BF as printed, a query: BF's time grows with the number of queries, so 45,000
    times for 50,000 queries is 0.9 for each.

    Reproduced: at every place within a factor of 3 of it, by both pairs. Different: somewhere below a tenth of it.
    """
    found = [ratio for pair in PAIRS for ratio in ratios(outcome, *pair)]
    numbers = [point.facts["queries"] for _, quick in PAIRS for point in outcome.line(quick)]
    shares = [ratio / number for ratio, number in zip(found, numbers, strict=True)]
    printed = PRINTED_RATIO / PRINTED_QUERIES
    word = Word.PARTLY
    if all(printed / 3 <= share <= printed * 3 for share in shares):
        word = Word.REPRODUCED
    elif min(shares) < printed / 10:
        word = Word.DIFFERENT
    last = [ratios(outcome, *pair)[-1] for pair in PAIRS]
    text = (
        f"INV is {min(found):,.0f} to {max(found):,.0f} times as quick as BF (at the last point {last[0]:,.0f} times "
        f"over triples and {last[1]:,.0f} over packed integers): {min(shares):.2f} to {max(shares):.2f} times for each "
        f"query, where the paper's figure is {printed:g}"
    )
    return word, text


def beside(outcome: Outcome) -> str:
    """Ours beside the quickest of the others."""
    found = ratios(outcome, PACKED_INV, OURS)
    return f"heliograph is {min(found):.1f} to {max(found):.1f} times as quick as packed INV"


def verdict(word: Word, *parts: str) -> Verdict:
    text = "; ".join(parts)
    return Verdict(word, f"{text[0].upper()}{text[1:]}.")
