"""The strategies of a filter by name. All of them give the same notifications.

`auto` looks at pairs while there is little to do and changes to the index when that pays; `indexed` always uses the
index; the others are the seeds' algorithms and what they compare with. A plan of shards is run with the index.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from heliograph.baselines.filter_algorithms import ALGORITHMS as PAIRWISE
from heliograph.errors import UsageError
from heliograph.filter.auto import AutoMatcher
from heliograph.filter.matcher import Matcher, PairMatcher
from heliograph.filter.pairwise import PairwiseMatcher
from heliograph.kernels.cache import announce
from heliograph.partition.plan import Context, Plan
from heliograph.partition.scheme import Scheme
from heliograph.taxonomy import Taxonomy
from heliograph.vocabulary import Vocabulary

DEFAULT = "auto"
SHARDED = ("auto", "indexed")

Maker = Callable[[Vocabulary, Taxonomy], Matcher]


def _indexed(vocabulary: Vocabulary, taxonomy: Taxonomy) -> Matcher:
    from heliograph.filter.indexed import IndexedMatcher

    return IndexedMatcher(vocabulary, taxonomy)


def _paired(pairs: Callable[[], PairMatcher]) -> Maker:
    return lambda _, taxonomy: PairwiseMatcher(pairs(), taxonomy)


ALGORITHMS: Mapping[str, Maker] = {
    "auto": AutoMatcher,
    "indexed": _indexed,
    **{name: _paired(pairs) for name, pairs in PAIRWISE.items()},
}


def matcher_of(algorithm: str, scheme: Scheme | None, context: Context) -> Matcher:
    """The strategy by this name; with a scheme, a plan of shards."""
    if algorithm not in ALGORITHMS:
        raise UsageError("HG-045", f"no algorithm {algorithm!r}", fix=f"use {' or '.join(map(repr, ALGORITHMS))}")
    if scheme is None:
        return ALGORITHMS[algorithm](context.vocabulary, context.taxonomy)
    if algorithm not in SHARDED:
        raise UsageError("HG-052", f"no shards with the algorithm {algorithm!r}", fix="leave the algorithm out")
    return _sharded(scheme, context)


def renewed(matcher: Matcher, algorithm: str, scheme: Scheme | None, context: Context) -> Matcher:
    """The strategy by this name, as far as another one of that name has come, without its subscriptions."""
    fresh = matcher_of(algorithm, scheme, context)
    if isinstance(fresh, AutoMatcher) and isinstance(matcher, AutoMatcher):
        fresh.follow(matcher)
    return fresh


def _sharded(scheme: Scheme, context: Context) -> Matcher:
    from heliograph.filter.sharded import ShardedMatcher

    announce("matching.verify")
    return ShardedMatcher(Plan(scheme, context))
