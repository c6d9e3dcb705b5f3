"""A smaller scene that shows the same difference: greedily, parts are left out for as long as it is still there.

First whole acts, then subscriptions (nodes and edges of an exchange), then the updates, documents or events of each
act, then their triples and attributes, then settings. Numbers of repetitions are halved and counted down.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from tests.fuzz.scene import Act, Difference, Scene

Check = Callable[[Scene], Difference | None]
INTERESTS = ("subscribe", "unsubscribe", "nodes", "edges")  # acts that say what is asked for


class _Shrinking:
    def __init__(self, scene: Scene, found: Difference, check: Check, seconds: float) -> None:
        self.scene, self.found, self._check = scene, found, check
        self._end = time.monotonic() + seconds

    def run(self) -> None:
        while True:
            before = self.scene
            self._list((), lambda acts: replace(self.scene, acts=acts), self.scene.acts)
            for interests in (True, False):
                for number in range(len(self.scene.acts)):
                    if (self.scene.acts[number][0] in INTERESTS) is interests:
                        self._act(number)
            for name in list(self.scene.settings):
                self._try(replace(self.scene, settings={k: v for k, v in self.scene.settings.items() if k != name}))
            if self.scene == before or time.monotonic() > self._end:
                return

    def _try(self, scene: Scene) -> bool:
        """Whether the scene shows a difference of the same kind; then it is taken."""
        if time.monotonic() > self._end:
            return False
        found = self._check(scene)
        if found is None or found.kind != self.found.kind:
            return False
        self.scene, self.found = scene, found
        return True

    def _act(self, number: int) -> None:
        def put(payload: Any) -> Scene:
            acts: list[Act] = [*self.scene.acts]
            acts[number] = (acts[number][0], payload)
            return replace(self.scene, acts=acts)

        self._value((), put, self.scene.acts[number][1])

    def _value(self, path: tuple[Any, ...], put: Callable[[Any], Scene], value: Any) -> Any:
        """Makes a list, or what stands in a dictionary or a list, smaller; what is left of it."""
        if isinstance(value, list):
            value = self._list(path, put, value)
            for place in range(len(value)):
                value = self._inner(path, put, value, place)
        elif isinstance(value, tuple) and len(value) == 2 and isinstance(value[1], list):  # a document with its id
            head = value[0]
            value = (head, self._value(path, lambda rest: put((head, rest)), value[1]))
        elif isinstance(value, dict):
            for key in list(value):
                value = self._inner(path, put, value, key)
        elif isinstance(value, str) and path[-1:] == ("attributes",):
            value = json.dumps(self._object(put, json.loads(value)))
        elif isinstance(value, int) and not isinstance(value, bool) and path[-1:] == ("count",):
            value = self._number(put, value)
        return value

    def _inner(self, path: tuple[Any, ...], put: Callable[[Any], Scene], value: Any, key: Any) -> Any:
        def put_inner(inner: Any) -> Scene:
            changed = dict(value) if isinstance(value, dict) else list(value)
            changed[key] = inner
            return put(changed)

        inner = self._value((*path, key), put_inner, value[key])
        changed = dict(value) if isinstance(value, dict) else list(value)
        changed[key] = inner
        return changed

    def _list(self, path: tuple[Any, ...], put: Callable[[list[Any]], Scene], items: list[Any]) -> list[Any]:
        for start, stop in _pieces(len(items)):
            fewer = items[:start] + items[stop:]
            if stop <= len(items) and self._try(put(fewer)):
                return self._list(path, put, fewer)
        return items

    def _object(self, put: Callable[[str], Scene], tree: dict[str, Any]) -> dict[str, Any]:
        """The attributes of an event, as few as will do."""
        for name in list(tree):
            fewer = {other: value for other, value in tree.items() if other != name}
            if self._try(put(json.dumps(fewer))):
                tree = fewer
        return tree

    def _number(self, put: Callable[[int], Scene], value: int) -> int:
        for smaller in (value // 2, value * 9 // 10, value - 1):
            if 0 < smaller < value and self._try(put(smaller)):
                return self._number(put, smaller)
        return value


def _pieces(count: int) -> Iterator[tuple[int, int]]:
    """Stretches of a list, the long ones and the last ones first."""
    size = count
    while size:
        yield from ((max(stop - size, 0), stop) for stop in range(count, 0, -size))
        size //= 2


def shrink(scene: Scene, found: Difference, check: Check, seconds: float = 120.0) -> tuple[Scene, Difference]:
    """The smallest scene found in so many seconds, and its difference."""
    shrinking = _Shrinking(scene, found, check, seconds)
    shrinking.run()
    return shrinking.scene, shrinking.found
