"""The fuzz of each engine, for as long as HELIOGRAPH_FUZZ_SECONDS says; and that the fuzz itself can find something."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from heliograph import Filter, Watch
from heliograph.model import Notifications
from heliograph.route import Route
from tests.fuzz import filter_scenes, route_scenes, watch_scenes
from tests.fuzz.__main__ import main
from tests.fuzz.runner import ENGINES, engine, run
from tests.fuzz.scene import Scene

SECONDS = float(os.environ.get("HELIOGRAPH_FUZZ_SECONDS", "20"))
MODULES = {"filter": filter_scenes, "watch": watch_scenes, "route": route_scenes}


@pytest.mark.long
@pytest.mark.timeout(SECONDS + 900)
@pytest.mark.parametrize("name", ENGINES)
def test_no_difference_is_found(name: str) -> None:
    outcome = run(name, seconds=SECONDS, seed=int(os.environ.get("HELIOGRAPH_FUZZ_SEED", "0")))
    assert outcome.difference is None, str(outcome)
    assert outcome.scenes


@pytest.mark.long
@pytest.mark.timeout(SECONDS + 1800)
@pytest.mark.parametrize("name", ENGINES)
def test_no_kernel_reaches_beyond_an_array(name: str) -> None:
    """The same with every access to an array checked; the kernels are compiled for it first."""
    command = [sys.executable, "-m", "tests.fuzz", name, "--seconds", str(SECONDS)]
    variables = {**os.environ, "HELIOGRAPH_CHECK": "1"}
    done = subprocess.run(
        command, cwd=Path(__file__).parents[2], env=variables, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", ENGINES)
def test_a_handful_of_scenes(name: str) -> None:
    outcome = run(name, scenes=4, seed=100)
    assert outcome.difference is None, str(outcome)


# --- the fuzz itself --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ENGINES)
def test_a_scene_is_a_function_of_its_seed(name: str) -> None:
    module = engine(name)
    assert [module.draw(seed) for seed in range(30)] == [module.draw(seed) for seed in range(30)]
    assert module.draw(1) != module.draw(2)


class _Forgetful:
    """Stands for an engine that loses a notification of each call from the third on, if there are two."""

    def __init__(self, found: Notifications) -> None:
        self._lines = list(found)[: max(1, len(found) - 1)]
        self.rejected, self.complete, self.stats = found.rejected, found.complete, found.stats

    def __iter__(self) -> Any:
        return iter(self._lines)


SCENES = {
    "filter": Scene(
        "filter",
        1,
        {"taxonomy": []},
        [
            ("subscribe", [("s1", "ASK { ?x :p ?y }"), ("s2", "ASK { ?x :q ?y }"), ("s3", "ASK { ?x ?p ?y }")]),
            (
                "publish",
                {"documents": [("d1", [("A", "r", "B")]), ("d2", [("A", "p", "B"), ("A", "r", "B")])], "bindings": 0},
            ),
            ("save", None),
        ],
    ),
    "watch": Scene(
        "watch",
        1,
        {"witness": False},
        [
            (
                "subscribe",
                [
                    {"subscription_id": f"s{n}", "query": f"SELECT * {{ ?x :{p} ?y }}", "options": None}
                    for n, p in enumerate("ppqr")
                ],
            ),
            (
                "publish",
                [
                    {"op": "+", "subject": s, "property": p, "object": "b", "weight": None, "at": None}
                    for s, p in ("aq", "ap", "cp")
                ],
            ),
            ("save", None),
        ],
    ),
    "route": Scene(
        "route",
        1,
        {},
        [
            ("nodes", [{"node_id": name, "targeting": None, "cost": None} for name in "abcd"]),
            (
                "edges",
                [
                    {"source": s, "target": t, "edge_id": None, "targeting": None, "cost": None}
                    for s, t in ("ab", "ac", "cd", "da")
                ],
            ),
            (
                "publish",
                {
                    "events": [{"event_id": f"x{n}", "publisher": p, "attributes": "{}"} for n, p in enumerate("ba")],
                    "options": {},
                },
            ),
        ],
    ),
}


@pytest.mark.parametrize(
    ("name", "kind", "algorithm"),
    [("filter", Filter, "indexed"), ("watch", Watch, "indexed"), ("route", Route, "lanes")],
)
def test_a_lost_notification_is_found_and_the_scene_made_small(
    name: str, kind: type[Any], algorithm: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    module: Any = MODULES[name]
    assert module.check(SCENES[name]) is None
    publish, make = kind.publish, kind.__init__

    def made(self: Any, *given: Any, **named: Any) -> None:
        make(self, *given, **named)
        self.forgets = named.get("algorithm") == algorithm

    def forgetful(self: Any, *given: Any, **named: Any) -> Any:
        found = publish(self, *given, **named)
        return _Forgetful(found) if getattr(self, "forgets", False) and len(found) > 1 else found

    monkeypatch.setattr(kind, "__init__", made)
    monkeypatch.setattr(kind, "publish", forgetful)
    monkeypatch.setattr(module, "draw", lambda seed: SCENES[name])
    outcome = run(name, scenes=1)
    assert outcome.difference is not None
    assert outcome.scene is not None
    assert len(outcome.difference.expected.lines) == 2
    assert "missing" in str(outcome)
    monkeypatch.undo()
    assert module.check(outcome.scene) is None  # nothing is wrong with it but the engine
    program = tmp_path / "reproduction.py"
    program.write_text(outcome.difference.script)
    done = subprocess.run([sys.executable, program], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert len(done.stdout.splitlines()) >= 4


def test_the_command_says_what_it_did(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["fuzz", "route", "--scenes", "2", "--seed", "3"])
    assert main() == 0
    printed = capfd.readouterr().out
    assert printed.startswith("route: 2 scenes in")
    assert printed.strip().endswith("no difference")
