"""Bytes eight at a time, products of 128 bits, and asking the processor for memory ahead of its use."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

# ----------------------------------------------------------------------------------------------------------------------
# Bytes eight at a time, and products of 128 bits: what Numba has no spelling for.
#
# The law: a word has its first byte lowest, on every machine that Numba compiles for. Nothing is checked here: the
# caller makes sure that eight bytes are there.
# ----------------------------------------------------------------------------------------------------------------------

_WORD, _WIDE = ir.IntType(64), ir.IntType(128)


def _address(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
    return builder.bitcast(builder.gep(data, [arguments[1]]), _WORD.as_pointer())


def _word_at(typing: Any, array: Any, place: Any) -> Any:
    """The eight bytes of an array from a place on."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load(_address(context, builder, signature, arguments), align=1)

    return types.uint64(array, types.int64), generate


def _put_word(typing: Any, array: Any, place: Any, word: Any) -> Any:
    """Writes eight bytes of an array from a place on."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        builder.store(arguments[2], _address(context, builder, signature, arguments), align=1)
        return context.get_dummy_value()

    return types.void(array, types.int64, types.uint64), generate


def _upper_product(typing: Any, left: Any, right: Any) -> Any:
    """The upper 64 of the 128 bits of a product."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        wide = builder.mul(*(builder.zext(argument, _WIDE) for argument in arguments))
        return builder.trunc(builder.lshr(wide, _WIDE(64)), _WORD)

    return types.uint64(types.uint64, types.uint64), generate


word_at: Any = intrinsic(_word_at)
put_word: Any = intrinsic(_put_word)
upper_product: Any = intrinsic(_upper_product)


# ----------------------------------------------------------------------------------------------------------------------
# Asking the processor for memory before it is needed.
#
# The structures that a publication leads to lie anywhere in an index of tens of megabytes, so that each is several
# misses of the cache. Asked for a few candidates ahead, they arrive while others are being verified.
# ----------------------------------------------------------------------------------------------------------------------


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
