"""Classes with nothing in common: a suspicion, not a proof."""

from __future__ import annotations

import pytest

from heliograph.lint.queries import Kinds
from heliograph.sparql.solve import Graph, matches
from heliograph.sparql.templates import parse_sparql
from heliograph.taxonomy import Taxonomy
from heliograph.terms import RDF_TYPE, plain_name
from tests.lint.test_names import sample

TAXONOMY = Taxonomy.read(
    [("Journal", "Publication"), ("Person", "Agent"), ("Robot", "Agent"), ("Robot", "Machine"), ("TKDE", "Journal")]
)


@pytest.mark.parametrize(
    ("body", "apart"),
    [
        ("?x a/rdfs:subClassOf* :Journal . ?x a/rdfs:subClassOf* :Person", True),
        ("?x a :Journal . ?x a :Person", True),
        ("?x rdfs:subClassOf+ :Publication . ?x a/rdfs:subClassOf* :Agent", True),
        ("?x a/rdfs:subClassOf* :Agent . ?x a/rdfs:subClassOf* :Machine", False),  # a robot
        ("?x a/rdfs:subClassOf* :Journal . ?x a/rdfs:subClassOf* :Publication", False),
        ("?x a :Journal . ?y a :Person", False),
        ("?x a :Journal . ?x a :Unheard-of", False),
        ("?x a :Journal . ?x :author :Person", False),
        (":TKDE a :Journal . :TKDE a :Person", False),
    ],
)
def test_classes_of_one_variable(body: str, apart: bool) -> None:
    found = list(Kinds(TAXONOMY, None).apart(parse_sparql(f"ASK {{ {body} }}")))
    assert bool(found) is apart
    assert all("only a publication that says so itself" in message for message in found)


def test_a_publication_may_say_so_itself() -> None:
    query = parse_sparql("ASK { ?x a :Journal . ?x a :Person }")
    graph = Graph((plain_name("Ann"), RDF_TYPE, plain_name(kind)) for kind in ("Journal", "Person"))
    assert matches(query, graph, TAXONOMY)
    document = [("Ann", "a", "Journal"), ("Ann", "a", "Person")]
    assert list(Kinds(TAXONOMY, sample(document, taxonomy=TAXONOMY)).apart(query)) == []
    assert list(Kinds(TAXONOMY, sample(document[:1], taxonomy=TAXONOMY)).apart(query)) != []
