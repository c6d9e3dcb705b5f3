"""Numba's types for the arrays that kernels share, and arrays that kernels find by their addresses in one table."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import float64, int16, int32, int64, types, uint8, uint32, uint64
from numba.extending import intrinsic
from numba.np import arrayobj

# ----------------------------------------------------------------------------------------------------------------------
# Numba's types for the arrays that kernels share, made from their NamedTuples.
# ----------------------------------------------------------------------------------------------------------------------

_NAMED: Any = types.NamedTuple
_UNIFORM: Any = types.NamedUniTuple


def array(dtype: Any, *, writable: bool = False) -> Any:
    return types.Array(dtype, 1, "C", readonly=not writable)


def rows(dtype: Any, *, writable: bool = False) -> Any:
    return types.Array(dtype, 2, "C", readonly=not writable)


def named(kind: type, *parts: Any) -> Any:
    """As Numba types it: a NamedTuple whose parts are all of one type is a kind of its own."""
    if len(set(parts)) == 1:
        return _UNIFORM(parts[0], len(parts), kind)
    return _NAMED(parts, kind)


INT8S, INT16S, INT32S, INT64S = (array(dtype) for dtype in (uint8, int16, int32, int64))
FLOATS = array(float64)
NEW_INT8S, NEW_INT16S, NEW_INT32S, NEW_INT64S, NEW_FLOATS, NEW_HASHES, NEW_COUNTS = (
    array(dtype, writable=True) for dtype in (uint8, int16, int32, int64, float64, uint64, uint32)
)

ROWS, FLOAT_ROWS = rows(int32), rows(float64)


# ----------------------------------------------------------------------------------------------------------------------
# Arrays that kernels find by their addresses, in one table, instead of taking dozens of them as arguments.
#
# A tuple of arrays is handed over number by number: for fifty arrays that is four hundred at every call, which takes
# minutes to compile and longer to run than most of the functions that are called. The caller keeps the arrays while a
# kernel runs.
# ----------------------------------------------------------------------------------------------------------------------

_WORD = ir.IntType(64)
_POPULATE: Any = arrayobj.populate_array


def array_at(place: int, dtype: Any, columns: int = 0) -> Any:
    """A function that takes an array out of a table of addresses and lengths: numbers, or rows of so many columns."""
    found = types.Array(dtype, 2 if columns else 1, "C")

    def typing(typing: Any, table: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
            address, length = (builder.load(builder.gep(data, [_WORD(at)])) for at in (place, place + 1))
            item = context.get_abi_sizeof(context.get_data_type(dtype))
            array = context.make_array(found)(context, builder)
            pointer = builder.inttoptr(address, context.get_data_type(dtype).as_pointer())
            shape = [length, _WORD(columns)] if columns else [length]
            strides = [_WORD(item * columns), _WORD(item)] if columns else [_WORD(item)]
            _POPULATE(array, data=pointer, shape=shape, strides=strides, itemsize=_WORD(item), meminfo=None)
            return array._getvalue()

        return found(table), generate

    return intrinsic(typing)
