"""Guards: what would exhaust the parser is refused, and what is merely large is not."""

from __future__ import annotations

import json
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.errors import DocumentError
from heliograph.io import rdf as contexts
from heliograph.io import xml as guards
from heliograph.io.xml import MAX_DEPTH, check_json, check_triple_terms, xml_depth
from tests.io.document_reading import read, read_files, triples

DEEP = 100_000
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"


def rdf_xml(body: str, prolog: str = "") -> str:
    return f'{prolog}<rdf:RDF xmlns:rdf="{RDF}" xmlns:x="http://x/">{body}</rdf:RDF>'


HOSTILE = {
    "x.jsonld": '{"http://x/p":' * DEEP + "1" + "}" * DEEP,
    "y.jsonld": '{"http://x/p":' + "[" * DEEP + "]" * DEEP + "}",
    "x.nt": "<a:s> <a:p> " + "<<( <a:s> <a:p> " * DEEP + "<a:o>" + " )>>" * DEEP + " .\n",
    "x.nq": "<a:s> <a:p> " + "<<( <a:s> <a:p> " * DEEP + "<a:o>" + " )>>" * DEEP + " .\n",
    "x.ttl": "<a:s> <a:p> " + "<<( <a:s> <a:p> # )>>\n" * DEEP + "<a:o>" + " )>>" * DEEP + " .\n",
    "x.trig": "<a:g> { <a:s> <a:p> " + "<<( <a:s> <a:p> " * DEEP + '")>>"' + " )>>" * DEEP + " }\n",
    "x.rdf": rdf_xml("<x:a><x:b>" * DEEP + "</x:b></x:a>" * DEEP),
    "y.rdf": rdf_xml("<!-- </x:a> --><x:a><x:b>" * DEEP + "</x:b></x:a>" * DEEP),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_deep_nesting_is_refused(name: str) -> None:
    outcome = read_files({name: HOSTILE[name], "good.nt": "<a:s> <a:p> <a:o> .\n"})
    assert outcome.ids == ["good.nt"]
    assert outcome.codes == ["HG-304"]


def test_a_deep_line_takes_no_other_with_it() -> None:
    outcome = read("<a:s> <a:p> <a:1> .\n" + HOSTILE["x.nt"] + "<a:s> <a:p> <a:2> .\n", "x.nt")
    assert outcome.only == triples("<a:s> | <a:p> | <a:1>", "<a:s> | <a:p> | <a:2>")
    assert [(refused.item, refused.code) for refused in outcome.rejected] == [("2", "HG-304")]


def test_many_triple_terms_are_not_deep() -> None:
    outcome = read("<a:s> <a:p> <<( <a:s> <a:p> <a:o> )>> .\n" * (2 * MAX_DEPTH) + "<a:s> <a:p> 1 .", "x.ttl")
    assert len(outcome.only) == 1
    assert set(outcome.codes) == {"HG-308"}


def test_deep_turtle_is_no_danger() -> None:
    data = "<a:s> <a:p> " + "[ <a:p> (" * 2000 + ")]" * 2000 + " ."
    assert len(read(data, "x.ttl").only) == 1 + 2000 + 2000 - 1 + 2000 - 1


# --- the measures of depth against others ---

json_values = st.recursive(
    st.none() | st.booleans() | st.text(st.sampled_from('[]{}"\\a'), max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(st.sampled_from('"\\[{a'), max_size=2), inner),
    max_leaves=12,
)


def json_depth(value: Any) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if inner is None else 1 + max(map(json_depth, inner), default=0)


@given(json_values, st.sampled_from([None, 2]))
def test_the_depth_of_json(value: Any, indent: int | None) -> None:
    limit, guards.MAX_DEPTH = guards.MAX_DEPTH, json_depth(value)
    try:
        check_json(json.dumps(value, indent=indent).encode())
        guards.MAX_DEPTH -= 1
        if guards.MAX_DEPTH >= 0:
            with pytest.raises(DocumentError):
                check_json(json.dumps(value, indent=indent).encode())
    finally:
        guards.MAX_DEPTH = limit


xml_pieces = st.recursive(
    st.sampled_from(["", "text", "<a/>", "<!-- <b> -->", "<![CDATA[</a>]]>", "<?pi <c>?>", "a > b", '<a b="/>"/>']),
    lambda inner: st.lists(inner, max_size=3).map(lambda parts: f"<e>{''.join(parts)}</e>"),
    max_leaves=8,
)


def tree_depth(element: ElementTree.Element) -> int:
    return 1 + max(map(tree_depth, element), default=0)


@settings(max_examples=150)
@given(xml_pieces)
def test_the_depth_of_xml(body: str) -> None:
    text = f"<r>{body}</r>"
    assert xml_depth(text.encode()) == tree_depth(ElementTree.fromstring(text))


@given(st.text(st.sampled_from("<>/a!-\"' "), max_size=30))
def test_the_depth_of_what_is_no_xml(text: str) -> None:
    assert xml_depth(text.encode()) >= 0


@given(st.integers(0, 6), st.sampled_from(['"', "'", '"""', "'''"]), st.text(st.sampled_from("<()>\\n #"), max_size=8))
def test_the_depth_of_triple_terms(depth: int, quote: str, noise: str) -> None:
    text = noise.replace("\\", "\\\\").replace("\n", "\\n")
    data = "<a:s> <a:p> " + "<<( <a:s> <a:p> # )>>\n" * depth + f"{quote}{text}{quote}" + " )>>" * depth + " .\n"
    limit, guards.MAX_DEPTH = guards.MAX_DEPTH, depth
    try:
        check_triple_terms(data.encode())
        guards.MAX_DEPTH -= 1
        if depth:
            with pytest.raises(DocumentError):
                check_triple_terms(data.encode())
    finally:
        guards.MAX_DEPTH = limit


# --- entities ---


def laughs(levels: int) -> str:
    declared = "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, levels))
    return f'<!DOCTYPE r [<!ENTITY a0 "ha">{declared}]>'


@pytest.mark.parametrize(
    "document",
    [
        rdf_xml("<x:a><x:b>&a9;</x:b></x:a>", laughs(12)),
        rdf_xml("<x:a/>", laughs(12)),  # declared, not used
        rdf_xml("<x:a/>", "<!DOCTYPE r [<!ENTITY a 'ha'>" + "<!ENTITY a '&a;&a;'>" * 40 + "]>"),  # declared anew
        rdf_xml("<x:a><x:b>" + "&a;" * 20000 + "</x:b></x:a>", f"<!DOCTYPE r [<!ENTITY a '{'x' * 2000}'>]>"),
        rdf_xml("<x:a><x:b>&e;</x:b></x:a>", "<!DOCTYPE r [<!ENTITY e SYSTEM 'file:///etc/passwd'>]>"),
        rdf_xml("<x:a/>", "<!DOCTYPE r [<!ENTITY % p SYSTEM 'http://example.org/'> %p;]>"),
        rdf_xml("<x:a/>", "<!DOCTYPE r [<!ENTITY e PUBLIC 'x' 'http://example.org/'>]>"),
    ],
)
def test_dangerous_entities_are_refused(document: str) -> None:
    outcome = read(document, "x.rdf")
    assert outcome.ids == []
    assert outcome.codes == ["HG-305"]


def test_entities_that_abbreviate_are_read() -> None:
    prolog = """<?xml version="1.0"?><!-- ] > --><!DOCTYPE rdf:RDF PUBLIC "x" "http://example.org/never-fetched" [
  <!-- <!ENTITY e "no"> --> <!ENTITY e 'http://e/"q'> <!ENTITY f "&e;#"> <?pi ]> ?> <!ATTLIST a b CDATA "]>">
]>"""
    outcome = read(rdf_xml('<x:a rdf:about="http://a/"><x:p>&f;&#33;</x:p></x:a>', prolog), "x.rdf")
    assert triples(r'<http://a/> | <http://x/p> | "http://e/\"q#!"') <= outcome.only


# --- bases, prefixes, namespaces, attributes ---

LONG = "http://x/" + "a" * 1024
BEYOND = {
    "a base": ("x.ttl", f"@base <{LONG}> . <a> <a:p> <b> .", "HG-321"),
    "bases on bases": ("x.ttl", "@base <http://x/> .\n" + "@base # <\n <aaaaaa/> .\n" * 200, "HG-321"),
    "a base of SPARQL's kind": ("x.trig", f"bAsE<{LONG}> <a> <a:p> <b> .", "HG-321"),
    "a prefix": ("x.ttl", f"PREFIX a: # comment\n <{LONG}> a:x a:y a:z .", "HG-321"),
    "a base in XML": ("x.rdf", rdf_xml(f'<x:a xml:base="{LONG}"/>'), "HG-321"),
    "bases on bases in XML": ("x.rdf", rdf_xml('<x:a xml:base="aaaaaaaaaa/"><x:b>' * 110 + "</x:b></x:a>" * 110), "HG-321"),
    "a namespace": ("x.rdf", rdf_xml(f'<x:a xmlns:y="{LONG}"/>'), "HG-321"),
    "namespaces": ("x.rdf", rdf_xml("<x:a " + " ".join(f'xmlns:a{n}="a:{n}"' for n in range(300)) + "/>"), "HG-322"),
    "attributes": ("x.rdf", rdf_xml("<x:a " + " ".join(f'x:a{n}="{n}"' for n in range(1001)) + "/>"), "HG-322"),
    "a vocabulary": ("x.jsonld", json.dumps({"@context": {"@vocab": LONG}, "a": 1}), "HG-321"),
    "a prefix of prefixes": (
        "x.jsonld", json.dumps({"@context": {f"p{n}": f"p{n + 1}:aaaaaaaaaa" for n in range(110)} | {"p110": "a:"}}), "HG-321"
    ),
    "IRIs in full": ("x.ttl", f"@prefix a: <{LONG[:1000]}> .\n" + "a:b a:b a:b" + ",a:b" * 60_000 + ".", "HG-321"),
}  # fmt: skip


@pytest.mark.parametrize("name", BEYOND)
def test_what_is_beyond_a_limit_is_refused(name: str) -> None:
    file, document, code = BEYOND[name]
    outcome = read_files({file: document, "good.nt": "<a:s> <a:p> <a:o> .\n"})
    assert outcome.ids == ["good.nt"]
    assert outcome.codes == [code]
    assert file in outcome.rejected[0].message


WITHIN = {
    "a base": ("x.ttl", f"@base <{LONG[:1000]}> . <a> <a:p> <b> ."),
    "bases, one after the other": ("x.ttl", "@base <http://example.org/a/> . <b> <a:p> <c> .\n" * 2000),
    "bases in a literal": ("x.ttl", '<a:s> <a:p> """' + "@base <some/folder/of/some/length/> .\n" * 100 + '""" .'),
    "bases in comments": ("x.ttl", "# @base <some/folder/of/some/length/> .\n" * 100 + "<a:s> <a:p> <a:o> ."),
    "a long name": ("x.ttl", f"<{LONG * 10}> <a:p> <{LONG * 10}> ."),
    "a long text": ("x.rdf", rdf_xml(f'<x:a x:b="{"text " * 10_000}"/>')),
    "namespaces, one after the other": ("x.rdf", rdf_xml('<y:a xmlns:y="http://y/"/>' * 2000)),
    "bases in XML, one after the other": ("x.rdf", rdf_xml('<x:a xml:base="http://example.org/a/" rdf:about="b"/>' * 2000)),
    "attributes": ("x.rdf", rdf_xml("<x:a " + " ".join(f'x:a{n}="{n}"' for n in range(900)) + "/>")),
    "contexts, one after the other": ("x.jsonld", json.dumps([{"@context": {f"t{n}": "a:b" for n in range(50)}, "t1": 1}] * 2000)),
    "a large context": ("x.jsonld", json.dumps({"@context": {"a": "http://a/"} | {f"t{n}": f"a:{n}" for n in range(20_000)}, "t7": 1})),
}  # fmt: skip


@pytest.mark.parametrize("name", WITHIN)
def test_what_is_merely_large_is_read(name: str) -> None:
    file, document = WITHIN[name]
    outcome = read(document, file)
    assert (outcome.ids, outcome.codes) == ([file], [])


def test_contexts_side_by_side_are_never_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contexts, "MAX_COPIES", 10)
    context = {f"t{n}": "a:b" for n in range(50)}
    assert read(json.dumps([{"@context": context, "t1": 1}] * 100), "x.jsonld").codes == []
    inside = {"@context": context, "t1": [{"@context": {"a": "a:b"}, "t2": 1}] * 100}
    assert read(json.dumps(inside), "x.jsonld").codes == ["HG-320"]


def test_the_authors_of_a_feed_have_a_limit() -> None:
    head, entry = '<feed xmlns="http://www.w3.org/2005/Atom">', "<entry><id>a:b</id></entry></feed>"
    author = "<author><name>A</name></author>"
    assert read(head + author * 100 + entry).codes == []
    outcome = read(head + author * 101 + entry)
    assert (outcome.ids, outcome.codes) == (["a:b"], ["HG-315"])


def test_a_head_with_many_namespaces_is_refused() -> None:
    def feed(count: int) -> str:
        declared = " ".join(f'xmlns:a{number}="a:{number}"' for number in range(count))
        return f"<rss {declared}><channel><item><guid>a:b</guid></item></channel></rss>"

    assert read(feed(100)).codes == []
    assert read(feed(101)).codes == ["HG-322"]
