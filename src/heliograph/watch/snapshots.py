"""What one strategy hands to another, or to a save: the graph and what the graph does not tell.

The law: a strategy with the same subscriptions, restored from another's snapshot, goes on as the other would have.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from heliograph.kernels.evolution_layout import Floats, Int32s, Int64s
from heliograph.vocabulary import Vocabulary
from heliograph.watch.metrics import calls
from heliograph.watch.modes import Key


class Edges(NamedTuple):
    """The edges of a graph as columns, in the order of their being added: terms by their ids, NaN for no weight,
    NO_TIME where `at`, `seq` or `number` is none. See `window.Edge`."""

    subject: Int32s
    predicate: Int32s
    object: Int32s
    weight: Floats
    at: Int64s
    seq: Int64s
    number: Int64s

    @property
    def size(self) -> int:
        return len(self.subject)

    @classmethod
    def none(cls) -> Edges:
        ids, numbers = np.empty(0, np.int32), np.empty(0, np.int64)
        return cls(ids, ids, ids, np.empty(0, np.float64), numbers, numbers, numbers)


class Memory(NamedTuple):
    """What the graph does not tell: who is still to be greeted, which top-k sets are to be ranked again, the keys that
    stand for those whose standing depends on the past, the members of sets who have no place yet, the solutions that a
    hysteresis may hold beyond a threshold on a metric, and what measures keep beside the edges."""

    greeting: tuple[str, ...] = ()
    stirred: frozenset[str] = frozenset()
    held: Mapping[str, tuple[Key, ...]] = {}
    unplaced: frozenset[str] = frozenset()
    satisfied: Mapping[str, tuple[Key, ...]] = {}
    measures: Mapping[calls.Key, Mapping[str, npt.NDArray[Any]]] = {}  # see Measure.saved

    def without(self, ids: Container[str]) -> Memory:
        """The same of all but these."""
        return self._replace(
            greeting=tuple(id for id in self.greeting if id not in ids),
            held={id: keys for id, keys in self.held.items() if id not in ids},
            unplaced=frozenset(id for id in self.unplaced if id not in ids),
            satisfied={id: keys for id, keys in self.satisfied.items() if id not in ids},
        )


class Snapshot(NamedTuple):
    """A graph, the clocks of its window (the time in microseconds, and the updates accepted so far), and memory."""

    edges: Edges
    clock: int | None
    number: int
    memory: Memory

    def renumbered(self, own: Vocabulary, kept: Int32s, other: Vocabulary) -> Snapshot:
        """The same in ids of a vocabulary that was made of the terms `kept`, which are those of the edges at least."""
        places = np.full(len(own), -1, np.int32)
        places[kept] = np.arange(len(kept), dtype=np.int32)
        subject, predicate, object = (places[column] for column in self.edges[:3])
        edges = self.edges._replace(subject=subject, predicate=predicate, object=object)
        measures = {
            key._replace(properties=tuple(sorted(other.intern(own.term(id)) for id in key.properties))): arrays
            for key, arrays in self.memory.measures.items()
        }
        return self._replace(edges=edges, memory=self.memory._replace(measures=measures))
