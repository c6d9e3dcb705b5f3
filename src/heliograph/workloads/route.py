"""The route workload of [B] section 4: the exchange, its targeting, events, and which nodes each must reach.

Several exchanges of one scale may stand side by side, so that the whole grows while what an event can reach does not.
"""

from __future__ import annotations

import json
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from heliograph.errors import UsageError
from heliograph.workloads import Flags, Ints, Random, Texts, expected_notifications, texts_of

# --- the advertising exchange of [B] table 1 and figure 11, at any size: which nodes are connected ---
#
# At scale 1 the counts are the seed's own: 60,011 publishers, 282 networks and 10,804 advertisers; 87,799 edges, of
# which 17,000 lead from publishers straight to advertisers. Table 1's averages fix the rest: out(PUB) 1.3 and in(NET)
# 224.4 leave 58,927 edges to networks, out(NET) 42.1 leaves 4,354 edges among networks and 7,518 to advertisers. 126
# networks form one strongly connected component and 4 another; the others are connected to no network. The core is
# made to reach 5,906 nodes and 81.3 % of the publishers to reach the core, which gives the seed's mean reach of
# 4,802. Below scale 0.3 a core of so few networks cannot hold so many edges, and out(NET) falls short.


class ExchangeSizes(NamedTuple):
    """How many there are of each kind. Nodes are numbered publishers, core, ring, lone networks, advertisers."""

    publishers: int
    core: int
    ring: int
    lone: int
    advertisers: int

    @property
    def networks(self) -> int:
        return self.core + self.ring + self.lone

    @property
    def total(self) -> int:
        return self.publishers + self.networks + self.advertisers

    @property
    def first_network(self) -> int:
        return self.publishers

    @property
    def first_outside(self) -> int:
        """The first network outside the core."""
        return self.publishers + self.core

    @property
    def first_advertiser(self) -> int:
        return self.publishers + self.networks


class Links(NamedTuple):
    """Edges as two parallel columns of node numbers."""

    source: Ints
    target: Ints


def sizes(scale: float) -> ExchangeSizes:
    """The seed's counts times `scale`; a tiny exchange still has all its parts."""
    networks = max(10, round(282 * scale))
    core = round(networks * 126 / 282)
    publishers, advertisers = max(8, round(60_011 * scale)), max(8, round(10_804 * scale))
    return ExchangeSizes(publishers, core, 4, networks - core - 4, advertisers)


def exchange(rng: Random, size: ExchangeSizes) -> Links:
    """The edges of an exchange, no two with the same ends, sorted by source and target."""
    inner = _join(
        [
            _knot(rng, size.first_network, size.core, round(4_348 / 126 * size.core)),
            _knot(rng, size.first_outside, size.ring, 6),
        ]
    )
    outer = _from_networks(rng, size)
    uncovered = np.setdiff1d(np.arange(size.first_advertiser, size.total), outer.target)
    links = _join([inner, outer, _from_publishers(rng, size, uncovered)])
    order = np.lexsort((links.target, links.source))
    return Links(links.source[order], links.target[order])


