"""The filter's algorithms of the seeds, by the name under which they are asked for; all give the same answers."""

from __future__ import annotations

from collections.abc import Mapping

from heliograph.baselines.filter_gtopss import GToPSSMatcher
from heliograph.baselines.filter_naive import NaiveMatcher
from heliograph.baselines.filter_ops import OpsMatcher
from heliograph.baselines.filter_rss import RssMatcher

SeedMatcher = NaiveMatcher | OpsMatcher | GToPSSMatcher | RssMatcher

ALGORITHMS: Mapping[str, type[SeedMatcher]] = {
    "naive": NaiveMatcher,
    "ops": OpsMatcher,
    "gtopss": GToPSSMatcher,
    "rss": RssMatcher,
}
