"""The filter speaks the protocol of the engines, whatever its algorithm."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from heliograph import Filter
from heliograph.filter.strategy import ALGORITHMS
from heliograph.model import Engine
from tests.contract.engine import ExplainsItsOwn, RefusesDuplicates, Saves, Scene


class FilterScene(Scene):
    verb = "filter"

    def __init__(self, algorithm: str | None = None) -> None:
        self.algorithm = algorithm

    def engine(self) -> Engine:
        return Filter() if self.algorithm is None else Filter(algorithm=self.algorithm)

    def load(self, path: Path) -> Engine:
        return Filter.load(path)

    def matching(self, id: str) -> Any:
        return (id, "SELECT ?y { :paper :year ?y FILTER(?y > 2000) }")

    def silent(self, id: str) -> Any:
        return (id, "SELECT ?y { :paper :year ?y FILTER(?y > 2100) }")

    def refused(self, id: str) -> Any:
        return (id, "SELECT ?y { OPTIONAL { :paper :year ?y } }")

    def publication(self, number: int) -> Any:
        return (f"d{number}", [("paper", "year", str(2000 + number)), ("paper", "author", "Arno")])

    def refused_publication(self) -> Any:
        return ("bad", [("paper", "unheard:of", "2001")])


class TestFilter(RefusesDuplicates, ExplainsItsOwn, Saves):
    @pytest.fixture(params=[None, *ALGORITHMS], ids=lambda algorithm: algorithm or "default")
    def scene(self, request: pytest.FixtureRequest) -> Scene:
        return FilterScene(request.param)
