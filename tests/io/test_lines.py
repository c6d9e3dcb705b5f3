"""Lines as columns: what pyoxigraph finds in a line is what the split finds, and plain blocks are beyond doubt."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import BlankNode, DefaultGraph, Literal, NamedNode, Quad, RdfFormat, Triple, parse, serialize

from heliograph.io.rdf import _TRIPLE, QUADS, TRIPLES, Width, is_plain, split

iris = st.sampled_from(["http://a/b", "urn:x:y", "http://example.org/p?q=1#f", "tag:a,2026:b", "a:b"]).map(NamedNode)
blanks = st.from_regex(r"[a-z][a-z0-9.]{0,6}[a-z]", fullmatch=True).map(BlankNode)
strings = st.text(st.characters(exclude_categories=["Cs"]), max_size=20) | st.sampled_from(
    ['a "b" <c>', "x <y>", "_:z", ' " <http://g> .', "a _:b .\n", "\\", '"', "", "^^<a:b>", "@en", "é ."]
)
literals = (
    strings.map(Literal)
    | st.builds(Literal, strings, language=st.sampled_from(["en", "en-GB"]))
    | st.builds(Literal, strings, datatype=iris)
)
quads = st.builds(Quad, iris | blanks, iris, iris | blanks | literals, iris | blanks | st.just(DefaultGraph()))


def columns(lines: bytes, width: Width) -> list[list[str]]:
    texts = [text or "" for text in split(lines, width).to_pylist()]
    return [texts[start : start + width] for start in range(0, len(texts), width)]


def written(quad: Quad, width: Width) -> list[str]:
    graph = "" if quad.graph_name == DefaultGraph() else f"{quad.graph_name} "
    terms = [f"{quad.subject} ", f"{quad.predicate} ", f"{quad.object} "]
    return [*terms, *([graph] if width == QUADS else []), ".\n"]


@given(st.lists(quads, min_size=1, max_size=8))
def test_quads_fall_apart_as_they_were_written(rows: list[Quad]) -> None:
    lines = serialize(rows, format=RdfFormat.N_QUADS)
    assert lines is not None
    assert columns(lines, QUADS) == [written(row, QUADS) for row in rows]


@given(st.lists(quads, min_size=1, max_size=8))
def test_triples_fall_apart_as_they_were_written(rows: list[Quad]) -> None:
    lines = serialize([row.triple for row in rows], format=RdfFormat.N_TRIPLES)
    assert lines is not None
    assert columns(lines, TRIPLES) == [written(row, TRIPLES) for row in rows]


def test_a_triple_term_is_one_object() -> None:
    inner = Triple(NamedNode("a:s"), NamedNode("a:p"), Literal('x " y'))
    row = Quad(NamedNode("a:s"), NamedNode("a:p"), inner, NamedNode("a:g"))
    lines = serialize([row, Quad(*row.triple)], format=RdfFormat.N_QUADS)
    assert lines is not None
    texts = ["<a:s> ", "<a:p> ", '<<( <a:s> <a:p> "x \\" y" )>> ']
    assert columns(lines, QUADS) == [[*texts, "<a:g> ", ".\n"], [*texts, "", ".\n"]]


@given(st.from_regex(re.compile(_TRIPLE), fullmatch=True))
def test_pyoxigraph_accepts_what_is_plain_by_definition(triple: str) -> None:
    line = triple.encode("latin-1") + b" .\n"
    assert is_plain(line, False)
    assert len(list(parse(line, format=RdfFormat.N_TRIPLES))) == 1


PIECES = [
    "<http://a.example/b>", "<https://a/%20?x=1&y#f>", "<urn:uuid:1-2>", "<tag:a,2026:b>", "_:b0", "<a b>", "<rel>",
    "<http://[x>", "<http://a:b/>", "<a:%zz>", "<http://é/>", '"text"', '"é \\"x\\" \\\\ \\n"', '"x"@en', '"x"@en-GB',
    '"x"@toolongtag', '"5"^^<http://www.w3.org/2001/XMLSchema#integer>', '"x"^^<rel>', '"\\u00e9"', '"\\uD800"',
    '"open', ".", " ", "  ", "\n", "\t", "_:", "_:a.b", "<<(", "5", "", '""', '"x"@en--ltr', "#", "<http://a/\\u0020>",
    "<http://>", "<http:///x>", "<http://a//>", "<https://a?%41>", "<urn:a:(b)>", '"\x00"', '"\x7f"', "<http://-/>",
]  # fmt: skip


@given(
    st.lists(
        st.lists(st.sampled_from(PIECES), min_size=3, max_size=4).map(lambda terms: " ".join([*terms, ".\n"]))
        | st.lists(st.sampled_from(PIECES), max_size=9).map("".join),
        max_size=4,
    ).map("".join),
    st.booleans(),
)
def test_pyoxigraph_finds_the_same_in_every_plain_block(block: str, is_quads: bool) -> None:
    data = block.encode()
    if is_plain(data, is_quads):
        form = RdfFormat.N_QUADS if is_quads else RdfFormat.N_TRIPLES
        read = [Quad(*quad) for quad in parse(data, format=form)]
        again = serialize(read, format=form) or b""
        assert list(parse(again, format=form)) == read
        assert len(read) == data.count(b"\n")
        if data:
            width = QUADS if is_quads else TRIPLES
            for texts, quad in zip(columns(data, width), read, strict=True):
                (same,) = parse("".join(texts).encode(), format=form)
                assert same == quad


@pytest.mark.parametrize("term", ["<http://a.example/b>", "<urn:x:y>", '"x"', '"é\\n"@en', '"5"^^<http://a/b>', "_:b0"])
def test_usual_lines_are_plain(term: str) -> None:
    line = f"<http://a/s> <http://a/p> {term} .\n"
    assert is_plain((line * 3).encode(), False)
    assert is_plain(line.replace(" .\n", " <http://a/g> .\n").encode() + line.encode(), True)
    assert not is_plain(line.replace(" .\n", " <http://a/g> .\n").encode(), False)
    assert not is_plain(line.replace(" ", "  ", 1).encode(), False)


@given(st.binary(max_size=12))
def test_bytes_that_are_not_utf8_are_not_plain(text: bytes) -> None:
    line = b'<http://a/s> <http://a/p> "' + text + b'" .\n'
    if is_plain(line, False):
        (quad,) = parse(line, format=RdfFormat.N_TRIPLES)
        assert isinstance(quad.object, Literal)
        assert b"\n" not in text
