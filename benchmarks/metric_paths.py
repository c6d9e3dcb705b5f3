"""Distances and Steiner trees under a stream of updates, beside recomputing them by networkx."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from heliograph.kernels.metric_layout import CAME, WENT, Log

_ATTACHED, _CAP = 5, 500
_PREDICATE = 0


class Stream(NamedTuple):
    """The edges of a graph, and a log that changes it: a third of the changes are deletions."""

    subject: npt.NDArray[np.int32]
    object: npt.NDArray[np.int32]
    changes: Log


def barabasi_albert(vertices: int, rng: np.random.Generator) -> npt.NDArray[np.int32]:
    """Pairs of vertices: each new one is joined to some earlier ones, chosen by their degree, no degree above a cap."""
    degree = np.zeros(vertices, np.int64)
    ends: list[int] = list(range(_ATTACHED))
    pairs: list[tuple[int, int]] = []
    for vertex in range(_ATTACHED, vertices):
        chosen: set[int] = set()
        while len(chosen) < _ATTACHED:
            other = ends[int(rng.integers(len(ends)))]
            if degree[other] < _CAP:
                chosen.add(other)
        for other in sorted(chosen):
            pairs.append((vertex, other))
            degree[[vertex, other]] += 1
            ends += [vertex, other]
    return np.array(pairs, np.int32)


def stream(vertices: int, changes: int, rng: np.random.Generator) -> Stream:
    """All but some edges are there; those that are not come, and for every two that come one that is there goes."""
    pairs = barabasi_albert(vertices, rng)
    pairs = np.where(rng.random(len(pairs))[:, None] < 0.5, pairs, pairs[:, ::-1]).astype(np.int32)
    order = rng.permutation(len(pairs))
    gone = changes // 3
    came = changes - gone
    later, there = order[:came], order[came:]
    numbers = np.empty(changes, np.int64)
    goes = np.zeros(changes, bool)
    goes[2 : 3 * gone : 3] = True
    numbers[goes], numbers[~goes] = there[:gone], later
    log = log_of(pairs[numbers], np.where(goes, WENT, CAME))
    return Stream(pairs[there, 0], pairs[there, 1], log)


def log_of(pairs: npt.NDArray[np.int32], change: Any) -> Log:
    """Each change a step of its own."""
    count = len(pairs)
    return Log(
        np.arange(count, dtype=np.int32),
        np.broadcast_to(np.asarray(change, np.uint8), count).copy(),
        pairs[:, 0].copy(),
        np.full(count, _PREDICATE, np.int32),
        pairs[:, 1].copy(),
        np.full(count, np.nan),
    )
