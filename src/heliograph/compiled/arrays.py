"""What kernels share about arrays: Numba's types for them, arrays by address, sets as bitmaps, bytes by the word."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba import float64, int16, int32, int64, types, uint8, uint32, uint64
from numba.cpython.unsafe import numbers as _numbers
from numba.extending import intrinsic
from numba.np import arrayobj

from heliograph.compiled.compile import kernel

# --- Numba's types ----------------------------------------------------------------------------------------------------

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


# --- arrays by address ------------------------------------------------------------------------------------------------
# Arrays that kernels find by their addresses, in one table, instead of taking dozens of them as arguments. A tuple of
# arrays is handed over number by number: for fifty arrays that is four hundred at every call, which takes minutes to
# compile and longer to run than most of the functions that are called. The caller keeps the arrays while a kernel runs.

_WORD, _WIDE = ir.IntType(64), ir.IntType(128)
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


# --- sets of numbers --------------------------------------------------------------------------------------------------
# Bitmaps of two levels: a bit for each number, and one for each word of 64 that is not empty. The smallest member from
# some number on is found in a few steps, however large and empty the set is.

Masks = npt.NDArray[np.uint64]

trailing_zeros: Any = _numbers.trailing_zeros
_ONE, _NONE, _ALL = np.uint64(1), np.uint64(0), ~np.uint64(0)
_6, _63 = np.uint64(6), np.uint64(63)
_PAIRS, _NIBBLES, _BYTES = (
    np.uint64(number) for number in (0x5555555555555555, 0x3333333333333333, 0x0F0F0F0F0F0F0F0F)
)
_SUM, _1, _2, _4, _56 = (np.uint64(number) for number in (0x0101010101010101, 1, 2, 4, 56))


@kernel(inline=True)
def count_bits(mask: Any) -> Any:
    """How many lanes a mask has."""
    mask = mask - ((mask >> _1) & _PAIRS)
    mask = (mask & _NIBBLES) + ((mask >> _2) & _NIBBLES)
    return np.int64((((mask + (mask >> _4)) & _BYTES) * _SUM) >> _56)


@kernel(inline=True)
def first_bit(mask: Any) -> Any:
    """The number of the lowest bit of a mask that is not empty."""
    return np.int64(trailing_zeros(mask))


@kernel(inline=True)
def put(members: Masks, summary: Masks, number: Any) -> None:
    word = np.uint64(number) >> _6
    members[word] |= _ONE << (np.uint64(number) & _63)
    summary[word >> _6] |= _ONE << (word & _63)


@kernel(inline=True)
def drop(members: Masks, summary: Masks, number: Any) -> None:
    word = np.uint64(number) >> _6
    members[word] &= ~(_ONE << (np.uint64(number) & _63))
    if members[word] == _NONE:
        summary[word >> _6] &= ~(_ONE << (word & _63))


@kernel(inline=True)
def following(members: Masks, summary: Masks, number: Any) -> Any:
    """The smallest member that is not below `number`, or -1."""
    word = np.uint64(number) >> _6
    if word < np.uint64(len(members)):
        rest = members[word] & (_ALL << (np.uint64(number) & _63))
        if rest != _NONE:
            return np.int64(word << _6) + first_bit(rest)
    word += _ONE
    block = word >> _6
    keep = _ALL << (word & _63)
    while block < np.uint64(len(summary)):
        rest = summary[block] & keep
        if rest != _NONE:
            word = (block << _6) + np.uint64(first_bit(rest))
            return np.int64(word << _6) + first_bit(members[word])
        block += _ONE
        keep = _ALL
    return np.int64(-1)


# --- bytes eight at a time, and products of 128 bits ------------------------------------------------------------------
# What Numba has no spelling for. The law: a word has its first byte lowest, on every machine that Numba compiles for.
# Nothing is checked here: the caller makes sure that eight bytes are there.


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


# --- asking the processor for memory before it is needed --------------------------------------------------------------
# The structures that a publication leads to lie anywhere in an index of tens of megabytes, so that each is several
# misses of the cache. Asked for a few candidates ahead, they arrive while others are being verified.


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
