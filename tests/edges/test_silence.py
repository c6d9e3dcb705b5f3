"""What fits no accepted shape raises; nothing is rejected in silence; texts and names are told apart."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

from heliograph import Filter, HeliographError, Watch


@pytest.mark.parametrize("given", [b"<rss></rss>", 5, 3.5, object(), None, "<rss><channel/></rss>", "nosuchfile.rss"])
def test_what_fits_nothing_raises(given: Any) -> None:
    for engine in (Filter(), Watch()):
        with pytest.raises(HeliographError):
            engine.publish(given)
    with pytest.raises(HeliographError):
        Watch().load_graph(given)


def test_a_graph_is_loaded_from_its_file(tmp_path: Path) -> None:
    path = tmp_path / "x.nt"
    path.write_text("<urn:heliograph:a> <urn:heliograph:p> <urn:heliograph:b> .\n")
    for given in (path, str(path), [str(path)], tmp_path, str(tmp_path / "*.nt")):
        watch = Watch(initial=True)
        assert watch.load_graph(given).accepted == 1
        watch.subscribe("q", "ASK { :a :p :b }")
        assert len(watch.publish([])) == 1


def test_a_call_whose_every_row_was_rejected_logs_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    engine = Filter()
    engine.subscribe("q", "ASK { ?x :p ?y }")
    with caplog.at_level(logging.WARNING, "heliograph"):
        engine.publish([("d", [("x", "p", "y")])])
        assert not caplog.records
        assert len(engine.publish([("d", [("x", "nope:p", "y")]), ("e", [("", "p", "y")])]).rejected) == 2
    assert len(caplog.records) == 1
    assert "2" in caplog.text


def test_cells_of_the_object_column_can_be_texts() -> None:
    engine = Filter()
    engine.subscribe(
        {
            "text": 'ASK { ?x :city "Paris" }',
            "name": "ASK { ?x :city :Paris }",
            "part": 'ASK { ?x :city ?c FILTER(CONTAINS(?c, "ari")) }',
        }
    )
    rows = [("d", [("x", "city", "Paris")])]
    assert [n.subscription_id for n in engine.publish(rows)] == ["name"]
    assert [n.subscription_id for n in engine.publish(rows, objects="texts")] == ["text", "part"]
    with pytest.raises(HeliographError):
        engine.publish(rows, objects="words")


@pytest.mark.parametrize(
    ("cell", "query"),
    [
        ("5", "ASK { ?x :p 5 }"),
        ("true", "ASK { ?x :p true }"),
        ("<http://e.org/a>", "ASK { ?x :p <http://e.org/a> }"),
        ('"quoted"', 'ASK { ?x :p "quoted" }'),
        ('"chat"@fr', 'ASK { ?x :p "chat"@fr }'),
        ("_:b", "ASK { ?x :p ?y FILTER(!isLiteral(?y) && !isIRI(?y)) }"),
        ("5G", 'ASK { ?x :p "5G" }'),
        ("two words", 'ASK { ?x :p "two words" }'),
        ("note: call back", 'ASK { ?x :p "note: call back" }'),
        ("12:30", 'ASK { ?x :p "12:30" }'),
    ],
)
def test_texts_leave_other_terms_alone(cell: str, query: str) -> None:
    engine = Filter()
    engine.subscribe("q", query)
    assert len(engine.publish("d", [("x", "p", cell)], objects="texts")) == 1
    watch = Watch()
    watch.subscribe("q", query)
    assert len(watch.publish([("+", "x", "p", cell)], objects="texts")) == 1


def test_explain_says_that_a_name_was_compared_with_a_text() -> None:
    engine = Filter()
    engine.subscribe({"text": 'ASK { ?x :city "Paris" }', "part": 'ASK { ?x :city ?c FILTER(CONTAINS(?c, "ari")) }'})
    for subscription in ("text", "part"):
        said = str(engine.explain(subscription, ("d", [("x", "city", "Paris")])))
        assert "is a name" in said
        assert '"Paris"' in said


@pytest.mark.parametrize(
    ("condition", "value", "kinds"),
    [
        ('?d >= "2026-01-01"^^xsd:date', '"2026-02-02T10:00:00Z"^^xsd:dateTime', ("xsd:dateTime", "xsd:date")),
        ("?d > 5", '"7"', ("string", "number")),
        ('?d = "7"', "7", ("number", "string")),
    ],
)
def test_explain_names_the_kinds_that_do_not_compare(condition: str, value: str, kinds: tuple[str, str]) -> None:
    engine = Filter()
    engine.subscribe("q", f"ASK {{ ?x :d ?d FILTER({condition}) }}")
    said = str(engine.explain("q", ("d", [("x", "d", value)])))
    assert all(kind in said for kind in kinds), said


def test_a_number_as_a_subject_is_refused_with_the_fix() -> None:
    engine = Filter()
    (refused,) = engine.publish([("d", [("1001", "p", "x")])]).rejected
    assert ":1001" in refused.message
    engine.subscribe("q", "SELECT ?s { ?s :p ?o }")
    (found,) = engine.publish([("d", [(":1001", "p", "x")])], bindings=1)
    assert found.proof["bindings"] == [{"s": ":1001"}]


def test_a_column_that_mixes_names_and_numbers_warns(caplog: pytest.LogCaptureFixture) -> None:
    engine = Filter()
    engine.subscribe("q", "ASK { ?s :knows ?o }")
    with caplog.at_level(logging.WARNING, "heliograph"):
        engine.publish([("d", [("a", "knows", "b"), ("a", "knows", "1001")])])
    assert ":1001" in caplog.text
