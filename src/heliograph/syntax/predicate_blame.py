"""Why a predicate is not true of an event, in words: the atomic predicates that failed, with the values they met."""

from __future__ import annotations

import json
from typing import Any

from heliograph.syntax.predicate_form import And, Or, Path, Predicate, attributes, spell_path, to_sql
from heliograph.syntax.predicate_truth import Attributes, evaluate


def blame(predicate: Predicate, event: Attributes) -> str:
    """What failed: of an AND the first operand that is not true, of an OR every one, else the predicate itself."""
    if isinstance(predicate, And):
        return blame(next(part for part in predicate.operands if evaluate(part, event) is not True), event)
    if isinstance(predicate, Or):
        return "; and ".join(dict.fromkeys(blame(part, event) for part in predicate.operands))
    met = _met(predicate, event)
    return f"{to_sql(predicate)} ({met})" if met else f"{to_sql(predicate)} holds for no event"


def _met(predicate: Predicate, event: Attributes) -> str:
    return ", ".join(_value(path, event.value(path)) for path in attributes(predicate))


def _value(path: Path, value: Any) -> str:
    name = spell_path(path)
    if value is None:
        return f"{name} is missing"
    text = json.dumps(value, ensure_ascii=False).encode("utf-8", "replace").decode()
    return f"{name} is {text if len(text) <= 60 else text[:57] + '...'}"
