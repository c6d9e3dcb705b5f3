"""Random stories of a watch: a graph, queries of every kind, updates in micro-batches, some of them wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph import Watch, storage
from heliograph.io.tables import as_table
from heliograph.spark.watch_job import Watchers
from heliograph.workloads.watch import generate_watch
from tests.spark.by_hand import Shards
from tests.spark.compare import Rows, expected, unnumbered
from tests.watch import scenes
from tests.watch.metrics import questions

NARROW = (
    "ASK {{ {a} {p} {b} }}",
    "ASK {{ {a} {p} {b} . {b} {q} {a} }}",
    "SELECT * {{ {a} {p} ?x }}",
    "SELECT * {{ ?x {p} {b} }}",
    "SELECT * {{ {a} {p} ?x . ?x {q} {b} }}",
    "SELECT * {{ {a} ?r {b} }}",
    "SELECT * {{ {a} ?r ?x . {a} {p} {b} }}",
    "SELECT (COUNT(*) AS ?n) {{ {a} {p} ?x }} HAVING (COUNT(*) >= 2)",
    "SELECT * {{ {a} rdfs:member {b} }}",
    "SELECT * {{ {a} a {b} }}",
    "ASK {{ {a} a/rdfs:subClassOf* {b} }}",
)
METRICS = (
    "SELECT ?x {{ FILTER(hg:indegree(?x, {p}) < 1) }}",
    "SELECT * {{ ?x {p} ?y FILTER(hg:degree(?x, {q}) >= 2) }}",
    "ASK {{ FILTER(hg:distance({a}, {b}, {p}) <= 2) }}",
    'ASK {{ {a} {q} ?x FILTER(hg:distance(?x, {b}, "weight", {p}, {q}) < 3) }}',
    "ASK {{ FILTER(hg:distance({a}, {a}, {p}) < 1) }}",
    "ASK {{ FILTER(hg:steiner({a}, {b}, hg:via({q})) <= 2) }}",
    "SELECT * {{ ?x {p} {b} FILTER(hg:steinerPoint(?x, {a}, {b}, hg:via({p})) = 1) }}",
)


class Story:
    """What one embedded engine and the shards of a watch are given alike, as a stream of some micro-batches, or
    at once and partly without seqs as a batch."""

    def __init__(self, seed: int, growing: bool, streaming: bool = True, batches: int = 5) -> None:
        self.r, self.growing, self.streaming, self.batches = Random(seed), growing, streaming, batches
        self.number = self.seq = self.time = 0
        self.terms = self.r.choice(scenes.WORLDS)
        self.setting: dict[str, Any] = scenes.Scene.draw(self.r, 0).settings
        self.timed = "window" in self.setting
        self.graph = [self._update() for _ in range(self.r.randint(1, 8))] if self.r.random() < 0.5 else None
        self.shards = self.r.randint(1, 8)
        self.narrow = (
            self.r.random() < 0.6
        )  # whether all queries see little: few broad ones make a shard see nearly all
        self.asked: list[str] = []
        self.wanted: Rows = Counter()
        self.refused: Rows = Counter()

    def play(self, folder: str) -> Shards:
        """Tells the story to both; what the embedded engine makes of it is wanted."""
        embedded = Watch(**self.setting)
        watchers = Watchers(folder, graph=self.graph, shards=self.shards, fixed=not self.growing, **self.setting)
        rejected = [*embedded.rejected, *(embedded.load_graph(self.graph).rejected if self.graph else ())]
        first = self._queries(12)
        rejected += embedded.subscribe(first).rejected
        watchers.subscribe(first)
        assert Counter(map(_named, rejected)) == Counter(map(_named, watchers.rejected))
        shards = Shards(watchers, self.streaming, self.r)
        for _ in range(self.r.randint(1, self.batches) if self.streaming else 1):
            self._publish(embedded, shards)
            if self.growing:
                self._change(embedded, watchers)
        return shards

    def _publish(self, embedded: Watch, shards: Shards) -> None:
        rows = self._updates()
        cut = self.r.randint(0, len(rows))
        parts = [part for part in (rows[:cut], rows[cut:]) if part]
        tables = [as_table("updates", self.r.sample(part, len(part))).table for part in parts]
        notified, refused = expected(embedded.publish(in_turn(tables)))
        self.wanted += notified
        self.refused += refused
        shards.publish(tables)

    def _change(self, embedded: Watch, watchers: Watchers) -> None:
        if self.r.random() < 0.6:
            some = self._queries(3)
            embedded.subscribe(some)
            watchers.subscribe(some)
        if self.asked and self.r.random() < 0.4:
            gone = [self.asked.pop(self.r.randrange(len(self.asked)))]
            embedded.unsubscribe(gone)
            watchers.unsubscribe(gone)

    # --- what happens -------------------------------------------------------------------------------------------

    def _queries(self, most: int) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        for _ in range(self.r.randint(1, most)):
            self.number += 1
            text, options = self._query()
            found.append({"subscription_id": f"s{self.number}", "query": text, "options": options})
        self.asked += [each["subscription_id"] for each in found]
        return found

    def _query(self) -> tuple[str, str | None]:
        r, chance = self.r, self.r.random()
        if self.narrow or chance < 0.4:
            named = {"p": self._link(), "q": self._link(), "a": self._vertex(), "b": self._vertex()}
            text = r.choice((*NARROW, *METRICS) if r.random() < 0.2 else NARROW).format(**named)
            return text, scenes.options(r, text) if "hg:" not in text else None
        if chance < 0.5:
            text = questions.grouped(r, questions.query(r, questions.EXACT))
            return text, questions.options(r, text)
        text = scenes.query(r, self.terms)
        return text, scenes.options(r, text)

    def _vertex(self) -> str:
        return scenes.name(self.r.choice(self.terms.vertices))

    def _link(self) -> str:
        return f":{self.r.choice(self.terms.properties)}"

    def _update(self) -> dict[str, Any]:
        self.time += self.r.randint(0, 3)
        row = scenes.update(self.r, self.terms, self.time if self.timed else None)
        return {**row, "op": "="} if row["property"] and self.r.random() < 0.15 else row

    def _updates(self) -> list[dict[str, Any]]:
        """Updates in ascending seq; now and then one is late, doubled or wrong in some other way."""
        rows = []
        for _ in range(self.r.randint(1, 16)):
            self.seq += self.r.choice((1, 1, 1, 2, 5))
            row = {"seq": self.seq, **self._update()}
            wrong: dict[str, Any] = {"op": "?", "subject": "unheard:of", "weight": -1.0, "at": None}
            wrong["seq"] = self.seq - self.r.randint(1, 4)
            name = self.r.choice([*wrong, "seq", "seq", "seq"])
            rows.append({**row, name: wrong[name]} if self.r.random() < 0.2 else row)
            if not self.streaming and self.r.random() < 0.2:
                rows[-1]["seq"] = None
        return rows


def in_turn(tables: list[pa.Table]) -> pa.Table:
    """Rows as Spark takes them: by seq, of equal ones those of the first task, and there the smallest, nulls last.

    Those without a seq come first, in the order in which they stand.
    """
    rows = [(task, row) for task, table in enumerate(tables) for row in table.to_pylist()]
    numbered = [(row["seq"], task, _key(row), row) for task, row in rows if row["seq"] is not None]
    ordered = [row for *_, row in sorted(numbered, key=lambda each: each[:3])]
    return pa.Table.from_pylist([row for _, row in rows if row["seq"] is None] + ordered, schema=tables[0].schema)


def _key(row: dict[str, Any]) -> list[tuple[bool, Any]]:
    return [(cell is None, "" if cell is None else cell) for cell in row.values()]


def _named(entry: Any) -> tuple[Any, ...]:
    return entry.item, entry.code, unnumbered(entry.message)


# --- updates go where they are seen: all shards together tell what one engine with all queries tells, whatever  ---


@pytest.fixture(autouse=True, scope="module")
def unsynced() -> Iterator[None]:
    """Saves need not survive a crash of the machine here, and waiting for the disk is most of the time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(storage, "_sync", lambda *paths: None)
        yield


