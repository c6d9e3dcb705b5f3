"""Numbers of JSON: the grammar of RFC 8259, and decimal digits to the nearest float.

The law: a number that is given is the one that Python's `int` and `float` give, in every bit; where these few lines
cannot be sure of that they say so, and Python decides. Up to 19 digits fit into 64 bits. If they and the power of ten
are floats themselves, one multiplication or division rounds correctly (Clinger, 1990). Otherwise the digits are
multiplied by the leading 64 or 128 bits of a power of five (Lemire, 2021: Number parsing at a gigabyte per second),
which decides the rounding unless the product ends in ones only.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from heliograph.kernels.cache import kernel
from heliograph.kernels.targeting_layout import NUMBER, ODD, Bytes

_LOWEST, _HIGHEST = -300, 288  # powers of ten; beyond them 19 digits may be subnormal or infinite
_DIGITS = 19
_BITS = 53
_EXACT = np.uint64(1 << _BITS)
_ZERO, _TEN = np.uint64(0), np.uint64(10)
_ONE, _32, _LOW_32 = np.uint64(1), np.uint64(32), np.uint64(0xFFFFFFFF)
_CLOSE = np.uint64(0x1FF)  # the bits of the upper half that are rounded away
_FULL = np.uint64(0xFFFFFFFFFFFFFFFF)
_TENS = np.array([10.0**power for power in range(23)])


def _leading_bits(power: int) -> int:
    """The first 128 bits of 5^power, cut off; of the reciprocals of powers within 64 bits rounded up."""
    whole: int = 5 ** abs(power)
    size = whole.bit_length()
    if power < 0:
        return (1 << (size + 127)) // whole + (power >= -27)
    return whole << (128 - size) if size <= 128 else whole >> (size - 128)


_FIVES = [_leading_bits(power) for power in range(_LOWEST, _HIGHEST + 1)]
_UPPER = np.array([bits >> 64 for bits in _FIVES], np.uint64)
_LOWER = np.array([bits & (1 << 64) - 1 for bits in _FIVES], np.uint64)


@kernel()
def _product(left: Any, right: Any) -> Any:
    """The upper and lower 64 bits of a product of two numbers of 64 bits."""
    left_high, left_low = left >> _32, left & _LOW_32
    right_high, right_low = right >> _32, right & _LOW_32
    low, middle, other = left_low * right_low, left_high * right_low, left_low * right_high
    carried = (low >> _32) + (middle & _LOW_32) + (other & _LOW_32)
    high = left_high * right_high + (middle >> _32) + (other >> _32) + (carried >> _32)
    return high, (carried << _32) | (low & _LOW_32)


@kernel()
def _leading_zeros(digits: Any) -> Any:
    count = 0
    while not digits >> np.uint64(63):
        digits <<= _ONE
        count += 1
    return count


@kernel()
def _rounded(digits: Any, power: int) -> Any:
    """digits × 10^power as the nearest float, or -1.0 where that is not certain. There are digits."""
    if power < _LOWEST or power > _HIGHEST:
        return -1.0
    shift = _leading_zeros(digits)
    digits <<= np.uint64(shift)
    high, low = _product(digits, _UPPER[power - _LOWEST])
    if high & _CLOSE == _CLOSE:
        more, _ = _product(digits, _LOWER[power - _LOWEST])
        low += more
        if low < more:
            high += _ONE
    if low == _FULL or (low <= _ONE and -30 < power < 60):
        return -1.0  # the product may be cut off just below a half, or be a half
    upper = high >> np.uint64(63)
    kept = high >> (upper + np.uint64(9))
    kept = (kept + (kept & _ONE)) >> _ONE
    binary = ((217706 * power) >> 16) + np.int64(upper) - shift + 11  # 217706 / 2^16 is the binary logarithm of 10
    return math.ldexp(np.float64(kept), binary)


@kernel()
def nearest(digits: Any, power: int) -> Any:
    """digits × 10^power as the nearest float, or -1.0 where that is not certain."""
    if digits == _ZERO:
        return 0.0
    if digits <= _EXACT and -22 <= power <= 22:
        number = np.float64(digits)
        return number * _TENS[power] if power >= 0 else number / _TENS[-power]
    return _rounded(digits, power)


@kernel()
def _is_digit(text: Bytes, at: int, end: int) -> Any:
    return at < end and 48 <= text[at] <= 57


@kernel()
def _digits(text: Bytes, at: int, end: int, digits: Any, count: int) -> Any:
    """Appends the digits from `at` on: where they end, their value, and how many there are after leading zeros."""
    while at < end and 48 <= text[at] <= 57:
        digits = digits * _TEN + np.uint64(text[at] - 48)
        if count or digits != _ZERO:  # a wrapped value may be 0 again
            count += 1
        at += 1
    return at, digits, count


@kernel()
def _exponent(text: Bytes, at: int, end: int) -> Any:
    """The exponent after an E, and where it ends, -1 if it is none; beyond all floats it stays just beyond them."""
    negative = at < end and text[at] == 45
    if negative or (at < end and text[at] == 43):
        at += 1
    power = 0
    if not _is_digit(text, at, end):
        return -1, power
    while _is_digit(text, at, end):
        power = power * 10 + int(text[at] - 48) if power < _HIGHEST * 100 else power
        at += 1
    return at, -power if negative else power


@kernel()
def _whole(digits: Any, negative: Any) -> Any:
    """An integer of at most 18 digits: its kind and float; one that no float equals goes with the float below it."""
    exact = np.int64(digits)
    if negative:
        exact = -exact
    number = np.float64(exact)
    if np.int64(number) == exact:
        return NUMBER, number
    return ODD, number if np.int64(number) < exact else np.nextafter(number, -np.inf)


@kernel()
def read_number(text: Bytes, at: int, end: int) -> Any:
    """The number at `at`: where it ends, -1 if Python has to look at it, its kind, and the float."""
    negative = text[at] == 45
    if negative:
        at += 1
    if not _is_digit(text, at, end):
        return -1, 0, 0.0
    first = at
    at, digits, count = _digits(text, at, end, _ZERO, 0)
    if text[first] == 48 and at > first + 1:
        return -1, 0, 0.0
    is_whole, power = True, 0
    if at < end and text[at] == 46:
        is_whole, first = False, at + 1
        at, digits, count = _digits(text, first, end, digits, count)
        power = first - at
        if at == first:
            return -1, 0, 0.0
    if at < end and (text[at] == 69 or text[at] == 101):
        is_whole = False
        at, shown = _exponent(text, at + 1, end)
        power += shown
    if at < 0 or count > (18 if is_whole else _DIGITS):
        return -1, 0, 0.0
    if is_whole:
        kind, number = _whole(digits, negative)
        return at, kind, number
    number = nearest(digits, power)
    if number < 0.0:
        return -1, 0, 0.0
    return at, NUMBER, -number if negative and number > 0.0 else number
