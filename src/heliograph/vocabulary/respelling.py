"""Whole columns from spellings to values and back, by Arrow: IRIs without an object for each.

The law is that of `terms.spell`: of an IRI either gives what is the other's argument, or null where its spelling is not
just its value in angle brackets or its name, so that the term has to be looked at by itself.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from heliograph.terms import PLAIN

_QUICK = r"(?s)^(?:[A-Za-z0-9_.~-]+|<.*>)$"
# A letter other than e, or an underscore, is in no number; `true` and `false` are to be looked at.
_NAME = r"^[0-9eE.~-]*[A-DF-Za-df-z_][A-Za-z0-9_.~-]*$"
_TRUTHS = pa.array([PLAIN + "true", PLAIN + "false"], pa.large_string())


def values(spelled: Any) -> Any:
    """The IRIs of spellings, which are of IRIs."""
    quick = pc.match_substring_regex(spelled, _QUICK)
    bracketed = pc.starts_with(spelled, "<")
    inner = pc.utf8_slice_codeunits(spelled, 1, -1)
    full = pc.binary_join_element_wise(_large(PLAIN), spelled, _large(""))
    return pc.if_else(quick, pc.if_else(bracketed, inner, full), _NOTHING)


def spellings(iris: Any) -> Any:
    """The spellings of IRIs as objects."""
    plain = pc.starts_with(iris, PLAIN)
    name = pc.utf8_slice_codeunits(iris, len(PLAIN))
    quick = pc.and_not(pc.match_substring_regex(name, _NAME), pc.is_in(iris, value_set=_TRUTHS))
    bracketed = pc.binary_join_element_wise(_large("<"), iris, _large(">"), _large(""))
    return pc.if_else(plain, pc.if_else(quick, name, _NOTHING), bracketed)


def _large(text: str | None) -> Any:
    return pa.scalar(text, pa.large_string())


_NOTHING = _large(None)
