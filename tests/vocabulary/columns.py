"""Comparing typed columns."""

from __future__ import annotations

import numpy as np

from heliograph.vocabulary.columns import Typed


def same(left: Typed, right: Typed) -> bool:
    pairs = zip(left.columns, right.columns, strict=True)
    return all(np.array_equal(one, two, equal_nan=one.dtype.kind == "f") for one, two in pairs)
