"""RDF documents: pyoxigraph is the oracle for what they say, numbers and dates canonical on both sides."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyoxigraph import (
    BlankNode,
    CanonicalizationAlgorithm,
    Dataset,
    DefaultGraph,
    Literal,
    NamedNode,
    Quad,
    RdfFormat,
    parse,
    serialize,
)

from heliograph.io import rdf as syntaxes_module
from heliograph.io.documents import read_documents, read_graph
from heliograph.io.sources import Source
from heliograph.terms import Term, TermKind, blank, iri, literal
from heliograph.vocabulary import Vocabulary
from tests.io.document_reading import Graph, read, read_files, triples
from tests.io.test_lines import quads

FORMATS = {
    ".nt": RdfFormat.N_TRIPLES,
    ".nq": RdfFormat.N_QUADS,
    ".ttl": RdfFormat.TURTLE,
    ".trig": RdfFormat.TRIG,
    ".rdf": RdfFormat.RDF_XML,
    ".jsonld": RdfFormat.JSON_LD,
}

DOCUMENTS = {
    ".nt": '<http://a/s> <http://a/p> "5"^^<http://www.w3.org/2001/XMLSchema#byte> .\n'
    '_:x <a:p>\t"é\\n\\u00e9"@EN . # c\n',
    ".nq": '<a:s> <a:p> "a <b>" <a:g> .\n<a:s> <a:p> _:x _:h .\n'
    '<a:s> <a:p> "05"^^<http://www.w3.org/2001/XMLSchema#int> .\n',
    ".ttl": '@prefix x: <http://x/> .\nx:s a x:T ; x:p 05, 5.0, 1e5, true, "x"@en, [ x:q ( 1 "two" [] ) ] .\n'
    "_:b x:r _:b .\n",
    ".trig": "@prefix x: <http://x/> .\nx:g { x:s x:p [ x:q 1 ] . _:a x:p 2 }\n{ x:s x:p x:o }\n"
    'GRAPH x:h { x:a x:b """c\nd""" }\n',
    ".rdf": """<?xml version="1.0"?><!DOCTYPE rdf:RDF [<!ENTITY x "http://x/">]>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:x="http://x/">
