"""Around every limit of a narrow integer: answers are right below it, at it and beyond it, or it is refused by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from heliograph import Filter, model
from heliograph.errors import PublicationError, SubscriptionError, UsageError
from heliograph.filter import layout as filter_layout
from heliograph.filter import segment as segments
from heliograph.filter.interests import Interest, gather
from heliograph.filter.layout import MOST_EDGES, MOST_PUBLICATIONS, MOST_ROWS, DocumentEdges
from heliograph.filter.search import ordered
from heliograph.model import Columns
from heliograph.subscriptions import MOST_SUBSCRIPTIONS
from heliograph.terms import Position
from heliograph.vocabulary import Vocabulary
from heliograph.vocabulary import columns as bulk
from heliograph.vocabulary import columns as lexicon_layout
from tests.filter.strategies import Workload, workloads

INT8, INT16 = 1 << 7, 1 << 15


def around(*limits: int) -> list[int]:
    return [limit + step for limit in limits for step in (-1, 0, 1)]


def table(documents: int, triples: list[list[str]]) -> pa.Table:
    """Documents d0, d1, …; of each triple a column of subjects, properties and objects, one row a document."""
    ids = [f"d{number}" for number in range(documents)]
    columns = zip(
        *[(triples[row], triples[row + 1], triples[row + 2]) for row in range(0, len(triples), 3)], strict=True
    )
    names = ("subject", "property", "object")
    cells = {name: [cell for part in column for cell in part] for name, column in zip(names, columns, strict=True)}
    return pa.table({"publication_id": ids * (len(triples) // 3), **cells})


def matched(engine: Filter, items: Any) -> list[tuple[str, str | None]]:
    found = engine.publish(items)
    assert not found.rejected
    return [(each.subscription_id, each.publication_id) for each in found]


# --- documents of one call, and solutions that are in doubt ---

DOUBTFUL = {  # by how many variables a solution has: with 16 bits its start is wrong from 32768 / that on
    1: 'ASK { :a :p ?v FILTER(CONTAINS(STR(?v), "ye")) }',
    2: 'ASK { ?a :p ?b FILTER(REGEX(STR(?b), "y.s")) }',
    3: 'ASK { ?a :p ?b . ?b :q ?c FILTER(STRENDS(STR(?b), "es") && STR(?a) != STR(?c)) }',
}


@pytest.mark.parametrize("variables", DOUBTFUL)
def test_solutions_of_different_documents_are_not_mixed(variables: int) -> None:
    """The reported fault: from 10,923 documents of a solution with three variables on."""
    limit = -(-INT16 // variables)
    for documents in around(limit) if variables == 3 else [limit + 1]:
        wanted = {0, documents // 2, documents - 2, documents - 1}
        second = ["yes" if number in wanted else f"no{number}" for number in range(documents)]
        first = ["a"] * documents if variables == 1 else [f"a{number}" for number in range(documents)]
        triples = [first, ["p"] * documents, second]
        if variables == 3:
            triples += [second, ["q"] * documents, ["c"] * documents]
        engine = Filter(algorithm="indexed")
        engine.subscribe(("s", DOUBTFUL[variables]))
        expected = [("s", f"d{number}") for number in sorted(wanted)]
        assert matched(engine, table(documents, triples)) == expected


@settings(max_examples=2, deadline=None, suppress_health_check=list(HealthCheck))
@given(workloads(), st.sampled_from(around(-(-INT16 // 3), INT16 // 2)))
def test_a_large_batch_is_as_good_as_single_documents(workload: Workload, size: int) -> None:
    """Indexed ≡ naive ≡ each subscription alone: copies of a few documents in one batch have the few's answers."""
    _check_batch(workload, size)


