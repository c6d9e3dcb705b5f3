"""The route speaks the protocol of the engines, where subscribers are nodes below a publisher."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from heliograph import Route
from heliograph.model import Engine
from heliograph.route.strategy import ALGORITHMS
from tests.contract.branches import PUBLISHER, Branches
from tests.contract.engine import Explains, Replaces, Saves, Scene


class RouteScene(Scene):
    verb = "route"

    def __init__(self, algorithm: str = "auto") -> None:
        self.algorithm = algorithm

    def engine(self) -> Engine:
        return Branches(Route([(PUBLISHER, None)], algorithm=self.algorithm))

    def load(self, path: Path) -> Engine:
        return Branches(Route.load(path, algorithm=self.algorithm))

    def matching(self, id: str) -> Any:
        return (id, "year > 2000")

    def silent(self, id: str) -> Any:
        return (id, "year > 2100")

    def refused(self, id: str) -> Any:
        return (id, "year >")

    def publication(self, number: int) -> Any:
        return {"event_id": f"e{number}", "publisher": PUBLISHER, "attributes": {"year": 2000 + number}}

    def refused_publication(self) -> Any:
        return {"event_id": "bad", "publisher": "Nobody", "attributes": {}}


class TestRoute(Replaces, Explains, Saves):
    @pytest.fixture(params=ALGORITHMS)
    def scene(self, request: pytest.FixtureRequest) -> Scene:
        return RouteScene(request.param)
