"""Why a predicate is not true of an event, in words: the atomic predicates that failed, with the values they met.

A number against a string, or any two kinds that never compare, is said to be so: it is unknown whatever the value.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from heliograph.syntax.predicate_form import (
    And,
    Atom,
    Between,
    Comparison,
    In,
    Like,
    Or,
    Pair,
    Path,
    Predicate,
    Truth,
    atoms,
    attributes,
    spell_path,
    to_sql,
)
from heliograph.syntax.predicate_truth import Attributes, evaluate

_KINDS = {int: "number", float: "number", str: "string", bool: "boolean", dict: "object"}


def blame(predicate: Predicate, event: Attributes) -> str:
    """What failed: of an AND the first operand that is not true, of an OR every one, else the predicate itself."""
    if isinstance(predicate, And):
        return blame(next(part for part in predicate.operands if evaluate(part, event) is not True), event)
    if isinstance(predicate, Or):
        return "; and ".join(dict.fromkeys(blame(part, event) for part in predicate.operands))
    met = _met(predicate, event)
    return f"{to_sql(predicate)} ({met})" if met else f"{to_sql(predicate)} holds for no event"


def _met(predicate: Predicate, event: Attributes) -> str:
    clashes = {_last(atom): clash for atom in atoms(predicate) if (clash := _clash(atom, event))}
    return ", ".join(_value(path, event.value(path)) + clashes.get(path, "") for path in attributes(predicate))


def _value(path: Path, value: Any) -> str:
    name = spell_path(path)
    if value is None:
        return f"{name} is missing"
    text = json.dumps(value, ensure_ascii=False).encode("utf-8", "replace").decode()
    return f"{name} is {text if len(text) <= 60 else text[:57] + '...'}"


# --- kinds that never compare -----------------------------------------------------------------------------------------


def _last(atom: Atom) -> Path:
    return atom.right if isinstance(atom, Pair) else atom.attribute


def _clash(atom: Atom, event: Attributes) -> str:
    """Of which kind the value is and of which it would have to be, where these can never be compared; else nothing."""
    value = event.value(atom.left if isinstance(atom, Pair) else atom.attribute)
    met, wanted = _kinds(_elements(value)), _kinds(_wanted(atom, event))
    if not met or not wanted or met & wanted:
        return ""
    return f", {_spelled(met, isinstance(value, list))} against {_spelled(wanted, False)}"


def _wanted(atom: Atom, event: Attributes) -> Iterable[Any]:
    """What the attribute is compared with; nothing where any kind will do."""
    match atom:
        case Pair():
            return _elements(event.value(atom.right))
        case Comparison():
            return (atom.value,)
        case In():
            return atom.values
        case Between():
            return (atom.low, atom.high)
        case Like():
            return (atom.pattern,)
        case Truth():
            return (atom.wanted,)
        case _:
            return ()


def _elements(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _kinds(values: Iterable[Any]) -> set[str]:
    return {_KINDS[type(value)] for value in values if type(value) in _KINDS}


def _spelled(kinds: set[str], several: bool) -> str:
    if several:
        return f"a list of {' and '.join(f'{kind}s' for kind in sorted(kinds))}"
    return " or ".join(f"{'an' if kind == 'object' else 'a'} {kind}" for kind in sorted(kinds))
