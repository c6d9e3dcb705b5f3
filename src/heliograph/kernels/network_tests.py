"""Whether a term passes a test: an interval, or several, of its domain.

A term in doubt (its coordinate is rounded and ties with an end, or it is an xsd:float, which is promoted differently
against each kind of number) was judged outside, exactly, and its verdict stands in a table.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from heliograph.kernels.cache import kernel
from heliograph.kernels.filter_layout import ATOM_FLAGS, COORDINATE, DOMAIN, DOMAIN_CODE, HIGH, LOW, ROUNDED_CODE
from heliograph.kernels.network_world import (
    atoms,
    banks,
    domains,
    tests,
    verdicts,
)

_FLOAT = 11  # index.domains.Domain
_LOW_OPEN, _HIGH_OPEN, _ROUNDED = 1, 2, 4  # index.interests
_ODD = np.uint64(0x9E3779B97F4A7C15)
_1 = np.uint64(1)


@kernel()
def _verdict(world: Any, test: Any, term: Any) -> Any:
    """What was judged outside; -1 where nothing was."""
    table = verdicts(world)
    key = ((np.int64(test) << 32) | np.int64(term)) + 1
    mask = np.uint64(len(table) - 1)
    hashed = np.uint64(key) * _ODD
    slot = ((hashed ^ (hashed >> np.uint64(32))) * _ODD >> np.uint64(20)) & mask
    while table[slot, 0] != 0:
        if table[slot, 0] == key:
            return table[slot, 1]
        slot = (slot + _1) & mask
    return np.int64(-1)


@kernel()
def _within(world: Any, atom: Any, at: Any) -> Any:
    """Whether a coordinate lies in an interval of its domain: 0 no, 1 yes, 2 by a tie with a rounded end."""
    low, high = atoms(world)[atom, LOW], atoms(world)[atom, HIGH]
    if at < low or at > high:
        return 0
    if at > low and at < high:
        return 1
    flags = np.int64(atoms(world)[atom, ATOM_FLAGS])
    if flags & _ROUNDED:
        return 2
    return 0 if (at == low and flags & _LOW_OPEN) or (at == high and flags & _HIGH_OPEN) else 1


@kernel()
def passes(world: Any, test: Any, term: Any) -> Any:
    """Whether a term passes a test."""
    code = np.int64(domains(world)[term, DOMAIN_CODE])
    at = domains(world)[term, COORDINATE]
    doubtful = code >= ROUNDED_CODE or code == _FLOAT
    for atom in range(tests(world)[test], tests(world)[test + 1]):
        if np.int64(atoms(world)[atom, DOMAIN]) == code % ROUNDED_CODE:
            found = _within(world, atom, at)
            if found == 1 and not doubtful:
                return True
            doubtful = doubtful or found == 2
    return doubtful and _verdict(world, test, term) == 1


@kernel()
def banked(world: Any, bank: Any, term: Any) -> Any:
    """Which tests of a bank a term passes, a bit each."""
    answer = np.uint64(0)
    for place in range(64):
        test = banks(world)[bank, place]
        if test < 0:
            break
        if passes(world, test, term):
            answer |= _1 << np.uint64(place)
    return answer
