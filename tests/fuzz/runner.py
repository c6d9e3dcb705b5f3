"""Draws scene after scene of an engine, for so long or so many, until one shows a difference."""

from __future__ import annotations

import faulthandler
import time
from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

from tests.fuzz.scene import Difference, Engine, Scene
from tests.fuzz.shrink import shrink

ENGINES = ("filter", "watch", "route")
_REPORT = 15.0  # seconds between two lines of progress


class Outcome(NamedTuple):
    """How many scenes were played; the one that showed a difference, as small as it could be made."""

    scenes: int
    seconds: float
    scene: Scene | None = None
    difference: Difference | None = None

    def __str__(self) -> str:
        line = (
            f"{self.scenes} scenes in {self.seconds:.0f} s, {60 * self.scenes / max(self.seconds, 1e-9):.0f} a minute"
        )
        if self.scene is None or self.difference is None:
            return f"{line}: no difference"
        again = f"python -m tests.fuzz {self.scene.engine} --seed {self.scene.seed} --scenes 1"
        return (
            f"{line}: a difference in scene {self.scene.seed} ({again})\n{self.difference}\n\n{self.difference.script}"
        )


def engine(name: str) -> Engine:
    module: Any = import_module(f"tests.fuzz.{name}_scenes")
    return module  # type: ignore[no-any-return]


def run(
    name: str,
    *,
    seconds: float | None = None,
    scenes: int | None = None,
    seed: int = 0,
    shrinking: float = 120.0,
    longest: float | None = None,
    report: Callable[[str], None] = lambda line: None,
) -> Outcome:
    """Plays the scenes of this seed and the following ones.

    One that takes longer than `longest` seconds ends the process, because a kernel that hangs cannot be stopped; the
    traceback says where, and the last line of the report which scene it can be.
    """
    module, began = engine(name), time.monotonic()
    done, told = 0, began
    while (scenes is None or done < scenes) and (seconds is None or time.monotonic() - began < seconds):
        if longest is not None:
            faulthandler.dump_traceback_later(longest, exit=True)
        scene = module.draw(seed + done)
        found = module.check(scene)
        faulthandler.cancel_dump_traceback_later()
        done += 1
        now = time.monotonic()
        if found is not None:
            report(f"{name}: scene {scene.seed} shows a difference; it is made smaller\n{found}")
            return Outcome(done, now - began, *shrink(scene, found, module.check, shrinking))
        if now - told > _REPORT:
            told = now
            report(f"{name}: {Outcome(done, now - began)} so far, seed {seed + done - 1}")
    return Outcome(done, time.monotonic() - began)