<x:T rdf:about="&x;a"><x:p rdf:resource="&x;b"/><x:l rdf:parseType="Literal"><b>x</b></x:l><x:q xml:lang="en">q</x:q>
<x:n rdf:parseType="Resource"><x:m rdf:datatype="http://www.w3.org/2001/XMLSchema#int">007</x:m></x:n></x:T>
<rdf:Seq rdf:nodeID="s"><rdf:li>1</rdf:li><rdf:li>2</rdf:li></rdf:Seq></rdf:RDF>""",
    ".jsonld": """{"@context": {"x": "http://x/", "l": {"@id": "x:l", "@container": "@list"}}, "@graph": [
  {"@id": "x:a", "x:p": ["s", 5, 2.5, true, {"@value": "v", "@language": "EN"}], "l": [1, {"x:q": "\\"[{"}]},
  {"@id": "x:g", "@graph": [{"@id": "x:s", "x:p": {"@id": "_:b"}}]}]}""",
}


def as_term(node: object) -> Term:
    if isinstance(node, NamedNode):
        return iri(node.value)
    if isinstance(node, BlankNode):
        return blank(node.value)
    assert isinstance(node, Literal)
    return literal(node.value, node.datatype.value, node.language or "")


def from_term(term: Term) -> NamedNode | BlankNode | Literal:
    if term.kind is TermKind.IRI:
        return NamedNode(term.value)
    if term.kind is TermKind.BLANK:
        return BlankNode(term.value)
    if term.language:
        return Literal(term.value, language=term.language)
    return Literal(term.value, datatype=NamedNode(term.datatype))


def canonical(graph: Graph) -> set[str]:
    """A graph's triples as text, blank nodes named by what they are."""
    dataset = Dataset(Quad(*map(from_term, triple)) for triple in graph)  # type: ignore[arg-type]
    dataset.canonicalize(CanonicalizationAlgorithm.RDFC_1_0)
    return {str(quad) for quad in dataset}


def oracle(data: bytes, name: str) -> dict[str, set[str]]:
    graphs: dict[str, set[tuple[Term, Term, Term]]] = defaultdict(set)
    for quad in parse(data, format=FORMATS[Path(name).suffix]):
        graph = quad.graph_name
        id = (
            name
            if isinstance(graph, DefaultGraph)
            else f"{name}#{graph}"
            if isinstance(graph, BlankNode)
            else graph.value
        )
        graphs[id].add((as_term(quad.subject), as_term(quad.predicate), as_term(quad.object)))
    return {id: canonical(frozenset(graph)) for id, graph in graphs.items()}


@pytest.mark.parametrize("suffix", FORMATS)
def test_documents_say_what_pyoxigraph_reads(suffix: str) -> None:
    name, data = f"folder/document{suffix}", DOCUMENTS[suffix].encode()
    outcome = read(data, name)
    assert outcome.rejected == []
    assert {id: canonical(graph) for id, graph in outcome.publications.items()} == oracle(data, name)


@settings(max_examples=60)
@given(st.lists(quads, max_size=12), st.sampled_from([".nt", ".nq", ".ttl", ".trig"]))
def test_any_quads_come_back(rows: list[Quad], suffix: str) -> None:
    if suffix in (".nt", ".ttl"):
        rows = [Quad(*row.triple) for row in rows]
    data = serialize(rows, format=FORMATS[suffix]) or b""
    outcome = read(data, "d" + suffix)
    assert outcome.rejected == []
    expected = oracle(data, "d" + suffix) or {"d" + suffix: set()}
    assert {id: canonical(graph) for id, graph in outcome.publications.items()} == expected


def test_graphs_are_publications_in_the_order_of_their_first_triples() -> None:
    data = (
        "<a:s> <a:p> 1 <a:g> .\n".replace(" 1 ", ' "1" ')
        + '<a:s> <a:p> "2" .\n<a:s> <a:p> "3" <a:h> .\n<a:s> <a:p> "4" <a:g> .\n'
    )
    outcome = read(data, "x.nq")
    assert outcome.ids == ["a:g", "x.nq", "a:h"]
    assert outcome.publications["a:g"] == triples('<a:s> | <a:p> | "1"', '<a:s> | <a:p> | "4"')


@pytest.mark.parametrize("suffix", [".nt", ".nq", ".ttl", ".trig", ".jsonld"])
@pytest.mark.parametrize("text", ["", " \n\n", "\ufeff"])
def test_a_document_without_triples_is_an_empty_publication(suffix: str, text: str) -> None:
    data = "[]" if suffix == ".jsonld" else text
    assert read(data, "x" + suffix).publications == {"x" + suffix: frozenset()}


# --- blank nodes ---


def test_labels_are_kept_and_others_are_numbered() -> None:
    graph = read("_:b <a:p> [ <a:q> _:anon1 ] .", "x.ttl").only
    assert graph == triples("_:anon1 | <a:q> | _:anon2", "_:b | <a:p> | _:anon1") or graph == triples(
        "_:anon2 | <a:q> | _:anon1", "_:b | <a:p> | _:anon2"
    )


def test_reading_twice_gives_the_same_labels() -> None:
    data = "<a:s> <a:p> [], [ <a:q> [] ], ( 1 2 ) ."
    assert read(data, "x.ttl") == read(data, "x.ttl")


def test_one_graph_in_two_files_is_one_publication_with_blank_nodes_apart() -> None:
    quad = "_:b <a:p> _:b <a:g> .\n_:c <a:q> _:b <a:g> .\n"
    graph = read_files({"1.nq": quad, "2.nq": quad}).only
    assert len(graph) == 4
    assert len({subject for subject, _, _ in graph}) == 4
    assert len(canonical(graph)) == 4


def test_a_blank_node_of_the_second_file_does_not_meet_one_of_the_first() -> None:
    outcome = read_files({"1.trig": "<a:g> { _:anon1 <a:p> 1 }", "2.trig": "<a:g> { [] <a:p> 2 . _:b <a:p> 3 }"})
    assert len({subject for subject, _, _ in outcome.only}) == 3


# --- what cannot be read ---

LINES = [
    '<http://a/s> <http://a/p> "1" .',
    "<a:s> <a:p> broken .",
    '<a:s> <a:p> "open .',
    "<a:s> <a:p> <a:4> .",
    "<a:s> <a:p> <a b> .",
    "<rel> <a:p> <a:6> .",
    "# a comment",
    '<a:s> <a:p> "8" . extra',
    '<a:s> <a:p> "\\uD800" .',
    '<a:s> <a:p> "10" .',
]


def test_a_broken_line_takes_no_other_with_it() -> None:
    outcome = read("\n".join(LINES), "x.nt")
    assert outcome.only == triples('<http://a/s> | <http://a/p> | "1"', "<a:s> | <a:p> | <a:4>", '<a:s> | <a:p> | "10"')
    assert [(refused.item, refused.code) for refused in outcome.rejected] == [
        (line, "HG-302") for line in ("2", "3", "5", "6", "8", "9")
    ]
    assert "(x.nt, line 2, column 13); mend or drop the line" in outcome.rejected[0].message
    assert "Parser error" not in outcome.rejected[0].message


@settings(max_examples=40)
@given(st.lists(st.tuples(quads, st.sampled_from([b"", b"x", b'"', b"<", b"\\", b"\xff", b"_:"])), max_size=8))
def test_damage_stays_in_its_line(rows: list[tuple[Quad, bytes]]) -> None:
    lines = [damage + (serialize([quad], format=RdfFormat.N_QUADS) or b"") for quad, damage in rows]
    outcome = read(b"".join(lines), "x.nq")
    good = [quad for quad, damage in rows if not damage]
    assert len(outcome.rejected) == len(rows) - len(good)
    expected = oracle(serialize(good, format=RdfFormat.N_QUADS) or b"", "x.nq")
    if good:
        assert {id: canonical(graph) for id, graph in outcome.publications.items()} == expected


def test_blocks_of_lines_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    data = "\n".join(LINES * 5)
    whole = read(data, "x.nt")
    monkeypatch.setattr(syntaxes_module, "BLOCK", 100)
    assert read(data, "x.nt") == whole


def test_a_line_beyond_the_limit_is_refused_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(syntaxes_module, "BLOCK", 20)
    monkeypatch.setattr(syntaxes_module, "MAX_LINE", 100)
    long = '<a:s> <a:p> "' + "x" * 200 + '" .\n'
    outcome = read("<a:s> <a:p> <a:1> .\n" + long + "<a:s> <a:p> <a:2> .\n<a:s> <a:p> x .\n", "x.nt")
    assert outcome.only == triples("<a:s> | <a:p> | <a:1>", "<a:s> | <a:p> | <a:2>")
    assert [(refused.item, refused.code) for refused in outcome.rejected] == [("2", "HG-307"), ("4", "HG-302")]


WHOLE = [
    ("x.ttl", "@prefix x: <a:> .\nx:s x:p x:o .\nx:s x:p .\n", "HG-302", "line 3, column 9"),
    ("x.ttl", "x:s x:p x:o .", "HG-302", "line 1, column 1"),
    ("x.trig", "<a:g> { <a:s> <a:p> <a:o> }\n<a:h> { <a:s> <a:p> }", "HG-302", "line 2, column 21"),
    ("x.jsonld", '{"@id": "a:b",\n "a:c": }', "HG-302", "line 2, column 9"),
    ("x.jsonld", '{"@context": "http://example.org/context", "@id": "a:b", "a:c": "d"}', "HG-306", "x.jsonld"),
    (
        "x.jsonld",
        '{"@context": {"@import": "http://example.org/context"}, "@id": "a:b", "a:c": "d"}',
        "HG-306",
        "fetched",
    ),
    ("x.nt", '<?xml version="1.0"?><rdf:RDF/>', "HG-309", ".rdf, .rss, .atom or .xml"),
    ("x.ttl", "<rdf:RDF xmlns:rdf='x'>", "HG-309", ".rdf"),
    ("x.nq", "@prefix x: <a:> .", "HG-309", ".ttl or .trig"),
]


@pytest.mark.parametrize(("name", "data", "code", "place"), WHOLE)
def test_a_broken_document_is_refused_as_a_whole(name: str, data: str, code: str, place: str) -> None:
    outcome = read_files({name: data, "good.ttl": "<a:s> <a:p> <a:o> ."})
    assert outcome.ids == ["good.ttl"]
    (refused,) = outcome.rejected
    assert (refused.source, refused.code) == (name, code)
    assert place in refused.message


RDF_XML = """<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:x="http://x/">
<x:T rdf:about="http://x/1"/>
%s
<x:T rdf:about="http://x/3"/></rdf:RDF>"""


@pytest.mark.parametrize(
    ("child", "column"),
    [
        ("<x:T><x:p></x:T>", 13),  # not well-formed
        ('<x:T rdf:about="http://a b/"/>', 1),  # no IRI
        ("<x:T><x:p>text<x:q/></x:p></x:T>", 1),  # no RDF
        ("<x:T>&nope;</x:T>", 6),
    ],
)
@pytest.mark.parametrize("prolog", ["", "<!DOCTYPE r [<!ENTITY e 'long enough to move what follows'>\n]>"])
def test_places_in_rdf_xml_are_found(child: str, column: int, prolog: str) -> None:
    outcome = read(prolog + RDF_XML % child, "x.rdf")
    assert outcome.ids == []
    assert [refused.code for refused in outcome.rejected] == ["HG-302"]
    line = 3 + prolog.count("\n")
    assert f"line {line}, column {column})" in outcome.rejected[0].message


def test_relative_iris_are_resolved_against_the_name() -> None:
    expected = triples("<file:///my%20files/x.ttl#a> | <a:p> | <file:///my%20files/b>")
    assert read("<#a> <a:p> <b> .", "my files/x.ttl").only == expected
    assert read('{"@id": "#a", "a:p": {"@id": "b"}}', "my files/x.jsonld").only == triples(
        "<file:///my%20files/x.jsonld#a> | <a:p> | <file:///my%20files/b>"
    )


def test_triples_with_terms_of_rdf_1_2_are_refused_alone() -> None:
    data = '<a:s> <a:p> "x"@en--ltr, <<( <a:b> <a:c> "y" )>>, "z" .'
    outcome = read(data, "x.ttl")
    assert outcome.only == triples('<a:s> | <a:p> | "z"')
    assert outcome.codes == ["HG-308", "HG-308"]
    assert '<a:s> <a:p> "x"@en--ltr .' in outcome.rejected[0].message
    long = read(f'<a:s> <a:p> "{"x" * 500}"@en--rtl .', "x.nt")
    assert long.ids == []
    assert len(long.rejected[0].message) < 500


# --- sources ---


def test_sources_that_are_no_documents() -> None:
    sources = [Source(None, "-"), Source(Path("no/such.ttl"), "no/such.ttl"), Source(Path("x.txt"), "x.txt")]
    sources += [Source(Path("."), "a folder.ttl")._replace(path=Path(__file__).parent)]
    (documents,) = read_documents(sources, Vocabulary())
    assert documents.publications.ids == ()
    assert [(refused.source, refused.code) for refused in documents.rejected] == [
        ("-", "HG-309"),
        ("no/such.ttl", "HG-301"),
        ("x.txt", "HG-309"),
        ("a folder.ttl", "HG-309"),
    ]


def test_all_triples_of_one_source_are_one_publication(tmp_path: Path) -> None:
    path = tmp_path / "x.nq"
    path.write_text("<a:s> <a:p> <a:1> <a:g> .\n<a:s> <a:p> <a:2> .\nbroken\n")
    documents = read_graph([Source(path, "x.nq")], Vocabulary())
    assert dict(documents.publications.graphs()) == {"graph": triples("<a:s> | <a:p> | <a:1>", "<a:s> | <a:p> | <a:2>")}
    assert [refused.item for refused in documents.rejected] == ["3"]


def test_batches_do_not_matter() -> None:
    data = "".join(f"<a:s> <a:p> <a:{number % 7}> <a:g{number % 7}> .\n" for number in range(30))
    assert read_files({"x.nq": data}, batch=2) == read_files({"x.nq": data}, batch=100)


def test_an_overlay_resolves_to_the_ids_of_its_base(tmp_path: Path) -> None:
    path = tmp_path / "x.nt"
    path.write_text("<a:s> <a:p> <a:o> .\n")
    vocabulary = Vocabulary()
    known = vocabulary.intern(iri("a:p"))
    (documents,) = read_documents([Source(path, "x.nt")], vocabulary.overlay())
    assert documents.publications.triples.predicate.tolist() == [known]
    assert len(vocabulary) == 1
