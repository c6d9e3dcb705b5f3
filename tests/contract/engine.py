"""The contract of every engine: one test body, which each engine runs by subclassing it with a scene of its own.

A scene says how to make an engine, which subscription its publications match, which they do not, and what is refused.
Publications are numbered, so that engines whose publications change a state can give a new one each time.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

import pytest

from heliograph.errors import HeliographError, StorageError, SubscriptionError
from heliograph.model import NOTIFICATIONS_SCHEMA, REJECTED_SCHEMA, STATS_KEYS, Engine, Notifications
from heliograph.storage import write_folder


class Scene(ABC):
    """What an engine's tests need to know of it."""

    verb: str

    @abstractmethod
    def engine(self) -> Engine: ...

    @abstractmethod
    def load(self, path: Path) -> Engine: ...

    @abstractmethod
    def matching(self, id: str) -> Any:
        """A subscription that every publication of this scene matches."""

    @abstractmethod
    def silent(self, id: str) -> Any:
        """A subscription that no publication of this scene matches."""

    @abstractmethod
    def refused(self, id: str) -> Any:
        """A subscription that must be refused."""

    @abstractmethod
    def publication(self, number: int) -> Any: ...

    @abstractmethod
    def refused_publication(self) -> Any: ...


def notified(found: Notifications) -> list[str]:
    return [notification.subscription_id for notification in found]


