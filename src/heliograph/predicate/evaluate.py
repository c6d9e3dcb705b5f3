"""What a predicate says of an event: SQL's three-valued logic over JSON attributes, why it fails, and whether it ever
holds.
"""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable, Iterable, Mapping, Set
from functools import lru_cache
from typing import Any

from heliograph.predicate.form import (
    And,
    Atom,
    Between,
    Comparison,
    Constant,
    In,
    IsNull,
    Like,
    Not,
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

# --- LIKE patterns as functions: % stands for any text, _ for one character -------------------------------------------
#
# A pattern is split at its % into fixed-length pieces. The first and the last are anchored, and the others are found
# from left to right, each at its leftmost place: a later place never helps, since % absorbs the difference. So there
# is no backtracking, and the time is at most length of text × length of pattern.

Matcher = Callable[[str], bool]


def ends_in_escape(pattern: str, escape: str) -> bool:
    """Whether an escape character at the end of the pattern has nothing left to escape."""
    place = 0
    while place < len(pattern):
        if pattern[place] == escape:
            place += 1
            if place == len(pattern):
                return True
        place += 1
    return False


@lru_cache(maxsize=65536)
def matcher(pattern: str, escape: str | None, fold: bool) -> Matcher:
    """A function that says whether a text is LIKE the pattern (ILIKE: both in lower case)."""
    pieces = _pieces(pattern, escape, fold)
    matches: Matcher = _spread(pieces) if len(pieces) > 1 else lambda text: pieces[0].fullmatch(text) is not None
    return (lambda text: matches(text.lower())) if fold else matches


def _pieces(pattern: str, escape: str | None, fold: bool) -> list[re.Pattern[str]]:
    """The stretches between % as regular expressions of fixed length; an escaped character stands for itself."""
    pieces: list[list[str]] = [[]]
    characters = iter(pattern)
    for character in characters:
        if character == "%" and escape != "%":
            pieces.append([])
        elif character == "_" and escape != "_":
            pieces[-1].append(".")
        else:
            literal = next(characters, "") if character == escape else character
            pieces[-1].append(re.escape(literal.lower() if fold else literal))
    return [re.compile("".join(piece), re.DOTALL) for piece in pieces]


def _spread(pieces: list[re.Pattern[str]]) -> Matcher:
    first, *middle, last = pieces
    tail = re.compile(f"(?:{last.pattern})\\Z", re.DOTALL)

    def matches(text: str) -> bool:
        found = first.match(text)
        for piece in middle:
            if found is None:
                return False
            found = piece.search(text, found.end())
        return found is not None and tail.search(text, found.end()) is not None

    return matches


# --- what a predicate says of an event: SQL's three-valued logic over JSON attributes ---------------------------------
#
# True, False or None (unknown). The rules, as `CONTRACT` states them for route: - a missing attribute and a JSON null
# are the same thing, and every comparison with it is unknown; - a number against a string (or a boolean, or an
# object) is unknown, never a cast; numbers compare by exact value, strings by code point; - on a list an atomic
# predicate is two-valued: true if it is true of one element, else false, and so false on an empty list; NOT negates
# that. IS NULL asks whether the attribute is there at all, so it is false on any list; - a.b steps into objects;
# through a list of objects it collects the elements' b into one list.

_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_NUMBERS = (int, float)  # exact types: a bool is no number


class Attributes:
    """One event's attributes; each path is looked up once."""

    __slots__ = ("_found", "_tree")

    def __init__(self, tree: Mapping[str, Any]) -> None:
        self._tree = tree
        self._found: dict[Path, Any] = {}

    def value(self, path: Path) -> Any:
        """The JSON value at `path`; None where it is missing."""
        if path not in self._found:
            self._found[path] = lookup(self._tree, path)
        return self._found[path]


def lookup(tree: Any, path: Path) -> Any:
    """The value at the end of `path`; a list on the way gives the list of what its objects hold there."""
    for depth, name in enumerate(path):
        if type(tree) is list:
            return _collect(tree, path[depth:])
        if not isinstance(tree, Mapping):
            return None
        tree = tree.get(name)
    return tree


def _collect(elements: list[Any], path: Path) -> list[Any]:
    collected: list[Any] = []
    for element in elements:
        value = lookup(element, path) if isinstance(element, Mapping) else None
        if type(value) is list:
            collected.extend(value)
        elif value is not None:
            collected.append(value)
    return collected


def accepts(predicate: Predicate, attributes: Attributes) -> bool:
    """Whether the predicate is true of the event; unknown does not accept."""
    return _RULES[type(predicate)](predicate, attributes) is True


def evaluate(predicate: Predicate, attributes: Attributes) -> bool | None:
    """True, False or None (unknown)."""
    return _RULES[type(predicate)](predicate, attributes)


def compare(left: Any, comparison: str, right: Any) -> bool | None:
    """Two JSON scalars under = <> < <= > >=; unknown unless both are strings, both numbers or both booleans."""
    kind = type(left)
    same = type(right) in _NUMBERS if kind in _NUMBERS else kind is type(right) and kind in (str, bool)
    return _COMPARE[comparison](left, right) if same else None


def _compare(predicate: Comparison, value: Any) -> bool | None:
    return compare(value, predicate.operator, predicate.value)


def _is_in(predicate: In, value: Any) -> bool | None:
    """x IN (a, b) is x = a OR x = b."""
    result: bool | None = False
    for constant in predicate.values:
        truth = compare(value, "=", constant)
        if truth:
            return True
        if truth is None:
            result = None
    return result


def _is_between(predicate: Between, value: Any) -> bool | None:
    """x BETWEEN a AND b is x >= a AND x <= b."""
    above, below = compare(value, ">=", predicate.low), compare(value, "<=", predicate.high)
    if above is False or below is False:
        return False
    return True if above and below else None


def _is_like(predicate: Like, value: Any) -> bool | None:
    if type(value) is not str or predicate.pattern is None:
        return None
    return matcher(predicate.pattern, predicate.escape, predicate.fold)(value)


def _is_truth(predicate: Truth, value: Any) -> bool | None:
    return value is predicate.wanted if type(value) is bool else None


def _on_elements(test: Callable[[Any, Any], bool | None]) -> Callable[[Any, Attributes], bool | None]:
    """The rule of an atomic predicate on a whole attribute, from its test on one scalar."""

    def rule(predicate: Any, attributes: Attributes) -> bool | None:
        value = attributes.value(predicate.attribute)
        if type(value) is list:
            return any(test(predicate, element) for element in value)
        return test(predicate, value)

    return rule


def _pair(predicate: Pair, attributes: Attributes) -> bool | None:
    """Attribute against attribute; where one is a list, one pair of elements has to satisfy it."""
    left, right = attributes.value(predicate.left), attributes.value(predicate.right)
    if type(left) is not list and type(right) is not list:
        return compare(left, predicate.operator, right)
    rights = right if type(right) is list else [right]
    lefts = left if type(left) is list else [left]
    return any(compare(one, predicate.operator, other) for one in lefts for other in rights)


def _not(predicate: Not, attributes: Attributes) -> bool | None:
    truth = evaluate(predicate.operand, attributes)
    return None if truth is None else not truth


def _and(predicate: And, attributes: Attributes) -> bool | None:
    result: bool | None = True
    for operand in predicate.operands:
        truth = _RULES[type(operand)](operand, attributes)
        if truth is False:
            return False
        if truth is None:
            result = None
    return result


def _or(predicate: Or, attributes: Attributes) -> bool | None:
    result: bool | None = False
    for operand in predicate.operands:
        truth = _RULES[type(operand)](operand, attributes)
        if truth:
            return True
        if truth is None:
            result = None
    return result


_RULES: dict[type, Callable[[Any, Attributes], bool | None]] = {
    Constant: lambda predicate, _: predicate.value,
    Comparison: _on_elements(_compare),
    In: _on_elements(_is_in),
    Between: _on_elements(_is_between),
    Like: _on_elements(_is_like),
    Truth: _on_elements(_is_truth),
    IsNull: lambda predicate, attributes: attributes.value(predicate.attribute) is None,
    Pair: _pair,
    Not: _not,
    And: _and,
    Or: _or,
}


# --- why a predicate is not true of an event, in words: the atomic predicates that failed, with the values they met ---
#
# A number against a string, or any two kinds that never compare, is said to be so: it is unknown whatever the value.

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


# --- predicates that no event can make true ---------------------------------------------------------------------------
#
# The law: `never_holds` is only ever right. It is modest, because on a list `x = 1 AND x = 2` can hold: what it knows
# are constants, comparisons with NULL, ranges that are empty, operands beside the negation of what they imply, and an
# attribute that has to be missing beside a test that needs its value.


def never_holds(form: Predicate) -> bool:
    """Whether the predicate is false or unknown for every event."""
    if isinstance(form, Constant):
        return form.value is not True
    if isinstance(form, Not):
        return never_fails(form.operand)
    if isinstance(form, And):
        return any(map(never_holds, form.operands)) or _contradicts_itself(form) or _misses(form)
    if isinstance(form, Or):
        return all(map(never_holds, form.operands))
    return _is_empty(form)


def never_fails(form: Predicate) -> bool:
    """Whether the predicate is true or unknown for every event."""
    if isinstance(form, Constant):
        return form.value is not False
    if isinstance(form, Not):
        return never_holds(form.operand)
    if isinstance(form, And):
        return all(map(never_fails, form.operands))
    if isinstance(form, Or):
        return any(map(never_fails, form.operands))
    return False


def _contradicts_itself(form: And) -> bool:
    given = set(form.operands)
    return any(_follows(operand.operand, given) for operand in form.operands if isinstance(operand, Not))


def _follows(form: Predicate, given: Set[Predicate]) -> bool:
    """Whether the form is true wherever all that is given is."""
    if form in given:
        return True
    if isinstance(form, And):
        return all(_follows(operand, given) for operand in form.operands)
    return isinstance(form, Or) and any(_follows(operand, given) for operand in form.operands)


def _misses(form: And) -> bool:
    """Whether an attribute has to be missing, and it or what is nested in it has to have a value."""
    missing = {operand.attribute for operand in form.operands if isinstance(operand, IsNull)}
    needed = [path for operand in form.operands for path in _needed(operand)] if missing else []
    return any(path[:depth] in missing for path in needed for depth in range(1, len(path) + 1))


def _needed(form: Predicate) -> tuple[Path, ...]:
    """The attributes without which the form is not true. NOT a = b may hold with one of them: against a list."""
    if isinstance(form, Pair):
        return form.left, form.right
    if isinstance(form, Not) and not isinstance(form.operand, Pair | Not):
        return (form.operand.attribute,) if isinstance(form.operand, IsNull) else _needed(form.operand)
    if isinstance(form, In):
        return (form.attribute,) if form.values else ()
    return (form.attribute,) if isinstance(form, Comparison | Between | Like | Truth) else ()


def _is_empty(form: Predicate) -> bool:
    """Whether no scalar satisfies an atomic predicate."""
    if isinstance(form, Comparison):
        return form.value is None
    if isinstance(form, Between):
        return compare(form.low, "<=", form.high) is not True
    if isinstance(form, Like):
        return form.pattern is None
    return isinstance(form, In) and all(value is None for value in form.values)
