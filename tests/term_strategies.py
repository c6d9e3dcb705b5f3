"""Hostile terms and cells: quotes, newlines, NULs, unicode, and names that look like other kinds of term."""

from __future__ import annotations

from hypothesis import strategies as st

from heliograph.terms import HG, PLAIN, RDF, Term, blank, iri, literal, plain_name
from heliograph.values import XSD

_ODD = st.sampled_from([*"\"'\\<>{}|^`%:?_@#.-+/&; \t\n\r\x00\x7f\u0085\u2028éß😀٣", "\\u0041", "%41", "%", "^^"])
_ODD_NAMES = [
    *("5", "-2.5", "1e5", "true", "false", "5G", "2001-01-01", "NaN", "INF", "a", "?x", "?", "_:b", "_", "rdf:type"),
    *(
        "<x>",
        "<http://example.org/>",
        '"quoted"',
        '"',
        ":",
        "::",
        "%",
        "%41",
        "%zz",
        "a:b",
        " ",
        "\n",
        "RSS Filter",
        "é",
    ),
    *(".", "-", "+", "+5", "05", ".5", "5.", "1e", "e5", "?x y", "x>", "<x", "@en", "\\", "١٢", "\x00", "true "),
]

texts = st.one_of(st.text(max_size=12), st.lists(_ODD, max_size=6).map("".join), st.sampled_from(["", *_ODD_NAMES]))
names = st.one_of(
    st.text(min_size=1, max_size=12), st.sampled_from(_ODD_NAMES), st.lists(_ODD, min_size=1).map("".join)
)
tags = st.from_regex(r"[A-Za-z]{1,8}(-[A-Za-z0-9]{1,8}){0,2}", fullmatch=True)
_IRI_TAIL = st.text(st.characters(exclude_characters='<>"{}|^`\\', exclude_categories=("Cs", "Cc", "Zs")), max_size=12)
iri_texts = st.one_of(
    st.builds(lambda scheme, tail: f"{scheme}:{tail}", st.sampled_from(["http", "urn", "a", "x+y.z-1"]), _IRI_TAIL),
    st.builds(str.__add__, st.sampled_from([PLAIN, HG, RDF, XSD]), _IRI_TAIL),
    st.builds(
        str.__add__, st.just(PLAIN), st.sampled_from(["a", "5", "true", "%", "%41", "%C3%A9", "%ff", "a/b", "", "é"])
    ),
)
datatypes = st.one_of(
    st.sampled_from([XSD + name for name in ("integer int decimal double float boolean date dateTime string".split())]),
    st.sampled_from([XSD + "gYear", XSD + "a-b", XSD, PLAIN + "unit", "http://example.org/type#x"]),
)

subjects = st.one_of(
    names.map(plain_name),
    iri_texts.map(iri),
    st.from_regex(r"[A-Za-z0-9_]([\w.·-]{0,6}\w)?", fullmatch=True).map(blank),
)
properties = st.one_of(names.map(plain_name), iri_texts.map(iri))
numbers = st.one_of(
    st.integers().map(lambda number: literal(str(number), XSD + "integer")),
    st.decimals(allow_nan=False, allow_infinity=False).map(lambda number: literal(f"{number:f}", XSD + "decimal")),
    st.floats().map(lambda number: literal(str(number), XSD + "double")),
    st.floats(width=32).map(lambda number: literal(str(number), XSD + "float")),
)
moments = st.one_of(
    st.dates().map(lambda day: literal(day.isoformat(), XSD + "date")),
    st.datetimes(timezones=st.none() | st.timezones()).map(lambda at: literal(at.isoformat(), XSD + "dateTime")),
)
literals: st.SearchStrategy[Term] = st.one_of(
    texts.map(literal),
    st.builds(lambda text, tag: literal(text, language=tag), texts, tags),
    st.builds(literal, texts, datatypes),
    numbers,
    moments,
)
objects = st.one_of(subjects, literals)
