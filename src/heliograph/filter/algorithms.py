"""The strategies of a filter by name. All of them give the same notifications.

`auto` looks at pairs while there is little to do and changes to the index when that pays; `indexed` always uses the
index; the others are the seeds' algorithms and what they compare with.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from heliograph.baselines.filter_naive import NaiveMatcher
from heliograph.filter.auto import AutoMatcher
from heliograph.filter.matcher import Matcher
from heliograph.filter.pairwise import PairwiseMatcher
from heliograph.taxonomy import Taxonomy
from heliograph.vocabulary import Vocabulary

DEFAULT = "auto"

Maker = Callable[[Vocabulary, Taxonomy], Matcher]


def _auto(vocabulary: Vocabulary, taxonomy: Taxonomy) -> Matcher:
    return AutoMatcher(vocabulary, taxonomy)


def _indexed(vocabulary: Vocabulary, taxonomy: Taxonomy) -> Matcher:
    from heliograph.filter.indexed import IndexedMatcher

    return IndexedMatcher(vocabulary, taxonomy)


def _naive(vocabulary: Vocabulary, taxonomy: Taxonomy) -> Matcher:
    return PairwiseMatcher(NaiveMatcher(), taxonomy)


def _ops(vocabulary: Vocabulary, taxonomy: Taxonomy) -> Matcher:
    from heliograph.baselines.filter_ops import OpsMatcher

    return PairwiseMatcher(OpsMatcher(), taxonomy)


def _gtopss(vocabulary: Vocabulary, taxonomy: Taxonomy) -> Matcher:
    from heliograph.baselines.filter_gtopss import GToPSSMatcher

    return PairwiseMatcher(GToPSSMatcher(), taxonomy)


def _rss(vocabulary: Vocabulary, taxonomy: Taxonomy) -> Matcher:
    from heliograph.baselines.filter_rss import RssMatcher

    return PairwiseMatcher(RssMatcher(), taxonomy)


ALGORITHMS: Mapping[str, Maker] = {
    "auto": _auto,
    "indexed": _indexed,
    "naive": _naive,
    "ops": _ops,
    "gtopss": _gtopss,
    "rss": _rss,
}


def matcher_of(algorithm: str, vocabulary: Vocabulary, taxonomy: Taxonomy) -> Matcher:
    return ALGORITHMS[algorithm](vocabulary, taxonomy)
