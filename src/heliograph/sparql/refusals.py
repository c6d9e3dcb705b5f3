"""What SPARQL has and an interest may not use: each construct by its name, with its code and a rewrite.

One code for each class of refusal, so that a script can tell them apart; `docs/errors.md` lists them.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import NamedTuple


class Refusal(NamedTuple):
    """Why a construct is refused and what to write in its place."""

    code: str
    name: str
    fix: str


_ABSENT = "ask for what is absent from the whole document in a subscription of its own: ASK { … } HAVING (COUNT(*) = 0)"
_ONE_EACH = "subscribe once for each alternative"
_UPDATE = Refusal("HG-420", "an update", "an interest asks; write SELECT or ASK, and send data as publications")
_SLICE = Refusal(
    "HG-418",
    "LIMIT or OFFSET",
    "remove it; bound a filter's evidence with --bindings K, a watch's matches with max_matches_per_update",
)
_QUERY = Refusal("HG-419", "this query form", "write SELECT or ASK; a notification carries bindings, not a graph")

# By the keyword that opens the construct, wherever in the query it may stand.
REFUSED: dict[str, Refusal] = {
    "OPTIONAL": Refusal("HG-410", "OPTIONAL", "remove it, or subscribe a second time with its triples required"),
    "UNION": Refusal("HG-411", "UNION", f"{_ONE_EACH}, or use VALUES or IN where only a constant differs"),
    "MINUS": Refusal("HG-412", "MINUS", _ABSENT),
    "EXISTS": Refusal("HG-413", "EXISTS", "write its triples into the pattern itself"),
    "NOT EXISTS": Refusal("HG-413", "NOT EXISTS", _ABSENT),
    "GRAPH": Refusal("HG-416", "GRAPH", "remove it; each publication is one graph and is matched on its own"),
    "ORDER": Refusal("HG-417", "ORDER BY", "remove it; notifications have an order of their own"),
    "LIMIT": _SLICE._replace(name="LIMIT"),
    "OFFSET": _SLICE._replace(name="OFFSET", fix="remove it"),
    "CONSTRUCT": _QUERY._replace(name="CONSTRUCT"),
    "DESCRIBE": _QUERY._replace(name="DESCRIBE"),
    "BIND": Refusal("HG-421", "BIND", "write the expression in the FILTER that uses it"),
    "LET": Refusal("HG-421", "LET", "write the expression in the FILTER that uses it"),
    "SERVICE": Refusal("HG-422", "SERVICE", "publish the remote data; an interest sees only what is published"),
    "FROM": Refusal("HG-423", "FROM", "remove it; an interest is about whatever is published"),
    "REDUCED": Refusal("HG-429", "SELECT REDUCED", "write SELECT or SELECT DISTINCT"),
    "SELECT": Refusal("HG-415", "a sub-select", "write its triples into the pattern itself"),
}
REFUSED |= {
    word: _UPDATE._replace(name=word) for word in "INSERT DELETE LOAD CLEAR DROP CREATE ADD MOVE COPY WITH".split()
}

NESTED = Refusal("HG-428", "a group within the group", "remove the inner braces; all triples of an interest are ANDed")
QUOTED = Refusal(
    "HG-427", "a quoted triple <<…>>", "describe the statement with rdf:subject, rdf:predicate, rdf:object"
)
COLLECTED = Refusal(
    "HG-426", "an expression in SELECT", "select the variables and compute outside, or compare in FILTER"
)

GROUPED = Refusal("HG-426", "GROUP BY an expression", "group by variables: GROUP BY ?x")

AGGREGATES = frozenset("COUNT SUM MIN MAX AVG SAMPLE GROUP_CONCAT".split())
MISPLACED_COUNT = Refusal(
    "HG-424", "COUNT(*) in a FILTER", "move the condition behind the group: HAVING (COUNT(*) >= 2)"
)
_COUNT_ONLY = "COUNT(*) is the only aggregate, in SELECT (COUNT(*) AS ?n) and in HAVING"


def aggregate(name: str, shown: str) -> Refusal:
    if name == "COUNT" and "DISTINCT" in shown.upper():
        fix = "distinct values cannot be counted; COUNT(*) counts all solutions, which may be more"
    else:
        fix = f"write COUNT(*) in place of {shown}" if name == "COUNT" else _COUNT_ONLY
    return Refusal("HG-424", f"the aggregate {shown}", fix)


# Functions of SPARQL that an interest may not call, with a rewrite where there is one.
FUNCTIONS: dict[str, str] = {
    "SAMETERM": "compare with =",
    "LANGMATCHES": 'compare the tag itself: LANG(?x) = "en", or REGEX(LANG(?x), "^en(-|$)", "i")',
    "ISBLANK": "write !isIRI(?x) && !isLiteral(?x)",
    "UCASE": 'compare without case: REGEX(?x, "^text$", "i")',
    "LCASE": 'compare without case: REGEX(?x, "^text$", "i")',
    "STRLEN": 'test the length with REGEX(?x, "^.{5,}$")',
    "STRBEFORE": "test the part with STRSTARTS or REGEX",
    "STRAFTER": "test the part with STRENDS or REGEX",
    "SUBSTR": "test the part with STRSTARTS, STRENDS or REGEX",
    "YEAR": 'for dates and times alike: STRSTARTS(STR(?d), "2026-")',
    "MONTH": 'for dates and times alike: STRSTARTS(STR(?d), "2026-11-"), or REGEX(STR(?d), "^[0-9]+-11-")',
    "DAY": 'for dates and times alike: STRSTARTS(STR(?d), "2026-11-15")',
    "IF": "write (condition && a) || (!condition && b)",
    "COALESCE": "write BOUND(?x) && … where it matters",
    "ISNUMERIC": "compare the value; only numbers compare with numbers",
}
_OTHER_FUNCTIONS = (
    "IRI URI BNODE STRDT STRLANG UUID STRUUID CONCAT ENCODE_FOR_URI REPLACE ABS ROUND CEIL FLOOR RAND NOW "
    "HOURS MINUTES SECONDS TIMEZONE TZ MD5 SHA1 SHA256 SHA384 SHA512 TRIPLE SUBJECT PREDICATE OBJECT ISTRIPLE"
).split()
SUPPORTED = "BOUND STR LANG DATATYPE isIRI isLiteral CONTAINS STRSTARTS STRENDS REGEX"


def function(name: str) -> Refusal | None:
    """The refusal of a function that SPARQL has and we have not; None for a name that SPARQL does not have either."""
    if name in FUNCTIONS:
        return Refusal("HG-425", f"the function {name}", FUNCTIONS[name])
    if name in _OTHER_FUNCTIONS:
        return Refusal("HG-425", f"the function {name}", f"the functions are {SUPPORTED}")
    return None


def refused_cast(shown: str) -> Refusal:
    fix = "numbers and dates compare by value without a cast" if shown.startswith("xsd:") else f"use {SUPPORTED}"
    return Refusal("HG-425", f"the function {shown}", fix)


# --- property paths ---------------------------------------------------------------------------------------------

_PATHS = {
    "/": ("a sequence path", "name the node between: ?s {0} ?m . ?m {1} ?o"),
    "|": ("an alternative path", "use a variable: ?s ?p ?o . FILTER(?p IN ({0}, {1}))"),
    "^": ("an inverse path", "swap the ends: ?o {1} ?s"),
    "*": ("a zero-or-more path", "only a/rdfs:subClassOf* walks any number of steps"),
    "+": ("a one-or-more path", "only rdfs:subClassOf+ walks any number of steps"),
    "?": ("a zero-or-one path", "subscribe once with the triple and once without it"),
    "!": ("a negated property set", "use a variable: ?s ?p ?o . FILTER(?p NOT IN ({1}))"),
    "(": ("a path in parentheses", "the paths are a/rdfs:subClassOf* and rdfs:subClassOf+, without parentheses"),
    "{": ("a counted path", "write out the steps with variables between them"),
}
PATH_OPERATORS = frozenset("/|^*+?{")
PATH_OPENERS = frozenset("^!(")


def path(operator: str, before: str, after: str) -> Refusal:
    name, fix = _PATHS[operator]
    return Refusal("HG-414", name, fix.format(before or ":p", after or ":q"))


# --- misspelt words ---------------------------------------------------------------------------------------------

_WORDS = (
    "SELECT ASK WHERE DISTINCT FILTER PREFIX BASE VALUES UNDEF GROUP BY HAVING COUNT AS IN NOT true false BOUND "
    "STR LANG DATATYPE isIRI isURI isLiteral CONTAINS STRSTARTS STRENDS REGEX"
).split()
_BY_UPPER = {word.upper(): word for word in _WORDS}


def near(word: str) -> str | None:
    """The keyword that a misspelt word comes close to."""
    close = get_close_matches(word.upper(), _BY_UPPER, n=1, cutoff=0.7)
    return _BY_UPPER[close[0]] if close else None
