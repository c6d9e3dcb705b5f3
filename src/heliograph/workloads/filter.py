"""The filter workload of [G] table 1 and [R] section 5, seeded, of any size, with the answer it must give.

Publications are a path through their nodes plus extra edges. The seeds draw these uniformly; then hardly any 5 nodes
carry 10 edges, so by default they join nodes that lie close on the path, and `drawing="uniform"` is the seeds' own.
Subscriptions that match are subgraphs of a publication with some nodes turned into variables; the others are drawn
like publications, `overlap` of them on the nodes and edges of another one.

Why `expected` is exact: a match keeps its identity map, and every subscription keeps one *witness*, an edge between
two constants that stands in its own publication only, or in none. No homomorphism can map that edge anywhere else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from heliograph.errors import UsageError
from heliograph.workloads import Flags, Ints, Random, Texts, named, parameters, texts_of

# --- many small labelled graphs at once: rows of arrays, one graph a row, nodes by their position in it ---

_ROUNDS = 200  # redraws after which the parameters are blamed
_CHUNK = 8192  # rows for which scores of all edges are held at once


class GraphShape(NamedTuple):
    """Nodes and edges of a graph; extra edges join nodes at most `reach` apart on the path."""

    nodes: int
    edges: int
    reach: int


class Universe(NamedTuple):
    """How many node labels and properties there are to draw from."""

    labels: int
    properties: int

    def codes(self, source: Ints, property: Ints, target: Ints) -> Ints:
        """One number for each triple of labels."""
        return (source * self.properties + property) * self.labels + target


class Graphs(NamedTuple):
    """Each row a graph: the labels of its nodes, and its edges as (position, property, position)."""

    labels: Ints
    source: Ints
    property: Ints  # -1 where a graph has fewer edges than the array has columns
    target: Ints

    def codes(self, universe: Universe) -> Ints:
        """The triples' codes; -1 where there is no edge."""
        ends = (np.take_along_axis(self.labels, at, axis=1) for at in (self.source, self.target))
        codes = universe.codes(next(ends), self.property, next(ends))
        return np.where(self.property >= 0, codes, -1)

    def take(self, rows: Ints) -> Graphs:
        return Graphs(*(column[rows] for column in self))


class TripleCounts(NamedTuple):
    """In how many publications each triple stands."""

    known: Ints
    times: Ints

    @classmethod
    def of(cls, codes: Ints) -> TripleCounts:
        return cls(*np.unique(codes, return_counts=True))

    def number(self, codes: Ints) -> Ints:
        if not len(self.known):
            return np.zeros_like(codes)
        at = np.minimum(np.searchsorted(self.known, codes), len(self.known) - 1)
        return np.where(self.known[at] == codes, self.times[at], 0)


def draw_graphs(rng: Random, count: int, shape: GraphShape, universe: Universe) -> Graphs:
    """[G] section 5: a simple path through the nodes, then extra edges between pairs of them; all edges distinct."""
    path = np.broadcast_to(np.arange(shape.nodes - 1), (count, shape.nodes - 1))
    extra = (count, shape.edges - shape.nodes + 1)
    start = rng.integers(0, shape.nodes, extra)
    end = _ends(rng, start, shape)
    source, target = np.hstack([path, start]), np.hstack([path + 1, end])
    labels = _distinct_labels(rng, count, shape.nodes, universe.labels)
    return Graphs(labels, source, _properties(rng, source, target, shape.nodes, universe), target)


def _ends(rng: Random, start: Ints, shape: GraphShape) -> Ints:
    """Where extra edges end: anywhere else, or within reach."""
    if shape.reach >= shape.nodes - 1:
        return (start + rng.integers(1, shape.nodes, start.shape)) % shape.nodes
    step = rng.integers(1, shape.reach + 1, start.shape) * rng.choice(np.array([-1, 1]), start.shape)
    end = start + step
    turned: Ints = np.where((end < 0) | (end >= shape.nodes), start - step, end)  # at the ends of the path
    return turned


