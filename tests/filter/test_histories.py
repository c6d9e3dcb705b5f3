"""Long histories: after any sequence of subscribing, unsubscribing, publishing, saving and loading, a filter notifies
as the naive engine does of what is subscribed at that moment."""

from __future__ import annotations

import tempfile
from pathlib import Path
from random import Random

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from heliograph import Filter
from heliograph.filter import segment as segments
from heliograph.filter.strategy import ALGORITHMS
from tests.filter.pool import TAXONOMY, Pool
from tests.filter.strategies import Interest, Workload, subscribe, workloads

# --- drawn step by step -----------------------------------------------------------------------------------------


class Histories(RuleBasedStateMachine):
    """All algorithms live through the same history; the naive one says what is right."""

    workload: Workload

    @initialize(workload=workloads(most=12))
    def begin(self, workload: Workload) -> None:
        self.workload = workload
        self.engines = {name: Filter(workload.taxonomy, algorithm=name) for name in ALGORITHMS}
        self.waiting = list(workload.interests)
        self.live: dict[str, Interest] = {}

    @precondition(lambda self: self.waiting)
    @rule(data=st.data(), together=st.booleans())
    def subscribe(self, data: st.DataObject, together: bool) -> None:
        number = data.draw(st.integers(1, len(self.waiting)))
        taken, self.waiting = self.waiting[:number], self.waiting[number:]
        for engine in self.engines.values():
            for some in [taken] if together else [[interest] for interest in taken[:5]]:
                subscribe(engine, some)
        self.waiting += [] if together else taken[5:]
        self.live |= {interest.id: interest for interest in (taken if together else taken[:5])}

    @precondition(lambda self: self.live)
    @rule(data=st.data())
    def unsubscribe(self, data: st.DataObject) -> None:
        gone = data.draw(st.lists(st.sampled_from(sorted(self.live)), min_size=1, unique=True))
        for engine in self.engines.values():
            engine.unsubscribe(gone if len(gone) > 1 else gone[0])
        self.waiting += [self.live.pop(id) for id in gone]

    @rule(bindings=st.sampled_from([0, 2]))
    def publish(self, bindings: int) -> None:
        expected = list(self.engines["naive"].publish(self.workload.publications, bindings=bindings))
        for name, engine in self.engines.items():
            found = list(engine.publish(self.workload.publications, bindings=bindings))
            assert (name, found) == (name, expected)

    @rule()
    def save_and_load(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            for name, engine in self.engines.items():
                engine.save(Path(folder) / name)
                self.engines[name] = Filter.load(Path(folder) / name)

    @invariant()
    def live_ones_are_counted(self) -> None:
        for name, engine in getattr(self, "engines", {}).items():
            assert (name, engine.stats().subscriptions) == (name, len(self.live))


TestHistories = Histories.TestCase
TestHistories.settings = settings(max_examples=15, stateful_step_count=12, deadline=None)


# --- at random, for long ----------------------------------------------------------------------------------------


class History:
    """One filter that lives through random calls; each publish is checked against the verdicts of the naive engine.

    The number of live subscriptions swings between few and one of `peaks`, so that segments of all sizes come and go.
    """

    def __init__(self, engine: Filter, pool: Pool, seed: int, peaks: tuple[int, ...]) -> None:
        self.engine, self.pool, self.random, self.peaks = engine, pool, Random(seed), peaks
        self.live: dict[str, int] = {}
        self.ids: list[str] = []  # the live ones, in no order: to draw from
        self.free: list[str] = []
        self.used = self.notified = 0
        self.peak, self.growing = peaks[0], True

    def step(self) -> None:
        """One call: to publish, to subscribe or to unsubscribe, of one or of many."""
        self._turn()
        chance = self.random.random()
        if chance < 0.05:
            self.publish()
        elif chance < (0.2 if self.growing else 0.1) or not self.live:
            self.subscribe(1 if self.random.random() < 0.85 else self.random.randrange(2, 80))
        else:
            alone = self.growing or self.random.random() < 0.98
            self.unsubscribe(1 if alone else self.random.randrange(1, min(len(self.live), 40) + 1))

    def _turn(self) -> None:
        """Grows until the peak, shrinks until a twentieth of it, and then towards another one."""
        if self.growing and len(self.live) >= self.peak:
            self.growing = False
        elif not self.growing and len(self.live) <= self.peak // 20:
            self.peak, self.growing = self.random.choice(self.peaks), True

    def subscribe(self, number: int) -> None:
        chosen = sorted(self.random.randrange(len(self.pool.interests)) for _ in range(number))
        chosen.sort(key=lambda each: self.pool.interests[each].text is None)  # a call for texts, and one for tables
        named = [self.pool.interests[each]._replace(id=self._name()) for each in chosen]
        subscribe(self.engine, named)
        self.live |= {interest.id: each for interest, each in zip(named, chosen)}
        self.ids += [interest.id for interest in named]

    def _name(self) -> str:
        """A new name, or one that was given back."""
        if self.free and self.random.random() < 0.3:
            return self.free.pop()
        self.used += 1
        return f"s{self.used}"

    def unsubscribe(self, number: int) -> None:
        gone = []
        for _ in range(number):
            place = self.random.randrange(len(self.ids))
            self.ids[place], self.ids[-1] = self.ids[-1], self.ids[place]
            gone.append(self.ids.pop())
            del self.live[gone[-1]]
        assert self.engine.unsubscribe(gone if number > 1 else gone[0]).accepted == number
        self.free = [*self.free[-1000:], *gone]

    def publish(self) -> None:
        chosen = [self.random.randrange(len(self.pool.documents)) for _ in range(self.random.choice([1, 1, 1, 3]))]
        found = self.engine.publish([(f"d{place}", self.pool.documents[each]) for place, each in enumerate(chosen)])
        verdicts = [self.pool.verdicts[each] for each in chosen]
        expected = [
            (id, f"d{place}") for place, right in enumerate(verdicts) for id, each in self.live.items() if each in right
        ]
        assert [(each.subscription_id, each.publication_id) for each in found] == expected
        assert len(expected) <= found.stats.candidates <= len(self.live) * len(chosen)
        assert found.stats.subscriptions == len(self.live)
        self.notified += len(expected)

    def check_naive(self) -> None:
        """The naive engine itself, of what is subscribed now."""
        plain = Filter(TAXONOMY, algorithm="naive")
        subscribe(plain, [self.pool.interests[each]._replace(id=id) for id, each in self.live.items()])
        publication = ("d", self.random.choice(self.pool.documents))
        assert list(self.engine.publish(publication, bindings=1)) == list(plain.publish(publication, bindings=1))

    def reload(self, folder: Path) -> None:
        self.engine.save(folder / "saved")
        self.engine = Filter.load(folder / "saved")


def check_history(history: History, steps: int, *, naive_each: int, reload_each: int, folder: Path) -> None:
    for number in range(1, steps + 1):
        history.step()
        if number % naive_each == 0:
            history.check_naive()
        if number % reload_each == 0:
            history.reload(folder)
    assert history.notified > steps // 20


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_short_history_of_every_algorithm(algorithm: str, tmp_path: Path) -> None:
    history = History(Filter(TAXONOMY, algorithm=algorithm), Pool.draw(1, 150, 12), seed=1, peaks=(60, 10))
    check_history(history, 1_000, naive_each=300, reload_each=450, folder=tmp_path)


def test_a_history_of_the_engine(tmp_path: Path) -> None:
    history = History(Filter(TAXONOMY), Pool.draw(2, 300, 20), seed=2, peaks=(600, 150, 30))
    check_history(history, 12_000, naive_each=3_000, reload_each=5_000, folder=tmp_path)


def test_a_history_with_merges_in_the_background(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a few dozen subscriptions count as many, nearly every step meets a merge that is under way."""
    monkeypatch.setattr(segments, "LARGE", 40)
    history = History(Filter(TAXONOMY, algorithm="indexed"), Pool.draw(4, 300, 20), seed=4, peaks=(400, 100, 1))
    check_history(history, 8_000, naive_each=3_000, reload_each=3_500, folder=tmp_path)


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_a_million_steps(tmp_path: Path) -> None:
    """Peaks beyond what is merged at once, so that merges in the background come and go too."""
    peaks = (300, *(4_500, 1_000), *(300,) * 10, *(60,) * 5, *(5,) * 2)
    history = History(Filter(TAXONOMY), Pool.draw(3, 500, 40), seed=3, peaks=peaks)
    check_history(history, 1_000_000, naive_each=20_000, reload_each=150_000, folder=tmp_path)
