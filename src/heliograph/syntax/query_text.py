"""A query as a line of JSON and back, for queries that nobody wrote: mergers on their way from one process to another.

The law: `from_text(to_text(query)) == query`. Only the classes that a query is made of are made again, nothing else.
"""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass
from typing import Any

from heliograph.syntax import query as parts
from heliograph.syntax.query import Query
from heliograph.terms import Term, TermKind, Variable

_NODES: tuple[Any, ...] = (
    *(Query, parts.Values, parts.TriplePattern, parts.ClassPattern, parts.Not, parts.And, parts.Or, parts.Compare),
    *(parts.In, parts.Arithmetic, parts.Negate, parts.Call, parts.Metric, parts.Count, Term, Variable),
)
_ENUMS: tuple[Any, ...] = (parts.Form, parts.ClassRelation, TermKind)
_CLASSES = {each.__name__: each for each in (*_NODES, *_ENUMS)}
_TUPLE = ""  # what stands for a plain tuple where others have the name of their class


def to_text(query: Query) -> str:
    return json.dumps(_lowered(query), ensure_ascii=False, separators=(",", ":"))


def from_text(text: str) -> Query:
    made = _raised(json.loads(text))
    if not isinstance(made, Query):
        raise ValueError("no query")
    return made


def _lowered(value: Any) -> Any:
    kind = type(value)
    if kind in _ENUMS:
        return [kind.__name__, value.value]
    if is_dataclass(kind):
        return [kind.__name__, *(_lowered(getattr(value, field.name)) for field in fields(kind))]
    if isinstance(value, tuple):
        return [kind.__name__ if kind in _NODES else _TUPLE, *map(_lowered, value)]
    return value


def _raised(value: Any) -> Any:
    if not isinstance(value, list):
        return value
    name, *content = value
    made = tuple(map(_raised, content))
    return made if name == _TUPLE else _CLASSES[name](*made)