def _distinct_labels(rng: Random, count: int, nodes: int, labels: int) -> Ints:
    drawn = rng.integers(0, labels, (count, nodes))
    for _ in range(_ROUNDS * nodes):
        repeated = _repeated(drawn)
        if not repeated.any():
            return drawn
        drawn[repeated] = rng.integers(0, labels, int(repeated.sum()))
    raise _impossible(f"{nodes} distinct nodes out of {labels} labels", "labels")


def _properties(rng: Random, source: Ints, target: Ints, nodes: int, universe: Universe) -> Ints:
    """A property for each edge, such that no edge stands twice."""
    property = rng.integers(0, universe.properties, source.shape)
    for _ in range(_ROUNDS):
        repeated = _repeated((source * nodes + target) * universe.properties + property)
        if not repeated.any():
            return property
        property[repeated] = rng.integers(0, universe.properties, int(repeated.sum()))
    raise _impossible(f"distinct edges out of {universe.properties} properties", "properties")


def _repeated(rows: Ints) -> Flags:
    """Where a number stands in its row for the second time or later."""
    order = np.argsort(rows, axis=1, kind="stable")
    ranked = np.take_along_axis(rows, order, axis=1)
    again = np.zeros(rows.shape, bool)
    np.put_along_axis(again, order[:, 1:], ranked[:, 1:] == ranked[:, :-1], axis=1)
    return again


def subgraphs(rng: Random, graphs: Graphs, owners: Ints, shape: GraphShape) -> tuple[Graphs, Ints]:
    """For each owner a connected subgraph: a stretch of its path with at most `shape.edges` of the edges within.

    Among the stretches those with enough edges are preferred. Also returns where each stretch begins.
    """
    low, high = np.minimum(graphs.source, graphs.target), np.maximum(graphs.source, graphs.target)
    stretches = range(graphs.labels.shape[1] - shape.nodes + 1)
    edges = [((low >= at) & (high < at + shape.nodes)).sum(axis=1) for at in stretches]  # that lie within each
    dense = np.stack(edges, axis=1)
    enough = np.where(
        (dense >= shape.edges).any(axis=1, keepdims=True), dense >= shape.edges, dense == dense.max(1)[:, None]
    )
    parts = [_cut(rng, graphs, owners[at : at + _CHUNK], enough, shape) for at in range(0, len(owners), _CHUNK)]
    parts = parts or [_cut(rng, graphs, owners, enough, shape)]
    columns = zip(*(part for part, _ in parts), strict=True)
    return Graphs(*(np.concatenate(column) for column in columns)), np.concatenate([start for _, start in parts])


def _cut(rng: Random, graphs: Graphs, owners: Ints, enough: Flags, shape: GraphShape) -> tuple[Graphs, Ints]:
    scores = np.where(enough[owners], rng.random((len(owners), enough.shape[1])), -1.0)
    start = scores.argmax(axis=1)
    source, target = (column[owners] - start[:, None] for column in (graphs.source, graphs.target))
    inside = (np.minimum(source, target) >= 0) & (np.maximum(source, target) < shape.nodes)
    on_path = np.arange(source.shape[1]) < graphs.labels.shape[1] - 1
    order = np.where(inside, np.where(on_path, 0.0, 1.0 + rng.random(source.shape)), 3.0)  # the path comes first
    chosen = np.argsort(order, axis=1)[:, : shape.edges]
    kept = np.take_along_axis(inside, chosen, axis=1)
    property = np.where(kept, np.take_along_axis(graphs.property[owners], chosen, axis=1), -1)
    ends = (np.where(kept, np.take_along_axis(column, chosen, axis=1), 0) for column in (source, target))
    labels = np.take_along_axis(graphs.labels[owners], start[:, None] + np.arange(shape.nodes), axis=1)
    return Graphs(labels, next(ends), property, next(ends)), start


def choose(rng: Random, allowed: Flags) -> Ints:
    """One allowed column of each row, at random; -1 where none is."""
    scores = np.where(allowed, rng.random(allowed.shape), -1.0)
    return np.where(allowed.any(axis=1), scores.argmax(axis=1), -1)


def _impossible(what: str, option: str) -> UsageError:
    return UsageError("HG-048", f"cannot draw {what}", fix=f"ask for more {option}, or for smaller graphs")


# --- the contract's tables: labels become names, n7 a node, p3 a property, C5 a class ---

