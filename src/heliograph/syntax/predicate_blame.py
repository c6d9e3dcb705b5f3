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
    return _Blame(event).blame(predicate)


class _Blame:
    """The values of one event are looked at once each, however many tests of a predicate met them."""

    def __init__(self, event: Attributes) -> None:
        self._event = event
        self._values: dict[Path, str] = {}
        self._met_kinds: dict[Path, set[str]] = {}

    def blame(self, predicate: Predicate) -> str:
        if isinstance(predicate, And):
            return self.blame(next(part for part in predicate.operands if evaluate(part, self._event) is not True))
        if isinstance(predicate, Or):
            return "; and ".join(dict.fromkeys(map(self.blame, predicate.operands)))
        met = self._met(predicate)
        return f"{to_sql(predicate)} ({met})" if met else f"{to_sql(predicate)} holds for no event"

    def _met(self, predicate: Predicate) -> str:
        clashes = {_last(atom): clash for atom in atoms(predicate) if (clash := self._clash(atom))}
        return ", ".join(self._value(path) + clashes.get(path, "") for path in attributes(predicate))

    def _value(self, path: Path) -> str:
        if path not in self._values:
            self._values[path] = _value(path, self._event.value(path))
        return self._values[path]

    def _clash(self, atom: Atom) -> str:
        """Of which kind a value is and of which it would have to be, where these can never be compared."""
        path = atom.left if isinstance(atom, Pair) else atom.attribute
        met = self._kinds(path)
        wanted = self._kinds(atom.right) if isinstance(atom, Pair) else _kinds(_wanted(atom))
        if not met or not wanted or met & wanted:
            return ""
        return f", {_spelled(met, isinstance(self._event.value(path), list))} against {_spelled(wanted, False)}"

    def _kinds(self, path: Path) -> set[str]:
        if path not in self._met_kinds:
            self._met_kinds[path] = _kinds(_elements(self._event.value(path)))
        return self._met_kinds[path]


def _value(path: Path, value: Any) -> str:
    name = spell_path(path)
    if value is None:
        return f"{name} is missing"
    text = json.dumps(value, ensure_ascii=False).encode("utf-8", "replace").decode()
    return f"{name} is {text if len(text) <= 60 else text[:57] + '...'}"


# --- kinds that never compare -----------------------------------------------------------------------------------------


def _last(atom: Atom) -> Path:
    return atom.right if isinstance(atom, Pair) else atom.attribute


def _wanted(atom: Atom) -> Iterable[Any]:
    """What the attribute is compared with; nothing where any kind will do."""
    match atom:
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
