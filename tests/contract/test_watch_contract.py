"""The watch speaks the protocol of the engines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from heliograph import Watch
from heliograph.engine import Engine
from tests.contract.engine import RefusesDuplicates, Scene


class WatchScene(Scene):
    verb = "watch"

    def engine(self) -> Engine:
        return Watch()

    def load(self, path: Path) -> Engine:
        return Watch.load(path)

    def matching(self, id: str) -> Any:
        return (id, "SELECT ?x { ?x :knows :Bob }")

    def silent(self, id: str) -> Any:
        return (id, "SELECT ?x { ?x :knows :Cid }")

    def refused(self, id: str) -> Any:
        return (id, "SELECT ?x { ?x :knows :Bob FILTER(hg:degree(?x) > 2) }")

    def publication(self, number: int) -> Any:
        return ("+", f"Ann{number}", "knows", "Bob")

    def refused_publication(self) -> Any:
        return ("+", "Ann", "unheard:of", "Bob")


class TestWatch(RefusesDuplicates):
    @pytest.fixture
    def scene(self) -> Scene:
        return WatchScene()
