"""The options of a filter workload from the parameters of an experiment, and names for the algorithms."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from benchmarks.experiments.experiment import Run
from heliograph.workloads.filter import FilterWorkload

ALGORITHMS = {"naive": "naive", "OPS": "ops", "G-ToPSS": "gtopss", "RSS matcher": "rss", "heliograph": "indexed"}

Options = tuple[tuple[str, Any], ...]  # in a form that can be looked up

_NAMES = frozenset(field.name for field in fields(FilterWorkload))


def options(run: Run, **varied: Any) -> Options:
    """What the generator is told: the parameters of the run, of which some are varied.

    `match_share` is the share of the subscriptions that a publication matches, if `matches` does not tell how many.
    """
    given = {**run.parameters, **varied}
    told = {name: value for name, value in given.items() if name in _NAMES}
    if "match_share" in given:
        told["matches"] = max(1, round(told["subscriptions"] * given["match_share"]))
    return tuple(sorted(told.items()))
