"""Hashes of edges, whole or with unknown parts: what keys, counts and sketches have in common."""

from __future__ import annotations

from typing import Any

import numpy as np

from heliograph.compiled.compile import kernel

_ODD = np.uint64(0x9E3779B97F4A7C15)  # 2^64 divided by the golden ratio
_MIX = np.uint64(0xD6E8FEB86659FD93)
_32 = np.uint64(32)


@kernel()
def mixed(hashed: Any, word: Any) -> Any:
    """A hash and one more word, every bit of both spread over the result."""
    hashed = (hashed ^ word) * _MIX
    hashed ^= hashed >> _32
    hashed *= _ODD
    return hashed ^ (hashed >> _32)


@kernel()
def edge_hash(subject: Any, predicate: Any, object: Any) -> Any:
    """The hash of an edge; -1 stands for an unknown part."""
    ends = (np.uint64(np.uint32(subject)) << _32) | np.uint64(np.uint32(object))
    return mixed(mixed(_ODD, ends), np.uint64(np.uint32(predicate)))


@kernel()
def mask_of(subject: Any, predicate: Any, object: Any) -> Any:
    """Which parts of a pattern's edge are constants: bit 1 subject, 2 predicate, 4 object."""
    return (1 if subject >= 0 else 0) | (2 if predicate >= 0 else 0) | (4 if object >= 0 else 0)
