"""Compiled targeting as flat arrays and small tables, and back.

The law: what is opened accepts what was saved, number by number, and goes on compiling from there. Expressions and
their constants are taken as they lie, mapped or not; names and words, which are few, are entered again, and so are the
tests that Python decides, as text. Arrays that no store could have written are refused: whatever an instruction refers
to is there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from heliograph.compiled.growing import Pool
from heliograph.errors import PredicateError
from heliograph.predicate import layout
from heliograph.predicate.attributes import NameTable
from heliograph.predicate.compile import FAILS, HOLDS, Parts, Targeting
from heliograph.predicate.form import Atom, to_sql
from heliograph.predicate.layout import ALWAYS, NEVER
from heliograph.predicate.parser import parse_predicate

_POOLS: dict[str, Any] = {"expressions": np.int32, "numbers": np.float64, "sets": np.int32, "texts": np.uint8}
_PATH: pa.DataType = pa.list_(pa.string())
_COLUMNS: dict[str, dict[str, pa.DataType]] = {
    "paths": {"path": _PATH},
    "words": {"attribute": pa.int32(), "text": pa.string()},
    "slow": {"predicate": pa.string()},
}
_SCHEMAS = {name: pa.schema(columns) for name, columns in _COLUMNS.items()}

Arrays = Mapping[str, "np.ndarray[Any, Any]"]


class PackedTargeting(NamedTuple):
    """What is saved of a store."""

    arrays: dict[str, np.ndarray[Any, Any]]
    tables: dict[str, pa.Table]


def pack_targeting(targeting: Targeting) -> PackedTargeting:
    """The store as it is now, for the writer. All of it came from texts, so its tests can be written as such."""
    parts = targeting.parts
    arrays: dict[str, np.ndarray[Any, Any]] = {}
    for name in _POOLS:
        pool: Pool = getattr(parts, name)
        arrays[f"{name}.data"], arrays[f"{name}.offsets"] = pool.data(), pool.offsets()
    attributes, words = targeting.names.words()
    columns: dict[str, list[Any]] = {
        "paths": [pa.array([list(path) for path in targeting.names.paths], _PATH)],
        "words": [pa.array(attributes, pa.int32()), pa.array(words, pa.string())],
        "slow": [pa.array([to_sql(test) for test in parts.slow], pa.string())],
    }
    return PackedTargeting(arrays, {name: pa.table(some, schema=_SCHEMAS[name]) for name, some in columns.items()})


def _read(text: str) -> Any:
    try:
        return parse_predicate(text)
    except PredicateError:
        return None


def unpack_targeting(arrays: Arrays, tables: Mapping[str, pa.Table]) -> Targeting:
    """The store that was packed; raises ValueError where it cannot be."""
    for name, schema in _SCHEMAS.items():
        if name not in tables or not tables[name].schema.equals(schema) or _has_nulls(tables[name]):
            raise ValueError(f"the table {name} is missing or wrong")
    names = _names(tables)
    slow = [_read(text) for text in _values(tables, "slow", "predicate")]
    if not all(isinstance(test, Atom) for test in slow):
        raise ValueError("a test cannot be read")
    pools = {name: _pool(name, dtype, arrays) for name, dtype in _POOLS.items()}
    parts = Parts(**pools, slow=slow)
    _check(parts, len(names.paths), names.word_count)
    return Targeting.of(names, parts)


def _has_nulls(table: pa.Table) -> bool:
    return any(column.null_count for column in table.columns)


def _names(tables: Mapping[str, pa.Table]) -> NameTable:
    names = NameTable()
    paths = _values(tables, "paths", "path")
    if not all(path and None not in path for path in paths):
        raise ValueError("an attribute has no name")
    numbers = [names.attribute(tuple(path)) for path in paths]
    attributes, texts = _values(tables, "words", "attribute"), _values(tables, "words", "text")
    if not all(0 <= attribute < len(numbers) for attribute in attributes):
        raise ValueError("a word is of no attribute")
    words = [names.word(attribute, text) for attribute, text in zip(attributes, texts, strict=True)]
    if numbers != list(range(len(paths))) or words != list(range(len(texts))):
        raise ValueError("a name comes twice")
    return names


def _values(tables: Mapping[str, pa.Table], name: str, column: str) -> list[Any]:
    return tables[name][column].to_pylist()


def _pool(name: str, dtype: Any, arrays: Arrays) -> Pool:
    data, offsets = arrays.get(f"{name}.data"), arrays.get(f"{name}.offsets")
    if data is None or offsets is None or data.ndim != 1 or offsets.ndim != 1:
        raise ValueError(f"the array {name} is missing or wrong")
    if data.dtype != dtype or offsets.dtype != np.int64 or not len(offsets):
        raise ValueError(f"the array {name} is of another type")
    if offsets[0] != 0 or offsets[-1] != len(data) or (np.diff(offsets) < 0).any():
        raise ValueError(f"the offsets of {name} do not fit")
    return Pool.of(offsets, data)


# --- what instructions refer to -----------------------------------------------------------------------------------


def _check(parts: Parts, attributes: int, words: int) -> None:
    """Every instruction is one, and its operand, of whatever kind, exists."""
    if len(parts.expressions) <= NEVER or (parts.expressions.content(ALWAYS), parts.expressions.content(NEVER)) != (
        HOLDS,
        FAILS,
    ):
        raise ValueError("its first expressions are others")
    code, starts = parts.expressions.data(), parts.expressions.offsets()
    if (starts % 2).any():
        raise ValueError("half an instruction")
    rows = code.reshape(-1, 2)
    ops, operands = rows[:, 0] & (layout.NEGATIVE - 1), rows[:, 1]
    places = 2 * np.arange(len(rows)) + 2
    ends = np.repeat(starts[1:], np.diff(starts) // 2)
    groups = ops <= layout.OR
    alone = groups | (ops == layout.SLOW)
    limits = {
        (layout.WORD_EQ, layout.WORD_NE): words,
        (layout.TEXT_GE, layout.TEXT_LIKE): len(parts.texts),
        (layout.PAIR_EQ, layout.PAIR_GE): attributes,
        (layout.SLOW, layout.SLOW): len(parts.slow),
    }
    fits = [
        (ops >= layout.AND) & (ops <= layout.SLOW) & (operands >= 0),
        ~groups | (places + operands <= ends),
        alone | ((rows[:, 0] >> layout.ATTRIBUTE_SHIFT >= 0) & (rows[:, 0] >> layout.ATTRIBUTE_SHIFT < attributes)),
        *(_below(ops, operands, kinds, limit) for kinds, limit in limits.items()),
    ]
    if not all(fit.all() for fit in fits):
        raise ValueError("an instruction refers to nothing")
    _check_sets(parts.sets, words)
    _check_pieces(parts.sets, operands[(ops >= layout.WORD_IN) & (ops <= layout.WORDS_WITHIN)], 1, True)
    _check_pieces(parts.numbers, operands[(ops >= layout.NUMBER_EQ) & (ops <= layout.NUMBER_LE)], 1, False)
    _check_pieces(parts.numbers, operands[ops == layout.NUMBER_BETWEEN], 2, False)
    _check_pieces(parts.numbers, operands[ops == layout.NUMBER_IN], 1, True)


def _below(ops: Any, operands: Any, kinds: tuple[int, int], limit: int) -> Any:
    return (ops < kinds[0]) | (ops > kinds[1]) | (operands < limit)


def _check_sets(sets: Pool, words: int) -> None:
    data, offsets = sets.data(), sets.offsets()
    members = np.ones(len(data), bool)
    members[offsets[:-1][np.diff(offsets) > 0]] = False
    if ((data[members] < 0) | (data[members] >= words)).any():
        raise ValueError("a set has no such word")


def _check_pieces(pool: Pool, places: Any, least: int, counted: bool) -> None:
    """At each place a piece of so many elements begins; where counted, its first one says how many follow."""
    data, offsets = pool.data(), pool.offsets()
    pieces = np.searchsorted(offsets[:-1], places, "right") - 1
    if (offsets[pieces] != places).any():
        raise ValueError("a constant is cut")
    sizes = offsets[pieces + 1] - offsets[pieces]
    if (sizes < least).any() or (counted and (data[places] != sizes - 1).any()):
        raise ValueError("a constant is cut short")
