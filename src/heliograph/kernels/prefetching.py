"""Asking the processor for memory before it is needed.

The structures that a publication leads to lie anywhere in an index of tens of megabytes, so that each is several
misses of the cache. Asked for a few candidates ahead, they arrive while others are being verified.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic


def _prefetch(typing: Any, array: Any, place: Any) -> Any:
    """Asks for the line of the cache that holds an element of an array, counted from its beginning."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        word, byte = ir.IntType(32), ir.IntType(8).as_pointer()
        kind = ir.FunctionType(ir.VoidType(), [byte, word, word, word])
        function = builder.module.declare_intrinsic("llvm.prefetch", [byte], kind)
        address = builder.bitcast(builder.gep(data, [arguments[1]]), byte)
        builder.call(function, [address, word(0), word(3), word(1)])  # to be read, to be kept, data
        return context.get_dummy_value()

    return types.void(array, types.int64), generate


prefetch: Any = intrinsic(_prefetch)
