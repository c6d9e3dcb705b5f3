"""SPARQL text to `Query`: prologue, form, patterns, expressions, metric calls and modifiers, read once from left to
right.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from enum import StrEnum
from typing import cast

from heliograph.errors import SparqlError
from heliograph.sparql import refusals
from heliograph.sparql.evaluate import FLAGS
from heliograph.sparql.query import (
    MAX_BASES,
    MAX_COMBINATIONS,
    MAX_CONDITIONS,
    MAX_NAMESPACE,
    MAX_PATTERNS,
    MAX_RANGING,
    MAX_VARIABLES,
    SIGNATURES,
    And,
    Arithmetic,
    Call,
    ClassPattern,
    ClassRelation,
    Compare,
    Count,
    Expression,
    Form,
    In,
    Metric,
    Negate,
    Node,
    Not,
    Or,
    Pattern,
    Query,
    TriplePattern,
    Values,
    children,
    combinations,
    size_of,
    walk,
)
from heliograph.sparql.tokens import END, NODES, Cursor, Problem, Record, Role, Scope, Tokens, slot_number
from heliograph.terms import HG, RDF, RDF_TYPE, RDFS_SUBCLASS_OF, Term, Variable, iri, literal, value_of
from heliograph.values import XSD_BOOLEAN, XSD_INTEGER, XSD_STRING

# --- metric calls -----------------------------------------------------------------------------------------------
# The `hg:` functions of a watch FILTER: their names, and what each takes.
#
# The signatures are the contract's table of metrics; they are checked when a query is subscribed, so that a metric
# never meets an argument it cannot use.

_DISTANCE_WORDS = ("undirected", "weight")
_MOST_CLIQUES = 5
_MOST_HOPS = 2**63
_BY_LOWER = {name.lower(): name for name in SIGNATURES}


def parse_metric(cursor: Cursor) -> Metric:
    """A call of an `hg:` function; the cursor stands on its name."""
    opened = cursor.at
    term = cursor.fixed(Role.PROPERTY)
    assert isinstance(term, Term)
    name = term.value[len(HG) :]
    if name not in SIGNATURES:
        close = get_close_matches(name.lower(), _BY_LOWER, n=1, cutoff=0.5)
        known = f"did you mean {SIGNATURES[_BY_LOWER[close[0]]]}?" if close else None
        fix = known or f"the functions are {' '.join(SIGNATURES)}"
        raise cursor.error("HG-430", f"no function hg:{name}", fix=fix, at=opened)
    if name == "via":
        raise _wrong(cursor, "via", opened, "hg:via outside of hg:steiner")
    return Metric(name, _arguments(cursor, name, opened))


def _arguments(cursor: Cursor, name: str, opened: int) -> tuple[Expression, ...]:
    bracket = cursor.at
    cursor.expect("(", "( and the arguments")
    arguments: list[Expression] = []
    while cursor.kind != ")":
        if arguments:
            cursor.expect(",", ", or )")
        arguments.append(_argument(cursor, name, arguments))
    cursor.close(")", bracket)
    if not _complete(name, arguments):
        raise _wrong(cursor, name, opened, f"{len(arguments)} argument{'s' * (len(arguments) != 1)} of hg:{name}")
    return tuple(arguments)


def _argument(cursor: Cursor, name: str, before: list[Expression]) -> Expression:
    """The next argument, by the function and by what stands before it."""
    place = len(before)
    if cursor.ahead() == "(" and (cursor.kind in NODES or cursor.kind[:1].isalpha()):
        return _via(cursor, name)
    if name == "cliques" or (name == "density" and place == 1):
        return _whole_number(cursor, name)
    if name == "distance" and place >= 2:
        return _distance_option(cursor, before)
    if name.endswith("degree") and place == 1:
        return cursor.node(Role.PROPERTY)
    if place and isinstance(before[-1], Metric):
        raise _wrong(cursor, name, cursor.at, "a vertex behind hg:via")
    return cursor.node(Role.VERTEX)


def _whole_number(cursor: Cursor, name: str) -> Term:
    at = cursor.at
    if cursor.at_signed_number():
        raise _wrong(cursor, name, at, f"{cursor.word}{cursor.words[at + 1]} as argument of hg:{name}")
    node = cursor.fixed(Role.OPERAND)
    value = value_of(node) if isinstance(node, Term) and node.datatype == XSD_INTEGER else None
    number = value.value if value is not None and isinstance(value.value, int) else -1
    if not (1 <= number <= _MOST_CLIQUES if name == "cliques" else 0 <= number < _MOST_HOPS):
        raise _wrong(cursor, name, at, f"{cursor.words[at]} as argument of hg:{name}")
    return cast(Term, node)


def _distance_option(cursor: Cursor, before: list[Expression]) -> Node:
    at = cursor.at
    node = cursor.fixed(Role.CONSTANT)
    assert isinstance(node, Term)
    if node.is_literal and (node.value not in _DISTANCE_WORDS or node in before[2:]):
        raise _wrong(cursor, "distance", at, f"the option {cursor.words[at]} of hg:distance")
    return node


def _via(cursor: Cursor, name: str) -> Metric:
    at = cursor.at
    if name != "steiner" or cursor.kind not in NODES or cursor.fixed(Role.CALLED) != iri(HG + "via"):
        raise _wrong(cursor, name, at, f"{cursor.words[at]}(…) as argument of hg:{name}")
    bracket = cursor.at
    cursor.expect("(", "( and a property")
    properties = [cursor.node(Role.PROPERTY)]
    while cursor.accept(","):
        properties.append(cursor.node(Role.PROPERTY))
    cursor.close(")", bracket)
    return Metric("via", tuple(properties))


def _complete(name: str, arguments: list[Expression]) -> bool:
    """Whether the number of arguments is one the function takes; there are never too many of an open list."""
    count = len(arguments)
    if name in ("degree", "indegree", "outdegree"):
        return count in (1, 2)
    if name in ("transitivity", "averageClustering"):
        return count == 0
    if name == "density":
        return count in (0, 2)
    if name == "steinerPoint":
        return count >= 3
    if name == "steiner":
        return sum(not isinstance(argument, Metric) for argument in arguments) >= 2
    return count >= 2 if name == "distance" else count == 1


def _wrong(cursor: Cursor, name: str, at: int, message: str) -> Exception:
    return cursor.error("HG-432", message, fix=f"write {SIGNATURES[name]}", at=at)


# --- expressions ------------------------------------------------------------------------------------------------
# Expressions of FILTER and HAVING, by precedence climbing: `||`, `&&`, comparison and IN, `+ -`, `* /`, unary.
#
# Chains of `||` and `&&` become one node of many operands. Whatever the shape of an expression, its tree is no deeper
# than `MAX_DEPTH`, so that a walk over it may recurse.

MAX_DEPTH = 100

_COMPARISONS = frozenset({"=", "!=", "<", "<=", ">", ">="})
_ARITY = {"BOUND": 1, "STR": 1, "LANG": 1, "DATATYPE": 1, "ISIRI": 1, "ISURI": 1, "ISLITERAL": 1}
_ARITY |= {"CONTAINS": 2, "STRSTARTS": 2, "STRENDS": 2, "REGEX": 3}
_ZERO = literal("0", XSD_INTEGER)


class Clause(StrEnum):
    """Where an expression stands: COUNT(*) is for HAVING, metrics are for FILTER."""

    FILTER = "FILTER"
    HAVING = "HAVING"


def parse_constraint(cursor: Cursor, clause: Clause) -> Expression:
    """What may follow FILTER and HAVING: an expression in parentheses, or a call."""
    at = cursor.at
    called = cursor.ahead() == "(" if cursor.kind in NODES else cursor.kind[:1].isalpha()
    if cursor.kind != "(" and not called:
        raise cursor.unexpected(f"( behind {clause}")
    expression = _primary(cursor, clause)
    depth, level = 0, [expression]
    while level:
        depth += 1
        level = [child for node in level for child in children(node)]
    if depth > MAX_DEPTH:
        raise cursor.error("HG-405", f"an expression more than {MAX_DEPTH} levels deep", fix="split it", at=at)
    return expression


def _bracketed(cursor: Cursor, clause: Clause) -> Expression:
    opened = cursor.at
    cursor.expect("(", "(")
    cursor.deeper()
    expression = _disjunction(cursor, clause)
    cursor.shallower()
    cursor.close(")", opened)
    return expression


def _disjunction(cursor: Cursor, clause: Clause) -> Expression:
    operands = [_conjunction(cursor, clause)]
    while cursor.accept("||"):
        operands.append(_conjunction(cursor, clause))
    return operands[0] if len(operands) == 1 else Or(tuple(operands))


def _conjunction(cursor: Cursor, clause: Clause) -> Expression:
    operands = [_comparison(cursor, clause)]
    while cursor.accept("&&"):
        operands.append(_comparison(cursor, clause))
    return operands[0] if len(operands) == 1 else And(tuple(operands))


def _comparison(cursor: Cursor, clause: Clause) -> Expression:
    left = _sum(cursor, clause)
    kind = cursor.kind
    if kind in _COMPARISONS:
        cursor.at += 1
        return Compare(kind, left, _sum(cursor, clause))
    if kind not in ("IN", "NOT"):
        return left
    cursor.at += 1
    if kind == "NOT":
        cursor.expect("IN", "IN behind NOT")
    return In(left, tuple(_arguments_of(cursor, clause)), negated=kind == "NOT")


def _sum(cursor: Cursor, clause: Clause) -> Expression:
    left = _product(cursor, clause)
    while (operator := cursor.kind) in ("+", "-"):
        cursor.at += 1
        left = Arithmetic(operator, left, _product(cursor, clause))
    return left


def _product(cursor: Cursor, clause: Clause) -> Expression:
    left = _unary(cursor, clause)
    while (operator := cursor.kind) in ("*", "/"):
        cursor.at += 1
        left = Arithmetic(operator, left, _unary(cursor, clause))
    return left


def _unary(cursor: Cursor, clause: Clause) -> Expression:
    kind = cursor.kind
    if kind == "!":
        cursor.at += 1
        return Not(_one_deeper(cursor, clause))
    if kind in ("+", "-"):
        return _signed(cursor, clause)
    return _primary(cursor, clause)


def _one_deeper(cursor: Cursor, clause: Clause) -> Expression:
    cursor.deeper()
    operand = _unary(cursor, clause)
    cursor.shallower()
    return operand


def _signed(cursor: Cursor, clause: Clause) -> Expression:
    if cursor.at_signed_number():
        return cursor.signed_number()
    sign = cursor.word
    cursor.at += 1
    if cursor.kind in ("+", "-") and cursor.ahead() != "number":
        raise cursor.unexpected("what the sign is of, in parentheses if that has one too")
    if cursor.kind in NODES and cursor.ahead() != "(":
        operand: Expression = cursor.node(Role.VARIABLE) if cursor.kind == "var" else cursor.fixed(Role.OPERAND)
    else:
        operand = _one_deeper(cursor, clause)
    return Negate(operand) if sign == "-" else Arithmetic("+", _ZERO, operand)


def _primary(cursor: Cursor, clause: Clause) -> Expression:
    kind = cursor.kind
    if kind == "(":
        return _bracketed(cursor, clause)
    if kind in NODES:
        return _operand(cursor, clause)
    if kind in ("TRUE", "FALSE"):
        cursor.at += 1
        return literal(kind.lower(), XSD_BOOLEAN)
    if kind[:1].isalpha() and kind != "end":
        return _builtin(cursor, kind, clause)
    if kind == "<" and cursor.ahead() == "<":
        raise cursor.refused(refusals.QUOTED)
    raise cursor.unexpected("a variable, a constant, a function or (")


def _operand(cursor: Cursor, clause: Clause) -> Expression:
    if cursor.ahead() == "(":
        return _function(cursor, clause)
    if cursor.kind == "string" and cursor.ahead() in ("^^", "lang"):
        return loose_literal(cursor)
    if clause == Clause.HAVING:
        return cursor.fixed(Role.VARIABLE) if cursor.kind == "var" else cursor.node(Role.CONSTANT)
    return cursor.node(Role.OPERAND)


def loose_literal(cursor: Cursor) -> Term:
    """A literal whose tag or type stands behind a space: rare, and always part of the shape."""
    text = cursor.fixed(Role.OBJECT)
    assert isinstance(text, Term)
    if text.datatype != XSD_STRING:
        message = f"found {cursor.word}, a second tag or type of one literal"
        raise cursor.error("HG-400", message, fix="keep one of the two")
    if cursor.kind == "lang":
        language = cursor.word[1:]
        cursor.at += 1
        return literal(text.value, language=language)
    cursor.at += 1
    if cursor.kind not in ("iri", "pname"):
        raise cursor.unexpected("a datatype")
    try:
        term = cursor.scope.typed(text.value, cursor.word)
    except Problem as found:
        raise cursor.trouble(found) from None
    cursor.at += 1
    return term


# --- calls ------------------------------------------------------------------------------------------------------


def _function(cursor: Cursor, clause: Clause) -> Expression:
    """A call by IRI: the metrics, or a refusal."""
    name = cursor.fixed(Role.CALLED)
    cursor.at -= 1
    if not isinstance(name, Term) or name.is_literal:
        cursor.at += 1
        raise cursor.unexpected("an operator")
    if not name.value.startswith(HG):
        raise _meant_metric(cursor, clause) or cursor.refused(refusals.refused_cast(cursor.word))
    if cursor.verb != "watch" or clause != Clause.FILTER:
        place = f"in {clause}" if cursor.verb == "watch" else "of a filter interest"
        fix = "metrics stand in a FILTER of a watch interest"
        raise cursor.error("HG-431", f"the metric {cursor.word} {place} is not supported", fix=fix)
    return parse_metric(cursor)


def _builtin(cursor: Cursor, kind: str, clause: Clause) -> Expression:
    at = cursor.at
    if kind in refusals.AGGREGATES:
        check_count(cursor)
        if clause != Clause.HAVING:
            raise cursor.refused(refusals.MISPLACED_COUNT, at=at)
        return Count()
    if kind not in _ARITY:
        raise _unknown(cursor, kind, clause)
    cursor.at += 1
    if kind == "BOUND":
        return _bound(cursor)
    if kind == "REGEX":
        return _regex(cursor, clause)
    arguments = _arguments_of(cursor, clause)
    if len(arguments) != _ARITY[kind]:
        wanted = f"{_ARITY[kind]} argument{'s' * (_ARITY[kind] > 1)}"
        message = f"{cursor.words[at]} with {len(arguments)} arguments, expected {wanted}"
        raise cursor.error("HG-400", message, fix=f"give it {wanted}", at=at)
    return Call("ISIRI" if kind == "ISURI" else kind, tuple(arguments))


def _meant_metric(cursor: Cursor, clause: Clause) -> SparqlError | None:
    """The error of a metric that is called without its prefix, where it may stand."""
    name = _BY_LOWER.get(cursor.word.rpartition(":")[2].lower())
    if name is None or cursor.verb != "watch" or clause != Clause.FILTER:
        return None
    return cursor.error("HG-425", f"no function {cursor.word}", fix=f"did you mean {SIGNATURES[name]}?")


def _unknown(cursor: Cursor, kind: str, clause: Clause) -> SparqlError:
    if kind == "NOT" and cursor.ahead() == "EXISTS":
        return cursor.refused(refusals.REFUSED["NOT EXISTS"])
    refusal = refusals.REFUSED.get(kind) or refusals.function(kind)
    if refusal is not None:
        return cursor.refused(refusal)
    if kind == "IN":
        return cursor.error("HG-400", "IN without something before it", fix="write what is looked for: ?x IN (1, 2)")
    if cursor.ahead() == "(":
        if (meant := _meant_metric(cursor, clause)) is not None:
            return meant
        close = refusals.near(cursor.word)
        fix = f"did you mean {close}?" if close else f"the functions are {refusals.SUPPORTED}"
        return cursor.error("HG-425", f"no function {cursor.word}", fix=fix)
    return cursor.unexpected("a variable, a constant, a function or (")


def _arguments_of(cursor: Cursor, clause: Clause) -> list[Expression]:
    """A list of expressions in parentheses, perhaps empty."""
    opened = cursor.at
    cursor.expect("(", "(")
    cursor.deeper()
    arguments: list[Expression] = []
    while cursor.kind != ")":
        if arguments:
            cursor.expect(",", ", or )")
        arguments.append(_disjunction(cursor, clause))
    cursor.shallower()
    cursor.close(")", opened)
    return arguments


def _bound(cursor: Cursor) -> Call:
    opened = cursor.at
    cursor.expect("(", "( behind BOUND")
    variable = cursor.node(Role.VARIABLE)
    cursor.close(")", opened)
    return Call("BOUND", (variable,))


def _regex(cursor: Cursor, clause: Clause) -> Call:
    """REGEX(text, pattern[, flags]): pattern and flags are constants, checked here."""
    opened = cursor.at
    cursor.expect("(", "( behind REGEX")
    cursor.deeper()
    text = _disjunction(cursor, clause)
    cursor.shallower()
    cursor.expect(",", ", and the pattern of REGEX")
    _want_constant(cursor, "the pattern of REGEX")
    pattern_at = cursor.at
    cursor.at += 1
    flags = _flags(cursor) if cursor.accept(",") else ""
    behind, cursor.at = cursor.at, pattern_at
    pattern = cursor.node(Role.REGEX_I if flags else Role.REGEX)
    cursor.at = behind
    cursor.close(")", opened)
    return Call("REGEX", (text, pattern, literal(flags)) if flags else (text, pattern))


def _want_constant(cursor: Cursor, what: str) -> None:
    if cursor.kind != "string" or cursor.ahead() not in (",", ")"):
        fix = 'write it as a string, "…"; only constant patterns can be checked and indexed'
        raise cursor.error("HG-434", f"{what} is not a constant string", fix=fix)


def _flags(cursor: Cursor) -> str:
    _want_constant(cursor, "the flags of REGEX")
    flags = cursor.fixed(Role.CONSTANT)
    assert isinstance(flags, Term)
    if flags.value not in FLAGS or flags.datatype != XSD_STRING:
        fix = 'the only flag is "i", no difference between upper and lower case; (?s) and (?m) go into the pattern'
        raise cursor.error("HG-434", f"the flags {cursor.words[cursor.at - 1]} of REGEX", fix=fix, at=cursor.at - 1)
    return flags.value


def check_count(cursor: Cursor) -> None:
    """Steps over COUNT(*); any other aggregate is refused by its own text."""
    at = cursor.at
    if cursor.kind != "COUNT" or cursor.ahead() != "(" or cursor.ahead(2) != "*":
        words = cursor.words[at : at + 5]
        closed = words.index(")") + 1 if ")" in words else 2
        shown = cursor.kind + " ".join(words[1:closed]).replace("( ", "(").replace(" )", ")")
        raise cursor.refused(refusals.aggregate(cursor.kind, shown))
    cursor.at += 3
    cursor.close(")", at + 1)


# --- triple patterns --------------------------------------------------------------------------------------------
# Triple patterns of SPARQL text: property lists, object lists, blank nodes, collections, and the two is-a paths.
#
# Blank nodes become hidden variables. Every other property path is refused by its name.

_FIRST, _REST, _NIL = iri(RDF + "first"), iri(RDF + "rest"), iri(RDF + "nil")
_OPENERS = NODES | {"[", "(", "+", "-", "TRUE", "FALSE"}

Verb = Node | ClassRelation


def starts_triples(cursor: Cursor) -> bool:
    return cursor.kinds[cursor.at] in _OPENERS


def parse_triples(cursor: Cursor, patterns: list[Pattern]) -> None:
    """The triples of one subject, added to `patterns`."""
    if cursor.kind in ("[", "("):
        optional = cursor.ahead() not in ("]", ")")
        subject = _compound(cursor, patterns)
        if optional and not _starts_verb(cursor):
            return
    else:
        subject = cursor.node(Role.SUBJECT)
    _property_list(cursor, subject, patterns)


def _starts_verb(cursor: Cursor) -> bool:
    return cursor.kind in NODES or cursor.kind == "a" or cursor.kind in refusals.PATH_OPENERS


def _property_list(cursor: Cursor, subject: Node, patterns: list[Pattern]) -> None:
    _objects(cursor, subject, _verb(cursor), patterns)
    while cursor.accept(";"):
        if _starts_verb(cursor):
            _objects(cursor, subject, _verb(cursor), patterns)


def _objects(cursor: Cursor, subject: Node, verb: Verb, patterns: list[Pattern]) -> None:
    """A list of objects; the triple of each stands before the triples that describe it, as a reader meets them."""
    while True:
        place = len(patterns)
        if not isinstance(verb, ClassRelation):
            patterns.insert(place, TriplePattern(subject, verb, _node(cursor, patterns)))
        else:
            node = _compound(cursor, patterns) if cursor.kind in ("[", "(") else cursor.node(Role.CLASS)
            patterns.insert(place, ClassPattern(verb, subject, node))
        if not cursor.accept(","):
            return


def _node(cursor: Cursor, patterns: list[Pattern]) -> Node:
    """A node in the place of an object."""
    kind = cursor.kinds[cursor.at]
    if kind in NODES:
        if kind == "string" and cursor.ahead() in ("^^", "lang"):
            return loose_literal(cursor)
        return cursor.node(Role.OBJECT)
    if kind in ("[", "("):
        return _compound(cursor, patterns)
    if kind in ("TRUE", "FALSE"):
        cursor.at += 1
        return literal(kind.lower(), XSD_BOOLEAN)
    if cursor.at_signed_number():
        return cursor.signed_number()
    if kind == "<" and cursor.ahead() == "<":
        raise cursor.refused(refusals.QUOTED)
    raise cursor.unexpected("an object: a variable, an IRI, a literal, [ or (")


def _compound(cursor: Cursor, patterns: list[Pattern]) -> Node:
    """`[]`, `[ property list ]` or `( … )`."""
    cursor.deeper()
    opened = cursor.at
    cursor.at += 1
    if cursor.kinds[opened] == "(":
        node = _collection(cursor, patterns, opened)
    else:
        node = cursor.fresh()
        if cursor.kind != "]":
            _property_list(cursor, node, patterns)
        cursor.close("]", opened)
    cursor.shallower()
    return node


def _collection(cursor: Cursor, patterns: list[Pattern], opened: int) -> Node:
    """`( … )`: a chain of rdf:first and rdf:rest."""
    if cursor.accept(")"):
        return _NIL
    head = cell = cursor.fresh()
    while True:
        place = len(patterns)
        patterns.insert(place, TriplePattern(cell, _FIRST, _node(cursor, patterns)))
        if cursor.kind == ")":
            break
        following = cursor.fresh()
        patterns.append(TriplePattern(cell, _REST, following))
        cell = following
    patterns.append(TriplePattern(cell, _REST, _NIL))
    cursor.close(")", opened)
    return head


# --- the property, or one of the is-a paths ---------------------------------------------------------------------


def _verb(cursor: Cursor) -> Verb:
    at = cursor.at
    kind = cursor.kinds[at]
    if kind in NODES:
        if cursor.kinds[at + 1] in refusals.PATH_OPERATORS and _at_path(cursor, at + 1):
            return _path(cursor)
        return cursor.node(Role.PREDICATE)
    if kind != "a":
        raise _no_verb(cursor)
    cursor.at += 1
    return _is_a(cursor) if _at_path(cursor, cursor.at) else RDF_TYPE


def misplaced_metric(cursor: Cursor, at: int) -> Exception | None:
    """Why an `hg:` function is no part of a triple, if one stands there."""
    word = cursor.words[at]
    if not word.startswith("hg:") or cursor.kinds[at + 1] != "(":
        return None
    fix = f"put the condition in FILTER( ), as in FILTER({word}(…) >= 3), in a watch interest"
    return cursor.error("HG-431", f"the metric {word} outside of a FILTER is not supported", fix=fix, at=at)


def _no_verb(cursor: Cursor) -> Exception:
    if cursor.kind == "(" and (misplaced := misplaced_metric(cursor, cursor.at - 1)):
        return misplaced
    if cursor.kind in refusals.PATH_OPENERS:
        after = cursor.words[cursor.at + 1] if cursor.ahead() in NODES or cursor.ahead() == "a" else ""
        return cursor.refused(refusals.path(cursor.kind, "", after))
    return cursor.unexpected("a property: a variable, an IRI or a")


def _at_path(cursor: Cursor, at: int) -> bool:
    """Whether a path operator follows a property; `+5` behind it is an object."""
    return cursor.kinds[at] in refusals.PATH_OPERATORS and not cursor.at_signed_number(at)


def _path(cursor: Cursor) -> Verb:
    name = cursor.fixed(Role.PREDICATE)
    if name == RDF_TYPE:
        return _is_a(cursor)
    if name != RDFS_SUBCLASS_OF or not cursor.accept("+") or _at_path(cursor, cursor.at):
        raise _refused_path(cursor)
    return ClassRelation.SUBCLASS_OF


def _is_a(cursor: Cursor) -> ClassRelation:
    """The rest of `a/rdfs:subClassOf*`, behind its first step."""
    if cursor.kind != "/" or cursor.ahead() not in NODES or cursor.ahead(2) != "*":
        raise _refused_path(cursor)
    cursor.at += 1
    second = cursor.fixed(Role.PREDICATE)
    if second != RDFS_SUBCLASS_OF:
        cursor.at -= 2
        raise _refused_path(cursor)
    cursor.at += 1
    if _at_path(cursor, cursor.at):
        raise _refused_path(cursor)
    return ClassRelation.IS_A


def _refused_path(cursor: Cursor) -> Exception:
    """The refusal of the path whose first operator the cursor stands on, with the names around it."""
    before = cursor.words[cursor.at - 1]
    after = cursor.words[cursor.at + 1] if cursor.ahead() in NODES or cursor.ahead() == "a" else ""
    refusal = refusals.path(cursor.kind, before, after)
    if before == "a" and cursor.kind == "/" and cursor.ahead(2) == "+":
        refusal = refusal._replace(fix=f"name the class between: ?s a ?c . ?c {after}+ ?o")
    return cursor.refused(refusal)


# --- the query --------------------------------------------------------------------------------------------------
# SPARQL text to `Query`: prologue, form, group and modifiers, each read once from left to right.
#
# The grammar is the contract's part of SPARQL 1.1. What the rest of SPARQL has is refused by name where it stands.


@dataclass(slots=True)
class Draft:
    """A query in the making."""

    form: Form = Form.SELECT
    distinct: bool = False
    star: bool = False
    selected: list[Variable] = field(default_factory=list)
    selected_at: list[int] = field(default_factory=list)
    counts: list[Variable] = field(default_factory=list)
    counts_at: list[int] = field(default_factory=list)
    patterns: list[Pattern] = field(default_factory=list)
    filters: list[Expression] = field(default_factory=list)
    values: list[Values] = field(default_factory=list)
    values_at: list[int] = field(default_factory=list)
    group_by: list[Variable] = field(default_factory=list)
    conditions: int = 0  # what filters and having count for the limit
    having: list[Expression] = field(default_factory=list)

    @property
    def counted(self) -> bool:
        return bool(self.counts or self.group_by or self.having)


def parse(tokens: Tokens, scope: Scope, verb: str, record: Record | None = None) -> tuple[Draft, Scope]:
    """The draft of a query and the scope its prologue makes."""
    cursor = Cursor(tokens, scope, verb, record)
    _prologue(cursor)
    draft = Draft()
    _form(cursor, draft)
    _where(cursor, draft)
    _modifiers(cursor, draft)
    if cursor.kind == "UNION":
        raise cursor.refused(refusals.REFUSED["UNION"])
    if cursor.kind == "GROUP":
        raise cursor.error("HG-400", "GROUP BY behind HAVING", fix="write GROUP BY first")
    if cursor.kind != "end":
        raise cursor.unexpected(END)
    _check(cursor, draft)
    return draft, cursor.scope


def finish(draft: Draft) -> Query:
    """The query of a whole draft."""
    having = (draft.having[0] if len(draft.having) == 1 else And(tuple(draft.having))) if draft.having else None
    query = Query(
        form=draft.form,
        patterns=tuple(draft.patterns),
        filters=tuple(draft.filters),
        values=tuple(draft.values),
        projection=() if draft.counted else tuple(dict.fromkeys(draft.selected)),
        distinct=draft.distinct,
        counted=draft.counted,
        group_by=tuple(dict.fromkeys(draft.group_by)),
        having=having,
        count_names=tuple(dict.fromkeys(draft.counts)),
    )
    return replace(query, projection=query.named_variables) if draft.star else query


# --- prologue and form ------------------------------------------------------------------------------------------


def _prologue(cursor: Cursor) -> None:
    """PREFIX and BASE, in any order and number; a later one overrides."""
    if cursor.kind not in ("PREFIX", "BASE"):
        return
    prefixes = dict(cursor.scope.prefixes)
    base, bases = cursor.scope.base, 0
    while cursor.kind in ("PREFIX", "BASE"):
        declares_prefix = cursor.kind == "PREFIX"
        cursor.at += 1
        if declares_prefix:
            name = cursor.word
            if cursor.kind != "pname" or name[-1] != ":" or name.count(":") > 1:
                raise cursor.unexpected("a prefix such as ex:")
            cursor.at += 1
            prefixes[name[:-1]] = _namespace(cursor)
        else:
            base, bases = _namespace(cursor), bases + 1
            if bases > MAX_BASES:
                raise _too_large(cursor, f"more than {MAX_BASES} BASE", "declare it once", at=cursor.at - 2)
        cursor.scope = Scope(prefixes, base)


def _too_large(cursor: Cursor, what: str, fix: str, at: int | None = None) -> SparqlError:
    return cursor.error("HG-436", f"too large a query: {what}", fix=fix, at=at)


def _namespace(cursor: Cursor) -> str:
    if cursor.kind != "iri":
        raise cursor.unexpected("an IRI in angle brackets")
    try:
        value = cursor.scope.iri(cursor.word)
    except Problem as found:
        raise cursor.trouble(found) from None
    cursor.at += 1
    if len(value) > MAX_NAMESPACE:
        what = f"an IRI of {len(value):,} characters for PREFIX or BASE, of at most {MAX_NAMESPACE:,}"
        raise _too_large(cursor, what, "declare a shorter one", at=cursor.at - 1)
    return value


def _form(cursor: Cursor, draft: Draft) -> None:
    if cursor.accept("ASK"):
        draft.form = Form.ASK
    elif cursor.accept("SELECT"):
        _selection(cursor, draft)
    elif cursor.kind in refusals.REFUSED:
        raise cursor.refused(refusals.REFUSED[cursor.kind])
    else:
        raise cursor.unexpected("SELECT or ASK")
    if cursor.kind == "FROM":
        raise cursor.refused(refusals.REFUSED["FROM"])


_GROUPING = frozenset({"COUNT", "GROUP", "HAVING"})
_OPERATORS = frozenset({"=", "!=", "<", "<=", ">", ">=", "+", "-", "*", "/", "&&", "||", "IN"})


def _selection(cursor: Cursor, draft: Draft) -> None:
    if cursor.kind == "REDUCED":
        raise cursor.refused(refusals.REFUSED["REDUCED"])
    draft.distinct = cursor.accept("DISTINCT")
    if cursor.accept("*"):
        draft.star = True
        return
    grouped = not _GROUPING.isdisjoint(cursor.kinds)
    while True:
        if cursor.kind in NODES:
            draft.selected_at.append(cursor.at)
            draft.selected.append(_variable(cursor, "SELECT", fixed=grouped))
            if len(draft.selected) > MAX_VARIABLES:
                what = f"more than {MAX_VARIABLES:,} variables in SELECT"
                raise _too_large(cursor, what, "write SELECT *, or fewer of them", at=cursor.at - 1)
        elif cursor.kind == "(":
            _count_column(cursor, draft)
        else:
            break
    if not draft.selected and not draft.counts:
        raise cursor.unexpected("*, variables or (COUNT(*) AS ?n)")


def _variable(cursor: Cursor, clause: str, fixed: bool = True) -> Variable:
    """A variable; one that is compared with others is fixed, as it decides whether the query is right."""
    if cursor.kind != "var":
        raise cursor.unexpected(f"a variable in {clause}")
    node = cursor.fixed(Role.VARIABLE) if fixed else cursor.node(Role.VARIABLE)
    assert isinstance(node, Variable)
    return node


def _count_column(cursor: Cursor, draft: Draft) -> None:
    """`(COUNT(*) AS ?n)`, the only expression in SELECT."""
    opened = cursor.at
    cursor.at += 1
    if cursor.kind not in refusals.AGGREGATES:
        if cursor.word.startswith("hg:"):
            fix = "metrics stand in a FILTER of a watch interest"
            raise cursor.error("HG-431", f"the metric {cursor.word} in SELECT is not supported", fix=fix)
        raise cursor.refused(refusals.COLLECTED)
    check_count(cursor)
    cursor.expect("AS", "AS and a variable")
    draft.counts_at.append(cursor.at)
    draft.counts.append(_variable(cursor, "AS"))
    if draft.counts[-1] in draft.counts[:-1]:
        raise cursor.error("HG-407", f"two counts named {draft.counts[-1]}", fix="drop one of them", at=cursor.at - 1)
    cursor.close(")", opened)
    if len(draft.counts) > MAX_VARIABLES:
        raise _too_large(cursor, f"more than {MAX_VARIABLES:,} counts", "one is enough", at=opened)


# --- the group --------------------------------------------------------------------------------------------------


def _where(cursor: Cursor, draft: Draft) -> None:
    worded = cursor.accept("WHERE")
    opened = cursor.at
    cursor.expect("{", "{" if worded else "WHERE or {")
    while cursor.kind != "}":
        at = cursor.at
        if starts_triples(cursor):
            parse_triples(cursor, draft.patterns)
            if len(draft.patterns) > MAX_PATTERNS:
                raise _too_large(cursor, f"more than {MAX_PATTERNS} triple patterns", "split it into several", at=at)
            if not cursor.accept(".") and starts_triples(cursor):
                raise misplaced_metric(cursor, cursor.at) or cursor.unexpected(". between triples")
            continue
        if cursor.accept("FILTER"):
            draft.filters.append(parse_constraint(cursor, Clause.FILTER))
            _count_condition(cursor, draft, draft.filters[-1], at)
        elif cursor.accept("VALUES"):
            draft.values_at.append(at)
            draft.values.append(_values(cursor))
        else:
            raise _no_element(cursor, opened)
        cursor.accept(".")
    cursor.close("}", opened)


def _count_condition(cursor: Cursor, draft: Draft, condition: Expression, at: int) -> None:
    draft.conditions += size_of(condition)
    if draft.conditions > MAX_CONDITIONS:
        what = f"more than {MAX_CONDITIONS:,} operators and functions in its conditions"
        raise _too_large(cursor, what, "compare with a list, ?x IN (…) or NOT IN (…), or split it into several", at=at)


def _no_element(cursor: Cursor, opened: int) -> SparqlError:
    """Why what stands in the group is no part of it."""
    if cursor.kind in refusals.REFUSED:
        return cursor.refused(refusals.REFUSED[cursor.kind])
    if cursor.kind == "{":
        return cursor.refused(_nested(cursor))
    if cursor.kind == "<" and cursor.ahead() == "<":
        return cursor.refused(refusals.QUOTED)
    if cursor.kind == "end":
        cursor.close("}", opened)
    if cursor.kind in _OPERATORS and cursor.kinds[cursor.at - 1] == ")":
        fix = "put the whole condition in parentheses, as in FILTER(STR(?x) > 5)"
        return cursor.error("HG-400", f"found {cursor.word} behind a condition that is complete", fix=fix)
    behind_triple = cursor.kinds[cursor.at - 1] not in ("{", ".")
    return cursor.unexpected(". ; , FILTER, VALUES or }" if behind_triple else "a triple, FILTER, VALUES or }")


def _nested(cursor: Cursor) -> refusals.Refusal:
    """A group within the group is a sub-select, a part of a UNION, or merely nested."""
    if cursor.ahead() == "SELECT":
        return refusals.REFUSED["SELECT"]
    depth, at = 0, cursor.at
    while at < len(cursor.kinds) - 1:
        depth += (cursor.kinds[at] == "{") - (cursor.kinds[at] == "}")
        at += 1
        if depth == 0:
            break
    following = cursor.kinds[at]
    return refusals.REFUSED[following] if following in ("UNION", "MINUS") else refusals.NESTED


def _values(cursor: Cursor) -> Values:
    if cursor.kind in NODES:
        variables = (_variable(cursor, "VALUES"),)
        rows = _block(cursor, lambda: (_data(cursor),))
        return Values(variables, rows)
    opened = cursor.at
    cursor.expect("(", "a variable or ( and variables")
    named: list[Variable] = []
    while cursor.kind != ")" and cursor.kind != "end":
        at = cursor.at
        named.append(_variable(cursor, "VALUES"))
        if named[-1] in named[:-1]:
            raise cursor.error("HG-406", f"{named[-1]} twice in VALUES", fix="name each variable once", at=at)
        if len(named) > MAX_VARIABLES:
            raise _too_large(cursor, f"more than {MAX_VARIABLES:,} variables in VALUES", "name fewer of them", at=at)
    cursor.close(")", opened)
    return Values(tuple(named), _block(cursor, lambda: _row(cursor, len(named))))


def _block(cursor: Cursor, row: Callable[[], tuple[Term | None, ...]]) -> tuple[tuple[Term | None, ...], ...]:
    opened = cursor.at
    cursor.expect("{", "{ and the values")
    rows: list[tuple[Term | None, ...]] = []
    while cursor.kind != "}" and cursor.kind != "end":
        rows.append(row())
    cursor.close("}", opened)
    return tuple(rows)


def _row(cursor: Cursor, width: int) -> tuple[Term | None, ...]:
    opened = cursor.at
    cursor.expect("(", "( and a row of VALUES, or }")
    row: list[Term | None] = []
    while cursor.kind != ")" and cursor.kind != "end":
        row.append(_data(cursor))
    cursor.close(")", opened)
    if len(row) != width:
        message = f"{len(row)} value{'s' * (len(row) != 1)} for {width} variable{'s' * (width != 1)} of VALUES"
        raise cursor.error("HG-406", message, fix="write one for each, UNDEF where it is free", at=opened)
    return tuple(row)


def _data(cursor: Cursor) -> Term | None:
    """One value: a constant, or None for UNDEF. (A slot is a variable; the type says what it will be.)"""
    kind = cursor.kind
    if cursor.accept("UNDEF"):
        return None
    if kind in ("TRUE", "FALSE"):
        cursor.at += 1
        return literal(kind.lower(), XSD_BOOLEAN)
    if kind == "string" and cursor.ahead() in ("^^", "lang"):
        return loose_literal(cursor)
    if kind in NODES:
        return cast(Term, cursor.node(Role.CONSTANT))
    if cursor.at_signed_number():
        return cast(Term, cursor.signed_number())
    raise cursor.unexpected("a value: an IRI, a literal or UNDEF")


# --- behind the group -------------------------------------------------------------------------------------------


def _modifiers(cursor: Cursor, draft: Draft) -> None:
    if cursor.accept("GROUP"):
        _group_by(cursor, draft)
    if cursor.accept("HAVING"):
        _having(cursor, draft)
    if cursor.kind in refusals.REFUSED:
        raise cursor.refused(refusals.REFUSED[cursor.kind])
    if cursor.accept("VALUES"):
        draft.values_at.append(cursor.at - 1)
        draft.values.append(_values(cursor))


def _group_by(cursor: Cursor, draft: Draft) -> None:
    cursor.expect("BY", "BY behind GROUP")
    while not draft.group_by or cursor.kind in NODES:
        if cursor.kind == "(" or (cursor.kind[:1].isalpha() and cursor.ahead() == "("):
            raise cursor.refused(refusals.GROUPED)
        draft.group_by.append(_variable(cursor, "GROUP BY"))
        if len(draft.group_by) > MAX_VARIABLES:
            what = f"more than {MAX_VARIABLES:,} variables in GROUP BY"
            raise _too_large(cursor, what, "group by fewer of them", at=cursor.at - 1)


def _having(cursor: Cursor, draft: Draft) -> None:
    while not draft.having or cursor.kind == "(" or cursor.ahead() == "(":
        at = cursor.at
        condition = parse_constraint(cursor, Clause.HAVING)
        named = [node for node in walk(condition) if isinstance(node, Variable) and slot_number(node) is None]
        stray = next((variable for variable in named if variable not in draft.group_by), None)
        if stray is not None:
            fix = f"write COUNT(*) for the count, or add {stray} to GROUP BY"
            at = next(index for index in range(at, cursor.at) if cursor.words[index][1:] == stray.name)
            raise cursor.error("HG-407", f"{stray} in HAVING is no variable of GROUP BY", fix=fix, at=at)
        draft.having.append(condition)
        _count_condition(cursor, draft, condition, at)


# --- the whole --------------------------------------------------------------------------------------------------


def _check(cursor: Cursor, draft: Draft) -> None:
    """What can only be checked when the whole query is known."""
    metric = any(isinstance(node, Metric) for condition in draft.filters for node in walk(condition))
    if not draft.patterns and not draft.values and not metric:
        fix = "write at least one triple; ?s ?p ?o matches any"
        raise cursor.error(
            "HG-408", "a query without a pattern would match everything", fix=fix, at=len(cursor.kinds) - 2
        )
    if draft.counted and draft.form is Form.SELECT:
        _check_grouping(cursor, draft)
    if cursor.record is not None:
        return  # slots have no names yet: a template compares those that fill them
    bound = {node for pattern in draft.patterns for node in pattern}
    if combinations(draft.values, bound) > MAX_COMBINATIONS:
        what = f"rows of VALUES with more than {MAX_COMBINATIONS:,} combinations"
        fix = "bind their variables in triples and leave UNDEF out, join the blocks into one, or split the query"
        raise _too_large(cursor, what, fix, at=draft.values_at[-1])
    free = finish(draft).ranging if metric else ()
    if len(free) > MAX_RANGING:
        what = f"more than {MAX_RANGING} variables that only metrics name, {free[MAX_RANGING]} being one"
        at = next(index for index, word in enumerate(cursor.words) if word[1:] == free[MAX_RANGING].name)
        raise _too_large(cursor, what, "bind variables of metrics in triples: free ones range over all vertices", at=at)


def _check_grouping(cursor: Cursor, draft: Draft) -> None:
    if draft.star:
        at = cursor.kinds.index("*")
        fix = "write SELECT (COUNT(*) AS ?n), with the variables of GROUP BY in front"
        raise cursor.error("HG-407", "SELECT * with GROUP BY or HAVING", fix=fix, at=at)
    grouped = frozenset(draft.group_by)
    for variable, at in zip(draft.selected, draft.selected_at):
        if variable not in grouped:
            fix = f"add GROUP BY {variable} behind the group, or remove {variable}"
            raise cursor.error("HG-407", f"{variable} is selected beside a count but not grouped", fix=fix, at=at)
    scoped: set[object] = {node for pattern in draft.patterns for node in pattern}
    scoped.update(variable for block in draft.values for variable in block.variables)
    for variable, at in zip(draft.counts, draft.counts_at):
        if variable in scoped:
            fix = "give the count a name that the pattern does not use"
            raise cursor.error("HG-407", f"the count is named {variable}, a variable of the pattern", fix=fix, at=at)
