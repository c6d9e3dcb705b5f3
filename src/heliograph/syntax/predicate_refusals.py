"""What SQL knows and predicates do not, each by its name and with a rewrite where there is one."""

from __future__ import annotations

from heliograph.errors import PredicateError
from heliograph.syntax.predicate_lexer import Token, predicate_error, unsupported

_COMPUTE = "compute the value before publishing and compare the attribute with a constant"
_QUOTE = 'write an attribute of that name in double quotes: "{name}"'
_ALONE = "give the condition alone"
_SIDES = "write an attribute and a constant around it, as in age > 30"

_FUNCTIONS = {
    "LOWER": "use ILIKE to compare without regard to case",
    "UPPER": "use ILIKE to compare without regard to case",
    "COALESCE": "write x = v OR x IS NULL",
    "IFNULL": "write x = v OR x IS NULL",
    "CONTAINS": "write tags = 'a' to ask for one element of a list, or text LIKE '%a%'",
    "ARRAY_CONTAINS": "write tags = 'a': a comparison with a list asks for one of its elements",
    "STARTS_WITH": "write x LIKE 'a%'",
    "CAST": "compare with a constant of the attribute's own type; nothing is ever cast",
    "TRY_CAST": "compare with a constant of the attribute's own type; nothing is ever cast",
    "DATE": "write the date as a string, 'YYYY-MM-DD': strings of that form compare in order of time",
    "TIMESTAMP": "write the time as a string, 'YYYY-MM-DDThh:mm:ssZ': such strings compare in order of time",
}

# Words after an operand that begin a construct of fuller SQL.
_AFTER = {
    "SIMILAR": ("SIMILAR TO", "write LIKE with % and _, or several joined with OR"),
    "REGEXP": ("a regular expression match", "write LIKE with % and _, or several joined with OR"),
    "RLIKE": ("a regular expression match", "write LIKE with % and _, or several joined with OR"),
    "GLOB": ("GLOB", "write LIKE with % for * and _ for ?"),
    "COLLATE": ("COLLATE", "strings compare by code point; use ILIKE to compare without regard to case"),
    "OVERLAPS": ("OVERLAPS", "write two comparisons joined with AND"),
    "ISNULL": ("ISNULL", "write x IS NULL"),
    "NOTNULL": ("NOTNULL", "write x IS NOT NULL"),
    "GROUP": ("GROUP BY", _ALONE),
    "ORDER": ("ORDER BY", "rank results with --rank cost"),
    "LIMIT": ("LIMIT", "limit results with --limit"),
    "HAVING": ("HAVING", _ALONE),
    "UNION": ("UNION", "join conditions with OR"),
    "INTERSECT": ("INTERSECT", "join conditions with AND"),
    "EXCEPT": ("EXCEPT", "join conditions with AND NOT"),
    "+": ("arithmetic", _COMPUTE),
    "-": ("arithmetic", _COMPUTE),
}

# Words and signs of the language itself in the place of an operand.
_MISPLACED = {
    "AND": "write a condition on each side of AND",
    "OR": "write a condition on each side of OR",
    "NOT": "NOT stands before a whole condition: NOT (x = y)",
    "end": "complete the condition, as in age > 30 AND topic = 'Sports'",
    ")": "write a condition or a constant before it",
    ",": "write a constant on each side of the comma",
    ".": "write a nested attribute as a.b",
}

# Words in the place of an operand.
_INSTEAD = {
    "SELECT": ("a sub-query (SELECT)", "list the values: x IN ('a', 'b')"),
    "WITH": ("a sub-query (WITH)", "list the values: x IN ('a', 'b')"),
    "VALUES": ("VALUES", "list the values: x IN ('a', 'b')"),
    "EXISTS": ("a sub-query (EXISTS)", "a comparison with a list already asks for one of its elements"),
    "CASE": ("CASE", "write the cases as (a AND b) OR (NOT a AND c)"),
    "INTERVAL": ("INTERVAL", _COMPUTE),
    "DISTINCT": ("DISTINCT", _ALONE),
    "ANY": ("ANY", "a comparison with a list already asks for one of its elements; join several with OR"),
    "SOME": ("SOME", "a comparison with a list already asks for one of its elements; join several with OR"),
    "ALL": ("ALL", "write NOT (x <> v): no element differs"),
}

_IS = {
    ("TRUE", False): "write x = TRUE",
    ("FALSE", False): "write x = FALSE",
    ("TRUE", True): "write x = FALSE OR x IS NULL",
    ("FALSE", True): "write x = TRUE OR x IS NULL",
    ("DISTINCT", False): "write x <> v OR x IS NULL",
    ("DISTINCT", True): "write x = v",
    ("UNKNOWN", False): "write x IS NULL",
    ("UNKNOWN", True): "write x IS NOT NULL",
}


def refuse_after_operand(text: str, token: Token) -> PredicateError:
    """The token stands where AND, OR or the end was expected."""
    if token.kind in _AFTER:
        name, fix = _AFTER[token.kind]
        return unsupported(name, text, token, fix)
    fix = "close every parenthesis once" if token.kind == ")" else "join conditions with AND or OR"
    return predicate_error("HG-451", f"expected AND, OR or the end, got {_brief(token)}", text, token, fix)


def refuse_operand(text: str, token: Token) -> PredicateError:
    """The token stands where an attribute or a constant was expected."""
    if token.kind in _INSTEAD:
        name, fix = _INSTEAD[token.kind]
        return unsupported(name, text, token, f"{fix}; or {_QUOTE.format(name=token.text)}")
    message = f"expected an attribute or a constant, got {_brief(token)}"
    if token.kind == "end":
        message = "the text ends where an attribute or a constant is expected"
    elsewhere = _QUOTE.format(name=token.text) if token.text.isalpha() else _SIDES
    return predicate_error("HG-451", message, text, token, _MISPLACED.get(token.kind, elsewhere))


def refuse_call(text: str, name: Token, following: Token) -> PredicateError:
    """A name before a parenthesis is a function, before a string it is a typed constant."""
    fix = _FUNCTIONS.get(name.text.upper())
    if following.kind == "string":
        return unsupported(f"a typed constant ({name.text} {_brief(following)})", text, name, fix or "write the string")
    if name.text.upper() in ("CAST", "TRY_CAST"):
        return unsupported(f"a cast ({name.text.upper()})", text, name, fix or _COMPUTE)
    return unsupported(f"the function {name.text}(…)", text, name, fix or _COMPUTE)


def refuse_is(text: str, token: Token, negated: bool) -> PredicateError:
    """IS without NULL."""
    fix = _IS.get((token.text.upper(), negated))
    if fix is None:
        message = f"expected NULL after IS, got {_brief(token)}"
        return predicate_error("HG-451", message, text, token, "write x IS NULL, x IS NOT NULL or x = v")
    return unsupported(f"IS {'NOT ' if negated else ''}{token.text.upper()}", text, token, fix)


def _brief(token: Token) -> str:
    if token.kind == "end":
        return "the end of the text"
    return token.text if len(token.text) <= 40 else token.text[:37] + "..."
