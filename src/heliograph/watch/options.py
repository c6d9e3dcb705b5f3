"""What a subscription may ask of its notifications, as JSON.

The keys are `mode`, `hysteresis`, `max_matches_per_update`, `initial` and `top_k_of`; null means the engine's setting.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from heliograph.errors import SubscriptionError, UsageError
from heliograph.sparql.query import Compare, Count, Expression, Form, Query
from heliograph.sparql.tokens import problem, tokenize
from heliograph.subscriptions import Subscription
from heliograph.terms import Term, value_of
from heliograph.values import NUMERIC
from heliograph.watch.metrics.calls import threshold_of

MODES = ("each", "change")
MOST_MATCHES = 1_000_000  # reported of one update: a query that matches more often has exploded


class Top(NamedTuple):
    """Membership in a set of subscriptions of which the k most frequent are reported."""

    name: str
    k: int


@dataclass(frozen=True, slots=True)
class Options:
    """How a subscription is notified; the engine's own settings where it does not say."""

    mode: str = "each"
    initial: bool = False
    hysteresis: float = 0.0
    limit: int = MOST_MATCHES
    top: Top | None = None


class Subscribed(NamedTuple):
    """A subscription, and how it is notified."""

    subscription: Subscription
    options: Options


def check_mode(mode: Any) -> str:
    if mode not in MODES:
        raise UsageError("HG-072", f"mode is {mode!r}", fix="use 'each' or 'change'")
    return str(mode)


def read_options(text: str | None, default: Options) -> Options:
    """The options of one subscription, from its JSON text."""
    if not text:
        return default
    try:
        given = json.loads(text, object_pairs_hook=_once)
        wrong = None if isinstance(given, dict) else f"options that are no JSON object: {text[:60]}"
    except (ValueError, RecursionError) as error:
        wrong = f"options that are not JSON: {error}"
    if wrong is not None:
        raise SubscriptionError("HG-520", wrong, fix='write an object such as {"mode": "change"}')
    unknown = sorted(set(given) - set(_READERS))
    if unknown:
        raise SubscriptionError(
            "HG-521", f"unknown option {unknown[0]!r}", fix=f"the options of a watch are {', '.join(_READERS)}"
        )
    found: dict[str, Any] = {}
    for key, value in given.items():
        name, read, expected = _READERS[key]
        if value is not None:
            found[name] = read(value)
            if found[name] is None:
                message = f"the option {key} is {json.dumps(value)[:60]}"
                raise SubscriptionError("HG-521", message, fix=f"write {expected}")
    return replace(default, **found)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object in which no key stands twice."""
    given = dict(pairs)
    if len(given) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"the key {next(key for key in keys if keys.count(key) > 1)[:60]!r} stands twice")
    return given


def _whole(value: Any, least: int) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= least else None


def _hysteresis(value: Any) -> float | None:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(min(value, 1e300)) if is_number and 0 <= value < math.inf else None


def _top(value: Any) -> Top | None:
    """`{"set": "name", "k": 3}`, or just k for the set without a name."""
    given = value if isinstance(value, dict) else {"k": value}
    name, k = given.get("set", ""), _whole(given.get("k"), 1)
    return Top(name, k) if k is not None and isinstance(name, str) and given.keys() <= {"set", "k"} else None


# By key: the field of `Options`, what is read of a value (None where it does not fit), and what would fit.
_READERS: dict[str, tuple[str, Callable[[Any], Any], str]] = {
    "mode": ("mode", lambda value: value if value in MODES else None, '"each" or "change"'),
    "hysteresis": ("hysteresis", _hysteresis, "a number, 0 or more"),
    "max_matches_per_update": ("limit", lambda value: _whole(value, 0), "a whole number, 0 or more"),
    "initial": ("initial", lambda value: value if isinstance(value, bool) else None, "true or false"),
    "top_k_of": ("top", _top, '{"set": "name", "k": 3}'),
}


# --- what a query may be asked for ------------------------------------------------------------------------------


def check_options(options: Options, query: Query, text: str | None = None) -> None:
    """Refuses what the engine cannot keep: each refusal names the construct and the way out; `text` is the query's."""
    if options.top is not None and (query.having is not None or query.group_by or query.form is Form.ASK):
        raise SubscriptionError(
            "HG-525",
            "top_k_of with HAVING, GROUP BY or ASK: a set is ranked by how many matches each query has",
            fix="write SELECT without them, or drop top_k_of",
        )
    if options.top is None and query.counted and query.having is None:
        groups = " ".join(("GROUP BY", *map(str, query.group_by), "")) if query.group_by else ""
        fix = f"say behind the braces when to notify: {{ … }} {groups}HAVING (COUNT(*) >= 10)"
        if not query.group_by:  # which top_k_of refuses
            fix += ', or rank queries by their counts with the options {"top_k_of": {"set": "name", "k": 3}}'
        raise SubscriptionError("HG-524", "a COUNT without a condition: a watch notifies when one changes", fix=fix)
    counted = query.having is not None
    compared = threshold(query.having) if counted else threshold_of(query, options.hysteresis)
    if options.hysteresis and compared is None:
        raise SubscriptionError(
            "HG-522",
            "hysteresis on a query that has no threshold",
            fix="it needs exactly one < <= > or >= between COUNT(*) in HAVING, or an hg: function in FILTER, and a "
            "number; drop the option otherwise",
        )
    _check_keys(query, text)


def threshold(having: Expression | None) -> tuple[str, float] | None:
    """(operator, limit) where a condition is COUNT(*) against a number, COUNT(*) standing left; else None."""
    if not isinstance(having, Compare) or having.operator not in _FLIPPED:
        return None
    if isinstance(having.left, Count) and (limit := _number(having.right)) is not None:
        return having.operator, limit
    if isinstance(having.right, Count) and (limit := _number(having.left)) is not None:
        return _FLIPPED[having.operator], limit
    return None


_HUGE = 10**300  # beyond any count; keeps the limit within a float
_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


def _number(node: Expression) -> float | None:
    value = value_of(node) if isinstance(node, Term) else None
    if value is None or value.kind not in NUMERIC:
        return None
    return float(min(max(value.value, -_HUGE), _HUGE))  # type: ignore[arg-type]


def _check_keys(query: Query, text: str | None) -> None:
    """Refuses a variable that nothing binds where matches are told apart by it, for as long as the graph lives.

    It is legal SPARQL. In a filter it merely stays unbound, and `lint` reports it (HG-719); the same holds for a plain
    SELECT in a watch, which tells matches apart by all variables of the pattern.
    """
    names, clause = query.group_by, "GROUP BY"
    if not names and query.distinct:
        names, clause = query.projection, "SELECT DISTINCT"
    known = frozenset(query.variables) if names else frozenset()
    unbound = next((name for name in names if name not in known), None)
    if unbound is None:
        return
    message = f"{unbound} in {clause}, which nothing in the pattern binds"
    fix = f"use {unbound} in a triple, or leave it out of {clause}"
    tokens = tokenize(text or "")
    found = (at for at, word in zip(tokens.starts, tokens.words) if word[:1] in ("?", "$") and word[1:] == unbound.name)
    start = next(found, None)
    if start is None:
        raise SubscriptionError("HG-435", message, fix=fix)
    raise problem(tokens.text, start, "HG-435", message, fix=fix, length=len(unbound.name) + 1)
