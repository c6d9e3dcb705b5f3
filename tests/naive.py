"""Slow, obvious twins of the kernels."""

from __future__ import annotations

from collections.abc import Sequence

PRIME = 2**61 - 1


def polynomial_hash(head: int, text: bytes, key: int) -> int:
    """The words as coefficients, the head first and the length last, evaluated power by power."""
    words = [text[start : start + 7] for start in range(0, len(text), 7)]
    coefficients = [head, *(sum(byte * 256**place for place, byte in enumerate(word)) for word in words), len(text)]
    powers = [pow(key, exponent, PRIME) for exponent in reversed(range(len(coefficients)))]
    total: int = sum(coefficient * power for coefficient, power in zip(coefficients, powers, strict=True))
    return total % PRIME


def find(wanted: Sequence[tuple[int, bytes]], stored: Sequence[tuple[int, bytes]]) -> list[int]:
    """The place of each wanted (head, text) among the stored ones, or -1."""
    return [next((number for number, other in enumerate(stored) if other == one), -1) for one in wanted]
