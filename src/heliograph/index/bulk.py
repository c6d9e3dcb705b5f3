"""Pattern sets as interests, whole columns at a time.

The law: `interests_of` gives each subscription the interest that `interest_of` gives its query, as sets of edges and of
conjuncts. Subscriptions whose edges the taxonomy could answer, or that are otherwise unusual, go through their query.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from heliograph.errors import HeliographError
from heliograph.index.arrays import ragged
from heliograph.index.bulk_limits import Asked, asked_of, chain_atoms, take
from heliograph.index.compiling import MOST, interest_of
from heliograph.index.interests import COMPLEX, Conjuncts, Interest, Interests, gather, offsets_of
from heliograph.publications import Triples
from heliograph.subscriptions import Batch, Subscription
from heliograph.syntax.constraints import OPERATORS
from heliograph.syntax.patterns import PatternSet
from heliograph.taxonomy import Taxonomy
from heliograph.terms import RDF_TYPE, RDFS_MEMBER, Term
from heliograph.vocabulary import Vocabulary

Int64s: TypeAlias = npt.NDArray[np.int64]
Flags: TypeAlias = npt.NDArray[np.bool_]

_LOG = logging.getLogger("heliograph")
_FEW = 4  # subscriptions up to which their queries are compiled faster than columns
_DIRECT = OPERATORS.index("direct-is-a")


def interests_of(
    patterns: PatternSet,
    rows: npt.NDArray[np.integer] | Sequence[int],
    numbers: npt.NDArray[np.integer] | Sequence[int],
    vocabulary: Vocabulary,
    taxonomy: Taxonomy,
) -> Interests:
    """The interests of subscriptions `rows` of a set, in that order; their constants get ids in the vocabulary."""
    chosen = np.asarray(rows, np.int64)
    unusual = np.full(len(chosen), True) if len(chosen) <= _FEW else _unusual(patterns, chosen, taxonomy)
    singly, together = np.flatnonzero(unusual), np.flatnonzero(~unusual)
    single = [interest_of(patterns.query(row), vocabulary, taxonomy) for row in chosen[singly].tolist()]
    parts = [gather(single, singly.tolist())] if single else []
    if len(together) or not parts:
        parts.append(_in_bulk(patterns, chosen[together], vocabulary, taxonomy)._replace(numbers=together))
    return _in_order(parts)._replace(numbers=np.asarray(numbers, np.int64))


def interests_of_batch(batch: Batch, vocabulary: Vocabulary, taxonomy: Taxonomy) -> Interests:
    """The interests of subscriptions from one pattern set; if one of them fails, each by itself."""
    numbers = np.fromiter((each.number for each in batch.subscriptions), np.int64, len(batch.subscriptions))
    try:
        return interests_of(batch.patterns, batch.rows, numbers, vocabulary, taxonomy)
    except (MemoryError, HeliographError):
        raise
    except Exception as error:  # a bug; which one it is, is said below, unless it alone can be compiled
        count = len(batch.subscriptions)
        _LOG.warning(
            "%s subscriptions are compiled one by one: %s, %s", count, type(error).__name__, error, exc_info=error
        )
        return interests_singly(batch.subscriptions, vocabulary, taxonomy)


def interests_singly(subscriptions: Sequence[Subscription], vocabulary: Vocabulary, taxonomy: Taxonomy) -> Interests:
    """The interests of subscriptions by their queries. One that fails gets an interest without edges: it is a candidate
    for every publication, and its query decides."""
    made = [_interest(each, vocabulary, taxonomy) for each in subscriptions]
    return gather(made, [each.number for each in subscriptions])


def _interest(subscription: Subscription, vocabulary: Vocabulary, taxonomy: Taxonomy) -> Interest:
    try:
        return interest_of(subscription.query, vocabulary, taxonomy)
    except (MemoryError, HeliographError):
        raise
    except Exception as error:
        _LOG.warning(
            "subscription %r cannot be indexed, so it is tried on every publication: %s, %s",
            subscription.id,
            type(error).__name__,
            error,
            exc_info=error,
        )
        return Interest((), (), COMPLEX)


def _unusual(patterns: PatternSet, rows: Int64s, taxonomy: Taxonomy) -> Flags:
    """Which have edges that are no plain ones, or too many of them."""
    special = [RDFS_MEMBER, RDF_TYPE] if taxonomy.rows else [RDFS_MEMBER]
    is_special = np.array([node in special for node in patterns.nodes], np.bool_)
    edges, limits = patterns.edge_rows(rows), patterns.limit_rows(rows)
    count = np.bincount(edges.owners, is_special[patterns.edges.predicate[edges.positions]], len(rows))
    count += np.bincount(limits.owners, patterns.limits.operator[limits.positions] == _DIRECT, len(rows))
    unusual: Flags = (count > 0) | (np.diff(edges.offsets) > MOST // 3)
    return unusual


def _in_order(parts: Sequence[Interests]) -> Interests:
    """Several as one, by their numbers."""
    if len(parts) == 1:
        return parts[0]
    edges = Triples(*(np.concatenate(columns) for columns in zip(*(part.edges for part in parts), strict=True)))
    conjuncts = [part.conjuncts for part in parts]
    numbers = np.concatenate([part.numbers for part in parts])
    order = np.argsort(numbers)
    edge_at, edge_offsets = ragged(_chained([part.edge_offsets for part in parts]), order)
    at, conjunct_offsets = ragged(_chained([part.conjunct_offsets for part in parts]), order)
    atom_at, offsets = ragged(_chained([each.offsets for each in conjuncts]), at)
    return Interests(
        numbers[order],
        np.concatenate([part.flags for part in parts])[order],
        Triples(*(column[edge_at] for column in edges)),
        edge_offsets,
        Conjuncts(
            np.concatenate([each.variable for each in conjuncts])[at],
            offsets,
            take(chain_atoms([each.atoms for each in conjuncts]), atom_at),
        ),
        conjunct_offsets,
    )


def _chained(several: Sequence[Int64s]) -> Int64s:
    return offsets_of(np.concatenate([np.diff(offsets) for offsets in several]))


# --- columns ----------------------------------------------------------------------------------------------------


class _Numbering(NamedTuple):
    """The variables of subscriptions: keys (subscription × width + node), ascending, and the number of each."""

    width: int
    keys: Int64s
    numbers: Int64s

    def of(self, owners: Int64s, codes: Int64s) -> Int64s:
        return self.numbers[np.searchsorted(self.keys, owners * self.width + codes)]


def _in_bulk(patterns: PatternSet, rows: Int64s, vocabulary: Vocabulary, taxonomy: Taxonomy) -> Interests:
    edges = patterns.edge_rows(rows)
    codes = np.stack([column[edges.positions] for column in patterns.edges], axis=1)
    ids = _ids(patterns, codes, vocabulary)[codes]
    places = np.flatnonzero(ids.ravel() < 0)
    owners, named = edges.owners[places // 3], codes.ravel()[places].astype(np.int64)
    numbering = _number(owners, named, len(patterns.nodes))
    ids.ravel()[places] = ~numbering.of(owners, named)
    asked = asked_of(patterns, rows, vocabulary, taxonomy)
    return Interests(
        np.arange(len(rows)),
        asked.flags,
        Triples(*(np.ascontiguousarray(column) for column in ids.T)),
        edges.offsets,
        Conjuncts(numbering.of(asked.owner, asked.code).astype(np.int16), offsets_of(asked.sizes), asked.atoms),
        _conjunct_offsets(asked, len(rows)),
    )


def _ids(patterns: PatternSet, codes: npt.NDArray[np.int32], vocabulary: Vocabulary) -> npt.NDArray[np.int32]:
    """The ids of the nodes that occur; -1 for variables."""
    used = np.zeros(len(patterns.nodes), np.bool_)
    used[codes] = True
    constants = [code for code in np.flatnonzero(used).tolist() if isinstance(patterns.nodes[code], Term)]
    ids = np.full(len(patterns.nodes), -1, np.int32)
    ids[constants] = vocabulary.intern_many([patterns.nodes[code] for code in constants])  # type: ignore[misc]
    return ids


def _number(owners: Int64s, codes: Int64s, width: int) -> _Numbering:
    """Numbers the variables of each subscription in the order in which they first appear."""
    keys, first = np.unique(owners * width + codes, return_index=True)
    order = np.argsort(first)
    sizes = np.bincount(keys // width) if len(keys) else np.zeros(0, np.int64)
    numbers = np.empty(len(keys), np.int64)
    numbers[order] = np.arange(len(keys)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return _Numbering(width, keys, numbers)


def _conjunct_offsets(asked: Asked, count: int) -> Int64s:
    return offsets_of(np.bincount(asked.owner, minlength=count))
