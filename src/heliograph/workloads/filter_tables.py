"""A drawn filter workload as the contract's tables. Labels become names: n7 a node, p3 a property, C5 a class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from heliograph.workloads.filter_graphs import Flags, Graphs, Ints, Random

SPREAD = 1000  # values of nodes are this far apart, so that a range around one holds no other
_VALUE_VARIABLE = "?value"

Texts: TypeAlias = "pa.Array[Any]"


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


class Core(NamedTuple):
    """A graph that stands in every publication, its first node with another value in each."""

    graph: Graphs
    values: Ints


class Pairs(NamedTuple):
    """Subscriptions with the publications that they match, in parallel columns."""

    subscription: Ints
    publication: Ints


class Tables:
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
            subscription_id=_named("s", row),
            subject=ends[0],
            property=_named("p", graphs.property[row, column]),
            object=ends[1],
        )
        return table if ranges is None else pa.concat_tables([table, _value_patterns(graphs, ranges)])

    def constraints(self, graphs: Graphs, ranges: Ranges | None, asking: Flags) -> pa.Table:
        """The ends of ranges, and classes for the variables that ask for one."""
        parts = [_table(subscription_id=[], variable=[], operator=[], value=[])]
        if ranges is not None:
            ends = ((">=", ranges.below, ranges.low), ("<=", ranges.above, ranges.high))
            parts += [_bounds(np.flatnonzero(ranges.present & wanted), sign, limits) for sign, wanted, limits in ends]
        if self._classes:
            parts.append(self._is_a(graphs, asking))
        return pa.concat_tables(parts)

    def _is_a(self, graphs: Graphs, asking: Flags) -> pa.Table:
        """Each variable asks for a class that the node it replaced belongs to, at any height."""
        rows, node = np.nonzero(asking)
        labels = graphs.labels[rows, node]
        wanted = [self._some_ancestor(int(self._class_of[label])) for label in labels]
        return _table(
            subscription_id=_named("s", rows),
            variable=_named("?x", node),
            operator=["is-a"] * len(rows),
            value=_named("C", np.array(wanted, np.int64)),
        )

    def _some_ancestor(self, number: int) -> int:
        """A class at a random height above this one, itself included."""
        while self._parents[number] and self._rng.random() < 0.6:
            number = self._parents[number][int(self._rng.integers(len(self._parents[number])))]
        return number

    def publications(self, graphs: Graphs, values: Ints | None, core: Core | None = None) -> pa.Table:
        row, column = np.nonzero(graphs.property >= 0)
        none = np.zeros(graphs.labels.shape, bool)
        parts = [
            _table(
                publication_id=_named("d", row),
                subject=_node_names(graphs, none, row, graphs.source[row, column]),
                property=_named("p", graphs.property[row, column]),
                object=_node_names(graphs, none, row, graphs.target[row, column]),
            )
        ]
        if values is not None:
            row, column = np.nonzero(~none)
            parts.append(_value_triples(row, graphs.labels[row, column], values[row, column]))
        if core is not None:
            parts += self._core(core, len(graphs.labels))
        return pa.concat_tables(parts)

    def _core(self, core: Core, count: int) -> list[pa.Table]:
        """The same graph in every publication, and the value that tells them apart."""
        copies = self.publications(core.graph.take(np.zeros(count, np.int64)), None)
        return [copies, _value_triples(np.arange(count), np.full(count, core.graph.labels[0, 0]), core.values)]

    def taxonomy(self) -> pa.Table:
        pairs = [(number, parent) for number, parents in enumerate(self._parents) for parent in parents]
        children, parents = np.array(pairs, np.int64).reshape(-1, 2).T
        members = _table(child=_named("n", np.arange(len(self._class_of))), parent=_named("C", self._class_of))
        return pa.concat_tables([_table(child=_named("C", children), parent=_named("C", parents)), members])

    def expected(self, pairs: Pairs) -> pa.Table:
        """In the order of notifications: by publication, then by subscription."""
        order = np.lexsort((pairs.subscription, pairs.publication))
        columns = (column[order] for column in pairs)
        return _table(subscription_id=_named("s", next(columns)), publication_id=_named("d", next(columns)))


def _parents(rng: Random, number: int) -> list[int]:
    """One or two classes with lower numbers, so that there is no cycle; the first class is the top."""
    return sorted(set(rng.integers(0, number, rng.integers(1, 3)).tolist())) if number else []


def _table(**columns: Sequence[str] | Texts) -> pa.Table:
    return pa.table(
        {
            name: column if isinstance(column, pa.Array) else pa.array(column, pa.string())
            for name, column in columns.items()
        }
    )


def _named(letter: str, numbers: Ints) -> Texts:
    """The letter with each number behind it; each distinct name is made once."""
    known, codes = np.unique(numbers, return_inverse=True)
    names = pa.array([f"{letter}{number}" for number in known.tolist()], pa.string())
    return names.take(codes.ravel())


def _node_names(graphs: Graphs, stars: Flags, row: Ints, at: Ints) -> Texts:
    """A node's label, or its variable where it is one."""
    labels, variables = _named("n", graphs.labels[row, at]), _named("?x", at)
    return cast(Texts, pc.if_else(pa.array(stars[row, at]), variables, labels))


def _value_patterns(graphs: Graphs, ranges: Ranges) -> pa.Table:
    rows = np.flatnonzero(ranges.present)
    return _table(
        subscription_id=_named("s", rows),
        subject=_named("n", graphs.labels[rows, ranges.node[rows]]),
        property=["value"] * len(rows),
        object=[_VALUE_VARIABLE] * len(rows),
    )


def _value_triples(row: Ints, labels: Ints, values: Ints) -> pa.Table:
    return _table(
        publication_id=_named("d", row),
        subject=_named("n", labels),
        property=["value"] * len(row),
        object=pa.array(values).cast(pa.string()),
    )


def _bounds(rows: Ints, sign: str, limits: Ints) -> pa.Table:
    return _table(
        subscription_id=_named("s", rows),
        variable=[_VALUE_VARIABLE] * len(rows),
        operator=[sign] * len(rows),
        value=pa.array(limits[rows]).cast(pa.string()),
    )
