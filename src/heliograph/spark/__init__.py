"""The three verbs on Spark: DataFrame in, DataFrame out, the same call for a batch and for a stream.

Names are loaded when first used, so a program that asks for `heliograph.spark.session` where Java or PySpark is missing
gets one sentence, not a traceback of imports.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from heliograph.spark.environment import session
    from heliograph.spark.feed_source import register_feeds
    from heliograph.spark.filter_job import Plans, filter
    from heliograph.spark.frames import read
    from heliograph.spark.output import write
    from heliograph.spark.route_job import Exchanges, route
    from heliograph.spark.watch_job import Watchers, watch

__all__ = ["Exchanges", "Plans", "Watchers", "filter", "read", "register_feeds", "route", "session", "watch", "write"]

_HOME = {
    "Exchanges": "route_job",
    "Plans": "filter_job",
    "Watchers": "watch_job",
    "filter": "filter_job",
    "read": "frames",
    "register_feeds": "feed_source",
    "route": "route_job",
    "session": "environment",
    "watch": "watch_job",
    "write": "output",
}


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'heliograph.spark' has no attribute {name!r}")
    from heliograph.spark.environment import check_environment

    check_environment()
    value = getattr(import_module(f"heliograph.spark.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
