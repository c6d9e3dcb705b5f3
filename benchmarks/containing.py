"""How fast patterns enter the containment forest, and how many stay at the front ([R] figures 9(c), (d) and (f)).

The generator's `overlap` repeats another subscription's edges with other variables, which contains it only now and
then. [R] counts as overlap what is contained, so here that share of the subscriptions repeats another one with terms
for some of its variables. Times are of the processor, of the first and the last tenth of the insertions.

    python -m benchmarks.containing [SUBSCRIPTIONS]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import Any, NamedTuple

from heliograph.partition.forest import Forest
from heliograph.syntax.pattern_cells import Reader
from heliograph.syntax.patterns import PatternSet, read_patterns
from heliograph.syntax.query import Query, TriplePattern
from heliograph.taxonomy import Taxonomy
from heliograph.terms import PREFIXES, Variable, plain_name
from heliograph.workloads.filter import generate_filter

RATIOS = (0.0, 0.25, 0.5, 0.75, 0.9)
BATCH = 1_000
STRUCTURES: Mapping[str, dict[str, Any]] = {
    "as generated": {},
    "ranges": {"constraints": 1.0},
    "classes": {"classes": 200},
    "one structure": {"one_structure": True},
    "one structure, one-sided": {"one_structure": True, "one_sided": 0.5},
}


class Row(NamedTuple):
    """One line of the table."""

    workload: str
    a_second: float  # insertions, of the last tenth
    first: float  # of the first tenth
    nodes: int
    roots: int


def main(arguments: Sequence[str]) -> None:
    count = int(arguments[0]) if arguments else 100_000
    print(f"{'workload':28}{'first/s':>10}{'last/s':>10}{'nodes':>10}{'front':>10}")
    for row in rows(count):
        print(f"{row.workload:28}{row.first:10,.0f}{row.a_second:10,.0f}{row.nodes:10,}{row.roots:10,}")


def rows(count: int) -> Iterator[Row]:
    for ratio in RATIOS:
        drawn, taxonomy = _drawn(count, {"overlap": 0.0})
        yield measured(f"{ratio:.0%} contained", list(contained(drawn, ratio)), taxonomy)
    for name, options in STRUCTURES.items():
        drawn, taxonomy = _drawn(count, options)
        yield measured(name, drawn, taxonomy)


def _drawn(count: int, options: Mapping[str, Any]) -> tuple[Sequence[Query], Taxonomy]:
    few = {"publications": max(1, count // 1_000), "matches": 1}
    tables = generate_filter(1, subscriptions=count, **few, **options)
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
        return self._found.query(number)


def contained(drawn: Sequence[Query], ratio: float) -> Iterator[Query]:
    """As many queries, of which this share is another one's with terms for some of its variables."""
    random = Random(1)
    own = max(1, round(len(drawn) * (1 - ratio)))
    for number in random.sample(range(len(drawn)), len(drawn)):
        yield drawn[number] if number < own else _special(drawn[random.randrange(own)], random, number)


def _special(query: Query, random: Random, number: int) -> Query:
    names = [name for name in query.variables if random.random() < 0.7] or list(query.variables[:1])
    images: dict[Any, Any] = {name: plain_name(f"of{number}{name.name}") for name in names}
    patterns = [TriplePattern(*(images.get(node, node) for node in edge)) for edge in query.patterns]
    assert all(isinstance(name, Variable) for name in names)
    return Query(patterns=tuple(patterns))


def measured(workload: str, queries: Sequence[Query], taxonomy: Taxonomy) -> Row:
    forest = Forest(taxonomy)
    seconds: list[float] = []
    for first in range(0, len(queries), BATCH):
        started = time.process_time()
        forest.insert(list(enumerate(queries[first : first + BATCH], first)))
        seconds.append(time.process_time() - started)
    tenth = max(1, len(seconds) // 10)
    last, begun = (min(BATCH, len(queries)) * tenth / sum(part) for part in (seconds[-tenth:], seconds[:tenth]))
    return Row(workload, last, begun, len(forest), len(list(forest.roots())))


if __name__ == "__main__":
    main(sys.argv[1:])