@pytest.mark.long
@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
@given(workloads(), st.sampled_from(around(-(-INT16 // 3), INT16 // 2, INT16, 2 * INT16)))
def test_larger_batches_are_as_good_as_single_documents(workload: Workload, size: int) -> None:
    _check_batch(workload, size)


def _check_batch(workload: Workload, size: int) -> None:
    few = [document for document in workload.publications if document[1]]
    if not few:
        return
    naive = workload.engine("naive")
    answers: dict[str | None, list[str]] = {id: [] for id, _ in few}
    for id, document in matched_by(naive, few):
        answers[document].append(id)
    copies = [(f"{row}", *triple) for row in range(size) for triple in few[row % len(few)][1]]
    batch = pa.table(dict(zip(("publication_id", "subject", "property", "object"), _columns(copies), strict=True)))
    found = workload.engine("indexed").publish(batch).table
    expected = [(id, f"{row}") for row in range(size) for id in answers[few[row % len(few)][0]]]
    assert list(zip(found["subscription_id"].to_pylist(), found["publication_id"].to_pylist(), strict=True)) == expected
    for interest in workload.interests[:5]:
        alone = workload._replace(interests=[interest]).engine("indexed")
        assert matched_by(alone, few) == [(interest.id, id) for id, _ in few if interest.id in answers[id]]


def matched_by(engine: Filter, items: Any) -> list[tuple[str, str | None]]:
    return [(each.subscription_id, each.publication_id) for each in engine.publish(items)]


def _columns(rows: Sequence[tuple[str, ...]]) -> list[list[str]]:
    return [list(column) for column in zip(*rows, strict=True)]


# --- one query ---


@pytest.mark.parametrize("edges", [*around(62, INT8, 2 * INT8)])
def test_queries_of_many_variables(edges: int) -> None:
    """62 steps have a bit of their own in a search; 127 and 255 are limits of 8 bits."""
    star = " . ".join(f"?s :p{number} ?v{number}" for number in range(edges))
    chain = " . ".join(f"?v{number} :next ?v{number + 1}" for number in range(edges))
    queries = {
        "star": f"ASK {{ {star} }}",
        "text": f'ASK {{ {star} FILTER(CONTAINS(STR(?v{edges - 1}), "x")) }}',
        "other": f'ASK {{ {star} FILTER(CONTAINS(STR(?v{edges - 1}), "y") && ?v0 != ?v1) }}',
        "range": f"ASK {{ {star} FILTER(?v{edges // 2} > 5) }}",
        "chain": f'ASK {{ {chain} FILTER(STRENDS(STR(?v{edges}), "{edges}")) }}',
    }
    whole = [("s", f"p{number}", str(number)) for number in range(edges - 1)]
    documents: list[tuple[str, list[tuple[str, str, str]]]] = [
        ("x", [*whole, ("s", f"p{edges - 1}", "x")]),
        ("y", [*whole, ("s", f"p{edges - 1}", "y"), ("s", f"p{edges - 1}", "z")]),
        ("part", whole),
        ("way", [(f"n{number}", "next", f"n{number + 1}") for number in range(edges)]),
        ("short", [(f"n{number}", "next", f"n{number + 1}") for number in range(edges - 1)]),
    ]
    answers = []
    for algorithm in ("indexed", "naive") if edges < INT8 else ("indexed",):
        engine = Filter(algorithm=algorithm)
        engine.subscribe(list(queries.items()))
        answers.append(matched(engine, documents))
    assert answers[0] == answers[-1]
    expected = [("star", "x"), ("text", "x"), ("range", "x"), ("star", "y"), ("other", "y"), ("range", "y")]
    assert answers[0] == [*expected, ("chain", "way")]


@pytest.mark.parametrize("rows", [*around(INT8, 2 * INT8), INT16 + 1])
def test_values_of_many_rows(rows: int) -> None:
    listed = " ".join(f":v{number}" for number in range(rows))
    engine = Filter(algorithm="indexed")
    engine.subscribe([("one", f"ASK {{ ?s :p ?v VALUES ?v {{ {listed} }} }}"), ("in", "ASK { ?s :p ?v }")])
    documents = [(f"d{number}", [("s", "p", f"v{number}")]) for number in (0, rows - 1, rows)]
    assert [row for row in matched(engine, documents) if row[0] == "one"] == [("one", "d0"), ("one", f"d{rows - 1}")]


# --- members of one structure ---


@pytest.mark.parametrize("members", [INT16 - 1, INT16, INT16 + 1, 2 * INT16 + 1])
def test_structures_of_many_members(members: int) -> None:
    ids = [f"s{number}" for number in range(members)]
    patterns = pa.table(
        {"subscription_id": ids, "subject": ["?x"] * members, "property": ["p"] * members}
    ).append_column("object", pa.array(["?y"] * members))
    constraints = pa.table(
        {
            "subscription_id": ids,
            "variable": ["?y"] * members,
            "operator": [">="] * members,
            "value": [str(number) for number in range(members)],
        }
    )
    engine = Filter(algorithm="indexed")
    assert engine.subscribe(patterns=patterns, constraints=constraints).accepted == members
    found = engine.publish([("low", [("a", "p", "2")]), ("high", [("a", "p", str(members - 2))])]).table
    assert found["publication_id"].to_pylist() == ["low"] * 3 + ["high"] * (members - 1)
    assert found["subscription_id"].to_pylist() == [*ids[:3], *ids[: members - 1]]


@pytest.mark.long
@pytest.mark.parametrize("members", around(INT16))
def test_members_in_doubt(members: int) -> None:
    """Each is judged by its own condition, in one solution."""
    ids = [f"s{number}" for number in range(members)]
    patterns = {
        "subscription_id": ids,
        "subject": ["?x"] * members,
        "property": ["p"] * members,
        "object": ["?y"] * members,
    }
    needles = [f'"{number}."' for number in range(members)]
    constraints = {
        "subscription_id": ids,
        "variable": ["?y"] * members,
        "operator": ["contains"] * members,
        "value": needles,
    }
    engine = Filter(algorithm="indexed")
    receipt = engine.subscribe(patterns=pa.table(patterns), constraints=pa.table(constraints))
    assert receipt.accepted == members
    text = f'"at {members - 1}."'
    expected = [f"s{number}" for number in range(members) if f"{number}." in text]
    found = engine.publish([("d", [("a", "p", text)])]).table["subscription_id"].to_pylist()
    assert found == expected
    assert f"s{members - 1}" in expected
    assert len(expected) > 1


# --- what cannot be reached here: values near the limit, or a smaller limit ---


def test_keys_hold_the_last_publication_and_the_last_number() -> None:
    engine = Filter(algorithm="indexed")
    engine._subscriptions._next = MOST_SUBSCRIPTIONS - 2
    engine.subscribe([("a", "ASK { ?x :p ?y }"), ("b", 'ASK { ?x :p ?y FILTER(CONTAINS(STR(?y), "c")) }')])
    assert matched(engine, [("d", [("a", "p", "c")])]) == [("a", "d"), ("b", "d")]
    (segment,) = engine._matcher.version().held.segments  # type: ignore[attr-defined]
    last = np.array([MOST_PUBLICATIONS - 1, 0, MOST_PUBLICATIONS - 1, MOST_PUBLICATIONS - 2], np.int64)
    numbers = np.array(
        [MOST_SUBSCRIPTIONS - 1, MOST_SUBSCRIPTIONS - 1, MOST_SUBSCRIPTIONS - 2, MOST_SUBSCRIPTIONS - 2], np.int64
    )
    publication, place = ordered([segment], [(last, numbers)])
    expected = [0, MOST_PUBLICATIONS - 2, MOST_PUBLICATIONS - 1, MOST_PUBLICATIONS - 1]
    assert (publication.tolist(), place.tolist()) == (expected, [1, 0, 0, 1])
    with pytest.raises(SubscriptionError) as caught:
        engine.subscribe(("c", "ASK { ?x :p ?y }"))
    assert caught.value.code == "HG-542"


@pytest.mark.parametrize("scheme", [{}, {"shards": 2, "partition": "containment"}])
def test_too_many_publications_are_refused(scheme: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filter_layout, "MOST_PUBLICATIONS", 5)
    engine = Filter(**scheme)
    engine.subscribe(("s", "ASK { ?x :p ?y }"))
    documents = [(f"d{number}", [("a", "p", "b")]) for number in range(6)]
    for count in (4, 5):
        assert len(matched(engine, documents[:count])) == count
    with pytest.raises(UsageError) as caught:
        engine.publish(documents)
    assert caught.value.code == "HG-646"
    assert "at most 5" in str(caught.value)


def test_too_large_a_publication_is_rejected_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filter_layout, "MOST_EDGES", 5)
    engine = Filter()
    engine.subscribe(("s", "ASK { ?x :p ?y }"))
    documents = [(f"d{size}", [("a", "p", f"b{number}") for number in range(size)]) for size in (4, 6, 5)]
    found = engine.publish(documents)
    assert [each.publication_id for each in found] == ["d4", "d5"]
    assert [(each.source, each.item, each.code) for each in found.rejected] == [("publications", "d6", "HG-645")]


def test_a_publications_own_array_says_where_its_parts_are() -> None:
    """`kernels.adjacency`: six heads of a power of two of at least twice the edges, behind three numbers an edge."""

    def links(edges: int) -> int:
        return 6 + 3 * edges + 6 * (1 << (2 * edges - 1).bit_length())

    assert links(MOST_EDGES) <= MOST_ROWS < links(MOST_EDGES + 1)


def test_a_search_goes_on_where_room_for_solutions_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """However little room there is, each solution is judged once."""
    monkeypatch.setattr("heliograph.filter.search.MOST_ROWS", 200)
    monkeypatch.setattr("heliograph.filter.search.VERIFIED", 1)
    documents = 500
    objects = ["yes" if number % 7 == 0 else "no" for number in range(documents)]
    engine = Filter(algorithm="indexed")
    engine.subscribe(("s", DOUBTFUL[2]))
    found = matched(engine, table(documents, [["a"] * documents, ["p"] * documents, objects]))
    assert found == [("s", f"d{number}") for number in range(0, documents, 7)]


def test_an_index_refuses_more_parts_than_it_can_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segments, "MOST_ROWS", 10)
    for count in (9, 10):
        assert len(_segment(count)) == count
    with pytest.raises(SubscriptionError) as caught:
        _segment(11)
    assert caught.value.code == "HG-542"


def _segment(count: int) -> segments.Segment:
    interests = gather([Interest(((~0, number, ~1),)) for number in range(count)], range(count))
    return segments.Segment.build(interests, range(count), np.zeros(16, np.uint32))


@pytest.mark.parametrize("columns", [False, True])
def test_a_vocabulary_refuses_more_terms_than_ids(columns: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lexicon_layout, "MOST_TERMS", 3_000)
    if columns:
        monkeypatch.setattr(bulk, "is_worth", lambda rows, held: True)
    vocabulary = Vocabulary()
    for first, last in ((0, 2_999), (2_999, 3_000)):
        ids = vocabulary.intern_cells(pa.array([f"t{number}" for number in range(first, last)]), Position.OBJECT).ids
        assert ids.tolist() == list(range(first, last))
    with pytest.raises(PublicationError) as caught:
        vocabulary.intern_cells(pa.array(["one too many"]), Position.OBJECT)
    assert caught.value.code == "HG-647"
    assert vocabulary.intern_cells(pa.array(["t7"]), Position.OBJECT).ids.tolist() == [7] if not columns else True


def test_a_sketch_stops_counting_at_its_limit() -> None:
    from heliograph.filter.kernels import sketch_edges

    most = (1 << 32) - 1
    one = np.zeros(1, np.int32)
    edges = filter_layout.DocumentEdges(np.array([0, 1]), one, one, one)
    for before in (most - 2, most - 1, most):
        sketch = np.full(16, before, np.uint32)
        sketch_edges(_fixed(edges), 0, 1, sketch)
        assert sketch.max() == min(before + 1, most) or before < most - 1
        assert sketch.min() >= before


def _fixed(edges: DocumentEdges) -> DocumentEdges:
    from heliograph.compiled.growing import fixed

    return fixed(edges)


# --- columns of other widths ---


@pytest.mark.parametrize(("kind", "limit"), [(pa.int8(), INT8), (pa.uint8(), 2 * INT8), (pa.int16(), INT16)])
def test_chunks_of_encoded_columns_have_more_texts_than_their_numbers_count(kind: Any, limit: int) -> None:
    """A data frame's categories have 8 bits up to 127 of them; two such tables together have more."""
    for texts in (limit - 1, limit, limit + 1) if limit < INT16 else (limit + 1,):
        halves = [(0, texts // 2), (texts // 2, texts)]
        parts = [_encoded_rows(first, last, kind) for first, last in halves]
        engine = Filter()
        engine.subscribe(("s", f"ASK {{ ?x :p :o{texts - 1} }}"))
        assert matched(engine, pa.concat_tables(parts)) == [("s", f"d{texts - 1}")]


def _encoded_rows(first: int, last: int, kind: Any) -> pa.Table:
    def encoded(letter: str) -> Any:
        texts = pa.array([f"{letter}{number}" for number in range(first, last)])
        return pa.DictionaryArray.from_arrays(pa.array(range(last - first), kind), texts)

    letters = {"publication_id": "d", "subject": "s", "object": "o"}
    columns = {name: encoded(letter) for name, letter in letters.items()}
    return pa.table({**columns, "property": pa.array(["p"] * (last - first))})


@pytest.mark.parametrize("most", range(6, 32))
def test_notifications_with_more_text_than_an_array_holds(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model, "MOST_BYTES", most)
    numbers = np.array([0, 1, 1, 0, 2])
    made = Columns(
        numbers, numbers[::-1], ["s", "longer", "s3"], ["x", None, "y"], ["d", "e", "f"], "filter", list("abcde")
    )
    rows = made.table()
    assert rows["subscription_id"].to_pylist() == ["s", "longer", "longer", "s", "s3"]
    assert rows["publication_id"].to_pylist() == ["f", "d", "e", "e", "d"]
    assert rows["evidence"].to_pylist() == list("abcde")
    assert all(chunk.nbytes <= most + 4 * (len(chunk) + 1) for chunk in rows["subscription_id"].chunks)
