"""The opponent of the route engine: a breadth-first walk in plain Python that calls one compiled lambda per node met.

Each lambda is compiled once from the node's SQL text. What the walk reads lies ready for it: the nodes as numbers, the
edges as tuples of numbers, the events parsed; the engine gets tables of text and JSON. There are two walks that differ
in how a lambda reads an event: from a dict, which is the walk of the table's claims, and from positional arguments,
which is as fast as plain Python goes (1.0 to 1.4 × the first). A bytearray of the nodes seen is faster than a set from
selectivity 1/8 on, and 5 % slower at 1/16; walking by levels with unions of sets is slower.

The grammar is that of `heliograph.workloads.route_targeting`, whose events define every attribute: there is no null.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from heliograph.workloads.route import ATTRIBUTES

Test = Callable[..., bool]
Tables = Mapping[str, pa.Table]

_ATOM = re.compile(r"(\w+) (?:(=|<|>=) ('[^']*'|[\d.]+)|IN \(([^)]*)\)|BETWEEN ([\d.]+) AND ([\d.]+))")
NAMES = ", ".join(attribute.name for attribute in ATTRIBUTES)


class Walk(NamedTuple):
    """An exchange as a plain walk wants it; `targets` and `tests` are by node number."""

    ids: Sequence[str]
    numbers: Mapping[str, int]
    targets: list[tuple[int, ...]]
    tests: list[Test]
    events: list[tuple[int, Any]]  # the publisher's number, and what a test reads
    walk: Callable[[Walk, int, Any], list[int]]

    def answers(self) -> list[list[int]]:
        """The nodes that each event reaches, as they are met."""
        walk = self.walk
        return [walk(self, start, event) for start, event in self.events]

    def seconds(self) -> float:
        """How long an event takes."""
        started = time.process_time()
        self.answers()
        return (time.process_time() - started) / len(self.events)


def from_dicts(tables: Tables) -> Walk:
    """The walk whose lambdas read a dict."""
    return _made(tables, "lambda event: {}", lambda name: f"event[{name!r}]", dict, _with_one)


def from_arguments(tables: Tables) -> Walk:
    """The walk whose lambdas take the attributes as arguments."""
    return _made(tables, f"lambda {NAMES}: {{}}", str, _values, _with_several)


def _with_one(walk: Walk, start: int, event: Any) -> list[int]:
    """The start is not marked as seen: it is a result if a path leads back to it."""
    targets, tests = walk.targets, walk.tests
    seen = bytearray(len(targets))
    met = [start]
    push = met.append
    for node in met:
        for target in targets[node]:
            if not seen[target]:
                seen[target] = 1
                if tests[target](event):
                    push(target)
    return met[1:]


def _with_several(walk: Walk, start: int, event: Any) -> list[int]:
    """The same, line by line, but for the call."""
    targets, tests = walk.targets, walk.tests
    seen = bytearray(len(targets))
    met = [start]
    push = met.append
    for node in met:
        for target in targets[node]:
            if not seen[target]:
                seen[target] = 1
                if tests[target](*event):
                    push(target)
    return met[1:]


# --- making -----------------------------------------------------------------------------------------------------


def _made(
    tables: Tables,
    form: str,
    read: Callable[[str], str],
    event: Callable[[dict[str, Any]], Any],
    walk: Callable[[Walk, int, Any], list[int]],
) -> Walk:
    ids = texts(tables["nodes"], "node_id")
    numbers = {id: number for number, id in enumerate(ids)}
    accept = compiled(form, None, read)
    tests = [compiled(form, text, read) if text else accept for text in tables["nodes"]["targeting"].to_pylist()]
    rows = zip(texts(tables["events"], "publisher"), texts(tables["events"], "attributes"), strict=True)
    events = [(numbers[publisher], event(json.loads(text))) for publisher, text in rows]
    return Walk(ids, numbers, _targets(numbers, tables["edges"]), tests, events, walk)


def texts(table: pa.Table, column: str) -> list[str]:
    """A column without nulls."""
    return [str(text) for text in table[column].to_pylist()]


def _targets(numbers: Mapping[str, int], edges: pa.Table) -> list[tuple[int, ...]]:
    found: list[list[int]] = [[] for _ in numbers]
    for source, target in zip(texts(edges, "source"), texts(edges, "target"), strict=True):
        found[numbers[source]].append(numbers[target])
    return [tuple(targets) for targets in found]


def _values(attributes: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(attributes[attribute.name] for attribute in ATTRIBUTES)


def compiled(form: str, text: str | None, read: Callable[[str], str]) -> Test:
    """The lambda of a SQL text; no text is one that accepts."""
    test: Test = eval(compile(form.format(in_python(text, read) if text else True), "targeting", "eval"))
    return test


def in_python(text: str, read: Callable[[str], str]) -> str:
    """A targeting of the workload as a Python expression; `read` spells how an attribute is read."""
    spelled = _ATOM.sub(lambda atom: _spelled(read(atom[1]), atom), text)
    return spelled.replace(" AND ", " and ").replace(" OR ", " or ")


def _spelled(value: str, atom: re.Match[str]) -> str:
    _, operator, constant, listed, low, high = atom.groups()
    if listed:
        return f"{value} in {{{listed}}}"
    if low:
        return f"{low} <= {value} <= {high}"
    return f"{value} {'==' if operator == '=' else operator} {constant}"
