"""The predicate index from outside: what goes in, what comes out, what is refused."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from heliograph.errors import HeliographError, PredicateError, StorageError, SubscriptionError, TableError, UsageError
from heliograph.predicate.index import PredicateIndex
from heliograph.storage import write_folder
from tests.predicate.predicate_events import check_index

LISTED = [("sports", "topic = 'Sports'"), ("young", "age < 30"), ("all", ""), ("both", "topic = 'Sports' AND age < 30")]


@pytest.fixture
def index() -> PredicateIndex:
    return PredicateIndex(LISTED)


def test_answers_in_the_order_of_adding(index: PredicateIndex) -> None:
    found = index.match({"topic": "Sports", "age": 20})
    assert list(found) == [("sports", "young", "all", "both")]
    assert len(index) == 4
    assert "young" in index
    assert "old" not in index


def test_a_replaced_predicate_keeps_its_place_and_a_removed_one_loses_it(index: PredicateIndex) -> None:
    index.add(("sports", "topic = 'Music'"))
    index.remove("young")
    index.add(("young", "age < 18"))
    assert list(index.match([{"topic": "Music", "age": 2}])) == [("sports", "all", "young")]


def test_of_one_id_twice_in_a_call_the_last_counts() -> None:
    index = PredicateIndex([("a", "x = 1"), ("b", "x = 2"), ("a", "x = 2")])
    assert list(index.match({"x": 2})) == [("a", "b")]
    assert len(index) == 2


@pytest.mark.parametrize(
    "items",
    [
        [("a", "x = 1")],
        ("a", "x = 1"),
        {"id": "a", "predicate": "x = 1"},
        [{"id": "a", "predicate": "x = 1"}],
        pa.table({"id": ["a"], "predicate": ["x = 1"]}),
        iter([("a", "x = 1")]),
    ],
)
def test_predicates_come_in_many_forms(items: object) -> None:
    index = PredicateIndex()
    assert index.add(items).accepted == 1
    assert list(index.match({"x": 1})) == [("a",)]


@pytest.mark.parametrize(
    "events",
    [
        {"age": 20},
        [{"age": 20}],
        '{"age": 20}',
        ['{"age": 20}'],
        pa.array(['{"age": 20}']),
        pa.array(['{"age": 20}'], pa.large_string()),
        pa.chunked_array([['{"age": 20}'], []]),
        pa.table({"attributes": ['{"age": 20}'], "more": [1]}),
        pa.RecordBatch.from_pydict({"attributes": ['{"age": 20}']}),
        pa.array(['{"age": 20}']).dictionary_encode(),
        iter([{"age": 20}]),
    ],
)
def test_events_come_in_many_forms(index: PredicateIndex, events: object) -> None:
    assert list(index.match(events)) == [("young", "all")]


def test_a_null_event_has_no_attributes(index: PredicateIndex) -> None:
    assert list(index.match(pa.array([None, "", "{}"], pa.string()))) == [("all",)] * 3


def test_matches_are_a_sequence_with_a_table(index: PredicateIndex) -> None:
    found = index.match([{"age": 20}, {"topic": "Sports"}, {}])
    assert found[1] == ("sports", "all")
    assert found[-1] == ("all",)
    assert found[:2] == [("young", "all"), ("sports", "all")]
    assert found.offsets.tolist() == [0, 2, 4, 5]
    assert found.table.to_pydict() == {
        "event": [0, 0, 1, 1, 2],
        "id": ["young", "all", "sports", "all", "all"],
    }
    assert found.complete
    assert repr(found) == "Matches(3 events, 5 matches, 0 rejected)"
    with pytest.raises(IndexError):
        found[3]


def test_matches_keep_their_ids_whatever_comes_later(index: PredicateIndex) -> None:
    found = index.match({"age": 20})
    index.remove(["young", "all"])
    index.add(("another", ""))
    assert list(found) == [("young", "all")]


def test_stats(index: PredicateIndex) -> None:
    stats = index.match([{"age": 20}, {"age": 40}, "no JSON"]).stats
    assert (stats.subscriptions, stats.publications, stats.rejected) == (4, 2, 1)
    assert stats.verified == stats.notifications == 3
    assert 1 <= stats.candidates <= 6
    assert stats.parse_ns > 0
    assert stats.match_ns > 0


def test_refused_events_match_nothing_and_leave_the_others_alone() -> None:
    index = PredicateIndex([("all", ""), ("none", "x IS NULL"), ("slow", "x ILIKE 'A%'")])
    found = index.match(["{}", "[1]", '{"x": NaN}', object(), {"x": "abc"}, '{"x": 1e999}'])
    assert list(found) == [("all", "none"), (), (), (), ("all", "slow"), ()]
    assert [(entry.item, entry.code) for entry in found.rejected] == [
        ("2", "HG-642"),
        ("3", "HG-642"),
        ("4", "HG-204"),
        ("6", "HG-642"),
    ]


def test_bad_predicates_are_reported_among_others_and_raise_alone() -> None:
    index = PredicateIndex()
    receipt = index.add([("a", "x ="), ("b", "x = 1"), ("", "x = 1"), ("c", "x ="), 5])
    assert receipt.accepted == 1
    codes = [(entry.item, entry.code[:5]) for entry in receipt.rejected]
    assert codes == [("5", "HG-20"), ("a", "HG-45"), ("3", "HG-50"), ("c", "HG-45")]
    assert list(index.match({"x": 1})) == [("b",)]
    with pytest.raises(PredicateError, match="item a"):
        index.add(("a", "x ="))
    with pytest.raises(SubscriptionError, match="HG-503"):
        index.add({"id": None, "predicate": "x = 1"})
    with pytest.raises(TableError, match="HG-202"):
        index.add({"id": "a"})
    assert PredicateIndex([("a", "x =")]).rejected[0].item == "a"


def test_removing_what_is_not_there(index: PredicateIndex) -> None:
    receipt = index.remove(pa.array(["young", "old"]))
    assert receipt.accepted == 1
    assert [(entry.item, entry.code) for entry in receipt.rejected] == [("old", "HG-502")]
    with pytest.raises(SubscriptionError, match="no predicate 'old'"):
        index.remove("old")
    assert len(index) == 3


@pytest.mark.parametrize(
    ("events", "error"),
    [(5, UsageError), (b"{}", UsageError), (pa.table({"other": ["{}"]}), TableError)],
)
def test_things_that_are_no_events(index: PredicateIndex, events: object, error: type[HeliographError]) -> None:
    with pytest.raises(error):
        index.match(events)


def test_no_events_and_no_predicates(index: PredicateIndex) -> None:
    assert list(index.match([])) == []
    assert list(PredicateIndex().match([{"x": 1}])) == [()]
    assert index.match([]).table.num_rows == 0


def test_explain(index: PredicateIndex) -> None:
    yes = index.explain("both", {"topic": "Sports", "age": 20})
    assert yes.matched
    assert yes.held == ("topic = 'Sports' AND age < 30",)
    no = index.explain("both", {"topic": "Sports", "age": 40})
    assert not no.matched
    assert no.failed == "age < 30 (age is 40)"
    assert index.explain("all", {}).matched
    with pytest.raises(SubscriptionError, match="HG-502"):
        index.explain("old", {})
    with pytest.raises(UsageError, match="HG-047"):
        index.explain("all", [{}, {}])
    with pytest.raises(HeliographError, match="HG-642"):
        index.explain("all", "[1]")


def test_saved_and_loaded(index: PredicateIndex, tmp_path: Path) -> None:
    index.add(("sports", "topic = 'Music'"))
    index.remove("young")
    index.save(tmp_path / "saved")
    again = PredicateIndex.load(tmp_path / "saved")
    assert len(again) == 3
    check_index(again, [("sports", "topic = 'Music'"), *LISTED[2:]], [{"topic": "Music"}, {"age": 1}])


def test_damaged_saves_are_refused(tmp_path: Path) -> None:
    write_folder(tmp_path / "bare", "predicates", 1)
    with pytest.raises(StorageError, match="HG-805"):
        PredicateIndex.load(tmp_path / "bare")
    write_folder(
        tmp_path / "bad",
        "predicates",
        1,
        tables={"predicates": pa.table({"id": ["a"], "predicate": ["x ="]})},
    )
    with pytest.raises(StorageError, match="a predicate cannot be read"):
        PredicateIndex.load(tmp_path / "bad")


def test_a_small_job_needs_no_kernels() -> None:
    code = (
        "import sys; from heliograph.predicate.index import PredicateIndex as P; "
        "found = P([('a', 'x > 1'), ('b', 'x > 2'), ('c', '')]).match([{'x': 2}, {'x': [0, 3]}]); "
        "print(list(found), found.stats.candidates, 'numba' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[('a', 'c'), ('a', 'b', 'c')] 4 False"
