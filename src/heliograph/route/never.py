"""Which expressions of a version hold for no event at all.

The law: what is named never holds; it is all that `predicate_never` knows of. To parse a text again costs about 100 µs,
so only texts whose code could be such a one are parsed: code that is FALSE; a test that nothing satisfies, or that only
Python decides; an attribute that is asked for and against; IS NULL beside anything else. Whatever else is built of AND,
OR and tests that some value satisfies holds for some event, as far as `predicate_never` knows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from heliograph.exchange.version import Version
from heliograph.kernels import targeting_layout as layout
from heliograph.kernels.exchange_layout import EDGE_EXPRESSION, EXPRESSION, FLAGS, REFUSED
from heliograph.kernels.targeting_layout import NEVER, Int32s, Int64s, Programs
from heliograph.syntax.predicate_never import never_holds
from heliograph.syntax.predicates import parse_predicate

Flags = npt.NDArray[np.bool_]
_OP = layout.NEGATIVE - 1


def never_accepts(version: Version) -> Flags:
    """For each expression whether no event satisfies it; the nodes of a version compare no labels."""
    never = np.zeros(len(version.programs.starts) - 1, np.bool_)
    doubtful = doubtful_expressions(version.programs)
    for expressions, texts in (_of_nodes(version, doubtful), _of_edges(version, doubtful)):
        for expression, text in dict.fromkeys(zip(expressions.tolist(), texts, strict=True)):
            never[expression] |= never_holds(parse_predicate(text))
    never[NEVER] = True
    return never


def _of_nodes(version: Version, doubtful: Flags) -> tuple[Int32s, list[str]]:
    records = version.records_of(version.node_numbers())
    rows = version.graph.records[records]
    chosen = np.flatnonzero(doubtful[rows[:, EXPRESSION]] & (rows[:, FLAGS] & REFUSED == 0))
    texts: Any = version.ledger.texts.take(records[chosen]).to_pylist()
    return rows[chosen, EXPRESSION], texts


def _of_edges(version: Version, doubtful: Flags) -> tuple[Int32s, list[str]]:
    numbers = version.edge_numbers()
    expressions: Int32s = version.graph.edges[numbers, EDGE_EXPRESSION]
    chosen = np.flatnonzero(doubtful[expressions])
    texts: Any = version.ledger.edge_texts.take(version.ledger.arrays.serials[numbers[chosen]]).to_pylist()
    return expressions[chosen], texts


def doubtful_expressions(programs: Programs) -> Flags:
    """The expressions, other than FALSE, that may hold for no event."""
    words = programs.code.reshape(-1, 2)
    owners = np.repeat(np.arange(len(programs.starts) - 1), np.diff(programs.starts) // 2)
    ops, negative = words[:, 0] & _OP, words[:, 0] & layout.NEGATIVE != 0
    tests = ops > layout.OR
    doubtful = np.zeros(len(programs.starts) - 1, np.bool_)
    doubtful[owners[_is_empty(programs, words, ops) | (ops == layout.SLOW)]] = True
    doubtful[owners[(ops == layout.IS_NULL) & ~negative]] = True
    attributes = (words[:, 0] >> layout.ATTRIBUTE_SHIFT).astype(np.int64)
    keys = owners * (int(attributes.max(initial=0)) + 1) + attributes
    both = np.isin(keys[tests & negative], keys[tests & ~negative])
    doubtful[owners[tests & negative][both]] = True
    return doubtful


def _is_empty(programs: Programs, words: Int32s, ops: Int32s) -> Flags:
    """Which instructions are ranges without numbers, or sets without strings."""
    empty = np.zeros(len(words), np.bool_)
    ranges: Int64s = np.flatnonzero(ops == layout.NUMBER_BETWEEN)
    places = words[ranges, 1]
    empty[ranges] = programs.numbers[places] > programs.numbers[places + 1]
    sets: Int64s = np.flatnonzero(ops == layout.WORD_IN)
    empty[sets] = programs.sets[words[sets, 1]] == 0
    return empty
