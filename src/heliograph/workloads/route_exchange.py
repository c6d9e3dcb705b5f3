"""The advertising exchange of [B] table 1 and figure 11, at any size: who is connected to whom.

At scale 1 the counts are the seed's own: 60,011 publishers, 282 networks and 10,804 advertisers; 87,799 edges, of which
17,000 lead from publishers straight to advertisers. Table 1's averages fix the rest: out(PUB) 1.3 and in(NET) 224.4
leave 58,927 edges to networks, out(NET) 42.1 leaves 4,354 edges among networks and 7,518 to advertisers. 126 networks
form one strongly connected component and 4 another; the others are connected to no network. The core is made to reach
5,906 nodes and 81.3 % of the publishers to reach the core, which gives the seed's mean reach of 4,802.
Below scale 0.3 a core of so few networks cannot hold so many edges, and out(NET) falls short.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]


class Sizes(NamedTuple):
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


def sizes(scale: float) -> Sizes:
    """The seed's counts times `scale`; a tiny exchange still has all its parts."""
    networks = max(10, round(282 * scale))
    core = round(networks * 126 / 282)
    publishers, advertisers = max(8, round(60_011 * scale)), max(8, round(10_804 * scale))
    return Sizes(publishers, core, 4, networks - core - 4, advertisers)


def exchange(rng: np.random.Generator, size: Sizes) -> Links:
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


def _knot(rng: np.random.Generator, first: int, count: int, edges: int) -> Links:
    """Distinct edges among `count` nodes: a cycle through all makes them strongly connected, chords thicken it."""
    possible = count * (count - 2)  # from each node to any but itself and its successor
    picked = rng.choice(possible, min(edges - count, possible), replace=False)
    start = np.concatenate([np.arange(count), picked // (count - 2)])
    step = np.concatenate([np.ones(count, dtype=np.int64), picked % (count - 2) + 2])
    return Links(first + start, first + (start + step) % count)


def _from_networks(rng: np.random.Generator, size: Sizes) -> Links:
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


def _from_publishers(rng: np.random.Generator, size: Sizes, uncovered: Ints) -> Links:
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


def _skewed(rng: np.random.Generator, pool: Ints, count: int) -> Ints:
    """`count` members of the pool, each at least once where they suffice, early ones more often."""
    weights = 1.0 / np.sqrt(np.arange(1, len(pool) + 1))
    more = rng.choice(pool, max(0, count - len(pool)), p=weights / weights.sum())
    return np.concatenate([pool[:count], more])


_TRIES = 50


def _draw(rng: np.random.Generator, pool: Ints, targets: Ints, taken: Links | None = None) -> Links:
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


def _repeated(taken: Links, sources: Ints, targets: Ints) -> npt.NDArray[np.bool_]:
    """Which of the edges stand before it in `taken` or among themselves."""
    ends = np.concatenate([taken.source, sources]) << 32 | np.concatenate([taken.target, targets])
    first = np.unique(ends, return_index=True)[1]
    repeated = np.ones(len(ends), dtype=bool)
    repeated[first] = False
    return repeated[len(taken.source) :]


def _join(links: list[Links]) -> Links:
    return Links(np.concatenate([link.source for link in links]), np.concatenate([link.target for link in links]))
