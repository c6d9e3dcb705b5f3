"""Strategies for SPARQL text: whole queries of the part we accept, and what else may stand where a constant stands."""

from __future__ import annotations

from hypothesis import strategies as st

VARIABLES = ["?x", "?y", "$z", "?long_name1", "?é"]
NAMES = [":a", ":Alice", "<http://example.org/a>", "rdf:type", "rdfs:subClassOf", "rdfs:member", ":a.b", ":%41b"]
NAMES += [
    "<urn:heliograph:RSS%20Filter>",
    "dc:title",
    ":a\\-b",
    ":été",
    "<http://example.org/\\u00e9#f>",
    "xsd:integer",
    ":",
]
STRINGS = [
    '"text"',
    "'text'",
    '"""a "long" one\n"""',
    "'''it's'''",
    '"esc\\"aped\\n"',
    '"chat"@fr',
    '"Chat"@en-GB',
    '""',
    "''",
]
STRINGS += ['"2026-11-15"^^xsd:date', '"5"^^xsd:int', '"x"^^<http://example.org/type>', '"é\\u00e9"', "'a.*b'", '"i"']
NUMBERS = ["0", "5", "05", "2.50", ".5", "1e5", "1.5E-3", "123456789012345678901234567890"]
BLANKS = ["_:b", "_:b1", "_:a.b"]
BOOLEANS = ["true", "false"]
SIGNED = ["+5", "-2.5", "-1e3"]

names = st.sampled_from(NAMES)
variables = st.sampled_from(VARIABLES)
literals = st.sampled_from(STRINGS + NUMBERS + BOOLEANS + SIGNED)
constants = names | literals

# Tokens that the lifting expression takes out of a text; any of them may be put in the place of any other.
lifted = st.sampled_from(VARIABLES + NAMES + STRINGS + NUMBERS + BLANKS + ["# a comment\n", "@en", "hg:degree", "ex:a"])

spaces = st.sampled_from([" ", " ", " ", "\n", "\t", "  ", ' # why :not "\n'])


def _spaced(parts: list[str], gaps: list[str]) -> str:
    return "".join(part + gap for part, gap in zip(parts, gaps))


@st.composite
def spaced(draw: st.DrawFn, parts: list[str]) -> str:
    """The parts with white space and comments between them."""
    return _spaced(parts, draw(st.lists(spaces, min_size=len(parts), max_size=len(parts))))


@st.composite
def nodes(draw: st.DrawFn, depth: int = 1) -> str:
    """An object: a node, a blank node with properties, or a collection."""
    kind = draw(st.integers(0, 9))
    if depth and kind == 0:
        return f"[ {draw(properties(depth - 1))} ]"
    if depth and kind == 1:
        return "( " + " ".join(draw(st.lists(nodes(depth - 1), max_size=3))) + " )"
    return draw(variables | constants | st.sampled_from([*BLANKS, "[]", "()"]))


@st.composite
def properties(draw: st.DrawFn, depth: int = 1) -> str:
    """A property list: `:p :o, :o2; :q 5`."""
    lists = []
    for _ in range(draw(st.integers(1, 2))):
        verb = draw(variables | names | st.sampled_from(["a", ":p", ":q"]))
        objects = draw(st.lists(nodes(depth), min_size=1, max_size=2))
        lists.append(f"{verb} {' , '.join(objects)}")
    return " ; ".join(lists) + draw(st.sampled_from(["", " ;"]))


@st.composite
def classes(draw: st.DrawFn) -> str:
    """One of the is-a forms."""
    relation = draw(st.sampled_from(["a/rdfs:subClassOf*", "rdf:type / rdfs:subClassOf *", "rdfs:subClassOf+"]))
    return f"{draw(variables | names)} {relation} {draw(variables | names)}"


@st.composite
def triples(draw: st.DrawFn) -> str:
    if draw(st.integers(0, 4)) == 0:
        return draw(classes())
    subject = draw(variables | names | st.sampled_from([*BLANKS, "[]", "[ :p :o ]", "( 1 ?x )"]))
    return f"{subject} {draw(properties())}"


