"""The opponents of the watch table: INV and BF over packed integers, and tries, on the concrete workload.

They are given vertices as numbers, as our engine is given ids. What they tell is held against the workload's answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from benchmarks.filter_workloads import Tables, WrongAnswer, numbers
from benchmarks.watch_workloads import Size, concrete, seconds
from heliograph.papers.watch import Flags, Found, Ints, PackedBruteForce, PackedInv, Trie, pattern

_PAIR = re.compile(r":v(\d+) :links :v(\d+)")
_LINKS = "links"

Told = list[tuple[int, bool, int]]  # (row, whether it became true, query), in the order of notifications


class Numbers(NamedTuple):
    """The concrete workload without text."""

    subject: Ints
    object: Ints
    added: Flags
    queries: list[list[tuple[int, int]]]
    expected: Told

    @classmethod
    def of(cls, tables: Tables) -> Numbers:
        updates, expected = tables["updates"], tables["expected"]
        rows = (np.asarray(expected["publication_id"].cast(pa.int64())) - 1).tolist()
        gained = [change == "+" for change in expected["change"].to_pylist()]
        return cls(
            numbers(updates["subject"]),
            numbers(updates["object"]),
            np.asarray(updates["op"]) == "+",
            [[(int(s), int(o)) for s, o in _PAIR.findall(str(text))] for text in tables["subscriptions"]["query"]],
            list(zip(rows, gained, numbers(expected["subscription_id"]).tolist(), strict=True)),
        )

    @property
    def packed(self) -> list[list[int]]:
        return [[subject << 32 | object for subject, object in query] for query in self.queries]

    def updates(self, begin: int, end: int) -> tuple[Ints, Ints, Flags]:
        return self.subject[begin:end], self.object[begin:end], self.added[begin:end]

    def check(self, told: Iterable[tuple[int, bool, int]], begin: int, end: int) -> None:
        """Raises unless exactly this had to be told of these updates."""
        if sorted(told) != [each for each in self.expected if begin <= each[0] < end]:
            raise WrongAnswer(f"an opponent tells other things of the updates from {begin} to {end}")


@lru_cache(maxsize=1)
def as_numbers(seed: int, size: Size, deletions: float = 0.0, duplicates: float = 0.0) -> Numbers:
    return Numbers.of(concrete(seed, size, deletions, duplicates))


def inv_seconds(given: Numbers) -> float:
    """Seconds an update by INV, over the whole stream."""
    inv, end = PackedInv(), len(given.subject)
    inv.subscribe(given.packed)
    took, found = _timed(lambda: inv.publish(*given.updates(0, end)))
    given.check(_told(found), 0, end)
    return took / end


def brute_force_seconds(given: Numbers, count: int) -> float:
    """Seconds an update by BF, for so many updates around the middle one of those that are told of."""
    middle = given.expected[len(given.expected) // 2][0] if given.expected else len(given.subject) // 2
    begin = max(0, middle - count // 2)
    end = min(begin + count, len(given.subject))
    force = PackedBruteForce()
    force.publish(*given.updates(0, begin))
    force.subscribe(given.packed)
    took, found = _timed(lambda: force.publish(*given.updates(begin, end)))
    given.check(_told(found, begin), begin, end)
    return took / (end - begin)


def trie_seconds(given: Numbers, count: int) -> float:
    """Seconds an update by shared tries, for the first updates."""
    trie, told = Trie(), Told()
    for query, pairs in enumerate(given.queries):
        trie.subscribe(str(query), pattern((subject, _LINKS, object) for subject, object in pairs))
    rows = list(zip(*(column.tolist() for column in given.updates(0, count)), strict=True))

    def publish() -> None:
        for row, (subject, object, added) in enumerate(rows):
            changes = trie.update("+" if added else "-", (subject, _LINKS, object))
            told.extend((row, True, int(id)) for id in changes.rose)
            told.extend((row, False, int(id)) for id in changes.fell)

    took = seconds(publish)
    given.check(told, 0, len(rows))
    return took / len(rows)


def _timed(call: Callable[[], tuple[Found, Found]]) -> tuple[float, tuple[Found, Found]]:
    found: list[Any] = []
    return seconds(lambda: found.append(call())), found[0]


def _told(found: tuple[Found, Found], begin: int = 0) -> Iterable[tuple[int, bool, int]]:
    gained, lost = found
    yield from ((begin + row, True, query) for row, query in gained)
    yield from ((begin + row, False, query) for row, query in lost)
