"""Structures of interests: which of them have the same edges, and how those edges are verified and looked up.

The law: members of one structure differ in their conditions alone, so one search over a publication answers for all.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from heliograph.index.arrays import fixed, power_of_two
from heliograph.index.interests import COMPLEX, Conjuncts, Interests, offsets_of
from heliograph.kernels.filter_layout import Edges, Int8s, Int16s, Int32s, Int64s, Keys


class Grouped(NamedTuple):
    """Interests by structure: member i is interest order[i], its conjuncts speak of the structure's variables."""

    edges: Edges  # of structures, sorted
    variables: Int16s  # of structures, how many
    offsets: Int64s  # of members
    order: Int64s
    conjuncts: Conjuncts  # of the interests as given
    names: Int16s  # of each interest's variables, their numbers in the structure
    name_offsets: Int64s


def group(interests: Interests) -> Grouped:
    """Brings interests of the same form together."""
    from heliograph.kernels.structures import canonicalise, count_variables, number_structures

    edges = fixed(Edges(interests.edge_offsets, *interests.edges))
    count = len(interests.numbers)
    sizes = np.zeros(count, np.int64)
    count_variables(edges, sizes)
    name_offsets, names, hashes = offsets_of(sizes), np.zeros(int(sizes.sum()), np.int16), np.zeros(count, np.uint64)
    form = Edges(np.zeros(count, np.int64), *(np.empty_like(column) for column in interests.edges))
    complex_ones = fixed((interests.flags & COMPLEX).astype(np.uint8))
    canonicalise(edges, complex_ones, fixed(name_offsets), form, names, hashes)
    order, numbers = np.argsort(hashes, kind="stable"), np.zeros(count, np.int32)
    ends = fixed(form.offsets)
    total = number_structures(
        fixed(Edges(interests.edge_offsets, *form[1:])), ends, complex_ones, fixed(order), numbers
    )
    first = np.searchsorted(numbers[order], np.arange(total)) if count else np.zeros(0, np.int64)
    chosen = order[first]
    return Grouped(
        _gathered(form, interests.edge_offsets[:-1][chosen], ends[chosen]),
        sizes[chosen].astype(np.int16),
        np.append(first, count).astype(np.int64),
        order,
        _renamed(interests, names, name_offsets),
        names,
        name_offsets,
    )


def _gathered(edges: Edges, begins: Int64s, ends: Int64s) -> Edges:
    offsets = offsets_of(ends - begins)
    rows = np.repeat(begins - offsets[:-1], ends - begins) + np.arange(offsets[-1])
    return Edges(offsets, *(column[rows] for column in edges[1:]))


def _renamed(interests: Interests, names: Int16s, name_offsets: Int64s) -> Conjuncts:
    """The conjuncts with the structure's numbers for variables."""
    owner = np.repeat(np.arange(len(interests.numbers)), np.diff(interests.conjunct_offsets))
    return interests.conjuncts._replace(variable=names[name_offsets[owner] + interests.conjuncts.variable])


class Ordered(NamedTuple):
    """The edges of structures as steps, and what is known at each."""

    steps: Edges
    modes: Int8s


def order_steps(edges: Edges, variables: Int16s) -> Ordered:
    from heliograph.kernels import structures

    steps = Edges(edges.offsets.copy(), *(column.copy() for column in edges[1:]))
    modes = np.zeros(len(steps.subject), np.uint8)
    structures.order_steps(steps, fixed(variables), modes)
    return Ordered(steps, modes)


def access_keys(edges: Edges, sketch: np.ndarray[tuple[int], np.dtype[np.uint32]]) -> Keys:
    """The keys under which structures are looked up, chosen from what publications held."""
    from heliograph.kernels import structures

    steps = fixed(edges)
    counts = np.zeros(power_of_two(2 * len(edges.subject)), np.uint32)
    structures.count_edges(steps, counts)
    chosen = np.empty(len(edges.offsets) - 1, np.int64)
    structures.choose_access(steps, sketch, counts, chosen)
    indexed = np.flatnonzero(chosen >= 0)
    known = chosen[indexed]
    subject, predicate, object = (fixed(np.maximum(column[known], -1)) for column in edges[1:])
    return _keys((subject, predicate, object), indexed, np.flatnonzero(chosen < 0))


def _keys(parts: tuple[Int32s, Int32s, Int32s], indexed: Int64s, always: Int64s) -> Keys:
    from heliograph.kernels import structures

    slots, key_of = np.zeros(power_of_two(2 * len(indexed)), np.int64), np.zeros(len(indexed), np.int32)
    total = structures.number_keys(*parts, slots, key_of)
    order = np.argsort(key_of, kind="stable")
    offsets = offsets_of(np.bincount(key_of, minlength=total)) if total else np.zeros(1, np.int64)
    subject, predicate, object = (part[order[offsets[:-1]]] for part in parts)
    masks = np.unique((parts[0] >= 0) + 2 * (parts[1] >= 0) + 4 * (parts[2] >= 0)).astype(np.uint8)
    postings = indexed[order].astype(np.int32)
    return Keys(slots, subject, predicate, object, offsets, postings, masks, always.astype(np.int32))
