"""Which pairs are sampled: by hashes, so that they are a function of the seed and of the vertices that are there.

The law: the source of a sample is the vertex whose hash, of the seed, the sample and the vertex's mark, is the
smallest; so is its target, by hashes of their own (they may be the same vertex, and then no path counts). Every ordered
pair is equally likely, samples are independent, and whatever came and went before, the same vertices give the same
pairs: a vertex that comes takes its share of the samples, and those of one that goes are the only ones to be picked
again. Marks do not depend on ids, which are given in order of arrival.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import int64, uint64

from heliograph.kernels.cache import kernel
from heliograph.kernels.metric_betweenness_layout import Samples
from heliograph.kernels.metric_betweenness_types import SAMPLES
from heliograph.kernels.types import NEW_HASHES, NEW_INT32S

_ODD = np.uint64(0x9E3779B97F4A7C15)  # 2^64 divided by the golden ratio
_27, _30, _31 = np.uint64(27), np.uint64(30), np.uint64(31)
_ONE, _TWO = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)  # of the mixing step of SplitMix64
_NONE = np.uint64(0xFFFFFFFFFFFFFFFF)
SOURCES, TARGETS, CHOICES = range(3)  # what a hash is for


@kernel(inline=True)
def _mix(value: Any) -> Any:
    value = (value ^ (value >> _30)) * _ONE
    value = (value ^ (value >> _27)) * _TWO
    return value ^ (value >> _31)


@kernel(inline=True)
def sample_key(seed: Any, sample: Any, purpose: Any) -> Any:
    return _mix(np.uint64(seed) + _ODD * np.uint64(3 * sample + purpose + 1))


@kernel(inline=True)
def vertex_hash(key: Any, mark: Any) -> Any:
    return _mix(key + _ODD * (mark + np.uint64(1)))


@kernel()
def _offer(samples: Samples, marks: Any, seed: Any, sample: Any, vertex: Any) -> None:
    """A vertex becomes an end of a sample if its hash is smaller."""
    hashed = vertex_hash(sample_key(seed, sample, SOURCES), marks[vertex])
    if hashed < samples.source_hash[sample]:
        samples.source[sample], samples.source_hash[sample], samples.dirty[sample] = vertex, hashed, 1
    hashed = vertex_hash(sample_key(seed, sample, TARGETS), marks[vertex])
    if hashed < samples.target_hash[sample]:
        samples.target[sample], samples.target_hash[sample], samples.dirty[sample] = vertex, hashed, 1


@kernel((SAMPLES, NEW_INT32S, NEW_HASHES, uint64, int64))
def pick(samples: Samples, touching: Any, marks: Any, seed: Any, first: Any) -> None:
    """Picks the ends of the samples from a number on, among all vertices."""
    for sample in range(first, len(samples.source)):
        samples.source_hash[sample] = samples.target_hash[sample] = _NONE
        for vertex in range(len(touching)):
            if touching[vertex] > 0:
                _offer(samples, marks, seed, sample, vertex)


@kernel()
def _leave(samples: Samples, touching: Any, marks: Any, seed: Any) -> None:
    """Samples with an end that is no vertex any more get another."""
    for sample in range(len(samples.source)):
        gone = False
        if touching[samples.source[sample]] == 0:
            samples.source_hash[sample], gone = _NONE, True
        if touching[samples.target[sample]] == 0:
            samples.target_hash[sample], gone = _NONE, True
        if gone:
            for vertex in range(len(touching)):
                if touching[vertex] > 0:
                    _offer(samples, marks, seed, sample, vertex)


@kernel((SAMPLES, NEW_INT32S, NEW_HASHES, uint64, NEW_INT32S))
def repick(samples: Samples, touching: Any, marks: Any, seed: Any, ends: Any) -> None:
    """Makes the pairs those of the vertices that are there, when only the `ends`, ids, may have come or gone.

    To offer a vertex again that was there changes nothing: no hash is smaller than itself.
    """
    _leave(samples, touching, marks, seed)
    for k in range(len(ends)):
        if touching[ends[k]] > 0:
            for sample in range(len(samples.source)):
                _offer(samples, marks, seed, sample, ends[k])
