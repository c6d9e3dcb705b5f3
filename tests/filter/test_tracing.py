"""What an explanation tells of the index: the way in, the company, the edges in their order, the conditions."""

from __future__ import annotations

from typing import Any

import pytest

from heliograph import Filter
from heliograph.filter.interests import COMPLEX, INEXACT
from heliograph.filter.layout import FLAGS
from tests.filter.pool import TAXONOMY, Pool
from tests.filter.strategies import subscribe

PAPER = ("d", [("p17", "author", "Arno"), ("p17", "year", "2001"), ("p17", "venue", "WWW"), ("p17", "title", '"RSS"')])
CLASSES = [("WWW", "Conference"), ("Conference", "Publication")]


def told(query: str, publication: Any = PAPER, taxonomy: Any = CLASSES) -> tuple[str, ...]:
    engine = Filter(taxonomy, algorithm="indexed")
    engine.subscribe(("s", query))
    return engine.explain("s", publication, index=True).index


ALONE = "no other subscription of its segment has the same edges"


def test_a_match_from_the_way_in_to_the_last_edge() -> None:
    assert told("ASK { ?p :author :Arno ; :year ?y ; :venue :WWW FILTER(?y > 2000 && ?y <= 2005) }") == (
        "looked up by ? author Arno: the publication has 1 such edge, so it is a candidate",
        ALONE,
        "edge 1: ?p author Arno: held",
        "edge 2: ?p venue WWW: held",
        "edge 3: ?p year ?y: held",
        "?y: number (2000, 2005] (tried by itself): accepted 2001",
    )


def test_no_candidate() -> None:
    assert told("ASK { ?p :author :Bob ; :year ?y FILTER(?y > 2000) }") == (
        "looked up by ? author Bob: the publication has no such edge, so it is no candidate",
        ALONE,
        "edge 1: ?p author Bob: not reached",
        "edge 2: ?p year ?y: not reached",
    )


def test_an_edge_that_failed() -> None:
    lines = told(
        "ASK { ?p :author ?a . ?a :knows ?b . ?b :knows ?c }", ("d", [("x", "author", "y"), ("z", "knows", "x")])
    )
    assert lines[2:] == (
        "edge 1: ?p author ?a: held",
        "edge 2: ?a knows ?b: failed",
        "edge 3: ?b knows ?c: not reached",
    )


def test_a_condition_that_refused_before_the_last_edges() -> None:
    """The condition is asked as soon as what it is about is bound."""
    lines = told(
        "ASK { :p17 :year ?y . :p17 :venue ?v . ?v :in ?c FILTER(?y < 2000) }", ("d", [*PAPER[1], ("WWW", "in", "HK")])
    )
    assert lines[2:] == (
        "edge 1: p17 year ?y: held",
        "?y: number (-∞, 2000) (tried by itself): refused 2001",
        "edge 2: p17 venue ?v: not reached",
        "edge 3: ?v in ?c: not reached",
    )


def test_edges_beyond_the_gate_that_failed() -> None:
    lines = told(
        "ASK { :p17 :year ?y . :p17 :venue ?v . ?v :in ?c FILTER(?y > 2000) }", ("d", [*PAPER[1], ("x", "in", "y")])
    )
    assert lines[3:] == (
        "?y: number (2000, ∞) (tried by itself): accepted 2001",
        "edge 2: p17 venue ?v: held",
        "edge 3: ?v in ?c: failed",
    )


def test_several_conditions_and_values() -> None:
    years = ("d", [("p", "year", str(year)) for year in (1, 2, 3, 4, 5)])
    lines = told("ASK { ?p :year ?y . ?p :year ?z FILTER(?y < 0 && ?z > 1) }", years)
    refused = [line for line in lines if "refused" in line]
    assert len(refused) == 1
    assert refused[0].endswith(", …")
    assert [line.rsplit(": ", 1)[1] for line in lines if line.startswith("?")].count("not reached") <= 1


