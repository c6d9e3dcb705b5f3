"""Arrays that kernels find by their addresses, in one table, instead of taking dozens of them as arguments.

A tuple of arrays is handed over number by number: for fifty arrays that is four hundred at every call, which takes
minutes to compile and longer to run than most of the functions that are called. The caller keeps the arrays while a
kernel runs.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numba.np import arrayobj

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
