"""All algorithms agree while nodes, edges and targeting change, and saves are made and loaded in between."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from heliograph import Route
from heliograph.errors import HeliographError
from heliograph.route.strategy import ALGORITHMS

SIZES = [0, 1, 2, 63, 64, 65, 127, 128, 129]
OPTIONS: list[dict[str, Any]] = [
    {},
    {"subscribers_only": True},
    {"limit": 2},
    {"rank": "cost"},
    {"rank": "cost", "limit": 3},
    {"paths": True},
    {"hops": 2},
    {"paths": True, "hops": 3, "subscribers_only": True},
]


class Scene:
    """A random history of one exchange, told to an engine of each algorithm."""

    def __init__(self, seed: int, folder: Path) -> None:
        self.chance, self.folder = random.Random(seed), folder
        self.cyclic = self.chance.random() < 0.5
        self.match = self.chance.choice([None, None, None, "superset", "subset", "intersects"])
        names = ALGORITHMS if not self.cyclic else [name for name in ALGORITHMS if not name.startswith("dag")]
        self.engines = {name: Route(match=self.match, algorithm=name) for name in names}
        self.names = [f"n{number}" for number in range(self.chance.choice([6, 20, 70]))]

    def targeting(self) -> str | None:
        x = self.chance.randrange(4)
        atoms = [f"x = {x}", f"x > {x}", f"t LIKE '%{x}'", f"t ILIKE 'A{x}%'", f"y IN ({x}, 'a{x}')", f"NOT y = {x}"]
        one, two = self.chance.choice(atoms), self.chance.choice([*atoms, f"z.w < {x}", "x IS NULL", "x <> y"])
        return self.chance.choice(
            [None, one, one, f"{one} OR {two}", f"{one} AND {two}", f"NOT ({one} AND {two})", "x ="]
        )

    def labels(self) -> list[str]:
        return self.chance.sample("ABCD", self.chance.randrange(4))

    def nodes(self, count: int) -> list[dict[str, Any]]:
        chosen = self.chance.sample(self.names, min(count, len(self.names)))
        return [
            {
                "node_id": id,
                "targeting": self.targeting(),
                "cost": self.chance.choice([0, 1, 2.5]),
                "labels": self.labels(),
            }
            for id in chosen
        ]

    def edges(self, count: int) -> list[dict[str, Any]]:
        made = []
        for _ in range(count):
            ends = self.chance.choices(range(len(self.names)), k=2)
            low, high = ends if self.cyclic else sorted(ends)
            if self.cyclic or low < high:
                id = self.chance.choice([None, None, f"e{self.chance.randrange(5)}"])
                rest = {"edge_id": id, "targeting": self.targeting(), "cost": self.chance.choice([0, 1, 3])}
                made.append({"source": self.names[low], "target": self.names[high], **rest})
        return made

    def events(self, count: int) -> list[dict[str, Any]]:
        def value() -> Any:
            x = self.chance.randrange(4)
            return self.chance.choice([x, x, f"a{x}", None, [x, x + 1], [], [f"a{x}", x], True, {"w": x}, 2**60 + x])

        return [
            {
                "event_id": f"v{number}",
                "publisher": self.chance.choice([*self.names, "nobody"]),
                "attributes": {
                    "x": value(),
                    "y": value(),
                    "t": f"a{self.chance.randrange(4)}",
                    "z": value(),
                    "labels": self.labels(),
                },
            }
            for number in range(count)
        ]

    def each(self, ask: Callable[[Route], Any]) -> None:
        """Every engine answers alike, or refuses alike."""
        answers = {}
        for name, engine in self.engines.items():
            try:
                answers[name] = ask(engine)
            except HeliographError as error:
                answers[name] = error.code
        expected = answers["walk"]
        assert {name: answer for name, answer in answers.items() if answer != expected} == {}

    def step(self) -> None:
        kind = self.chance.randrange(8)
        if kind < 2:
            nodes = self.nodes(self.chance.choice([1, 3, 40]))
            self.each(lambda engine: _codes(engine.add_nodes(nodes)))
        elif kind < 4:
            edges = self.edges(self.chance.choice([1, 4, 90]))
            self.each(lambda engine: _codes(engine.add_edges(edges)))
        elif kind == 4:
            ids = self.chance.sample(self.names, self.chance.randrange(1, 4))
            self.each(lambda engine: _codes(engine.remove_nodes(ids)))
        elif kind == 5:
            gone = [{key: edge[key] for key in ("source", "target")} for edge in self.edges(6)]
            self.each(lambda engine: _codes(engine.remove_edges(gone)))
        elif kind == 6:
            for name, engine in self.engines.items():
                engine.save(self.folder / name)
                self.engines[name] = Route.load(self.folder / name, algorithm=name)
        else:
            for engine in self.engines.values():
                engine._exchange.compact()
        events, options = self.events(self.chance.choice(SIZES)), self.chance.choice(OPTIONS)
        self.each(lambda engine: _told(engine.publish(events, **options), options))
        if events:
            self.each(lambda engine: sorted(note.subscription_id for note in engine.stream(events[0])))


def _codes(receipt: Any) -> Any:
    return receipt.accepted, [(entry.item, entry.code) for entry in receipt.rejected]


def _told(result: Any, options: dict[str, Any]) -> Any:
    """Of paths that are as short or as cheap, algorithms may give different ones: costs or lengths are compared."""
    notes = [(note.publication_id, note.subscription_id) for note in result]
    costs = [note.proof["cost"] for note in result] if options.get("rank") else []
    lengths = [len(note.proof["path"]) for note in result] if options.get("paths") and not options.get("rank") else []
    refused = [(entry.item, entry.code) for entry in result.rejected]
    return notes, [round(cost, 9) for cost in costs], lengths, refused, result.complete


def play(seed: int, folder: Path, steps: int) -> None:
    scene = Scene(seed, folder)
    nodes, edges = scene.nodes(len(scene.names)), scene.edges(3 * len(scene.names))
    scene.each(lambda engine: (_codes(engine.add_nodes(nodes)), _codes(engine.add_edges(edges))))
    for _ in range(steps):
        scene.step()


@pytest.mark.parametrize("seed", range(8))
def test_all_algorithms_agree_under_changes(seed: int, tmp_path: Path) -> None:
    play(seed, tmp_path, 6)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 300))
def test_all_algorithms_agree_under_many_changes(seed: int, tmp_path: Path) -> None:
    play(seed, tmp_path, 25)
