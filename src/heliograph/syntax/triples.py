"""Triple patterns of SPARQL text: property lists, object lists, blank nodes, collections, and the two is-a paths.

Blank nodes become hidden variables. Every other property path is refused by its name.
"""

from __future__ import annotations

from heliograph.syntax import refusals
from heliograph.syntax.cursor import Cursor
from heliograph.syntax.expressions import loose_literal
from heliograph.syntax.nodes import Role
from heliograph.syntax.query import ClassPattern, ClassRelation, Node, Pattern, TriplePattern
from heliograph.syntax.tokens import NODES
from heliograph.terms import RDF, RDF_TYPE, RDFS_SUBCLASS_OF, iri, literal
from heliograph.values import XSD_BOOLEAN

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
    _object(cursor, subject, verb, patterns)
    while cursor.accept(","):
        _object(cursor, subject, verb, patterns)


def _object(cursor: Cursor, subject: Node, verb: Verb, patterns: list[Pattern]) -> None:
    """One object; its triple stands before the triples that describe it, as a reader meets them."""
    place = len(patterns)
    if not isinstance(verb, ClassRelation):
        patterns.insert(place, TriplePattern(subject, verb, _node(cursor, patterns)))
    else:
        node = _compound(cursor, patterns) if cursor.kind in ("[", "(") else cursor.node(Role.CLASS)
        patterns.insert(place, ClassPattern(verb, subject, node))


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
    cursor.deeper()
    node = _brackets(cursor, patterns) if cursor.kind == "[" else _collection(cursor, patterns)
    cursor.shallower()
    return node


def _brackets(cursor: Cursor, patterns: list[Pattern]) -> Node:
    """`[]` or `[ property list ]`."""
    opened = cursor.at
    cursor.at += 1
    node = cursor.fresh()
    if cursor.kind != "]":
        _property_list(cursor, node, patterns)
    cursor.close("]", opened)
    return node


def _collection(cursor: Cursor, patterns: list[Pattern]) -> Node:
    """`( … )`: a chain of rdf:first and rdf:rest."""
    opened = cursor.at
    cursor.at += 1
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
    if name == RDFS_SUBCLASS_OF and cursor.kind == "+":
        cursor.at += 1
        return _whole_path(cursor, ClassRelation.SUBCLASS_OF)
    raise _refused_path(cursor)


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
    return _whole_path(cursor, ClassRelation.IS_A)


def _whole_path(cursor: Cursor, relation: ClassRelation) -> ClassRelation:
    if _at_path(cursor, cursor.at):
        raise _refused_path(cursor)
    return relation


def _refused_path(cursor: Cursor) -> Exception:
    """The refusal of the path whose first operator the cursor stands on, with the names around it."""
    before = cursor.words[cursor.at - 1]
    after = cursor.words[cursor.at + 1] if cursor.ahead() in NODES or cursor.ahead() == "a" else ""
    refusal = refusals.path(cursor.kind, before, after)
    if before == "a" and cursor.kind == "/" and cursor.ahead(2) == "+":
        refusal = refusal._replace(fix=f"name the class between: ?s a ?c . ?c {after}+ ?o")
    return cursor.refused(refusal)