SPREAD = 1000  # values of nodes are this far apart, so that a range around one holds no other
_VALUE_VARIABLE = "?value"


class Ranges(NamedTuple):
    """For each subscription: whether it has a range, on the value of which node, from where to where.

    Without a lower or an upper end it is one-sided.
    """

    present: Flags
    node: Ints
    low: Ints
    high: Ints
    below: Flags  # whether there is a lower end
    above: Flags


class FilterTables:
    """Names for labels, and a taxonomy over them."""

    def __init__(self, rng: Random, labels: int, classes: int) -> None:
        self._classes = classes
        self._parents = [_parents(rng, number) for number in range(classes)]
        self._class_of = rng.integers(0, classes, labels) if classes else np.zeros(0, np.int64)
        self._rng = rng

    def patterns(self, graphs: Graphs, stars: Flags, ranges: Ranges | None) -> pa.Table:
        row, column = np.nonzero(graphs.property >= 0)
        ends = [_node_names(graphs, stars, row, at[row, column]) for at in (graphs.source, graphs.target)]
        table = _table(
            subscription_id=named("s", row),
            subject=ends[0],
            property=named("p", graphs.property[row, column]),
            object=ends[1],
        )
        return table if ranges is None else pa.concat_tables([table, _value_patterns(graphs, ranges)])

    def constraints(self, graphs: Graphs, ranges: Ranges | None, asking: Flags) -> pa.Table:
        """The ends of ranges, and classes for the variables that ask for one."""
        parts = [_table(subscription_id=[], variable=[], operator=[], value=[])]
        if ranges is not None:
            ends = ((">=", ranges.below, ranges.low), ("<=", ranges.above, ranges.high))
            for sign, wanted, limits in ends:
                rows = np.flatnonzero(ranges.present & wanted)
                bounds = pa.array(limits[rows]).cast(pa.string())
                parts.append(_constraints(rows, [_VALUE_VARIABLE] * len(rows), sign, bounds))
        if self._classes:  # each variable asks for one that the node it replaced belongs to, at any height
            rows, node = np.nonzero(asking)
            above = [self._some_ancestor(int(self._class_of[label])) for label in graphs.labels[rows, node]]
            classes = named("C", np.array(above, np.int64))
            parts.append(_constraints(rows, named("?x", node), "is-a", classes))
        return pa.concat_tables(parts)

    def _some_ancestor(self, number: int) -> int:
        """A class at a random height above this one, itself included."""
        while self._parents[number] and self._rng.random() < 0.6:
            number = self._parents[number][int(self._rng.integers(len(self._parents[number])))]
        return number

    def publications(self, graphs: Graphs, values: Ints | None, core: Graphs | None = None) -> pa.Table:
        """With a `core`, that graph stands in every publication, its first node with another value in each."""
        row, column = np.nonzero(graphs.property >= 0)
        none = np.zeros(graphs.labels.shape, bool)
        parts = [
            _table(
                publication_id=named("d", row),
                subject=_node_names(graphs, none, row, graphs.source[row, column]),
                property=named("p", graphs.property[row, column]),
                object=_node_names(graphs, none, row, graphs.target[row, column]),
            )
        ]
        if values is not None:
            row, column = np.nonzero(~none)
            parts.append(_value_triples(row, graphs.labels[row, column], values[row, column]))
        if core is not None:
            count = np.arange(len(graphs.labels))
            parts.append(self.publications(core.take(count * 0), None))
            parts.append(_value_triples(count, np.full(len(count), core.labels[0, 0]), count * GAP))
        return pa.concat_tables(parts)

    def taxonomy(self) -> pa.Table:
        pairs = [(number, parent) for number, parents in enumerate(self._parents) for parent in parents]
        children, parents = np.array(pairs, np.int64).reshape(-1, 2).T
        members = _table(child=named("n", np.arange(len(self._class_of))), parent=named("C", self._class_of))
        return pa.concat_tables([_table(child=named("C", children), parent=named("C", parents)), members])

    def expected(self, subscription: Ints, publication: Ints) -> pa.Table:
        """Pairs that match, in the order of notifications: by publication, then by subscription."""
        order = np.lexsort((subscription, publication))
        return _table(subscription_id=named("s", subscription[order]), publication_id=named("d", publication[order]))


