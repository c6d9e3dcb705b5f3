"""What a whole block of sayings means for a query that compares one metric with a number, at every vertex.

The law: verdicts are those of judging each saying by itself, in order. Without a hysteresis a verdict depends on the
value alone, so a vertex turns where two of its sayings that follow one another lie on different sides of the limit.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from heliograph.kernels.evolution_layout import Int32s
from heliograph.watch.metrics.judged import Judged, Verdict
from heliograph.watch.metrics.meter import Heard
from heliograph.watch.sequence import Flags


def crossings(judged: Judged, heard: Heard) -> list[Verdict]:
    """The verdicts of a query of which `is_of_values`, which takes them over."""
    assert judged.comparison is not None
    holds = judged.comparison.holding(heard.value)
    turned = _turned(heard.instance, holds, judged)
    gained, instances = holds[turned].tolist(), [(instance,) for instance in heard.instance[turned].tolist()]
    for comes, row in zip(gained, instances, strict=True):
        (judged.true.add if comes else judged.true.discard)(row)
    values = [(value,) for value in heard.value[turned].tolist()]
    shown = map(partial(judged.shown, witness=False), instances, values)
    return list(map(Verdict, heard.step[turned].tolist(), gained, instances, values, shown))


def _turned(instance: Int32s, holds: Flags, judged: Judged) -> Sequence[int]:
    """Which sayings find a vertex on the other side than the one before."""
    order = np.argsort(instance, kind="stable")
    vertex, after = instance[order], holds[order]
    firsts = np.diff(vertex, prepend=-1) != 0
    before = np.append(False, after[:-1])
    before[firsts] = [(each,) in judged.true for each in vertex[firsts].tolist()]
    turned: Sequence[int] = np.sort(order[before != after])  # type: ignore[assignment]
    return turned
