"""Predicates and events for the index of predicates: those of the route workload, over any number of attributes.

A predicate is a disjunction of 2 or 3 conjunctions of 2 to 4 tests on different attributes. The attributes of
`workloads.route_targeting` are repeated under other names. Where an event defines only some attributes, each as likely
as any other, tests are wider, so that a predicate still holds with the wanted probability; four attributes are so
rarely defined together that a test of each has to hold whenever they are.
"""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from heliograph.workloads.route import ATTRIBUTES, EventAttribute

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


class Size(NamedTuple):
    """`defined` attributes of an event, each predicate true of a share `selectivity` of the events."""

    predicates: int
    attributes: int
    defined: int
    selectivity: float
    events: int


class Tests(NamedTuple):
    """Tests as parallel columns: the attribute, and which of its values are accepted; then the groups they form."""

    attribute: Ints
    start: Ints
    length: Ints
    conjunctions: Ints  # offsets into the tests
    predicates: Ints  # offsets into the conjunctions


class Workload(NamedTuple):
    table: pa.Table  # id, predicate
    events: pa.Array[Any]  # JSON texts
    values: Ints  # of each event the number of its value in each attribute, or -1
    tests: Tests
    domains: Ints

    def accepting(self, event: int) -> Ints:
        """The numbers of the predicates that are true of an event, known without reading any SQL."""
        tests, values = self.tests, self.values[event]
        value = values[tests.attribute]
        inside = (value - tests.start) % self.domains[tests.attribute] < tests.length
        conjunctions = np.logical_and.reduceat(inside & (value >= 0), tests.conjunctions[:-1])
        return np.flatnonzero(np.logical_or.reduceat(conjunctions, tests.predicates[:-1]))


def draw(seed: int, size: Size) -> Workload:
    rng = np.random.default_rng(seed)
    attributes = [_attribute(number) for number in range(size.attributes)]
    domains = np.array([len(attribute.values) for attribute in attributes])
    tests = _draw_tests(rng, size, attributes, domains)
    values = rng.integers(0, domains, (size.events, size.attributes))
    if size.defined < size.attributes:
        order = np.argsort(rng.random(values.shape), axis=1)
        values[order >= size.defined] = -1
    ids = pa.array([f"p{number}" for number in range(size.predicates)])
    table = pa.table({"id": ids, "predicate": pa.array(_spell_predicates(tests, attributes))})
    return Workload(table, pa.array([_spell_event(attributes, row) for row in values]), values, tests, domains)


def _attribute(number: int) -> EventAttribute:
    again, which = divmod(number, len(ATTRIBUTES))
    attribute = ATTRIBUTES[which]
    return attribute._replace(name=f"{attribute.name}_{again}") if again else attribute


def _draw_tests(rng: np.random.Generator, size: Size, attributes: list[EventAttribute], domains: Ints) -> Tests:
    per_predicate = rng.integers(2, 4, size.predicates)
    per_conjunction = rng.integers(2, 5, int(per_predicate.sum()))
    chosen = np.arange(4) < per_conjunction[:, None]
    drawn = _distinct(rng, len(per_conjunction), size.attributes)
    wanted = np.repeat(1 - (1 - size.selectivity) ** (1 / per_predicate), per_predicate)
    chance = np.minimum(1, wanted / (size.defined / size.attributes) ** per_conjunction)
    shares = np.array([attribute.share for attribute in attributes])[drawn] * chosen
    chances = (chance[:, None] ** (shares / shares.sum(axis=1, keepdims=True)))[chosen]
    attribute = drawn[chosen]
    domain = domains[attribute]
    length = np.clip(np.floor(chances * domain + rng.random(len(domain))).astype(np.int64), 1, domain)
    named = np.array([entry.named for entry in attributes])[attribute]
    start = np.where(named, rng.integers(0, domain), rng.integers(0, domain - length + 1))
    sides = rng.integers(0, 3, len(domain))  # a third each below a bound, above one, and between two
    start = np.where(named | (sides == 0), start, np.where(sides == 1, 0, domain - length))
    return Tests(attribute, start, length, _offsets(per_conjunction), _offsets(per_predicate))


def _distinct(rng: np.random.Generator, count: int, attributes: int) -> Ints:
    """Four different attributes in each row."""
    drawn = rng.integers(0, attributes, (count, 4))
    while True:
        ordered = np.sort(drawn, axis=1)
        again = np.flatnonzero((ordered[:, 1:] == ordered[:, :-1]).any(axis=1))
        if not len(again):
            return drawn
        drawn[again] = rng.integers(0, attributes, (len(again), 4))


def _offsets(counts: Ints) -> Ints:
    return np.concatenate([[0], np.cumsum(counts)])


def _spell_predicates(tests: Tests, attributes: list[EventAttribute]) -> list[str]:
    columns = (tests.attribute.tolist(), tests.start.tolist(), tests.length.tolist())
    spelled = [_spell(attributes[attribute], start, length) for attribute, start, length in zip(*columns, strict=True)]
    conjunctions = [" AND ".join(spelled[begin:end]) for begin, end in pairwise(tests.conjunctions.tolist())]
    return [
        " OR ".join(f"({part})" for part in conjunctions[begin:end])
        for begin, end in pairwise(tests.predicates.tolist())
    ]


def _spell(attribute: EventAttribute, start: int, length: int) -> str:
    name, values = attribute.name, attribute.values
    if attribute.named:
        listed = [repr(values[(start + step) % len(values)]) for step in range(length)]
        return f"{name} = {listed[0]}" if length == 1 else f"{name} IN ({', '.join(listed)})"
    if start == 0 and length < len(values):
        return f"{name} < {values[length]}"
    if start + length == len(values):
        return f"{name} >= {values[start]}"
    return f"{name} BETWEEN {values[start]} AND {values[start + length - 1]}"


def _spell_event(attributes: list[EventAttribute], row: Ints) -> str:
    defined = np.flatnonzero(row >= 0).tolist()
    return json.dumps({attributes[number].name: attributes[number].values[row[number]] for number in defined})
