"""The strategies of a filter by name. All of them give the same notifications.

`auto` looks at pairs while there is little to do and changes to the index when that pays; `indexed` always uses the
index; the others are the seeds' algorithms and what they compare with.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from heliograph.baselines.filter_algorithms import ALGORITHMS as PAIRWISE
from heliograph.filter.auto import AutoMatcher
from heliograph.filter.matcher import Matcher, PairMatcher
from heliograph.filter.pairwise import PairwiseMatcher
from heliograph.taxonomy import Taxonomy
from heliograph.vocabulary import Vocabulary

DEFAULT = "auto"

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


def matcher_of(algorithm: str, vocabulary: Vocabulary, taxonomy: Taxonomy) -> Matcher:
    return ALGORITHMS[algorithm](vocabulary, taxonomy)
