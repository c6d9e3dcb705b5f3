"""Targeting and events of a chosen selectivity ([B] section 4.2), with their truth known without reading any SQL.

Each targeting is a disjunction of 2 or 3 conjunctions of 2 to 4 predicates on six attributes. An attribute takes
`domain` equally likely values, and a predicate accepts `length` of them from `start` on (names wrap around, numbers do
not), so its probability is length / domain. With m conjunctions each has to hold with probability
c = 1 − (1 − selectivity)^(1/m); its predicates share c between them, unequally, since attributes differ in how
selective they are.
"""

from __future__ import annotations

import json
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

TOPICS = (
    "Sports Finance Travel Music Health Food Fashion Autos Games Science "
    "Politics Weather Movies Books Gardens Pets Homes Jobs Arts Technology"
).split()
STATES = (
    "AL AK AZ AR CA CO CT DE FL GA HI ID IL IN IA KS KY LA ME MD MA MI MN MS MO "
    "MT NE NV NH NJ NM NY NC ND OH OK OR PA RI SC SD TN TX UT VT VA WA WV WI WY"
).split()


class Attribute(NamedTuple):
    """`share` weighs how much of a conjunction's selectivity falls on this attribute."""

    name: str
    values: list[str] | list[int] | list[float]
    share: float

    @property
    def named(self) -> bool:
        return isinstance(self.values[0], str)


ATTRIBUTES = (
    Attribute("topic", TOPICS, 1.4),
    Attribute("geo", STATES, 1.2),
    Attribute("age", list(range(100)), 1.0),
    Attribute("hour", list(range(24)), 0.8),
    Attribute("adsize", list(range(1000)), 1.0),
    Attribute("price", [number / 1000 for number in range(1000)], 0.6),
)
DOMAINS = np.array([len(attribute.values) for attribute in ATTRIBUTES])


class Targeting(NamedTuple):
    """Predicates as parallel columns; `conjunctions` and `nodes` are where each conjunction and each node begins."""

    attribute: Ints
    start: Ints
    length: Ints
    conjunctions: Ints  # offsets into the predicates
    nodes: Ints  # offsets into the conjunctions


def draw_targeting(rng: np.random.Generator, count: int, selectivity: float) -> Targeting:
    """Targeting for `count` nodes, each accepting about `selectivity` of the events."""
    per_node = rng.integers(2, 4, count)
    per_conjunction = rng.integers(2, 5, int(per_node.sum()))
    chance = np.repeat(1 - (1 - selectivity) ** (1 / per_node), per_node)
    shuffled = np.argsort(rng.random((len(per_conjunction), len(ATTRIBUTES))), axis=1)
    chosen = np.arange(len(ATTRIBUTES)) < per_conjunction[:, None]
    shares = np.array([attribute.share for attribute in ATTRIBUTES])[shuffled] * chosen
    chances = (chance[:, None] ** (shares / shares.sum(axis=1, keepdims=True)))[chosen]
    attribute = shuffled[chosen]
    start, length = _draw_ranges(rng, attribute, chances)
    return Targeting(attribute, start, length, _offsets(per_conjunction), _offsets(per_node))


def _draw_ranges(rng: np.random.Generator, attribute: Ints, chances: npt.NDArray[np.float64]) -> tuple[Ints, Ints]:
    """Which values each predicate accepts; lengths are rounded up or down at random, to be right on average."""
    domain = DOMAINS[attribute]
    length = np.clip(np.floor(chances * domain + rng.random(len(domain))).astype(np.int64), 1, domain)
    named = np.array([entry.named for entry in ATTRIBUTES])[attribute]
    low = rng.integers(0, domain - length + 1)
    start = np.where(
        named, rng.integers(0, domain), np.choose(rng.integers(0, 3, len(domain)), [0, domain - length, low])
    )
    return start, length


def _offsets(counts: Ints) -> Ints:
    return np.concatenate([[0], np.cumsum(counts)])


def accepted(targeting: Targeting, event: Ints) -> Bools:
    """Which nodes accept an event, given as the number of its value in each attribute."""
    place = (event[targeting.attribute] - targeting.start) % DOMAINS[targeting.attribute]
    conjunctions = np.logical_and.reduceat(place < targeting.length, targeting.conjunctions[:-1])
    return np.logical_or.reduceat(conjunctions, targeting.nodes[:-1])


def spell_targeting(targeting: Targeting) -> list[str]:
    """The SQL text of each node's targeting."""
    columns = (targeting.attribute.tolist(), targeting.start.tolist(), targeting.length.tolist())
    predicates = [
        _spell(ATTRIBUTES[attribute], start, length) for attribute, start, length in zip(*columns, strict=True)
    ]
    conjunctions = [" AND ".join(part) for part in _split(predicates, targeting.conjunctions)]
    return [" OR ".join(f"({part})" for part in parts) for parts in _split(conjunctions, targeting.nodes)]


def _split(items: list[str], offsets: Ints) -> list[list[str]]:
    return [items[begin:end] for begin, end in pairwise(offsets.tolist())]


def _spell(attribute: Attribute, start: int, length: int) -> str:
    name, values = attribute.name, attribute.values
    if attribute.named:
        listed = [values[(start + step) % len(values)] for step in range(length)]
        return f"{name} = '{listed[0]}'" if length == 1 else f"{name} IN ({', '.join(map(repr, listed))})"
    if start == 0 and length < len(values):
        return f"{name} < {values[length]}"
    if start + length == len(values):
        return f"{name} >= {values[start]}"
    return f"{name} BETWEEN {values[start]} AND {values[start + length - 1]}"


def draw_events(rng: np.random.Generator, count: int) -> Ints:
    """Events as rows of value numbers, one column per attribute."""
    return rng.integers(0, DOMAINS, (count, len(ATTRIBUTES)))


def spell_event(event: Ints) -> str:
    """The attributes of one event as JSON."""
    values = zip(ATTRIBUTES, event.tolist(), strict=True)
    return json.dumps({attribute.name: attribute.values[number] for attribute, number in values})
