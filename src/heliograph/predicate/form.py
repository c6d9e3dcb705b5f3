"""The one internal form of a SQL predicate: a frozen, hashable tree, and its spelling as SQL.

The law: parse_predicate(to_sql(form)) == form. Equal forms accept the same events, so a form may be a dictionary key.
Booleans never stand beside numbers in a field, because Python holds `True == 1`: `x = TRUE` is a `Truth`, not a
`Comparison`. A `None` among the constants is SQL's NULL.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

Path = tuple[str, ...]  # the names of a nested attribute: a.b.c
Scalar = str | int | float | None


@dataclass(frozen=True, slots=True)
class Constant:
    """TRUE, FALSE or NULL (unknown)."""

    value: bool | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """An attribute against a constant; `operator` is one of = <> < <= > >=."""

    attribute: Path
    operator: str
    value: Scalar


@dataclass(frozen=True, slots=True)
class Pair:
    """An attribute against another attribute."""

    left: Path
    operator: str
    right: Path


@dataclass(frozen=True, slots=True)
class Truth:
    """A boolean attribute that has the wanted value."""

    attribute: Path
    wanted: bool


@dataclass(frozen=True, slots=True)
class In:
    attribute: Path
    values: tuple[Scalar, ...]


@dataclass(frozen=True, slots=True)
class Between:
    attribute: Path
    low: Scalar
    high: Scalar


@dataclass(frozen=True, slots=True)
class Like:
    """% stands for any text and _ for one character; `fold` is ILIKE; `escape` is one character or none."""

    attribute: Path
    pattern: str | None
    escape: str | None = None
    fold: bool = False


@dataclass(frozen=True, slots=True)
class IsNull:
    attribute: Path


@dataclass(frozen=True, slots=True)
class Not:
    operand: Predicate


@dataclass(frozen=True, slots=True)
class And:
    operands: tuple[Predicate, ...]


@dataclass(frozen=True, slots=True)
class Or:
    operands: tuple[Predicate, ...]


Atom = Comparison | Pair | Truth | In | Between | Like | IsNull
Predicate = Constant | Atom | Not | And | Or

ACCEPT = Constant(True)

# Words that cannot be an attribute's name without double quotes: those of the language itself, and those that begin a
# construct we refuse.
KEYWORDS = frozenset("AND OR NOT IN BETWEEN LIKE ILIKE ESCAPE IS NULL TRUE FALSE".split())
RESERVED = frozenset("SELECT WHERE CASE EXISTS DISTINCT ANY ALL SOME INTERVAL WITH VALUES".split())
# Words for which a database puts in a value of its own; here nothing does. `user.name` is an attribute all the same.
FILLED_IN = frozenset(
    "CURRENT_DATE CURRENT_TIME CURRENT_TIMESTAMP LOCALTIME LOCALTIMESTAMP CURRENT_USER SESSION_USER SYSTEM_USER USER "
    "CURRENT_ROLE CURRENT_CATALOG CURRENT_SCHEMA DEFAULT".split()
)
# Words that begin a refused construct after an operand, and are plain names elsewhere: `limit > 5`.
TRAILING = frozenset(
    "SIMILAR REGEXP RLIKE GLOB COLLATE OVERLAPS ISNULL NOTNULL GROUP ORDER LIMIT HAVING UNION INTERSECT EXCEPT".split()
)
_PLAIN = re.compile(r"[^\W\d][\w$]*\Z")


def conjunction(operands: list[Predicate]) -> Predicate:
    """The operands joined by AND; nested ANDs are opened, which changes no truth value."""
    return And(tuple(_opened(operands, And))) if len(operands) > 1 else operands[0]


def disjunction(operands: list[Predicate]) -> Predicate:
    """The operands joined by OR; nested ORs are opened."""
    return Or(tuple(_opened(operands, Or))) if len(operands) > 1 else operands[0]


def negation(operand: Predicate) -> Predicate:
    """NOT operand; in three-valued logic too, NOT NOT p is p."""
    return operand.operand if isinstance(operand, Not) else Not(operand)


def _opened(operands: list[Predicate], kind: type[And] | type[Or]) -> Iterator[Predicate]:
    for operand in operands:
        if isinstance(operand, kind):
            yield from operand.operands
        else:
            yield operand


def atoms(form: Predicate) -> Iterator[Atom]:
    """Every atomic predicate of the form, from left to right."""
    if isinstance(form, Not):
        yield from atoms(form.operand)
    elif isinstance(form, And | Or):
        for operand in form.operands:
            yield from atoms(operand)
    elif not isinstance(form, Constant):
        yield form


def attributes(form: Predicate) -> list[Path]:
    """The attributes that the form reads, each once, in order of appearance."""
    found: dict[Path, None] = {}
    for atom in atoms(form):
        found.update(dict.fromkeys((atom.left, atom.right) if isinstance(atom, Pair) else (atom.attribute,)))
    return list(found)


def to_sql(form: Predicate) -> str:
    """The form as SQL text that parses to it again."""
    return _WRITERS[type(form)](form)


def spell_path(path: Path) -> str:
    """The attribute as SQL writes it, in double quotes where a plain name would not do."""
    return ".".join(name if _is_plain(name) else '"' + name.replace('"', '""') + '"' for name in path)


def spell_value(value: Scalar | bool) -> str:
    """A constant as SQL writes it."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else repr(value)


def _is_plain(name: str) -> bool:
    return bool(_PLAIN.match(name)) and name.upper() not in KEYWORDS | RESERVED | FILLED_IN


def _write_in(form: In) -> str:
    return f"{spell_path(form.attribute)} IN ({', '.join(map(spell_value, form.values))})"


def _write_between(form: Between) -> str:
    return f"{spell_path(form.attribute)} BETWEEN {spell_value(form.low)} AND {spell_value(form.high)}"


def _write_like(form: Like) -> str:
    text = f"{spell_path(form.attribute)} {'ILIKE' if form.fold else 'LIKE'} {spell_value(form.pattern)}"
    return text if form.escape is None else f"{text} ESCAPE {spell_value(form.escape)}"


def _write_truth(form: Truth) -> str:
    return f"{spell_path(form.attribute)} = {spell_value(form.wanted)}"


def _within(form: Predicate) -> str:
    """The form as an operand of AND, OR or NOT: in parentheses where precedence would read it otherwise."""
    return f"({to_sql(form)})" if isinstance(form, And | Or) else to_sql(form)


_WRITERS: dict[type, Callable[[Any], str]] = {
    Constant: lambda form: spell_value(form.value),
    Comparison: lambda form: f"{spell_path(form.attribute)} {form.operator} {spell_value(form.value)}",
    Pair: lambda form: f"{spell_path(form.left)} {form.operator} {spell_path(form.right)}",
    Truth: _write_truth,
    In: _write_in,
    Between: _write_between,
    Like: _write_like,
    IsNull: lambda form: f"{spell_path(form.attribute)} IS NULL",
    Not: lambda form: f"NOT {_within(form.operand)}",
    And: lambda form: " AND ".join(map(_within, form.operands)),
    Or: lambda form: " OR ".join(map(_within, form.operands)),
}