class EngineContract(ABC):
    """What holds for filter, watch and route alike."""

    publishes = 39
    """How many publishes run beside a writer."""

    @pytest.fixture
    @abstractmethod
    def scene(self) -> Scene: ...

    def subscribed(self, scene: Scene, *ids: str) -> Engine:
        engine = scene.engine()
        engine.subscribe([scene.matching(id) for id in ids])
        return engine

    def test_a_match_is_notified(self, scene: Scene) -> None:
        engine = scene.engine()
        assert engine.subscribe([scene.matching("yes"), scene.silent("no")]).accepted == 2
        found = engine.publish([scene.publication(1)])
        assert [(each.subscription_id, each.verb, each.change) for each in found] == [("yes", scene.verb, "+")]

    def test_a_single_item_is_accepted(self, scene: Scene) -> None:
        engine = scene.engine()
        assert engine.subscribe(scene.matching("yes")).accepted == 1
        assert notified(engine.publish(scene.publication(1))) == ["yes"]

    def test_nothing_subscribed_or_published(self, scene: Scene) -> None:
        assert list(scene.engine().publish([scene.publication(1)])) == []
        assert list(scene.engine().publish([])) == []

    def test_the_result_has_tables_and_measurements(self, scene: Scene) -> None:
        found = self.subscribed(scene, "yes").publish([scene.publication(1), scene.refused_publication()])
        assert found.table.schema == NOTIFICATIONS_SCHEMA
        assert found.table["subscription_id"].to_pylist() == ["yes"]
        assert found.rejected.table.schema == REJECTED_SCHEMA
        assert tuple(found.stats) == STATS_KEYS
        assert found.stats.notifications == len(found) == 1
        assert found.stats.rejected == len(found.rejected) == 1
        assert found.stats.candidates >= found.stats.notifications
        assert found.complete

    def test_a_bad_publication_loses_no_other(self, scene: Scene) -> None:
        engine = self.subscribed(scene, "yes")
        found = engine.publish([scene.publication(1), scene.refused_publication(), scene.publication(2)])
        assert notified(found) == ["yes", "yes"]
        assert len(found.rejected) == 1
        assert found.rejected[0].code.startswith("HG-")

    def test_a_bad_subscription_is_reported_in_a_batch_and_raises_alone(self, scene: Scene) -> None:
        engine = scene.engine()
        receipt = engine.subscribe([scene.matching("a"), scene.refused("bad"), scene.matching("b")])
        assert receipt.accepted == 2
        assert [entry.item for entry in receipt.rejected] == ["bad"]
        with pytest.raises(HeliographError):
            engine.subscribe(scene.refused("worse"))
        assert notified(engine.publish([scene.publication(1)])) == ["a", "b"]

    def test_removing_what_was_inserted_restores(self, scene: Scene) -> None:
        engine = self.subscribed(scene, "a")
        engine.subscribe([scene.matching("b")])
        assert engine.unsubscribe(["b"]).accepted == 1
        assert notified(engine.publish([scene.publication(1)])) == ["a"]

    def test_an_unknown_id_is_named(self, scene: Scene) -> None:
        engine = self.subscribed(scene, "a")
        receipt = engine.unsubscribe(["a", "nobody"])
        assert receipt.accepted == 1
        assert [entry.item for entry in receipt.rejected] == ["nobody"]
        assert "nobody" in receipt.rejected[0].message
        with pytest.raises(HeliographError, match="nobody"):
            engine.unsubscribe("nobody")

    def test_an_id_is_free_again_once_unsubscribed(self, scene: Scene) -> None:
        engine = self.subscribed(scene, "a")
        engine.unsubscribe("a")
        assert engine.subscribe([scene.matching("a")]).accepted == 1
        assert notified(engine.publish([scene.publication(1)])) == ["a"]

    def test_calls_interleave_freely(self, scene: Scene) -> None:
        engine = scene.engine()
        seen: list[list[str]] = []
        for number, change in enumerate(["+a", "+b", "-a", "+c", "+a", "-b"], 1):
            id = change[1:]
            engine.subscribe([scene.matching(id)]) if change[0] == "+" else engine.unsubscribe([id])
            seen.append(sorted(notified(engine.publish([scene.publication(number)]))))
        assert seen == [["a"], ["a", "b"], ["b"], ["b", "c"], ["a", "b", "c"], ["a", "c"]]

    def test_one_batch_is_as_good_as_many(self, scene: Scene) -> None:
        publications = [scene.publication(number) for number in range(1, 6)]
        one, many = self.subscribed(scene, "a", "b"), self.subscribed(scene, "a", "b")
        apart = [each for publication in publications for each in many.publish([publication])]
        assert list(one.publish(publications)) == apart

    def test_stats_add_up(self, scene: Scene) -> None:
        engine = self.subscribed(scene, "a", "b")
        for number in (1, 2, 3):
            engine.publish([scene.publication(number)])
        assert engine.stats().subscriptions == 2
        assert engine.stats().publications == 3
        assert engine.stats().notifications == 6

    def test_publishes_run_beside_a_writer(self, scene: Scene) -> None:
        engine = self.subscribed(scene, "kept")
        failures: list[BaseException] = []

        def write() -> None:
            try:
                for number in range(self.publishes * 3 // 2):
                    engine.subscribe([scene.matching(f"w{number}")])
                    engine.unsubscribe([f"w{number}"])
            except BaseException as error:
                failures.append(error)

        writer = threading.Thread(target=write)
        writer.start()
        found = [notified(engine.publish([scene.publication(number)])) for number in range(1, self.publishes + 1)]
        writer.join()
        assert not failures
        assert all("kept" in ids and len(ids) <= 2 for ids in found)


class Saves(EngineContract):
    """For engines that can be saved and loaded."""

    def test_what_is_loaded_answers_as_what_was_saved(self, scene: Scene, tmp_path: Path) -> None:
        engine = self.subscribed(scene, "a", "b", "c")
        engine.unsubscribe(["b"])
        engine.save(tmp_path / "saved")
        engine.save(tmp_path / "saved")  # replaces the older one
        loaded = scene.load(tmp_path / "saved")
        assert list(loaded.publish([scene.publication(1)])) == list(engine.publish([scene.publication(1)]))
        assert loaded.subscribe([scene.matching("b")]).accepted == 1

    def test_a_save_of_an_unknown_version_is_refused(self, scene: Scene, tmp_path: Path) -> None:
        write_folder(tmp_path / "later", scene.verb, 1_000_000)
        with pytest.raises(StorageError):
            scene.load(tmp_path / "later")
        with pytest.raises(StorageError):
            scene.load(tmp_path / "nowhere")


class RefusesDuplicates(EngineContract):
    """For engines whose `subscribe` never replaces: an id that is taken is refused by name, and the first stays."""

    def test_a_taken_id_is_refused_by_name(self, scene: Scene) -> None:
        engine = self.subscribed(scene, "a")
        receipt = engine.subscribe([scene.silent("a"), scene.matching("b"), scene.silent("b")])
        assert receipt.accepted == 1
        assert [entry.item for entry in receipt.rejected] == ["a", "b"]
        with pytest.raises(SubscriptionError, match="'a'"):
            engine.subscribe(scene.silent("a"))
        assert notified(engine.publish([scene.publication(1)])) == ["a", "b"]


class Replaces(EngineContract):
    """For engines whose `subscribe` replaces what has the same id."""

    def test_a_taken_id_is_replaced(self, scene: Scene) -> None:
        engine = self.subscribed(scene, "a", "b")
        assert engine.subscribe([scene.silent("a")]).accepted == 1
        assert notified(engine.publish([scene.publication(1)])) == ["b"]
        assert engine.stats().subscriptions == 2


class Explains(EngineContract):
    """For engines that explain any pair of a subscription and a publication."""

    def test_why_and_why_not(self, scene: Scene) -> None:
        engine = self.subscribed(scene, "yes")
        engine.subscribe([scene.silent("no")])
        why, why_not = (engine.explain(id, scene.publication(1)) for id in ("yes", "no"))
        assert (why.verb, why.subscription_id, why.matched) == (scene.verb, "yes", True)
        assert why.evidence is not None
        assert not why_not.matched
        assert why_not.failed
        assert why_not.failed in str(why_not)


class ExplainsItsOwn(Explains):
    """For engines that explain nothing about whom they do not know; to a route that is one more node not reached."""

    def test_an_unknown_subscription_is_named(self, scene: Scene) -> None:
        with pytest.raises(HeliographError, match="nobody"):
            self.subscribed(scene, "yes").explain("nobody", scene.publication(1))
