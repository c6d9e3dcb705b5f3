"""Metrics as a subscriber gets them: an engine with `hg:` queries in mid-stream, and which of them it says are true.

The edges that are there beforehand are loaded silently, then the subscriptions come, then the stream is published, a
batch for each sample, interned before. What the notifications leave true is held against values from scratch, and so
are the values that subscriptions are told who come at the end. Times are the processor's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import pyarrow as pa

from benchmarks.filter_workloads import WrongAnswer
from benchmarks.metric_streams import Stream
from benchmarks.watch_workloads import ALGORITHM, accepted, seconds
from heliograph import Watch
from heliograph.model import Notification, Notifications
from heliograph.watch.metrics.thresholds import CAME, Log

NOTHING_NEW = [("+", "v0", "knows", "v1"), ("-", "v0", "knows", "v1")]  # loads kernels, and changes nothing for long
Samples = Sequence[float]
Vertices = tuple[int, ...]
Bound = tuple[str, ...]  # names of vertices


class Asked(NamedTuple):
    """A call with places for its vertices, and what its value is compared with."""

    call: str
    operator: str
    limit: float

    def about(self, vertices: Vertices) -> str:
        return f"ASK {{ FILTER({self._of(vertices)} {self.operator} {self.limit!r}) }}"

    def value_about(self, vertices: Vertices) -> str:
        """A query that is always true, and tells the value."""
        return f"ASK {{ FILTER({self._of(vertices)} >= 0) }}"

    @property
    def everywhere(self) -> str:
        """For every vertex there is."""
        return f"SELECT ?x WHERE {{ FILTER({self.call.format('?x')} {self.operator} {self.limit!r}) }}"

    def _of(self, vertices: Vertices) -> str:
        return self.call.format(*(f":v{vertex}" for vertex in vertices))

    def holds(self, value: float) -> bool:
        return value <= self.limit if self.operator == "<=" else value >= self.limit


class Stage:
    """An engine over the edges that are there beforehand, and what it has told."""

    def __init__(self, before: Log, queries: Mapping[str, str]) -> None:
        self._engine = Watch(algorithm=ALGORITHM, initial=True)
        self._true: set[tuple[str, Bound]] = set()  # subscriptions, and what they are true of
        accepted(self._engine.load_graph(as_updates(before)))
        self._subscribe(queries)

    def _subscribe(self, queries: Mapping[str, str]) -> Notifications:
        """What is told at first."""
        accepted(self._engine.subscribe(list(queries.items())))
        return self._noted(self._engine.publish(NOTHING_NEW))

    def _unsubscribe(self, ids: Iterable[str]) -> None:
        accepted(self._engine.unsubscribe(list(ids)))
        self._true -= {(id, ()) for id in ids}

    def publish(self, given: Stream) -> Samples:
        """Updates a second in each sample."""
        return [len(part.step) / self._publish(part) for part in given.parts]

    def _publish(self, part: Log) -> float:
        batch, found = self._engine.encode(as_updates(part)), list[Notifications]()
        took = seconds(lambda: found.append(self._engine.publish(batch)))
        self._noted(found[0])
        return took

    def _noted(self, found: Notifications) -> Notifications:
        accepted(found)
        for each in found:
            key = each.subscription_id, _bound(each)
            if (key in self._true) == (each.change == "+"):
                raise WrongAnswer(f"{key} is told to be {each.change} twice")
            (self._true.add if each.change == "+" else self._true.remove)(key)
        return found

    # --- answers ------------------------------------------------------------------------------------------------

    def check(self, id: str, asked: Asked, expected: Mapping[Vertices, float], tolerance: float = 1e-9) -> None:
        """Raises unless values are those expected, and what was told of subscription `id` is what they say.

        Where it was asked for every vertex, by `asked.everywhere`, keys are single vertices.
        """
        texts = {f"{id} {number}": asked.value_about(vertices) for number, vertices in enumerate(expected)}
        told = {each.subscription_id: _value(each) for each in self._subscribe(texts)}
        self._unsubscribe(texts)
        for (late, text), (vertices, value) in zip(texts.items(), expected.items(), strict=True):
            if not (told[late] == value or abs(told[late] - value) <= tolerance):
                raise WrongAnswer(f"{text} is told {told[late]}, and it is {value}")
            if abs(value - asked.limit) > tolerance and self._says(id, vertices) != asked.holds(value):
                raise WrongAnswer(f"{id} is told {self._says(id, vertices)} of {vertices} where the value is {value}")

    def _says(self, id: str, vertices: Vertices) -> bool:
        return not self._true.isdisjoint({(id, ()), (id, _names(vertices))})

    def check_solutions(self, id: str, expected: Iterable[Vertices]) -> None:
        """Raises unless these are the solutions of which a subscription was told."""
        told = {bound for each, bound in self._true if each == id}
        if told != (known := {_names(vertices) for vertices in expected}):
            raise WrongAnswer(f"{id} is told {len(told)} solutions, and there are {len(known)}")


def as_updates(log: Log) -> pa.Table:
    """Changes of edges as a table of updates."""
    return pa.table(
        {
            "op": pa.array(["+" if change == CAME else "-" for change in log.change.tolist()], pa.string()),
            "subject": pa.array(_names(log.subject.tolist()), pa.string()),
            "property": pa.array(["p"] * len(log.step), pa.string()),
            "object": pa.array(_names(log.object.tolist()), pa.string()),
        }
    )


def _names(vertices: Iterable[int]) -> Bound:
    return tuple(f"v{vertex}" for vertex in vertices)


def _bound(told: Notification) -> Bound:
    """What is bound, by the names of variables."""
    bindings: Mapping[str, str] = told.proof.get("bindings", {})
    return tuple(bindings[name] for name in sorted(bindings))


def _value(told: Notification) -> float:
    return float(told.proof["value"])
