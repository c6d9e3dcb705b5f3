"""How fast patterns enter the containment forest, and how many stay at the front ([R] figures 9(c), (d) and (f)).

The generator's `overlap` repeats another subscription's edges with other variables, which contains it only now and
then. [R] counts as overlap what is contained, so here that share of the subscriptions repeats another one with terms
for some of its variables. Times are the processor's; sustained is what the last tenth of the insertions took.

    python -m benchmarks.partition_containment [SUBSCRIPTIONS]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from random import Random
from typing import Any, NamedTuple

from benchmarks.filter_workloads import Size
from heliograph.partition.containment import Forest
from heliograph.sparql.query import Query, TriplePattern
from heliograph.sparql.tables import PatternSet, Reader, read_patterns
from heliograph.taxonomy import Taxonomy
from heliograph.terms import PREFIXES, plain_name
from heliograph.workloads.filter import generate_filter

FULL = Size()
RATIOS = (0.0, 0.25, 0.5, 0.75, 0.9)
SAMPLES = 5
BATCHES = 100
STRUCTURES: Mapping[str, dict[str, Any]] = {
    "as generated": {},
    "ranges": {"constraints": 1.0},
    "classes": {"classes": 200},
    "one structure": {"one_structure": True},
    "one structure, one-sided": {"one_structure": True, "one_sided": 0.5},
}


class Inserted(NamedTuple):
    """What a hundred equal batches took, one after the other, and the forest that they made."""

    subscriptions: int
    seconds: tuple[float, ...]
    nodes: int
    roots: int

    @property
    def sustained(self) -> list[float]:
        """Insertions a second in five parts of the last tenth."""
        tenth = self.seconds[-max(SAMPLES, len(self.seconds) // 10) :]
        parts = [tenth[at * len(tenth) // SAMPLES : (at + 1) * len(tenth) // SAMPLES] for at in range(SAMPLES)]
        return [self._rate(part) for part in parts]

    @property
    def growth(self) -> float:
        """How many times as long an insertion takes in the last tenth as in the first."""
        tenth = max(1, len(self.seconds) // 10)
        return self._rate(self.seconds[:tenth]) / self._rate(self.seconds[-tenth:])

    def _rate(self, seconds: Sequence[float]) -> float:
        return self.subscriptions / len(self.seconds) * len(seconds) / sum(seconds)


# --- rows -------------------------------------------------------------------------------------------------------


def measure_generated(seed: int, size: Size = FULL) -> Sequence[float]:
    """Insertions a second of the filter workload as it is generated."""
    return _generated(seed, size).sustained


def measure_insertion(seed: int, size: Size = FULL, ratio: float = 0.5) -> Sequence[float]:
    """Insertions a second where this share of the subscriptions is contained in another."""
    return _overlapping(seed, size, ratio).sustained


def measure_growth(seed: int, size: Size = FULL, ratio: float = 0.5) -> float:
    """How many times as long an insertion takes in the last tenth as in the first."""
    return _overlapping(seed, size, ratio).growth


def measure_front(seed: int, size: Size = FULL, ratio: float = 0.5) -> float:
    """The share of the subscriptions that stands at the front."""
    found = _overlapping(seed, size, ratio)
    return found.roots / found.subscriptions


def measure_generated_front(seed: int, size: Size = FULL) -> float:
    """The same of the filter workload as it is generated."""
    found = _generated(seed, size)
    return found.roots / found.subscriptions


@lru_cache(maxsize=1)
def _generated(seed: int, size: Size) -> Inserted:
    return inserted(*drawn(seed, size.subscriptions, {}))


@lru_cache(maxsize=len(RATIOS))
def _overlapping(seed: int, size: Size, ratio: float) -> Inserted:
    queries, taxonomy = drawn(seed, size.subscriptions, {"overlap": 0.0})
    return inserted(list(contained(queries, ratio, seed)), taxonomy)


# --- insertion --------------------------------------------------------------------------------------------------


def inserted(queries: Sequence[Query], taxonomy: Taxonomy) -> Inserted:
    """Makes a forest. The queries of a batch are made before the clock runs."""
    forest = Forest(taxonomy)
    batch = max(1, len(queries) // BATCHES)
    seconds: list[float] = []
    for first in range(0, batch * BATCHES, batch):
        numbered = list(enumerate(queries[first : first + batch], first))
        started = time.process_time()
        forest.insert(numbered)
        seconds.append(time.process_time() - started)
    return Inserted(batch * BATCHES, tuple(seconds), len(forest), sum(1 for _ in forest.roots()))


# --- the workload -----------------------------------------------------------------------------------------------


def drawn(seed: int, count: int, options: Mapping[str, Any]) -> tuple[Sequence[Query], Taxonomy]:
    """The queries of a filter workload, and its taxonomy."""
    few = {"publications": max(1, count // 1_000), "matches": 1}
    tables = generate_filter(seed, subscriptions=count, **few, **options)
    found = read_patterns(tables["patterns"], tables["constraints"], Reader(PREFIXES))
    return _Queries(found), Taxonomy.read(tables["taxonomy"])


class _Queries(Sequence[Query]):
    """The queries of a pattern set, each made when it is asked for."""

    def __init__(self, found: PatternSet) -> None:
        self._found = found

    def __len__(self) -> int:
        return len(self._found)

    def __getitem__(self, number: Any) -> Any:
        if isinstance(number, slice):
            return [self._found.query(each) for each in range(*number.indices(len(self)))]
        return self._found.query(range(len(self))[number])


def contained(queries: Sequence[Query], ratio: float, seed: int) -> Iterator[Query]:
    """As many queries, of which this share is another one's with terms for some of its variables."""
    random = Random(seed)
    own = max(1, round(len(queries) * (1 - ratio)))
    for number in random.sample(range(len(queries)), len(queries)):
        yield queries[number] if number < own else _special(queries[random.randrange(own)], random, number)


def _special(query: Query, random: Random, number: int) -> Query:
    names = [name for name in query.variables if random.random() < 0.7] or list(query.variables[:1])
    images: dict[Any, Any] = {name: plain_name(f"of{number}{name.name}") for name in names}
    patterns = [TriplePattern(*(images.get(node, node) for node in edge)) for edge in query.patterns]
    return Query(patterns=tuple(patterns))


# --- all workloads, as a table ----------------------------------------------------------------------------------


def main(arguments: Sequence[str]) -> None:
    count = int(arguments[0]) if arguments else FULL.subscriptions
    print(f"{'workload':28}{'first/s':>10}{'last/s':>10}{'nodes':>10}{'front':>10}")
    for name, found in _all(count):
        last = sum(found.sustained) / SAMPLES
        print(f"{name:28}{last * found.growth:10,.0f}{last:10,.0f}{found.nodes:10,}{found.roots:10,}", flush=True)


def _all(count: int) -> Iterator[tuple[str, Inserted]]:
    for ratio in RATIOS:
        yield f"{ratio:.0%} contained", _overlapping(1, FULL._replace(subscriptions=count), ratio)
    for name, options in STRUCTURES.items():
        yield name, inserted(*drawn(1, count, options))


if __name__ == "__main__":
    main(sys.argv[1:])
