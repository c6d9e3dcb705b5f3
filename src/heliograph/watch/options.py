"""What a subscription may ask of its notifications, as JSON.

The keys are `mode`, `hysteresis`, `max_matches_per_update`, `initial` and `top_k_of`; null means the engine's setting.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from heliograph.errors import HeliographError, SubscriptionError, UsageError
from heliograph.sparql.query import Compare, Count, Expression, Form, Query
from heliograph.sparql.tokens import problem, tokenize
from heliograph.subscriptions import Subscription
from heliograph.terms import Term, value_of
from heliograph.values import NUMERIC
from heliograph.watch.metrics.calls import threshold_of

MODES = ("each", "change")
_KEYS = ("mode", "hysteresis", "max_matches_per_update", "initial", "top_k_of")


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
    given = _read_object(text)
    unknown = sorted(set(given) - set(_KEYS))
    if unknown:
        raise SubscriptionError(
            "HG-521", f"unknown option {unknown[0]!r}", fix=f"the options of a watch are {', '.join(_KEYS)}"
        )
    return replace(default, **dict(_READERS[key](value) for key, value in given.items() if value is not None))


def check_options(options: Options, query: Query, text: str | None = None) -> None:
    """Refuses what the engine cannot keep: each refusal names the construct and the way out; `text` is the query's."""
    for refusal in (_count_refusal(options, query), _hysteresis_refusal(options, query), _key_refusal(query, text)):
        if refusal is not None:
            raise refusal


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


def _count_refusal(options: Options, query: Query) -> HeliographError | None:
    if options.top is not None and (query.having is not None or query.group_by or query.form is Form.ASK):
        return SubscriptionError(
            "HG-525",
            "top_k_of with HAVING, GROUP BY or ASK: a set is ranked by how many matches each query has",
            fix="write SELECT without them, or drop top_k_of",
        )
    if options.top is None and query.counted and query.having is None:
        return SubscriptionError(
            "HG-524",
            "a COUNT without a condition would notify of every change",
            fix="say when it matters, as in HAVING (COUNT(*) >= 1), or rank it with the option top_k_of",
        )
    return None


def _hysteresis_refusal(options: Options, query: Query) -> HeliographError | None:
    if not options.hysteresis or threshold(query.having) is not None:
        return None
    if query.having is None and threshold_of(query, options.hysteresis) is not None:
        return None
    return SubscriptionError(
        "HG-522",
        "hysteresis on a query that has no threshold",
        fix="it needs exactly one < <= > or >= between COUNT(*) in HAVING, or an hg: function in FILTER, and a number; "
        "drop the option otherwise",
    )


def _key_refusal(query: Query, text: str | None) -> HeliographError | None:
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
        return None
    message = f"{unbound} in {clause}, which nothing in the pattern binds"
    fix = f"use {unbound} in a triple, or leave it out of {clause}"
    tokens = tokenize(text or "")
    found = (at for at, word in zip(tokens.starts, tokens.words) if word[:1] in ("?", "$") and word[1:] == unbound.name)
    start = next(found, None)
    if start is None:
        return SubscriptionError("HG-435", message, fix=fix)
    return problem(tokens.text, start, "HG-435", message, fix=fix, length=len(unbound.name) + 1)


# --- reading ----------------------------------------------------------------------------------------------------


def _read_object(text: str) -> Mapping[str, Any]:
    try:
        given = json.loads(text, object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        raise SubscriptionError(
            "HG-520", f"options that are not JSON: {error}", fix='write an object such as {"mode": "change"}'
        ) from error
    if not isinstance(given, dict):
        raise SubscriptionError(
            "HG-520", f"options that are no JSON object: {text[:60]}", fix='write an object such as {"mode": "change"}'
        )
    return given


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object in which no key stands twice."""
    given = dict(pairs)
    if len(given) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"the key {next(key for key in keys if keys.count(key) > 1)[:60]!r} stands twice")
    return given


def _wrong(key: str, value: Any, expected: str) -> SubscriptionError:
    return SubscriptionError("HG-521", f"the option {key} is {json.dumps(value)[:60]}", fix=f"write {expected}")


def _read_mode(value: Any) -> tuple[str, Any]:
    if value not in MODES:
        raise _wrong("mode", value, '"each" or "change"')
    return "mode", value


def _read_initial(value: Any) -> tuple[str, Any]:
    if not isinstance(value, bool):
        raise _wrong("initial", value, "true or false")
    return "initial", value


def _read_hysteresis(value: Any) -> tuple[str, Any]:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < math.inf:
        raise _wrong("hysteresis", value, "a number, 0 or more")
    return "hysteresis", float(min(value, 1e300))


def _read_limit(value: Any) -> tuple[str, Any]:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise _wrong("max_matches_per_update", value, "a whole number, 0 or more")
    return "limit", value


def _read_top(value: Any) -> tuple[str, Any]:
    """`{"set": "name", "k": 3}`, or just k for the set without a name."""
    name, k = ("", value) if not isinstance(value, dict) else (value.get("set", ""), value.get("k"))
    extra = isinstance(value, dict) and bool(value.keys() - {"set", "k"})
    if isinstance(k, bool) or not isinstance(k, int) or k < 1 or not isinstance(name, str) or extra:
        raise _wrong("top_k_of", value, '{"set": "name", "k": 3}')
    return "top", Top(name, k)


_READERS = {
    "mode": _read_mode,
    "initial": _read_initial,
    "hysteresis": _read_hysteresis,
    "max_matches_per_update": _read_limit,
    "top_k_of": _read_top,
}
