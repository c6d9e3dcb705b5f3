"""The seeds' filter workload ([G] table 1, [R] section 5), seeded, of any size, with the answer it must give.

Publications are a path through their nodes plus extra edges. The seeds draw these uniformly; then hardly any 5 nodes
carry 10 edges, so by default they join nodes that lie close on the path, and `drawing="uniform"` is the seeds' own.
Subscriptions that match are subgraphs of a publication with some nodes turned into variables; the others are drawn like
publications, `overlap` of them on the nodes and edges of another one.

Why `expected` is exact: a match keeps its identity map, and every subscription keeps one *witness*, an edge between two
constants that stands in its own publication only, or in none. No homomorphism can map that edge anywhere else.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from heliograph.errors import UsageError
from heliograph.workloads.filter_graphs import (
    Flags,
    Graphs,
    Ints,
    Occurrences,
    Random,
    Shape,
    Universe,
    choose,
    draw_graphs,
    subgraphs,
)
from heliograph.workloads.filter_structure import one_sided_count, one_sided_matches, one_structure
from heliograph.workloads.filter_tables import SPREAD, Pairs, Ranges, Tables

DRAWINGS = ("local", "uniform")
_REACH = 2  # how far apart on the path a local extra edge's ends may lie
_MATCHES = 100  # [R]'s matches of a publication
_SHARES = ("variable_share", "overlap", "hard_negatives", "constraints", "one_sided", "is_a")
_ROUNDS = 50  # redraws of subscriptions that lack a witness


@dataclass(frozen=True, slots=True)
class FilterWorkload:
    """The parameters, with the defaults of the paper on RSS filtering (WWW 2008). `matches` counts the matching
    subscriptions of each publication; by default it is 100, or half of the subscriptions where there are too few.

    `hard_negatives` is the share of the others that differ from a match in one edge. `constraints` is the share of
    subscriptions with a range on a value, `one_sided` the share of ranges that have one end. With `classes` there is a
    taxonomy in which each class has one or two parents, and the share `is_a` of the variables asks for a class.
    `one_structure` (that paper's figure 9(b)) gives all subscriptions one pattern, and each a range of its own.
    """

    subscriptions: int = 100_000
    publications: int = 100
    matches: int | None = None
    publication_nodes: int = 30
    publication_edges: int = 90
    subscription_nodes: int = 5
    subscription_edges: int = 10
    variables: int = 2
    variable_share: float = 0.9
    overlap: float = 0.5
    labels: int = 1000
    properties: int = 50
    drawing: str = "local"
    hard_negatives: float = 0.0
    constraints: float = 0.0
    one_sided: float = 0.0
    classes: int = 0
    is_a: float = 0.5
    one_structure: bool = False

    @property
    def matches_each(self) -> int:
        if self.matches is not None:
            return self.matches
        each = max(1, self.publications)
        return _MATCHES if self.subscriptions >= _MATCHES * each else self.subscriptions // (2 * each)

    @property
    def universe(self) -> Universe:
        return Universe(self.labels, self.properties)

    @property
    def publication_shape(self) -> Shape:
        reach = _REACH if self.drawing == "local" else self.publication_nodes - 1
        return Shape(self.publication_nodes, self.publication_edges, min(reach, self.publication_nodes - 1))

    @property
    def subscription_shape(self) -> Shape:
        return Shape(self.subscription_nodes, self.subscription_edges, self.subscription_nodes - 1)


class Patterns(NamedTuple):
    """Subscriptions: their graphs, which edge is the witness, which nodes are variables, what they match."""

    graphs: Graphs
    witness: Ints
    stars: Flags
    owner: Ints  # the publication that is matched, or -1
    start: Ints  # where in the owner's path the subgraph begins

    def take(self, rows: Ints) -> Patterns:
        return Patterns(self.graphs.take(rows), *(column[rows] for column in self[1:]))  # type: ignore[arg-type]


def generate_filter(seed: int = 0, **options: Any) -> dict[str, pa.Table]:
    """The tables patterns, constraints, publications, taxonomy and expected; see `FilterWorkload` for the options."""
    workload = _checked(options)
    rng = np.random.default_rng(seed)
    publications = draw_graphs(rng, workload.publications, workload.publication_shape, workload.universe)
    tables = Tables(rng, workload.labels, workload.classes)
    if workload.one_structure:
        return one_structure(rng, workload, publications, tables)
    patterns = _patterns(rng, workload, publications)
    values = _values(rng, publications) if workload.constraints else None
    ranges = None if values is None else _ranges(rng, workload, patterns, values)
    matching = np.flatnonzero(patterns.owner >= 0)
    return {
        "patterns": tables.patterns(patterns.graphs, patterns.stars, ranges),
        "constraints": tables.constraints(patterns.graphs, ranges, _asking(rng, workload, patterns.stars)),
        "publications": tables.publications(publications, values),
        "taxonomy": tables.taxonomy(),
        "expected": tables.expected(Pairs(matching, patterns.owner[matching])),
    }


# --- subscriptions ----------------------------------------------------------------------------------------------


def _patterns(rng: Random, workload: FilterWorkload, publications: Graphs) -> Patterns:
    """Matching ones, hard negatives and others, in one shuffled sequence."""
    known = Occurrences.of(publications.codes(workload.universe).ravel())
    owners = np.repeat(np.arange(workload.publications), workload.matches_each)
    others = workload.subscriptions - len(owners)
    hard = int(others * workload.hard_negatives) if workload.publications else 0
    matching = _matching(rng, workload, publications, known, owners)
    drawn = rng.integers(0, max(1, workload.publications), hard)
    spoilt = _spoil(rng, workload, known, _matching(rng, workload, publications, known, drawn))
    rest = _unmatched(rng, workload, known, others - hard)
    joined = _join([matching, spoilt, rest])
    return joined.take(rng.permutation(workload.subscriptions))


def _matching(
    rng: Random, workload: FilterWorkload, publications: Graphs, known: Occurrences, owners: Ints
) -> Patterns:
    """Subgraphs of their owners whose witness stands in no other publication."""
    graphs, start = subgraphs(rng, publications, owners, workload.subscription_shape)
    for _ in range(_ROUNDS):
        alone = known.number(graphs.codes(workload.universe)) == 1
        lacking = np.flatnonzero(~alone.any(axis=1))
        if not len(lacking):
            return _with_stars(rng, workload, graphs, choose(rng, alone), owners, start)
        again, begin = subgraphs(rng, publications, owners[lacking], workload.subscription_shape)
        start[lacking] = begin
        for column, redrawn in zip(graphs, again, strict=True):
            column[lacking] = redrawn
    raise _indistinct()


def _spoil(rng: Random, workload: FilterWorkload, known: Occurrences, patterns: Patterns) -> Patterns:
    """Near misses: the witness gets a property with which it stands in no publication."""
    graphs, rows = patterns.graphs, np.arange(len(patterns.owner))
    for _ in range(_ROUNDS * workload.properties):
        if not len(rows):
            return patterns._replace(owner=np.full(len(patterns.owner), -1))
        at = patterns.witness[rows]
        graphs.property[rows, at] = rng.integers(0, workload.properties, len(rows))
        codes = graphs.take(rows).codes(workload.universe)
        rows = rows[known.number(np.take_along_axis(codes, at[:, None], axis=1)[:, 0]) > 0]
    raise _indistinct()


def _unmatched(rng: Random, workload: FilterWorkload, known: Occurrences, count: int) -> Patterns:
    """Graphs of their own; `overlap` of them repeat the nodes and edges of another, with other variables."""
    bases = max(1, count - int(count * workload.overlap))
    graphs = draw_graphs(rng, bases, workload.subscription_shape, workload.universe)
    for _ in range(_ROUNDS):
        unknown = known.number(graphs.codes(workload.universe)) == 0
        lacking = np.flatnonzero(~unknown.any(axis=1))
        if not len(lacking):
            break
        again = draw_graphs(rng, len(lacking), workload.subscription_shape, workload.universe)
        for column, redrawn in zip(graphs, again, strict=True):
            column[lacking] = redrawn
    else:
        raise _indistinct()
    of = np.concatenate([np.arange(bases), rng.integers(0, bases, count - bases)]) if count else np.arange(0)
    none = np.full(count, -1)
    return _with_stars(rng, workload, graphs.take(of), choose(rng, unknown[of]), none, none)


def _with_stars(
    rng: Random, workload: FilterWorkload, graphs: Graphs, witness: Ints, owner: Ints, start: Ints
) -> Patterns:
    """Variables for nodes other than the two of the witness, in a share of the subscriptions."""
    count, nodes = graphs.labels.shape
    scores = rng.random((count, nodes))
    for ends in (graphs.source, graphs.target):
        np.put_along_axis(scores, np.take_along_axis(ends, witness[:, None], axis=1), 2.0, axis=1)
    rank = np.argsort(np.argsort(scores, axis=1), axis=1)
    stars = (rank < workload.variables) & _share(rng, count, workload.variable_share)[:, None]
    return Patterns(graphs, witness, stars, owner, start)


def _join(parts: list[Patterns]) -> Patterns:
    graphs = Graphs(*(np.concatenate(column) for column in zip(*(part.graphs for part in parts), strict=True)))
    rest = zip(*(part[1:] for part in parts), strict=True)
    return Patterns(graphs, *(np.concatenate(column) for column in rest))


# --- values and ranges ------------------------------------------------------------------------------------------


def _values(rng: Random, publications: Graphs) -> Ints:
    """A value for each node of each publication."""
    return rng.permutation(publications.labels.size).reshape(publications.labels.shape) * SPREAD


def _ranges(rng: Random, workload: FilterWorkload, patterns: Patterns, values: Ints) -> Ranges:
    """A range on the value of the witness's source, which is a constant; a match's range holds the value."""
    count = len(patterns.owner)
    node = np.take_along_axis(patterns.graphs.source, patterns.witness[:, None], axis=1)[:, 0]
    found = values[patterns.owner, np.minimum(patterns.start + node, values.shape[1] - 1)]
    middle = np.where(patterns.owner >= 0, found, rng.integers(0, values.size * SPREAD, count))
    low, high = (rng.integers(0, SPREAD // 2, count) for _ in range(2))
    side = np.where(_share(rng, count, workload.one_sided), rng.integers(0, 2, count), 2)  # which ends are left out
    return Ranges(
        _share(rng, count, workload.constraints), node, middle - low, middle + high, below=side != 0, above=side != 1
    )


def _asking(rng: Random, workload: FilterWorkload, stars: Flags) -> Flags:
    """The variables that ask for a class."""
    asking = np.zeros(stars.shape, bool)
    asking[stars] = _share(rng, int(stars.sum()), workload.is_a if workload.classes else 0.0)
    return asking


def _share(rng: Random, count: int, share: float) -> Flags:
    """As many rows as the share says, at random."""
    chosen = np.zeros(count, bool)
    chosen[rng.permutation(count)[: round(count * share)]] = True
    return chosen


# --- checks -----------------------------------------------------------------------------------------------------


def _checked(options: dict[str, Any]) -> FilterWorkload:
    names = [entry.name for entry in fields(FilterWorkload)]
    unknown = sorted(set(options) - set(names))
    if unknown:
        raise UsageError("HG-048", f"no option {unknown[0]!r}", fix=f"the options are {', '.join(names)}")
    workload = FilterWorkload(**options)
    for wrong, fix in _wrong(workload):
        raise UsageError("HG-048", wrong, fix=fix)
    return workload


def _wrong(workload: FilterWorkload) -> list[tuple[str, str]]:
    """What is wrong with the parameters, and what to do about it."""
    shares = {name: getattr(workload, name) for name in _SHARES}
    counts = {name: getattr(workload, name) for name in ("subscriptions", "publications", "classes")}
    counts["matches"] = workload.matches_each
    large, small = workload.publication_shape, workload.subscription_shape
    rules = [
        *((0 <= share <= 1, f"{name} is {share}", "give a share from 0 to 1") for name, share in shares.items()),
        *((count >= 0, f"{name} is {count}", "give 0 or more") for name, count in counts.items()),
        (workload.drawing in DRAWINGS, f"drawing is {workload.drawing!r}", f"use {' or '.join(DRAWINGS)}"),
        (small.nodes >= 2, f"subscriptions of {small.nodes} nodes", "give 2 or more"),
        (large.nodes >= small.nodes, "publications smaller than subscriptions", "give them more nodes"),
        (
            large.edges >= large.nodes - 1 and small.edges >= small.nodes - 1,
            "too few edges for a path",
            "give more edges",
        ),
        (0 <= workload.variables <= small.nodes - 2, f"{workload.variables} variables", "leave two nodes constant"),
        (
            workload.matches_each * workload.publications <= workload.subscriptions,
            f"{workload.matches_each} matches for each of {workload.publications} publications",
            f"that is more than {workload.subscriptions} subscriptions: ask for fewer",
        ),
        (not workload.one_structure or _sides_suffice(workload), "too many matches for the ranges", "ask for fewer"),
    ]
    return [(wrong, fix) for fine, wrong, fix in rules if not fine]


def _sides_suffice(workload: FilterWorkload) -> bool:
    """Whether there are enough ranges of either kind for the matches that each kind is to give."""
    one_sided, through = one_sided_count(workload), one_sided_matches(workload)
    two_sided = (workload.matches_each - through) * workload.publications
    return 2 * through <= one_sided and two_sided <= workload.subscriptions - one_sided


def _indistinct() -> UsageError:
    return UsageError(
        "HG-048", "publications too alike to know what matches", fix="ask for more labels or more properties"
    )
