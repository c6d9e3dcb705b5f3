"""The laws of a filter, on generated publications and on queries that go in as text."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph import Filter
from heliograph.model import Notifications
from heliograph.sparql.query import Query
from heliograph.sparql.solve import Triple
from heliograph.terms import Position, Term, TermKind, blank, sort_key, spell
from tests.sparql import oxigraph
from tests.sparql.test_solve import abstracted, queries, rows, triples

Cells = list[tuple[str, str, str]]
Publication = tuple[str, Cells]
Row = tuple[Term, Term]

few_queries = st.lists(st.one_of(queries, abstracted().map(lambda case: case[0])), min_size=1, max_size=4)
documents = st.lists(triples, min_size=1, max_size=3)


def cells(data: list[Triple]) -> Cells:
    return [(spell(s, Position.SUBJECT), spell(p, Position.PROPERTY), spell(o)) for s, p, o in data]


def published(data: list[list[Triple]]) -> list[Publication]:
    return [(f"d{number}", cells(document)) for number, document in enumerate(data)]


def subscribed(asked: list[Query], given_rows: list[Row], order: list[int] | None = None) -> Filter:
    engine = Filter([(spell(child), spell(parent)) for child, parent in given_rows])
    items = [(f"s{number}", oxigraph.query_text(query)) for number, query in enumerate(asked)]
    engine.subscribe([items[number] for number in order or range(len(items))])
    return engine


def pairs(found: Notifications) -> set[tuple[str, str | None]]:
    return {(each.subscription_id, each.publication_id) for each in found}


@settings(max_examples=150, deadline=None)
@given(few_queries, triples, rows)
def test_pyoxigraph_answers_the_same(asked: list[Query], data: list[Triple], given_rows: list[Row]) -> None:
    found = subscribed(asked, given_rows).publish(("d", cells(data)), bindings=1000)
    store = oxigraph.store(data, given_rows)
    answers = {
        f"s{number}": oxigraph.answers(store, oxigraph.query_text(query, True)) for number, query in enumerate(asked)
    }
    assert [each.subscription_id for each in found] == [id for id, rows_found in answers.items() if rows_found]
    for each in found:
        expected = [{name.name: spell(term) for name, term in row.items()} for row in answers[each.subscription_id]]
        assert sorted(map(sorted, map(dict.items, each.proof["bindings"]))) == sorted(
            map(sorted, map(dict.items, expected))
        )


@settings(max_examples=60, deadline=None)
@given(few_queries, documents, rows, st.data())
def test_the_order_of_inserts_does_not_matter(
    asked: list[Query], data: list[list[Triple]], given_rows: list[Row], draw: st.DataObject
) -> None:
    order = draw.draw(st.permutations(range(len(asked))))
    publications = published(data)
    one, other = subscribed(asked, given_rows), subscribed(asked, given_rows[::-1], list(order))
    assert pairs(one.publish(publications)) == pairs(other.publish(publications))
    shuffled = [(id, list(reversed(triples_of))) for id, triples_of in publications]
    assert list(one.publish(shuffled, bindings=5)) == list(one.publish(publications, bindings=5))


@settings(max_examples=60, deadline=None)
@given(few_queries, few_queries, documents)
def test_inserting_and_removing_restores(kept: list[Query], passing: list[Query], data: list[list[Triple]]) -> None:
    engine, publications = subscribed(kept, []), published(data)
    before = list(engine.publish(publications, bindings=3))
    items = [(f"t{number}", oxigraph.query_text(query)) for number, query in enumerate(passing)]
    engine.subscribe(items)
    engine.unsubscribe([id for id, _ in items])
    assert list(engine.publish(publications, bindings=3)) == before


@settings(max_examples=60, deadline=None)
@given(few_queries, documents)
def test_one_batch_is_as_good_as_many(asked: list[Query], data: list[list[Triple]]) -> None:
    engine, publications = subscribed(asked, []), published(data)
    apart = [each for publication in publications for each in engine.publish(publication, bindings=2)]
    assert list(engine.publish(publications, bindings=2)) == apart
    mixed = [
        (id, *triple) for position in range(15) for id, of in publications for triple in of[position : position + 1]
    ]
    assert pairs(engine.publish(mixed)) == pairs(engine.publish(publications))


@settings(max_examples=80, deadline=None)
@given(few_queries, triples, triples, rows)
def test_adding_triples_never_loses_a_match(
    asked: list[Query], data: list[Triple], more: list[Triple], given_rows: list[Row]
) -> None:
    engine = subscribed(asked, given_rows)
    assert pairs(engine.publish(("d", cells(data)))) <= pairs(engine.publish(("d", cells([*data, *more]))))


@settings(max_examples=80, deadline=None)
@given(few_queries, triples, st.permutations(["u", "v", "w", "x"]))
def test_renaming_blank_nodes_changes_nothing(asked: list[Query], data: list[Triple], labels: list[str]) -> None:
    """Constants of the query cannot be blank, so every name that is turned blank is met through variables alone."""
    names = sorted({s for s, _, _ in data}, key=sort_key)
    engine = subscribed(asked, [])
    one, other = ({name: blank(label) for name, label in zip(names, given_labels)} for given_labels in ("stuv", labels))
    found, renamed = (engine.publish(("d", cells(_renamed(data, map)))) for map in (one, other))
    assert pairs(found) == pairs(renamed)


def _renamed(data: list[Triple], names: dict[Term, Term]) -> list[Triple]:
    return [(names[s], p, names.get(o, o)) for s, p, o in data]


def test_blank_nodes_of_the_law_are_blank() -> None:
    assert _renamed([(blank("a"), blank("p"), blank("a"))], {blank("a"): blank("b")})[0][0].kind is TermKind.BLANK