def _knot(rng: Random, first: int, count: int, edges: int) -> Links:
    """Distinct edges among `count` nodes: a cycle through all makes them strongly connected, chords thicken it."""
    possible = count * (count - 2)  # from each node to any but itself and its successor
    picked = rng.choice(possible, min(edges - count, possible), replace=False)
    start = np.concatenate([np.arange(count), picked // (count - 2)])
    step = np.concatenate([np.ones(count, dtype=np.int64), picked % (count - 2) + 2])
    return Links(first + start, first + (start + step) % count)


def _from_networks(rng: Random, size: ExchangeSizes) -> Links:
    """The core reaches 5,780 of 10,804 advertisers over 6,600 edges; the other networks have 918 edges."""
    reached = rng.permutation(size.advertisers)[: round(5_780 / 10_804 * size.advertisers)]
    again = rng.choice(reached, round(820 / 10_804 * size.advertisers))
    outside = np.arange(size.first_outside, size.first_advertiser)
    few = max(len(outside), round(918 / 10_804 * size.advertisers))
    core = np.arange(size.first_network, size.first_outside)
    return _join(
        [
            _draw(rng, core, size.first_advertiser + np.concatenate([reached, again])),
            _draw(rng, outside, rng.integers(size.first_advertiser, size.total, few)),
        ]
    )


def _from_publishers(rng: Random, size: ExchangeSizes, uncovered: Ints) -> Links:
    """Every publisher's first edge, then the 15,916 others; every advertiser gets an edge from somewhere."""
    publishers = rng.permutation(size.publishers)
    into_core, to_others = round(0.813 * size.publishers), round(5_500 / 60_011 * size.publishers)
    networks = [
        _skewed(rng, np.arange(size.first_network, size.first_outside), into_core),
        _skewed(rng, np.arange(size.first_outside, size.first_advertiser), to_others),
    ]
    straight = round(17_000 / 60_011 * size.publishers)
    repeated = rng.integers(size.first_advertiser, size.total, max(0, straight - len(uncovered)))
    advertisers = rng.permutation(np.concatenate([uncovered, repeated]))
    targets = np.concatenate([*networks, advertisers])
    first = Links(publishers, targets[: size.publishers])
    more = _draw(rng, publishers, targets[size.publishers :], first)
    second = round(4_638 / 60_011 * size.publishers)
    others = rng.integers(size.first_network, size.first_advertiser, second)
    return _join([first, more, _draw(rng, publishers[:into_core], others, _join([first, more]))])


def _skewed(rng: Random, pool: Ints, count: int) -> Ints:
    """`count` members of the pool, each at least once where they suffice, early ones more often."""
    weights = 1.0 / np.sqrt(np.arange(1, len(pool) + 1))
    more = rng.choice(pool, max(0, count - len(pool)), p=weights / weights.sum())
    return np.concatenate([pool[:count], more])


_TRIES = 50


def _draw(rng: Random, pool: Ints, targets: Ints, taken: Links | None = None) -> Links:
    """An edge to each target from a member of the pool, redrawn while its two ends are taken; then left out."""
    taken = taken or Links(targets[:0], targets[:0])
    sources = _skewed(rng, pool, len(targets))
    again = _repeated(taken, sources, targets)
    for _ in range(_TRIES):
        if not again.any():
            break
        sources[again] = rng.choice(pool, int(again.sum()))
        again = _repeated(taken, sources, targets)
    return Links(sources[~again], targets[~again])


def _repeated(taken: Links, sources: Ints, targets: Ints) -> Flags:
    """Which of the edges stand before it in `taken` or among themselves."""
    ends = np.concatenate([taken.source, sources]) << 32 | np.concatenate([taken.target, targets])
    first = np.unique(ends, return_index=True)[1]
    repeated = np.ones(len(ends), dtype=bool)
    repeated[first] = False
    return repeated[len(taken.source) :]


def _join(links: list[Links]) -> Links:
    return Links(np.concatenate([link.source for link in links]), np.concatenate([link.target for link in links]))


# --- targeting and events of a chosen selectivity ([B] section 4.2), their truth known without reading any SQL ---
#
# Each targeting is a disjunction of 2 or 3 conjunctions of 2 to 4 predicates on six attributes. An attribute takes
# `domain` equally likely values, and a predicate accepts `length` of them from `start` on (names wrap around, numbers
# do not), so its probability is length / domain. With m conjunctions each has to hold with probability c = 1 − (1 −
# selectivity)^(1/m); its predicates share c between them, unequally, since attributes differ in how selective they
# are.

TOPICS = (
    "Sports Finance Travel Music Health Food Fashion Autos Games Science "
    "Politics Weather Movies Books Gardens Pets Homes Jobs Arts Technology"
).split()
STATES = (
    "AL AK AZ AR CA CO CT DE FL GA HI ID IL IN IA KS KY LA ME MD MA MI MN MS MO "
    "MT NE NV NH NJ NM NY NC ND OH OK OR PA RI SC SD TN TX UT VT VA WA WV WI WY"
).split()


class EventAttribute(NamedTuple):
    """`share` weighs how much of a conjunction's selectivity falls on this attribute."""

    name: str
    values: list[str] | list[int] | list[float]
    share: float

    @property
    def named(self) -> bool:
        return isinstance(self.values[0], str)


ATTRIBUTES = (
    EventAttribute("topic", TOPICS, 1.4),
    EventAttribute("geo", STATES, 1.2),
    EventAttribute("age", list(range(100)), 1.0),
    EventAttribute("hour", list(range(24)), 0.8),
    EventAttribute("adsize", list(range(1000)), 1.0),
    EventAttribute("price", [number / 1000 for number in range(1000)], 0.6),
)
DOMAINS = np.array([len(attribute.values) for attribute in ATTRIBUTES])


class DrawnTargeting(NamedTuple):
    """Predicates as parallel columns; `conjunctions` and `nodes` are where each conjunction and each node begins."""

    attribute: Ints
    start: Ints
    length: Ints
    conjunctions: Ints  # offsets into the predicates
    nodes: Ints  # offsets into the conjunctions


def draw_targeting(rng: Random, count: int, selectivity: float) -> DrawnTargeting:
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
    conjunctions, nodes = (np.concatenate([[0], np.cumsum(counts)]) for counts in (per_conjunction, per_node))
    return DrawnTargeting(attribute, start, length, conjunctions, nodes)


def _draw_ranges(rng: Random, attribute: Ints, chances: npt.NDArray[np.float64]) -> tuple[Ints, Ints]:
    """Which values each predicate accepts; lengths are rounded up or down at random, to be right on average."""
    domain = DOMAINS[attribute]
    length = np.clip(np.floor(chances * domain + rng.random(len(domain))).astype(np.int64), 1, domain)
    named = np.array([entry.named for entry in ATTRIBUTES])[attribute]
    low = rng.integers(0, domain - length + 1)
    start = np.where(
        named, rng.integers(0, domain), np.choose(rng.integers(0, 3, len(domain)), [0, domain - length, low])
    )
    return start, length


def accepted(targeting: DrawnTargeting, event: Ints) -> Flags:
    """Which nodes accept an event, given as the number of its value in each attribute."""
    place = (event[targeting.attribute] - targeting.start) % DOMAINS[targeting.attribute]
    conjunctions = np.logical_and.reduceat(place < targeting.length, targeting.conjunctions[:-1])
    return np.logical_or.reduceat(conjunctions, targeting.nodes[:-1])


def spell_targeting(targeting: DrawnTargeting) -> list[str]:
    """The SQL text of each node's targeting."""
    columns = (targeting.attribute.tolist(), targeting.start.tolist(), targeting.length.tolist())
    predicates = [_spell(ATTRIBUTES[number], start, length) for number, start, length in zip(*columns, strict=True)]
    bounds = pairwise(targeting.conjunctions.tolist())
    conjunctions = [f"({' AND '.join(predicates[begin:end])})" for begin, end in bounds]
    return [" OR ".join(conjunctions[begin:end]) for begin, end in pairwise(targeting.nodes.tolist())]


def _spell(attribute: EventAttribute, start: int, length: int) -> str:
    name, values = attribute.name, attribute.values
    if attribute.named:
        listed = [values[(start + step) % len(values)] for step in range(length)]
        return f"{name} = '{listed[0]}'" if length == 1 else f"{name} IN ({', '.join(map(repr, listed))})"
    if start == 0 and length < len(values):
        return f"{name} < {values[length]}"
    if start + length == len(values):
        return f"{name} >= {values[start]}"
    return f"{name} BETWEEN {values[start]} AND {values[start + length - 1]}"


def draw_events(rng: Random, count: int) -> Ints:
    """Events as rows of value numbers, one column per attribute."""
    return rng.integers(0, DOMAINS, (count, len(ATTRIBUTES)))


def spell_event(event: Ints) -> str:
    """The attributes of one event as JSON."""
    values = zip(ATTRIBUTES, event.tolist(), strict=True)
    return json.dumps({attribute.name: attribute.values[number] for attribute, number in values})


# --- which nodes each event must reach ---
#
# The deliveries come from the numbers that the targeting was drawn from and from a fixpoint over the edges, so they
# share no code with the predicates and the walk that they check.


class ExchangePart(NamedTuple):
    """One exchange of those that stand side by side; without targeting every node accepts everything."""

    links: Links
    targeting: DrawnTargeting | None


def expected_deliveries(
    names: Texts, size: ExchangeSizes, parts: list[ExchangePart], publishers: Ints, drawn: Ints
) -> pa.Table:
    """The notifications of every event, in order; publishers are numbered through all parts."""
    later = [part.links.source >= size.publishers for part in parts]  # the edges that a path can take after its first
    inner = [Links(part.links.source[on], part.links.target[on]) for part, on in zip(parts, later, strict=True)]
    found: list[Ints] = []
    for publisher, event in zip(publishers.tolist(), drawn, strict=True):
        number, start = divmod(publisher, size.publishers)
        valid = np.ones(size.total, dtype=bool)  # a publisher has no targeting
        targeting = parts[number].targeting
        if targeting is not None:
            valid[size.publishers :] = accepted(targeting, event)
        found.append(number * size.total + _reached(size, parts[number].links, inner[number], valid, start))
    numbers = np.repeat(np.arange(len(found)), [len(reached) for reached in found])
    nodes = names.take(np.concatenate([*found, np.empty(0, dtype=np.int64)]))
    events = texts_of([f"event{number}" for number in range(len(found))]).take(numbers)
    return expected_notifications("route", nodes, events, pa.repeat("+", len(nodes)))


def _reached(size: ExchangeSizes, links: Links, inner: Links, valid: Flags, start: int) -> Ints:
    """The least set that holds the start's valid targets and the valid targets of its own members."""
    begin, end = np.searchsorted(links.source, [start, start + 1])
    reached = np.zeros(size.total, dtype=bool)
    reached[links.target[begin:end]] = True
    reached &= valid
    while True:
        grown = reached.copy()
        grown[inner.target[reached[inner.source]]] = True
        grown &= valid
        if np.array_equal(grown, reached):
            return np.flatnonzero(reached)
        reached = grown


# --- the workload ---


def generate_route(
    seed: int, *, scale: float = 1.0, copies: int = 1, events: int = 100, selectivity: float = 0.25
) -> dict[str, pa.Table]:
    """The tables nodes, edges, events and expected. At scale 1 the exchange has the paper's 71,097 nodes.

    `copies` puts so many exchanges side by side, each with edges and targeting of its own and connected to no other: 15
    at scale 1 have 1,066,455 nodes. `selectivity` is the share of events that a network or advertiser accepts; 1 means
    no targeting. `expected` are the notifications of every event in order, without evidence.
    """
    if not (0 < scale <= 1000 and 0 < copies <= 1000 and events >= 0 and 0 < selectivity <= 1):
        message = f"a route workload of scale {scale}, {copies} copies, {events} events and selectivity {selectivity}"
        limits = "scale is above 0 and at most 1000, copies are 1 to 1000, events from 0"
        raise UsageError("HG-064", message, fix=f"{limits}, selectivity above 0 and at most 1")
    rng = np.random.default_rng(seed)
    size = sizes(scale)
    parts: list[ExchangePart] = []
    for _ in range(copies):
        links, targeted = exchange(rng, size), size.total - size.publishers
        parts.append(ExchangePart(links, draw_targeting(rng, targeted, selectivity) if selectivity < 1 else None))
    publishers = rng.integers(0, size.publishers * copies, events)
    drawn = draw_events(rng, events)
    names = node_names(size, copies)
    return {
        "nodes": pa.table({"node_id": names, "targeting": _texts(size, parts)}),
        "edges": _edges(rng, names, size, parts),
        "events": pa.table(
            {
                "event_id": texts_of([f"event{number}" for number in range(len(drawn))]),
                "publisher": texts_of([f"pub{number}" for number in publishers.tolist()]),
                "attributes": texts_of([spell_event(event) for event in drawn]),
            }
        ),
        "expected": expected_deliveries(names, size, parts, publishers, drawn),
    }


def node_names(size: ExchangeSizes, copies: int = 1) -> Texts:
    """pub0 …, net0 …, adv0 …: publishers, networks (the core first) and advertisers, one exchange after the other."""
    kinds = (("pub", size.publishers), ("net", size.networks), ("adv", size.advertisers))
    names = (
        f"{kind}{number}"
        for copy in range(copies)
        for kind, count in kinds
        for number in range(copy * count, (copy + 1) * count)
    )
    return texts_of(list(names))


def _texts(size: ExchangeSizes, parts: list[ExchangePart]) -> Texts:
    """The targeting of every node; a publisher has none."""
    chunks: list[Texts] = []
    for part in parts:
        if part.targeting is None:
            chunks.append(pa.nulls(size.total, pa.string()))
        else:
            chunks += [pa.nulls(size.publishers, pa.string()), texts_of(spell_targeting(part.targeting))]
    return pa.concat_arrays(chunks)


def _edges(rng: Random, names: Texts, size: ExchangeSizes, parts: list[ExchangePart]) -> pa.Table:
    """The edges of all exchanges, the nodes numbered through. An edge costs 0.5 to 2.0; the nodes cost nothing."""
    source, target = (
        np.concatenate([part.links[end] + number * size.total for number, part in enumerate(parts)]) for end in (0, 1)
    )
    cost = np.round(rng.uniform(0.5, 2.0, len(source)), 2)
    return pa.table({"source": names.take(source), "target": names.take(target), "cost": cost})
