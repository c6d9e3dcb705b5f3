"""Queries of about n characters that are small to send and might be large to answer, by name."""

from __future__ import annotations

from collections.abc import Callable

Make = Callable[[int], str]


def _each(n: int, part: str, between: str = " ") -> str:
    """As many parts as fit into n characters; `#` in a part is its number."""
    count = max(2, n // (len(part) + len(between) + 3))
    return between.join(part.replace("#", str(number)) for number in range(count))


def _ask(body: str) -> str:
    return f"ASK {{ ?a :p ?b {body} }}"


def _edges(n: int, part: str) -> str:
    return f"ASK {{ {_each(n, part, ' . ')} }}"


def _where(n: int, part: str, between: str) -> str:
    return _ask(f"FILTER({_each(n, part, between)})")


def _regex(pattern: str) -> str:
    return _ask(f'FILTER(REGEX(STR(?b), "{pattern}"))')


def _chain(n: int, edge: str = "?x{0} :p ?x{1}") -> str:
    return "ASK { " + " . ".join(edge.format(number, number + 1) for number in range(n // 18)) + " }"


def _clique(n: int) -> str:
    size = int((n / 8) ** 0.5) + 2
    return "ASK { " + " . ".join(f"?x{a} :p ?x{b}" for a in range(size) for b in range(a)) + " }"


UNREADABLE: dict[str, Make] = {
    "open quote": lambda n: 'ASK { ?a :p "' + "x " * (n // 2) + "}",
    "escaped quotes": lambda n: 'ASK { ?a :p "' + '\\"' * (n // 2),
    "open quotes, one a line": lambda n: "ASK { ?a :p " + "'\n" * (n // 2),
    "open long string": lambda n: 'ASK { ?a :p """' + 'a "b" ' * (n // 6),
    "open long string, other quote": lambda n: "ASK { ?a :p '''" + "a 'b' " * (n // 6),
    "long strings behind backslashes": lambda n: "ASK { " + '""" x" \\' * (n // 8),
    "strings in turn": lambda n: "ASK { ?a :p " + "'''\"\"\" " * (n // 7),
    "open IRI": lambda n: "ASK { ?a :p <" + "a" * n,
    "open IRIs": lambda n: "ASK { ?a :p " + "<http:" * (n // 6),
    "signs of less": lambda n: "ASK { ?a :p ?x FILTER(?x" + "<aaaa" * (n // 5),
    "long word": lambda n: "ASK { ?a " + "p" * n + " ?b }",
    "word of dots": lambda n: "ASK { ?a " + "p." * (n // 2) + " ?b }",
    "word of dashes": lambda n: "ASK { ?a " + "p-" * (n // 2) + " ?b }",
    "long unknown prefix": lambda n: "ASK { ?a " + "x" * n + ":p ?b }",
    "dots": lambda n: "ASK { ?a :p" + "." * n + " ?b }",
    "backslashes": lambda n: "ASK { ?a :p " + "\\" * n,
    "question marks": lambda n: "ASK { " + "?" * n,
    "open brackets": lambda n: "ASK { ?a :p ?b FILTER(" + "(" * n,
    "open braces": lambda n: "ASK " + "{" * n,
    "unions": lambda n: "ASK { " + "{ ?a :p ?b } UNION " * (n // 19),
    "nots": lambda n: _ask("FILTER(" + "!" * n + "?b)"),
    "minus signs": lambda n: _ask("FILTER(" + "- " * (n // 2) + "1 > 0)"),
    "brackets": lambda n: _ask("FILTER(" + "(" * (n // 2) + "?b" + ")" * (n // 2) + ")"),
    "nested blank nodes": lambda n: "ASK { ?a :p " + "[ :p " * (n // 7) + "1" + " ]" * (n // 7) + " }",
    "long sum": lambda n: _ask("FILTER(" + _each(n, "?b", " + ") + " > 1)"),
    "wrong groups": lambda n: _regex("(?=" * (n // 3)),
    "an error on the last line": lambda n: "ASK {\n" + "\n" * n + " ?a :p }",
}

LONG: dict[str, Make] = {
    "comments": lambda n: "#\n" * (n // 2) + "ASK { ?a :p ?b }",
    "long name": lambda n: "ASK { ?a :" + "p" * n + " ?b }",
    "long string": lambda n: 'ASK { ?a :p "' + "\\\\" * (n // 2) + '" }',
    "long integer": lambda n: _ask("FILTER(?b > " + "9" * n + ")"),
    "long decimal": lambda n: _ask("FILTER(?b + 1 > " + "9" * (n // 2) + "." + "9" * (n // 2) + ")"),
    "long quotient": lambda n: _ask("FILTER(?b / " + "9" * (n // 2) + ".0 > " + "8" * (n // 2) + ".1)"),
    "long product": lambda n: _ask("FILTER(?b * " + " * ".join(["9" * (n // 50)] * 49) + " > 1)"),
    "large exponent": lambda n: _ask("FILTER(?b > 1e" + "9" * n + ")"),
    "far date": lambda n: _ask('FILTER(?b > "' + "9" * n + '-01-01"^^xsd:date)'),
    "semicolons": lambda n: _ask(";" * n),
    "prefixes": lambda n: _each(n, "PREFIX p#: <http://a/#>") + " ASK { ?a p1:p ?b }",
    "long prefix": lambda n: (
        "PREFIX p: <http://a/" + "x" * (n // 2) + "> " + _ask(f"FILTER(?a IN ({_each(n, 'p:#', ', ')}))")
    ),
    "bases": lambda n: "BASE <http://a/> " + _each(n, "BASE <b#/>") + " ASK { ?a <x> ?b }",
    "deep base": lambda n: (
        "BASE <http://a/" + "b/" * (n // 4) + "> " + _ask(f"FILTER(?a IN ({_each(n, '<../#>', ', ')}))")
    ),
    "star": lambda n: _edges(n, "?a :p# ?x#"),
    "star of one property": lambda n: _edges(n, "?a :p ?x#"),
    "star of constants": lambda n: _edges(n, "?a :p# :o#"),
    "repeated edge": lambda n: _edges(n, "?a :p ?b"),
    "chain": _chain,
    "chain of properties": lambda n: _chain(n, "?x{0} :p{0} ?x{1}"),
    "clique": _clique,
    "edges apart": lambda n: _edges(n, "?x# :p ?y#"),
    "constants": lambda n: _edges(n, ":a# :p :b"),
    "types": lambda n: _edges(n, "?a a :c#"),
    "classes": lambda n: _edges(n, "?a a/rdfs:subClassOf* :c#"),
    "classes of variables": lambda n: _edges(n, "?a a/rdfs:subClassOf* ?c#"),
    "objects": lambda n: f"ASK {{ ?a :p {_each(n, '?b#', ', ')} }}",
    "collection": lambda n: f"ASK {{ ?a :p ({_each(n, '?x')}) }}",
    "blank nodes": lambda n: f"ASK {{ ?a :p {_each(n, '[ :p 1 ]', ', ')} }}",
    "ands": lambda n: _where(n, "?b > #", " && "),
    "ors": lambda n: _where(n, "?b = #", " || "),
    "ors of names": lambda n: _where(n, "?b = :n#", " || "),
    "ors of ranges": lambda n: _where(n, "(?b > #.1 && ?b < #.2)", " || "),
    "ors of texts": lambda n: _where(n, 'CONTAINS(STR(?b), "t#")', " || "),
    "ands of differences": lambda n: _where(n, "?b != #", " && "),
    "ands of ors": lambda n: _where(n, "(?b < #.1 || ?b > #.2)", " && "),
    "products": lambda n: _where(n, "?b * ?b * ?b * ?b * ?b > #", " && "),
    "filters": lambda n: _ask(_each(n, "FILTER(?b > #)")),
    "filters of texts": lambda n: _ask(_each(n, 'FILTER(CONTAINS(STR(?b), "x#"))')),
    "filters of two": lambda n: _ask(_each(n, "FILTER(?a != ?b)")),
    "list of numbers": lambda n: _ask(f"FILTER(?b IN ({_each(n, '#', ', ')}))"),
    "list of decimals": lambda n: _ask(f"FILTER(?b IN ({_each(n, '#.5', ', ')}))"),
    "list of names": lambda n: _ask(f"FILTER(?b IN ({_each(n, ':n#', ', ')}))"),
    "list of texts": lambda n: _ask(f"FILTER(STR(?b) IN ({_each(n, chr(34) + 'n#' + chr(34), ', ')}))"),
    "list of numbers, none of them": lambda n: _ask(f"FILTER(?b NOT IN ({_each(n, '#', ', ')}))"),
    "list of variables": lambda n: _ask(f"FILTER(?b IN ({_each(n, '?a', ', ')}))"),
    "list of lists": lambda n: _ask(f"FILTER(?b IN ({_each(n, '?b IN (1, 2)', ', ')}))"),
    "lists": lambda n: _ask(_each(n, f"FILTER(?b IN ({_each(300, '#', ', ')}))")),
    "rows": lambda n: _ask(f"VALUES ?b {{ {_each(n, ':n#')} }}"),
    "rows of two": lambda n: _ask(f"VALUES (?a ?b) {{ {_each(n, '(:a# #)')} }}"),
    "rows with UNDEF": lambda n: _ask(f"VALUES (?a ?b) {{ {_each(n, '(:a# UNDEF)')} }}"),
    "empty rows": lambda n: _ask(f"VALUES () {{ {_each(n, '()')} }}"),
    "wide rows": lambda n: _ask(f"VALUES ({_each(n // 2, '?x#')}) {{ ({_each(n // 2, '1')}) }}"),
    "blocks with UNDEF": lambda n: _ask(_each(n, "VALUES (?a ?b) { (:a UNDEF) (UNDEF 7) }")),
    "blocks of their own": lambda n: _ask(_each(n, "VALUES ?x# { 1 2 3 4 5 6 7 8 }") + " FILTER(?x0 + ?x1 > 100)"),
    "blocks of one variable": lambda n: _ask(_each(n, "VALUES ?b { # 7 }")),
    "selected": lambda n: f"SELECT {_each(n, '?v#')} {{ ?a :p ?b }}",
    "selected again and again": lambda n: f"SELECT {_each(n, '?a')} {{ ?a :p ?b }}",
    "counts": lambda n: f"SELECT {_each(n, '(COUNT(*) AS ?v#)')} {{ ?a :p ?b }} HAVING(COUNT(*) > 1)",
    "groups": lambda n: f"SELECT (COUNT(*) AS ?n) {{ ?a :p ?b }} GROUP BY {_each(n, '?a')} HAVING(COUNT(*) > 1)",
    "havings": lambda n: f"SELECT (COUNT(*) AS ?n) {{ ?a :p ?b }} HAVING {_each(n, '(COUNT(*) > 1)')}",
    "empty groups": lambda n: _regex("()" * (n // 2)),
    "groups of a letter": lambda n: _regex("(a)" * (n // 3)),
    "alternatives": lambda n: _regex(_each(n, "a#", "|")),
    "stars": lambda n: _regex(".*" * (n // 2)),
    "optional letters": lambda n: _regex("a?" * (n // 2)),
    "classes of letters": lambda n: _regex("\\\\pL" * (n // 5)),
    "repetitions": lambda n: _regex("(.*a){100}" * (n // 10)),
    "nested groups": lambda n: _regex("(" * (n // 3) + "a" + ")*" * (n // 3)),
    "expressions": lambda n: _ask(_each(n, 'FILTER(REGEX(STR(?b), "(.*a#){9}"))')),
}

# A watch lists every solution of what has a variable as property, so there the product itself is the answer.
PRODUCTS: dict[str, Make] = {"edges of variables": lambda n: _edges(n, "?x# ?y# ?z#")}

METRICS: dict[str, Make] = {
    "metrics of free variables": lambda n: _where(n, "hg:degree(?v#) > 3", " && "),
    "metrics": lambda n: _where(n, "hg:degree(?b) > #", " || "),
    "filters of metrics": lambda n: _ask(_each(n, "FILTER(hg:degree(?b) > #)")),
    "a metric of many properties": lambda n: _ask(f"FILTER(hg:distance(?a, ?b, {_each(n, ':p#', ', ')}) > 3)"),
    "a metric of many vertices": lambda n: _ask(f"FILTER(hg:steiner({_each(n, ':p#', ', ')}) > 3)"),
}
