"""Publishes run beside a writer, and each sees exactly one version: everything that was subscribed at one moment."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from random import Random

import pytest

from heliograph import Filter
from heliograph.filter import segment as segments
from heliograph.filter.strategy import ALGORITHMS
from heliograph.model import Notifications

# Each member of a family matches both documents; what differs is how an index holds it.
QUERIES = (
    "ASK {{ ?x :p ?y FILTER(?y > {number}) }}",
    "ASK {{ ?x :p ?y FILTER(?y > {number} && ?y < 100000) }}",
    "ASK {{ ?x :q ?z . ?x :p ?y }}",
    "ASK {{ ?x :q ?z . ?x :p ?y FILTER(?z != ?y) }}",
    "ASK {{ ?x :q :C . ?x :p ?y }}",
    "SELECT (COUNT(*) AS ?n) {{ ?x :p ?y }} HAVING (COUNT(*) > 0)",
    "ASK {{ ?x ?p{number} ?y }}",
)
DOCUMENTS = [
    ("d", [("A", "p", "99999"), ("A", "q", "C")]),
    ("e", [("B", "q", "C"), ("B", "p", "99998"), ("B", "r", "A")]),
]


class Chronicle:
    """The sets of ids that were subscribed, by version: noted before a change begins, and counted when it is done."""

    def __init__(self, engine: Filter, seed: int) -> None:
        self.engine, self.random = engine, Random(seed)
        self.versions: list[frozenset[str]] = [frozenset()]
        self.done = self.used = 0

    def change(self) -> None:
        """One call of the writer, of one subscription or of many."""
        live = sorted(self.versions[-1])
        many = self.random.choice([1, 1, 1, 1, 40])
        if live and self.random.random() < 0.45:
            gone = self.random.sample(live, min(many, len(live)))
            self.versions.append(self.versions[-1] - set(gone))
            self.engine.unsubscribe(gone)
        else:
            names = [f"s{self.used + place}" for place in range(many)]
            self.used += many
            items = [(name, self.random.choice(QUERIES).format(number=self.random.randrange(90))) for name in names]
            self.versions.append(self.versions[-1] | set(names))
            self.engine.subscribe(items)
        self.done = len(self.versions) - 1

    def check_publish(self) -> None:
        """A publish that began after version `first` and ended before `last + 1` saw one of those between."""
        first = self.done
        found = self.engine.publish(DOCUMENTS)
        last = len(self.versions) - 1
        seen = [_ids(found, id) for id, _ in DOCUMENTS]
        assert seen[0] == seen[1], "the documents of one call saw two versions"
        assert seen[0] in self.versions[first : last + 1]
        assert found.stats.subscriptions == len(seen[0])
        assert [each.publication_id for each in found] == ["d"] * len(seen[0]) + ["e"] * len(seen[0])


def _ids(found: Notifications, publication: str) -> frozenset[str]:
    return frozenset(each.subscription_id for each in found if each.publication_id == publication)


@pytest.fixture
def eager_threads() -> Iterator[None]:
    """Threads take turns often, so that a change meets publishes in the midst of their work."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("eager_threads")
@pytest.mark.parametrize(
    ("algorithm", "large"), [*((name, segments.LARGE) for name in ALGORITHMS), ("indexed", 16), ("auto", 16)]
)
def test_each_publish_sees_one_version(algorithm: str, large: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With merges that are done at once, and with as many as possible in the background."""
    monkeypatch.setattr(segments, "LARGE", large)
    check_under_load(Chronicle(Filter(algorithm=algorithm), seed=5), publishers=3, changes=120)


def check_under_load(chronicle: Chronicle, publishers: int, changes: int) -> None:
    """Several threads publish while so many changes are made: no match is lost, none doubled."""
    failures: list[BaseException] = []
    published = [0] * publishers
    over = threading.Event()

    def publisher(number: int) -> None:
        try:
            while not over.is_set():
                chronicle.check_publish()
                published[number] += 1
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=publisher, args=(number,)) for number in range(publishers)]
    for thread in threads:
        thread.start()
    while (len(chronicle.versions) <= changes or min(published) < 3) and not failures:
        chronicle.change()
    over.set()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(chronicle.versions) > changes


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_version_outlives_its_subscriptions(algorithm: str) -> None:
    """What was published against an engine does not change with it later."""
    chronicle = Chronicle(Filter(algorithm=algorithm), seed=6)
    results = []
    for _ in range(40):
        chronicle.change()
        results.append((chronicle.versions[-1], chronicle.engine.publish(DOCUMENTS)))
    assert all(_ids(found, "d") == _ids(found, "e") == live for live, found in results)
