"""The expressions of rows in a store of targeting.

The law: a row compiled once is not compiled again, unless it is for another store. Where label sets are compared, a
node's expression is that of its labels; a refused node's holds never.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from heliograph.errors import PredicateError
from heliograph.exchange.rows import NO_LABELS, EdgeRows, NodeRows, Texts
from heliograph.kernels.targeting_layout import ALWAYS, NEVER, Int32s
from heliograph.targeting.store import Targeting


def node_expressions(rows: NodeRows, targeting: Targeting, match: str | None) -> Int32s:
    """The number of each node's expression."""
    if rows.compiled is not None and rows.compiled.store is targeting:
        return rows.compiled.numbers
    if match is None:
        numbers = text_expressions(rows.texts, len(rows), targeting)
    else:
        labels = [None] * len(rows) if rows.labels is None else rows.labels.to_pylist()
        numbers = label_expressions(labels, targeting, match)
    numbers[list(rows.refused)] = NEVER
    return numbers


def edge_expressions(rows: EdgeRows, targeting: Targeting) -> Int32s:
    """The number of each edge's expression."""
    if rows.compiled is not None and rows.compiled.store is targeting:
        return rows.compiled.numbers
    return text_expressions(rows.texts, len(rows), targeting)


def text_expressions(texts: Texts, count: int, targeting: Targeting) -> Int32s:
    """The numbers of texts that were read before; raises the error of one that cannot be."""
    if texts is None:
        return np.full(count, ALWAYS, np.int32)
    numbers: Any = targeting.add_many(texts.to_pylist())
    for number in numbers:
        if isinstance(number, PredicateError):
            raise number
    return np.array(numbers, np.int32)


def label_expressions(labels: Sequence[Any], targeting: Targeting, match: str) -> Int32s:
    """The number of the comparison with each label set; null stands for an empty one."""
    known: dict[frozenset[str], int] = {}
    numbers = np.empty(len(labels), np.int32)
    for row, some in enumerate(labels):
        chosen = frozenset(some) if some else NO_LABELS
        if chosen not in known:
            known[chosen] = targeting.add_labels(chosen, match)
        numbers[row] = known[chosen]
    return numbers