@st.composite
def expressions(draw: st.DrawFn, depth: int = 2) -> str:
    kind = draw(st.integers(0, 9)) if depth else 0
    if kind < 3:
        return draw(variables | constants)
    first, second = draw(expressions(depth - 1)), draw(expressions(depth - 1))
    if kind == 3:
        return f"({first} {draw(st.sampled_from(['=', '!=', '<', '<=', '>', '>=']))} {second})"
    if kind == 4:
        return f"({first} {draw(st.sampled_from(['&&', '||']))} {second})"
    if kind == 5:
        return f"({first} {draw(st.sampled_from(['+', '-', '*', '/']))} {second})"
    if kind == 6:
        return f"({first} {draw(st.sampled_from(['IN', 'NOT IN', 'in']))} ({second}, {first}))"
    if kind == 7:
        return f"{draw(st.sampled_from(['!', '-', '+ ', '!!']))}({first})"
    return draw(calls(first, second))


@st.composite
def calls(draw: st.DrawFn, first: str, second: str) -> str:
    one = [f"{name}({first})" for name in ("STR", "LANG", "DATATYPE", "isIRI", "isURI", "isLiteral")]
    two = [f"{name}({first}, {second})" for name in ("CONTAINS", "STRSTARTS", "strends")]
    own = ["BOUND(?x)", f'REGEX({first}, "a.*b")', f"regex({first}, '^é+$', \"i\")"]
    return draw(st.sampled_from(one + two + own))


@st.composite
def values(draw: st.DrawFn) -> str:
    cells = constants | st.just("UNDEF")
    if draw(st.booleans()):
        return f"VALUES {draw(variables)} {{ {' '.join(draw(st.lists(cells, max_size=3)))} }}"
    names = draw(st.lists(variables, min_size=1, max_size=3, unique=True))
    rows = draw(st.lists(st.lists(cells, min_size=len(names), max_size=len(names)), max_size=3))
    return f"VALUES ({' '.join(names)}) {{ {' '.join('(' + ' '.join(row) + ')' for row in rows)} }}"


@st.composite
def groups(draw: st.DrawFn) -> str:
    """The pattern in braces: triples first, then filters, values and more triples in any order."""
    parts = [draw(triples())]
    for _ in range(draw(st.integers(0, 3))):
        kind = draw(st.integers(0, 2))
        if kind == 0:
            parts.append(". " + draw(triples()))
        else:
            parts.append(f"FILTER ({draw(expressions())})" if kind == 1 else draw(values()))
            parts.append(". " + draw(triples()) if draw(st.booleans()) else "")
    return "{ " + " ".join(parts).replace("} . ", "} ").replace(") . ", ") . ") + " }"


@st.composite
def queries(draw: st.DrawFn) -> str:
    """A whole query."""
    prologue = draw(
        st.sampled_from(["", "", "PREFIX ex: <http://example.org/> ", "BASE <http://base.org/x/> PREFIX : <y#> "])
    )
    group = draw(groups())
    form = draw(st.integers(0, 5))
    if form == 0:
        return f"{prologue}ASK {group}"
    if form == 1:
        return f"{prologue}SELECT (COUNT(*) AS ?n) WHERE {group} HAVING (COUNT(*) >= {draw(st.integers(0, 9))})"
    if form == 2:
        return f"{prologue}SELECT ?x (COUNT(*) AS ?n) WHERE {group} GROUP BY ?x HAVING (COUNT(*) > 2 && ?x != 5)"
    star = draw(st.sampled_from(["*", "?x", "?x $z", "DISTINCT ?y", "DISTINCT *"]))
    where = draw(st.sampled_from(["WHERE", "where", ""]))
    return f"{prologue}SELECT {star} {where} {group} {draw(values()) if draw(st.integers(0, 4)) == 0 else ''}"
