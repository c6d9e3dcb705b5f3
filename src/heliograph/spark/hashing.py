"""Keys that Spark spreads evenly: its hash of an integer, so that shards can be named after where they come to lie."""

from __future__ import annotations

_MASK = 0xFFFFFFFF
_SEED = 42  # Spark's


def spreading_keys(count: int) -> list[int]:
    """So many keys, each in another partition wherever the number of partitions is a multiple or a divisor of theirs.

    They depend on nothing else: a state that is found by its key is found again under another configuration.
    """
    keys: dict[int, int] = {}
    key = 0
    while len(keys) < count:
        keys.setdefault(spark_hash(key) % count, key)
        key += 1
    return [keys[place] for place in range(count)]


def spark_hash(value: int) -> int:
    """Spark's `hash` of an int: Murmur3 with 32 bits, signed."""
    mixed = _SEED ^ _mixed(value & _MASK)
    mixed = (_rotated(mixed, 13) * 5 + 0xE6546B64) & _MASK
    mixed ^= 4  # its length in bytes
    mixed = ((mixed ^ mixed >> 16) * 0x85EBCA6B) & _MASK
    mixed = ((mixed ^ mixed >> 13) * 0xC2B2AE35) & _MASK
    mixed ^= mixed >> 16
    return mixed - (1 << 32) if mixed >> 31 else mixed


def _mixed(word: int) -> int:
    return (_rotated((word * 0xCC9E2D51) & _MASK, 15) * 0x1B873593) & _MASK


def _rotated(word: int, bits: int) -> int:
    return ((word << bits) | (word >> (32 - bits))) & _MASK