def _parents(rng: Random, number: int) -> list[int]:
    """One or two classes with lower numbers, so that there is no cycle; the first class is the top."""
    return sorted(set(rng.integers(0, number, rng.integers(1, 3)).tolist())) if number else []


def _table(**columns: Sequence[str] | Texts) -> pa.Table:
    arrays = {name: cells if isinstance(cells, pa.Array) else texts_of(list(cells)) for name, cells in columns.items()}
    return pa.table(arrays)


def _node_names(graphs: Graphs, stars: Flags, row: Ints, at: Ints) -> Texts:
    """A node's label, or its variable where it is one."""
    labels, variables = named("n", graphs.labels[row, at]), named("?x", at)
    return cast(Texts, pc.if_else(pa.array(stars[row, at]), variables, labels))


def _value_patterns(graphs: Graphs, ranges: Ranges) -> pa.Table:
    rows = np.flatnonzero(ranges.present)
    return _table(
        subscription_id=named("s", rows),
        subject=named("n", graphs.labels[rows, ranges.node[rows]]),
        property=["value"] * len(rows),
        object=[_VALUE_VARIABLE] * len(rows),
    )


def _value_triples(row: Ints, labels: Ints, values: Ints) -> pa.Table:
    return _table(
        publication_id=named("d", row),
        subject=named("n", labels),
        property=["value"] * len(row),
        object=pa.array(values).cast(pa.string()),
    )


def _constraints(rows: Ints, variables: Sequence[str] | Texts, sign: str, values: Texts) -> pa.Table:
    return _table(subscription_id=named("s", rows), variable=variables, operator=[sign] * len(rows), value=values)


# --- [R] figure 9(b): one pattern for all subscriptions, and a range of its own for each ---
#
# All publications hold the pattern, each with another value, the values `GAP` apart. Why `expected` is exact: two-
# sided ranges lie around one value or between two. One-sided ranges come in pairs with their ends between the same
# two values, one upwards and one downwards, so each pair gives every publication exactly one match; the other one-
# sided ranges begin beyond the last value or end before the first.

GAP = 10**9  # so wide that no two ends of ranges coincide but by a rare chance


class _Drawn(NamedTuple):
    """Ranges with the publications that they hold the values of: from `first`, so many."""

    below: Flags  # whether there is a lower end
    above: Flags
    low: Ints
    high: Ints
    first: Ints
    held: Ints


def one_structure(
    rng: Random, workload: FilterWorkload, publications: Graphs, tables: FilterTables
) -> dict[str, pa.Table]:
    """The tables of the workload."""
    core = draw_graphs(rng, 1, workload.subscription_shape, workload.universe)
    core = core._replace(labels=core.labels * 0 + workload.labels + np.arange(workload.subscription_nodes))
    kinds = zip(_two_sided(rng, workload), _one_sided(rng, workload), strict=True)
    order = rng.permutation(workload.subscriptions)
    drawn = _Drawn(*(np.concatenate(columns)[order] for columns in kinds))
    zeros = np.zeros(workload.subscriptions, np.int64)
    ranges = Ranges(drawn.below | drawn.above, zeros, drawn.low, drawn.high, drawn.below, drawn.above)
    graphs = core.take(zeros)
    stars = np.zeros(graphs.labels.shape, bool)
    stars[:, 2 : 2 + workload.variables] = True
    # Every subscription matches every publication whose value it holds.
    subscription = np.repeat(np.arange(len(drawn.first)), drawn.held)
    place = np.arange(len(subscription)) - np.repeat(np.cumsum(drawn.held) - drawn.held, drawn.held)
    return {
        "patterns": tables.patterns(graphs, stars, ranges),
        "constraints": tables.constraints(graphs, ranges, np.zeros_like(stars)),
        "publications": tables.publications(publications, None, core),
        "taxonomy": tables.taxonomy(),
        "expected": tables.expected(subscription, drawn.first[subscription] + place),
    }


def one_sided_count(workload: FilterWorkload) -> int:
    """How many ranges are one-sided."""
    return round(workload.subscriptions * workload.one_sided)


