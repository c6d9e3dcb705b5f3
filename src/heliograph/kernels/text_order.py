"""Texts in UTF-8 by the order of their bytes, which is that of their code points, and against LIKE patterns."""

from __future__ import annotations

from typing import Any

import numpy as np

from heliograph.kernels.cache import kernel
from heliograph.kernels.targeting_layout import ANY_CHARACTER, ANY_TEXT, Bytes


@kernel()
def compare_texts(left: Bytes, i: Any, left_end: Any, right: Bytes, j: Any, right_end: Any) -> Any:
    """-1, 0 or 1."""
    while i < left_end and j < right_end:
        if left[i] != right[j]:
            return -1 if left[i] < right[j] else 1
        i += 1
        j += 1
    if i < left_end:
        return 1
    return -1 if j < right_end else 0


@kernel()
def is_like(text: Bytes, i: Any, end: Any, pattern: Bytes, j: Any, stop: Any) -> Any:
    """Whether the text matches; after a failure the last % takes one more byte, an earlier one never needs to."""
    again, resume = np.int64(-1), i
    while True:
        if j < stop and pattern[j] == ANY_TEXT:
            j += 1
            again, resume = np.int64(j), i
            continue
        if i == end and j == stop:
            return True
        if i < end and j < stop and (pattern[j] == ANY_CHARACTER or pattern[j] == text[i]):
            i = _following(text, i, end) if pattern[j] == ANY_CHARACTER else i + 1
            j += 1
            continue
        if again < 0 or resume == end:
            return False
        resume = _following(text, resume, end)
        i, j = resume, again


@kernel()
def _following(text: Bytes, i: Any, end: Any) -> Any:
    """The place after the character that begins at `i`; the bytes that continue one are 10xxxxxx."""
    i += 1
    while i < end and text[i] & np.uint8(0xC0) == np.uint8(0x80):
        i += 1
    return i
