"""Why a subscription matches a publication, or why not.

Edges and constraints are taken in the order of the query, a constraint as soon as its variables are bound. Each is kept
if it holds together with all that were kept before; the first that does not is the reason. The law: what is reported
as held has a common solution, and has none together with what is reported as failed.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import NamedTuple

from heliograph.baselines.solve import GroupKey, Plan, Solution, World
from heliograph.errors import UsageError
from heliograph.filter.encoding import Batch, decode
from heliograph.filter.evidence import evidence
from heliograph.filter.matcher import Publication
from heliograph.filter.nearest import nearest
from heliograph.model import Explanation
from heliograph.semantics.expressions import Condition
from heliograph.subscriptions import Subscription
from heliograph.syntax.query import And, Expression, Pattern, Query, Values
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
        return next(decode(batch.publications, taxonomy))
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
        evidence=shown.shown,
        held=tuple(spell_part(part, first) for part in _parts(subscription.query)),
    )


def _silent(subscription: Subscription, publication: Publication, kept: _Kept) -> Explanation:
    assert kept.failed is not None
    found = list(islice(Plan.of(kept.query).solutions(publication.world), _EXAMPLES))
    reason = _reason(kept.failed, found, publication.world)
    failed = spell_part(kept.failed) + (f": {reason}" if reason else "")
    held, total = len(kept.parts), len(_parts(subscription.query))
    return Explanation(
        verb="filter",
        subscription_id=subscription.id,
        publication_id=publication.id,
        matched=False,
        summary=f"{publication.id} does not match {subscription.id}: "
        f"{held} of {total} edges and constraints hold together, this one failed: {failed}",
        failed=failed,
        held=tuple(spell_part(part, found[0]) for part in kept.parts),
    )


def _uncounted(subscription: Subscription, publication: Publication, plan: Plan) -> Explanation:
    """The pattern has solutions, or need not have any, but no group of them satisfies HAVING."""
    counts = plan.counts(publication.world)
    largest = max(counts, key=counts.__getitem__)
    condition = "a match" if plan.query.having is None else spell_expression(plan.query.having)
    failed = f"{condition}: {_count_words(plan, largest, counts[largest])}"
    return Explanation(
        verb="filter",
        subscription_id=subscription.id,
        publication_id=publication.id,
        matched=False,
        summary=f"{publication.id} does not match {subscription.id}: {failed}",
        failed=failed,
        held=tuple(spell_part(part) for part in _parts(subscription.query)),
    )


def _count_words(plan: Plan, largest: GroupKey, count: int) -> str:
    pairs = zip(plan.query.group_by, largest, strict=True)
    group = ", ".join(f"{name} = {spell_node(term)}" for name, term in pairs if term is not None)
    return f"the largest count was {count}" + (f", of {group}" if group else "")


# --- keeping parts one by one -----------------------------------------------------------------------------------


def _keep(query: Query, world: World) -> _Kept:
    kept, parts, failed = Query(), [], None
    made: dict[int, Condition] = {}
    for part in _parts(query):
        extended = _with(kept, part)
        if next(Plan.of(extended, made).solutions(world), None) is not None:
            kept = extended
            parts.append(part)
        elif failed is None:
            failed = part
    return _Kept(kept, tuple(parts), failed)


def _parts(query: Query) -> list[Part]:
    """VALUES, edges and constraints in the order of the query; a constraint follows the edge that binds it last."""
    waiting = [part for each in query.filters for part in (each.operands if isinstance(each, And) else (each,))]
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


def spell_part(part: Part, solution: Solution | None = None) -> str:
    """A part of a query as people read it, with the values that its variables have in a solution."""
    if isinstance(part, Values):
        return f"VALUES for {' '.join(map(str, part.variables))}"
    if isinstance(part, Pattern):
        return spell_pattern(part, solution or {})
    values = _values(part, solution) if solution else ""
    return spell_expression(part) + (f" ({values})" if values else "")


def _reason(part: Part, found: list[Solution], world: World) -> str:
    """For a constraint the values it met; for an edge what was asked for in vain, and what comes nearest to it."""
    if isinstance(part, Values):
        return ""
    if not isinstance(part, Pattern):
        return "; ".join(dict.fromkeys(filter(None, (_values(part, solution) for solution in found))))
    asked = " and no ".join(dict.fromkeys(spell_pattern(part, solution) for solution in found))
    near = " and ".join(nearest(part, found[0], world))
    vain = "there is none" if asked == spell_pattern(part) else f"there is no {asked}"
    return vain + (f"; nearest: {near}" if near else "")


def _values(part: Expression, solution: Solution) -> str:
    known = (name for name in sorted(_names(part)) if name in solution)
    return ", ".join(f"{name} was {spell_node(solution[name])}" for name in known)