def one_sided_matches(workload: FilterWorkload) -> int:
    """How many of a publication's matches have a one-sided range."""
    return round(workload.matches_each * workload.one_sided)


def _two_sided(rng: Random, workload: FilterWorkload) -> _Drawn:
    """Around the value of a publication, or between two."""
    count = workload.subscriptions - one_sided_count(workload)
    each = workload.matches_each - one_sided_matches(workload)
    owner = np.repeat(np.arange(workload.publications), each)
    matching = np.arange(count) < len(owner)
    between = rng.integers(0, max(1, workload.publications), count - len(owner)) * GAP + GAP // 2
    middle = np.concatenate([owner * GAP, between])
    low, high = (rng.integers(0, GAP // 4, count) for _ in range(2))
    first = np.concatenate([owner, np.zeros(count - len(owner), np.int64)])
    both = np.ones(count, bool)
    return _Drawn(both, both, middle - low, middle + high, first, matching.astype(np.int64))


def _one_sided(rng: Random, workload: FilterWorkload) -> _Drawn:
    """First the pairs, as many as a publication has matches here; then those that hold no value."""
    count, pairs, values = one_sided_count(workload), one_sided_matches(workload), workload.publications
    upward = np.arange(count) % 2 == 0
    cut = np.where(upward, values, 0)  # upwards: the values from number `cut` on; downwards: those before it
    cut[: 2 * pairs] = np.repeat(rng.integers(0, values + 1, pairs), 2)
    end = cut * GAP - GAP // 2 + rng.integers(-GAP // 4, GAP // 4, count)
    held = np.where(upward, values - cut, cut)
    return _Drawn(upward, ~upward, end, end, np.where(upward, cut, 0), held)


# --- the workload ---

DRAWINGS = ("local", "uniform")
_REACH = 2  # how far apart on the path a local extra edge's ends may lie
_MATCHES = 100  # [R]'s matches of a publication
_SHARES = ("variable_share", "overlap", "hard_negatives", "constraints", "one_sided", "is_a")
_FILTER_ROUNDS = 50  # redraws of subscriptions that lack a witness


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
    def publication_shape(self) -> GraphShape:
        reach = _REACH if self.drawing == "local" else self.publication_nodes - 1
        return GraphShape(self.publication_nodes, self.publication_edges, min(reach, self.publication_nodes - 1))

    @property
    def subscription_shape(self) -> GraphShape:
        return GraphShape(self.subscription_nodes, self.subscription_edges, self.subscription_nodes - 1)


class DrawnPatterns(NamedTuple):
    """Subscriptions: their graphs, which edge is the witness, which nodes are variables, what they match."""

    graphs: Graphs
    witness: Ints
    stars: Flags
    owner: Ints  # the publication that is matched, or -1
    start: Ints  # where in the owner's path the subgraph begins

    def take(self, rows: Ints) -> DrawnPatterns:
        return DrawnPatterns(self.graphs.take(rows), *(column[rows] for column in self[1:]))  # type: ignore[arg-type]


def generate_filter(seed: int = 0, **options: Any) -> dict[str, pa.Table]:
    """The tables patterns, constraints, publications, taxonomy and expected; see `FilterWorkload` for the options."""
    workload = parameters(FilterWorkload, options, "HG-048")
    for wrong, fix in _wrong(workload):
        raise UsageError("HG-048", wrong, fix=fix)
    rng = np.random.default_rng(seed)
    publications = draw_graphs(rng, workload.publications, workload.publication_shape, workload.universe)
    tables = FilterTables(rng, workload.labels, workload.classes)
    if workload.one_structure:
        return one_structure(rng, workload, publications, tables)
    patterns = _patterns(rng, workload, publications)
    values = ranges = None
    if workload.constraints:  # on the values of the nodes, each of its own in each publication
        values = rng.permutation(publications.labels.size).reshape(publications.labels.shape) * SPREAD
        ranges = _ranges(rng, workload, patterns, values)
    matching = np.flatnonzero(patterns.owner >= 0)
    return {
        "patterns": tables.patterns(patterns.graphs, patterns.stars, ranges),
        "constraints": tables.constraints(patterns.graphs, ranges, _asking(rng, workload, patterns.stars)),
        "publications": tables.publications(publications, values),
        "taxonomy": tables.taxonomy(),
        "expected": tables.expected(matching, patterns.owner[matching]),
    }


# --- subscriptions ---


def _patterns(rng: Random, workload: FilterWorkload, publications: Graphs) -> DrawnPatterns:
    """Matching ones, hard negatives and others, in one shuffled sequence."""
    known = TripleCounts.of(publications.codes(workload.universe).ravel())
    owners = np.repeat(np.arange(workload.publications), workload.matches_each)
    others = workload.subscriptions - len(owners)
    hard = int(others * workload.hard_negatives) if workload.publications else 0
    matching = _matching(rng, workload, publications, known, owners)
    drawn = rng.integers(0, max(1, workload.publications), hard)
    spoilt = _spoil(rng, workload, known, _matching(rng, workload, publications, known, drawn))
    rest = _unmatched(rng, workload, known, others - hard)
    parts = (matching, spoilt, rest)
    graphs = Graphs(*map(np.concatenate, zip(*(part.graphs for part in parts), strict=True)))
    columns = map(np.concatenate, zip(*(part[1:] for part in parts), strict=True))
    return DrawnPatterns(graphs, *columns).take(rng.permutation(workload.subscriptions))


def _matching(
    rng: Random, workload: FilterWorkload, publications: Graphs, known: TripleCounts, owners: Ints
) -> DrawnPatterns:
    """Subgraphs of their owners whose witness stands in no other publication."""
    graphs, start = subgraphs(rng, publications, owners, workload.subscription_shape)
    for _ in range(_FILTER_ROUNDS):
        alone = known.number(graphs.codes(workload.universe)) == 1
        lacking = np.flatnonzero(~alone.any(axis=1))
        if not len(lacking):
            return _with_stars(rng, workload, graphs, choose(rng, alone), owners, start)
        again, begin = subgraphs(rng, publications, owners[lacking], workload.subscription_shape)
        start[lacking] = begin
        for column, redrawn in zip(graphs, again, strict=True):
            column[lacking] = redrawn
    raise _indistinct()


def _spoil(rng: Random, workload: FilterWorkload, known: TripleCounts, patterns: DrawnPatterns) -> DrawnPatterns:
    """Near misses: the witness gets a property with which it stands in no publication."""
    graphs, rows = patterns.graphs, np.arange(len(patterns.owner))
    for _ in range(_FILTER_ROUNDS * workload.properties):
        if not len(rows):
            return patterns._replace(owner=np.full(len(patterns.owner), -1))
        at = patterns.witness[rows]
        graphs.property[rows, at] = rng.integers(0, workload.properties, len(rows))
        codes = graphs.take(rows).codes(workload.universe)
        rows = rows[known.number(np.take_along_axis(codes, at[:, None], axis=1)[:, 0]) > 0]
    raise _indistinct()


def _unmatched(rng: Random, workload: FilterWorkload, known: TripleCounts, count: int) -> DrawnPatterns:
    """Graphs of their own; `overlap` of them repeat the nodes and edges of another, with other variables."""
    bases = max(1, count - int(count * workload.overlap))
    graphs = draw_graphs(rng, bases, workload.subscription_shape, workload.universe)
    for _ in range(_FILTER_ROUNDS):
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
) -> DrawnPatterns:
    """Variables for nodes other than the two of the witness, in a share of the subscriptions."""
    count, nodes = graphs.labels.shape
    scores = rng.random((count, nodes))
    for ends in (graphs.source, graphs.target):
        np.put_along_axis(scores, np.take_along_axis(ends, witness[:, None], axis=1), 2.0, axis=1)
    rank = np.argsort(np.argsort(scores, axis=1), axis=1)
    stars = (rank < workload.variables) & _share(rng, count, workload.variable_share)[:, None]
    return DrawnPatterns(graphs, witness, stars, owner, start)


# --- values and ranges ---


def _ranges(rng: Random, workload: FilterWorkload, patterns: DrawnPatterns, values: Ints) -> Ranges:
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


# --- checks ---


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
    fix = "ask for more labels or more properties"
    return UsageError("HG-048", "publications too alike to know what matches", fix=fix)
