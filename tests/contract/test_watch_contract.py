"""The watch speaks the protocol of the engines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from heliograph import Watch
from heliograph.model import Engine
from heliograph.watch.strategy import ALGORITHMS
from tests.contract.engine import RefusesDuplicates, Saves, Scene


class WatchScene(Scene):
    verb = "watch"

    def __init__(self, algorithm: str) -> None:
        self.algorithm = algorithm

    def engine(self) -> Engine:
        return Watch(algorithm=self.algorithm)

    def load(self, path: Path) -> Engine:
        return Watch.load(path, algorithm=self.algorithm)

    def matching(self, id: str) -> Any:
        return (id, "SELECT ?x { ?x :knows :Bob }")

    def silent(self, id: str) -> Any:
        return (id, "SELECT ?x { ?x :knows :Cid }")

    def refused(self, id: str) -> Any:
        return (id, "SELECT (COUNT(*) AS ?n) { ?x :knows :Bob }")

    def publication(self, number: int) -> Any:
        return ("+", f"Ann{number}", "knows", "Bob")

    def refused_publication(self) -> Any:
        return ("+", "Ann", "unheard:of", "Bob")


class TestWatch(RefusesDuplicates, Saves):
    @pytest.fixture(params=ALGORITHMS)
    def scene(self, request: pytest.FixtureRequest) -> Scene:
        return WatchScene(request.param)