def check(story: Story) -> None:
    with TemporaryDirectory() as folder:
        shards = story.play(folder)
    assert shards.notified == story.wanted
    assert shards.refused == story.refused


@settings(deadline=None, max_examples=100)
@given(seed=st.integers(0, 2**32), growing=st.booleans())
def test_shards_tell_what_one_engine_tells(seed: int, growing: bool) -> None:
    check(Story(seed, growing))


@settings(deadline=None, max_examples=5)
@given(seed=st.integers(0, 2**32))
def test_so_they_do_over_many_micro_batches_in_which_engines_are_lost(seed: int) -> None:
    check(Story(seed, growing=False, batches=40))


@settings(deadline=None, max_examples=50)
@given(seed=st.integers(0, 2**32))
def test_so_they_do_of_a_batch_in_which_rows_lack_a_seq(seed: int) -> None:
    check(Story(seed, growing=False, streaming=False))


def test_few_updates_travel_and_the_answer_is_known(tmp_path: Path) -> None:
    tables = generate_watch(3, queries=400, updates=4000, deletions=0.2, matching=0.3)
    watchers = Watchers(tmp_path, shards=4, fixed=True)
    watchers.subscribe(tables["subscriptions"])
    shards = Shards(watchers, True, Random(1))
    updates = tables["updates"]
    for first in range(0, updates.num_rows, 1000):
        shards.publish([updates.slice(first, 500), updates.slice(first + 500, 500)])
    assert shards.notified == Counter(tuple(row.values()) for row in tables["expected"].to_pylist())
    assert shards.sent < 0.1 * shards.given


def test_a_newcomer_stands_where_all_it_sees_was_seen(tmp_path: Path) -> None:
    watchers = Watchers(tmp_path, shards=3)
    watchers.subscribe([("p", "SELECT * { ?x :p ?y }"), ("q", "ASK { :a :q :b }"), ("all", "ASK { ?x ?y ?z }")])
    new = {
        "known": "SELECT * { :c :p ?y . ?x :p :d }",
        "same": "ASK { :a :q :b }",
        "partly": "ASK { ?x :p ?y . ?y :q ?z }",
        "unknown": "ASK { ?x :r ?y }",
        "degree": "ASK { FILTER(hg:degree(:a, :p) > 2) }",
        "any": "ASK { FILTER(hg:degree(:a) > 2) }",
    }
    Watchers(tmp_path).subscribe([*new.items(), ("bad", "ASK")])
    rows = watchers.shared.version(2)["places"].to_pylist()
    places = {row["subscription_id"]: row["shard"] for row in rows}
    assert {places["p"], places["q"]} == {1, 2}
    assert (places["known"], places["same"], places["degree"]) == (places["p"], places["q"], places["p"])
    assert [places[name] for name in ("all", "partly", "unknown", "any")] == [0, 0, 0, 0]


@pytest.mark.long
def test_so_they_do_in_thousands_of_stories() -> None:
    for seed in range(3000):
        check(Story(seed, growing=seed % 2 == 0, streaming=seed % 5 > 0, batches=40 if seed % 10 == 1 else 5))
