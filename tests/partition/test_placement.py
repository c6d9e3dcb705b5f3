"""Who stands where: at every moment in one place, below a root that leads there, and evenly over the shards."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.partition.plan import (
    EVERYTHING,
    FRONT,
    MERGERS,
    NOWHERE,
    Arrangement,
    Hashing,
    Moves,
    Placement,
    ShardRoute,
)
from heliograph.sparql.templates import parse_sparql
from heliograph.subscriptions import Subscription
from tests.partition.arrangements import ByProperty

TEXTS = [
    *(f"ASK {{ ?x :p{number} ?y }}" for number in range(3)),
    *(f"ASK {{ ?x :p{number % 4} ?y FILTER(?y > {number}) }}" for number in range(12)),
    "ASK { ?x ?p ?y }",
    "SELECT (COUNT(*) AS ?n) { ?x :p0 ?y } HAVING (COUNT(*) > 2)",
]
QUERIES = [parse_sparql(text, verb="filter") for text in TEXTS]
KINDS: dict[str, Callable[[], Arrangement]] = {
    "hash": Hashing,
    "roots": lambda: ByProperty(False),
    "mergers": lambda: ByProperty(True),
}


class Model:
    """A placement, and the places that its moves say."""

    def __init__(self, arrangement: Arrangement, shards: int) -> None:
        self.placement = Placement(arrangement, shards)
        self.places: dict[int, int] = {}
        self.live: dict[int, int] = {}  # numbers, and which query each asks
        self.next = self.version = 0
        self.older: list[tuple[int, dict[int, int], dict[int, int], Mapping[int, ShardRoute]]] = []

    def insert(self, choices: list[int]) -> None:
        self.version += 1
        numbers = range(self.next, self.next + len(choices))
        self.next += len(choices)
        new = [Subscription(str(n), None, QUERIES[choice], n) for n, choice in zip(numbers, choices, strict=True)]
        self.live |= dict(zip(numbers, choices, strict=True))
        self._move(self.placement.insert(new, self.version))

    def remove(self, numbers: list[int]) -> None:
        self.version += 1
        for number in numbers:
            del self.live[number]
        self._move(self.placement.remove(numbers, self.version))

    def _move(self, moves: Moves) -> None:
        for place, numbers in moves.left.items():
            assert numbers == sorted(numbers)
            for number in numbers:
                assert self.places.pop(number) == place
        for place, numbers in moves.came.items():
            assert numbers == sorted(numbers)
            for number in numbers:
                assert self.places.setdefault(number, place) == place
        self.placement.tidy()
        self.check()
        heads = {number: self.head(number) for number in self.live}
        self.older.append((self.version, dict(self.places), heads, self.placement.routes))

    def head(self, number: int) -> int:
        root = self.placement.root_of(number)
        return EVERYTHING if root == EVERYTHING else self.placement.head(root)

    def check(self) -> None:
        arrangement, placement = self.placement.arrangement, self.placement
        mergers = {MERGERS + root for root in arrangement.roots() if arrangement.is_synthetic(root)}
        assert self.places.keys() == self.live.keys() | mergers
        assert all(placement.place_of(number) == place for number, place in self.places.items())
        front = {number for number, place in self.places.items() if place == FRONT}
        assert len(front) == len(list(arrangement.roots())) == len(placement.front)
        assert all(placement.root_of(n) == arrangement.root_of(arrangement.node_of(n)) for n in self.live)
        check_balance([list(self.places.values()).count(shard) for shard in range(len(placement.sharding.sizes))])
        self.check_routes()

    def check_routes(self) -> None:
        """Now exactly the shards below each root; in every older version at least those."""
        below: dict[int, int] = dict.fromkeys((n for n, place in self.places.items() if place == FRONT), 0)
        for number in self.live:
            if self.places[number] != FRONT and self.head(number) != EVERYTHING:
                below[self.head(number)] |= 1 << self.places[number]
        table = self.placement.routes
        assert {number: table[number].shards(self.version) for number in below} == below
        for version, places, heads, older in self.older:
            for number, head in heads.items():
                if places[number] != FRONT and head != EVERYTHING:
                    assert older[head].shards(version) >> places[number] & 1


def check_balance(sizes: list[int]) -> None:
    assert max(sizes) - min(sizes) <= max(1, sum(sizes) / len(sizes) / 10)


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_moves_tell_the_whole_difference(kind: str, data: st.DataObject) -> None:
    model = Model(KINDS[kind](), data.draw(st.integers(1, 5)))
    for _ in range(data.draw(st.integers(1, 12))):
        if data.draw(st.booleans()) and model.live:
            model.remove(data.draw(st.lists(st.sampled_from(sorted(model.live)), min_size=1, unique=True)))
        else:
            model.insert(data.draw(st.lists(st.integers(0, len(QUERIES) - 1), min_size=1, max_size=20)))
    assert len(model.older) > 0


@pytest.mark.parametrize("kind", KINDS)
def test_a_long_history_stays_balanced(kind: str) -> None:
    """Whoever leaves one shard only, again and again."""
    model, random = Model(KINDS[kind](), 3), Random(4)
    model.insert([random.randrange(len(QUERIES)) for _ in range(300)])
    model.older = []
    for _ in range(60):
        gone = [number for number in model.live if model.places[number] == 1]
        model.remove(random.sample(gone, min(3, len(gone))))
        model.insert([random.randrange(len(QUERIES))])
        model.older = model.older[-3:]
    assert 50 < len(model.live) < 300


@pytest.mark.parametrize("kind", ["roots", "mergers"])
def test_whoever_is_below_one_root_is_dealt_apart(kind: str) -> None:
    model = Model(KINDS[kind](), 4)
    model.insert([random % len(QUERIES) for random in range(400)])
    dealt = Counter((model.head(number), place) for number, place in model.places.items() if place >= 0)
    roots = {root for root, _ in dealt}
    assert len(roots) >= 4
    for root in roots:
        check_balance([dealt[root, shard] for shard in range(4)])


def test_the_next_subscriber_of_a_root_takes_its_place_at_the_front() -> None:
    model = Model(ByProperty(False), 2)
    model.insert([0, 0, 0, 3])
    assert [model.places[number] for number in range(4)].count(FRONT) == 1
    assert model.places[0] == FRONT
    model.remove([0])
    assert model.places[1] == FRONT
    assert model.head(3) == 1


def test_a_new_root_takes_over_and_gives_back() -> None:
    model = Model(ByProperty(False), 2)
    model.insert([3, 7])
    assert set(model.places.values()) == {FRONT}
    model.insert([0])
    assert sorted(model.places.values()) == [FRONT, 0, 1]
    model.remove([2])
    assert set(model.places.values()) == {FRONT}


def test_a_merger_is_nobodys() -> None:
    model = Model(ByProperty(True), 2)
    model.insert([3, 7])
    (merger,) = set(model.places) - set(model.live)
    assert merger >= MERGERS
    assert model.places[merger] == FRONT
    model.remove([0])
    assert model.places == {1: FRONT}


def test_known_places_are_kept() -> None:
    model = Model(ByProperty(False), 3)
    model.insert([0, 3, 7, 11, 0, 3, 1, 4])
    again = Placement(ByProperty(False), 3, {**model.places, MERGERS + 99: FRONT})
    subscriptions = [Subscription(str(n), None, QUERIES[choice], n) for n, choice in model.live.items()]
    moves = again.insert(subscriptions, 1)
    assert moves == Moves({FRONT: [MERGERS + 99]}, {})
    assert again.place_of(MERGERS + 99) == NOWHERE
    assert {number: again.place_of(number) for number in model.live} == model.places
