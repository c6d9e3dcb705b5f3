"""Why a subscription matches a publication, or why not.

Edges and constraints are taken in the order of the query, a constraint as soon as its variables are bound. Each is kept
if it holds together with all that were kept before; the first that does not is the reason. The law: what is reported
as held has a common solution, and has none together with what is reported as failed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import NamedTuple

from heliograph.baselines.solve import GroupKey, Plan, Solution, World
from heliograph.errors import UsageError
from heliograph.filter.encoding import Batch, decode
from heliograph.filter.evidence import evidence
from heliograph.filter.matcher import Publication
from heliograph.model import Explanation
from heliograph.semantics.expressions import Condition
from heliograph.subscriptions import Subscription
from heliograph.syntax.query import Expression, Pattern, Query, Values
from heliograph.syntax.spelling import spell_expression, spell_node, spell_pattern
from heliograph.taxonomy import Taxonomy
from heliograph.terms import Variable

SHOWN = 10  # bindings shown for a match
_EXAMPLES = 3  # values shown for a constraint that failed

Part = Pattern | Values | Expression


class _Kept(NamedTuple):
    """The parts of a query that hold together, as a query, and the first that does not."""

    query: Query
    parts: tuple[Part, ...]
    failed: Part | None


def only_publication(batch: Batch, taxonomy: Taxonomy) -> Publication:
    """The one publication of a batch."""
    if len(batch.publications.ids) == 1:
        return next(decode(batch, taxonomy))
    if not batch.publications.ids and batch.rejected:
        raise UsageError("HG-047", f"nothing is left of the publication: {batch.rejected[0].message}")
    raise UsageError(
        "HG-047",
        f"{len(batch.publications.ids)} publications to explain",
        fix="give one, such as (id, [(subject, property, object), …])",
    )


def explain(subscription: Subscription, publication: Publication) -> Explanation:
    """The explanation of one pair."""
    plan = Plan.of(subscription.query)
    if plan.matches(publication.world):
        return _matched(subscription, publication, plan)
    kept = _keep(subscription.query, publication.world)
    if kept.failed is None:
        return _uncounted(subscription, publication, plan)
    return _silent(subscription, publication, kept)


def _matched(subscription: Subscription, publication: Publication, plan: Plan) -> Explanation:
    shown = evidence(plan, publication.world, SHOWN)
    first = next(plan.solutions(publication.world), {})
    return Explanation(
        verb="filter",
        subscription_id=subscription.id,
        publication_id=publication.id,
        matched=True,
        summary=f"{publication.id} matches {subscription.id}",
        evidence=None if shown is None else shown.shown,
        held=tuple(_words(part, first) for part in _parts(subscription.query)),
    )


def _silent(subscription: Subscription, publication: Publication, kept: _Kept) -> Explanation:
    assert kept.failed is not None
    found = list(islice(Plan.of(kept.query).solutions(publication.world), _EXAMPLES))
    failed = _words(kept.failed, {}) + _found(kept.failed, found)
    total = len(_parts(subscription.query))
    return Explanation(
        verb="filter",
        subscription_id=subscription.id,
        publication_id=publication.id,
        matched=False,
        summary=f"{publication.id} does not match {subscription.id}: "
        f"{len(kept.parts)} of {total} edges and constraints hold together; this one does not: {failed}",
        failed=failed,
        held=tuple(_words(part, found[0] if found else {}) for part in kept.parts),
    )


def _uncounted(subscription: Subscription, publication: Publication, plan: Plan) -> Explanation:
    """The pattern has solutions, or need not have any, but no group of them satisfies HAVING."""
    counts = plan.counts(publication.world)
    largest = max(counts, key=counts.__getitem__, default=None)
    condition = "a match" if plan.query.having is None else spell_expression(plan.query.having)
    failed = f"{condition}: {_count_words(plan, largest, counts)}"
    return Explanation(
        verb="filter",
        subscription_id=subscription.id,
        publication_id=publication.id,
        matched=False,
        summary=f"{publication.id} does not match {subscription.id}: {failed}",
        failed=failed,
        held=tuple(_words(part, {}) for part in _parts(subscription.query)),
    )


def _count_words(plan: Plan, largest: GroupKey | None, counts: dict[GroupKey, int]) -> str:
    if largest is None:
        return "there is no group"
    pairs = zip(plan.query.group_by, largest, strict=True)
    group = ", ".join(f"{name} = {spell_node(term)}" for name, term in pairs if term is not None)
    return f"the largest count was {counts[largest]}" + (f", of {group}" if group else "")


# --- keeping parts one by one -----------------------------------------------------------------------------------


def _keep(query: Query, world: World) -> _Kept:
    kept, parts, failed = Query(), [], None
    for part in _parts(query):
        extended = _with(kept, part)
        if next(Plan.of(extended).solutions(world), None) is not None:
            kept = extended
            parts.append(part)
        elif failed is None:
            failed = part
    return _Kept(kept, tuple(parts), failed)


def _parts(query: Query) -> list[Part]:
    """VALUES, edges and constraints in the order of the query; a constraint follows the edge that binds it last."""
    waiting = list(query.filters)
    bound: set[Variable] = set()
    parts: list[Part] = []
    for part in (*query.values, *query.patterns):
        parts.append(part)
        bound.update(_with(Query(), part).variables)
        ready = [each for each in waiting if _names(each) <= bound]
        parts += ready
        waiting = [each for each in waiting if each not in ready]
    return parts + waiting


def _with(query: Query, part: Part) -> Query:
    if isinstance(part, Values):
        return replace(query, values=(*query.values, part))
    if isinstance(part, Pattern):
        return replace(query, patterns=(*query.patterns, part))
    return replace(query, filters=(*query.filters, part))


def _names(expression: Expression) -> frozenset[Variable]:
    return Condition.of(expression).variables


# --- words ------------------------------------------------------------------------------------------------------


def _words(part: Part, solution: Solution) -> str:
    if isinstance(part, Values):
        return f"VALUES for {' '.join(map(str, part.variables))}"
    if isinstance(part, Pattern):
        return spell_pattern(part, solution)
    text, values = spell_expression(part), "".join(_value_words(part, [solution]))
    return f"{text} ({values})" if values else text


def _found(part: Part, found: list[Solution]) -> str:
    """For a constraint that failed: the values its variables had; for an edge: what was asked for in vain."""
    if isinstance(part, Values) or not found:
        return ""
    if isinstance(part, Pattern):
        asked = dict.fromkeys(spell_pattern(part, solution) for solution in found)
        return "" if list(asked) == [spell_pattern(part)] else f": there is no {' and no '.join(asked)}"
    values = list(dict.fromkeys(_value_words(part, found)))
    return f" failed: {'; '.join(values)}" if values else ""


def _value_words(part: Expression, found: list[Solution]) -> Iterator[str]:
    names = sorted(_names(part))
    for solution in found:
        known = [f"{name} was {spell_node(solution[name])}" for name in names if name in solution]
        if known:
            yield ", ".join(known)