@pytest.mark.parametrize(
    ("query", "spelled"),
    [
        (
            "ASK { ?p :venue ?v . ?v a/rdfs:subClassOf* :Publication }",
            "?v: is-a Publication (tried by itself): accepted WWW",
        ),
        ("ASK { ?p :venue ?v . ?v a :Publication }", "?v: direct-is-a Publication (tried by itself): refused WWW"),
        ("ASK { ?p :venue ?v . ?v a :Conference }", "?v: direct-is-a Conference (tried by itself): accepted WWW"),
        ("ASK { ?p :venue ?v . ?v rdfs:subClassOf+ :Publication }", "?v: subclass-of Publication"),
        ("ASK { ?p :venue ?v . :WWW rdfs:subClassOf+ ?v }", "?v: superclass-of WWW (tried by itself): refused WWW"),
        ("ASK { ?p :author ?a FILTER(?a = :Bob) }", "?a: IRI Bob (tried by itself): refused Arno"),
        ("ASK { ?p :author ?a FILTER(isLiteral(?a)) }", "(tried by itself): refused Arno"),
        ("ASK { ?p :author ?a FILTER(false) }", "nothing (tried by itself): refused"),
        (
            'ASK { ?p :title ?t FILTER(CONTAINS(?t, "XML")) }',
            "?t: text that holds a certain piece of what is asked for (tried by itself): refused",
        ),
    ],
)
def test_conditions_as_text(query: str, spelled: str) -> None:
    assert spelled in "\n".join(told(query))


def test_what_the_index_does_not_decide() -> None:
    assert told('ASK { ?p :title ?t FILTER(CONTAINS(?t, "XML")) }')[-1].startswith("the index only rules solutions out")
    counted = told("SELECT (COUNT(*) AS ?n) { ?p :year ?y } HAVING (COUNT(*) > 3)")
    assert counted[-1] == "the index only rules it out: where it does not, the whole query decides"
    nothing = told("SELECT (COUNT(*) AS ?n) { ?p :year ?y } HAVING (COUNT(*) = 0)")
    assert nothing[0] == "looked up by no edge: it is a candidate for every publication"


def test_a_structure_shared_by_many_and_its_constraint_table() -> None:
    engine = Filter(algorithm="indexed")
    engine.subscribe([(f"s{year}", f"ASK {{ ?p :year ?y FILTER(?y > {year}) }}") for year in range(1990, 2010)])
    engine.unsubscribe("s1990")
    why = engine.explain("s2003", PAPER, index=True)
    assert why.index == (
        "looked up by ? year ?: the publication has 1 such edge, so it is a candidate",
        "18 other subscriptions of its segment with the same edges, verified together",
        "edge 1: ?p year ?y: held",
        "?y: number (2003, ∞) (in a constraint table of 20): refused 2001",
    )
    assert str(why).endswith("  index   " + why.index[-1])


def test_solutions_beyond_counting() -> None:
    many = ("d", [(f"n{number}", "p", str(number)) for number in range(40)])
    lines = told("ASK { ?a :p ?x . ?b :p ?y FILTER(?x > 100 && ?y > 100) }", many)
    assert "only the first 1000 solutions up to here were looked at" in lines


@pytest.mark.parametrize("algorithm", ["auto", "naive", "gtopss"])
def test_without_an_index_there_is_nothing_to_tell(algorithm: str) -> None:
    engine = Filter(algorithm=algorithm)
    engine.subscribe(("s", "ASK { ?p :year ?y }"))
    assert engine.explain("s", PAPER, index=True).index == ()


def test_auto_tells_once_it_has_an_index(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("heliograph.filter.strategy.FEW", 1)
    engine = Filter(algorithm="auto")
    engine.subscribe([("s", "ASK { ?p :year ?y }"), ("t", "ASK { ?p :venue ?y }")])
    assert engine.explain("s", PAPER, index=True).index[0].startswith("looked up by ? year ?")


def test_what_is_told_agrees_with_what_is_found() -> None:
    """Whoever matches is nowhere refused; whoever does not and is decided by the index alone is refused somewhere."""
    pool = Pool.draw(23, 120, 6)
    engine = Filter(TAXONOMY, algorithm="indexed")
    subscribe(engine, [each._replace(id=str(number)) for number, each in enumerate(pool.interests)])
    refusals = 0
    for document, verdict in zip(pool.documents, pool.verdicts, strict=True):
        for number in range(len(pool.interests)):
            why = engine.explain(str(number), ("d", document), index=True)
            refused = any(line.endswith(("failed", "no candidate")) or "): refused" in line for line in why.index)
            segment, member, _ = engine._matcher.locate(engine._subscriptions[str(number)])  # type: ignore[misc]
            undecided = int(segment.index.members[member, FLAGS]) & (COMPLEX | INEXACT)
            assert why.matched is (number in verdict)
            assert not (why.matched and refused), why
            assert why.matched or refused or undecided, why
            refusals += refused
    assert refusals
