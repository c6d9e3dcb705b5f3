"""SPARQL text to `Query`: prologue, form, group and modifiers, each read once from left to right.

The grammar is the contract's part of SPARQL 1.1. What the rest of SPARQL has is refused by name where it stands.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import cast

from heliograph.errors import SparqlError
from heliograph.syntax import refusals
from heliograph.syntax.cursor import END, Cursor, Record
from heliograph.syntax.expressions import Clause, check_count, loose_literal, parse_constraint, stray_variable
from heliograph.syntax.limits import (
    MAX_BASES,
    MAX_COMBINATIONS,
    MAX_CONDITIONS,
    MAX_NAMESPACE,
    MAX_PATTERNS,
    MAX_RANGING,
    MAX_VARIABLES,
    combinations,
    size_of,
)
from heliograph.syntax.nodes import Problem, Role, Scope
from heliograph.syntax.query import And, Expression, Form, Metric, Pattern, Query, Values, walk
from heliograph.syntax.tokens import NODES, Tokens
from heliograph.syntax.triples import misplaced_metric, parse_triples, starts_triples
from heliograph.terms import Term, Variable, literal
from heliograph.values import XSD_BOOLEAN


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
    if cursor.kind != "end":
        raise _surplus(cursor)
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
            name = _prefix_name(cursor)
            prefixes[name] = _namespace(cursor)
        else:
            base, bases = _namespace(cursor), bases + 1
            if bases > MAX_BASES:
                raise _too_large(cursor, f"more than {MAX_BASES} BASE", "declare it once", at=cursor.at - 2)
        cursor.scope = Scope(prefixes, base)


def _too_large(cursor: Cursor, what: str, fix: str, at: int | None = None) -> SparqlError:
    return cursor.error("HG-436", f"too large a query: {what}", fix=fix, at=at)


def _namespace(cursor: Cursor) -> str:
    value = _iri(cursor)
    if len(value) > MAX_NAMESPACE:
        what = f"an IRI of {len(value):,} characters for PREFIX or BASE, of at most {MAX_NAMESPACE:,}"
        raise _too_large(cursor, what, "declare a shorter one", at=cursor.at - 1)
    return value


def _prefix_name(cursor: Cursor) -> str:
    if cursor.kind != "pname" or cursor.word[-1] != ":" or cursor.word.count(":") > 1:
        raise cursor.unexpected("a prefix such as ex:")
    cursor.at += 1
    return cursor.words[cursor.at - 1][:-1]


def _iri(cursor: Cursor) -> str:
    if cursor.kind != "iri":
        raise cursor.unexpected("an IRI in angle brackets")
    try:
        value = cursor.scope.iri(cursor.word)
    except Problem as found:
        raise cursor.trouble(found) from None
    cursor.at += 1
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
            _count(cursor, draft)
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


def _count(cursor: Cursor, draft: Draft) -> None:
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
        raise _too_large(cursor, f"more than {MAX_VARIABLES:,} counts", "one tells as much", at=opened)


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
        stray = stray_variable(condition, draft.group_by)
        if stray is not None:
            fix = f"write COUNT(*) for the count, or add {stray} to GROUP BY"
            at = next(index for index in range(at, cursor.at) if cursor.words[index][1:] == stray.name)
            raise cursor.error("HG-407", f"{stray} in HAVING is no variable of GROUP BY", fix=fix, at=at)
        draft.having.append(condition)
        _count_condition(cursor, draft, condition, at)


def _surplus(cursor: Cursor) -> SparqlError:
    if cursor.kind == "UNION":
        return cursor.refused(refusals.REFUSED["UNION"])
    if cursor.kind == "GROUP":
        return cursor.error("HG-400", "GROUP BY behind HAVING", fix="write GROUP BY first")
    return cursor.unexpected(END)


# --- the whole --------------------------------------------------------------------------------------------------


def _check(cursor: Cursor, draft: Draft) -> None:
    """What can only be judged when the whole query is known."""
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
    if draft.values:
        _check_values(cursor, draft)
    if metric:
        _check_metrics(cursor, draft)


def _check_values(cursor: Cursor, draft: Draft) -> None:
    """Refuses blocks whose rows have too many combinations."""
    bound = {node for pattern in draft.patterns for node in pattern}
    if combinations(draft.values, bound) > MAX_COMBINATIONS:
        what = f"rows of VALUES with more than {MAX_COMBINATIONS:,} combinations"
        fix = "bind their variables in triples and leave UNDEF out, join the blocks into one, or split the query"
        raise _too_large(cursor, what, fix, at=draft.values_at[-1])


def _check_metrics(cursor: Cursor, draft: Draft) -> None:
    free = ranging(finish(draft))
    if len(free) > MAX_RANGING:
        what = f"more than {MAX_RANGING} variables that only metrics name, {free[MAX_RANGING]} being one"
        at = next(index for index, word in enumerate(cursor.words) if word[1:] == free[MAX_RANGING].name)
        raise _too_large(cursor, what, "bind variables of metrics in triples: free ones range over all vertices", at=at)


def ranging(query: Query) -> list[Variable]:
    """The variables of metrics that no triple and no VALUES binds."""
    bound = frozenset(Query(patterns=query.patterns, values=query.values).variables)
    return [name for name in query.variables if name not in bound]


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
    scoped = scoped_variables(draft) if draft.counts else set()
    for variable, at in zip(draft.counts, draft.counts_at):
        if variable in scoped:
            fix = "give the count a name that the pattern does not use"
            raise cursor.error("HG-407", f"the count is named {variable}, a variable of the pattern", fix=fix, at=at)


def scoped_variables(draft: Draft) -> set[object]:
    """The variables that the group binds."""
    ends: set[object] = {node for pattern in draft.patterns for node in pattern}
    return ends.union(variable for block in draft.values for variable in block.variables)
