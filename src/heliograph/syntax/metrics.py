"""The `hg:` functions of a watch FILTER: their names, and what each takes.

The signatures are the contract's table of metrics; they are checked when a query is subscribed, so that a metric
never meets an argument it cannot use.
"""

from __future__ import annotations

from heliograph.syntax.cursor import Cursor
from heliograph.syntax.nodes import Role
from heliograph.syntax.query import Expression, Metric, Node
from heliograph.syntax.signatures import SIGNATURES, near_metric
from heliograph.syntax.tokens import NODES
from heliograph.terms import HG, Term, iri
from heliograph.values import XSD_INTEGER

_DISTANCE_WORDS = ("undirected", "weight")
_MOST_CLIQUES = 5


def parse_metric(cursor: Cursor) -> Metric:
    """A call of an `hg:` function; the cursor stands on its name."""
    opened = cursor.at
    name = _name(cursor)
    if name == "via":
        raise _wrong(cursor, "via", opened, "hg:via outside of hg:steiner")
    return Metric(name, _arguments(cursor, name, opened))


def _name(cursor: Cursor) -> str:
    term = cursor.fixed(Role.PROPERTY)
    assert isinstance(term, Term)
    name = term.value[len(HG) :]
    if name not in SIGNATURES:
        known = near_metric(name)
        fix = f"did you mean {SIGNATURES[known]}?" if known else f"the functions are {' '.join(SIGNATURES)}"
        raise cursor.error("HG-430", f"no function hg:{name}", fix=fix, at=cursor.at - 1)
    return name


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
    if not isinstance(node, Term) or node.datatype != XSD_INTEGER or not _in_range(name, int(node.value)):
        raise _wrong(cursor, name, at, f"{cursor.words[at]} as argument of hg:{name}")
    return node


def _in_range(name: str, number: int) -> bool:
    return 1 <= number <= _MOST_CLIQUES if name == "cliques" else number >= 0


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
