"""The three verbs on Spark: DataFrame in, DataFrame out, the same call for a batch and for a stream.

Names are loaded when first used, so what only asks for `heliograph.spark.session` learns of a missing Java or PySpark
in one sentence, not in a traceback of imports.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from heliograph.spark.exchanges import Exchanges
    from heliograph.spark.feed_source import register_feeds
    from heliograph.spark.filtering import filter
    from heliograph.spark.plans import Plans
    from heliograph.spark.reading import read
    from heliograph.spark.routing import route
    from heliograph.spark.sessions import session
    from heliograph.spark.watchers import Watchers
    from heliograph.spark.watching import watch
    from heliograph.spark.writing import write

__all__ = ["Exchanges", "Plans", "Watchers", "filter", "read", "register_feeds", "route", "session", "watch", "write"]

_HOME = {
    "Exchanges": "exchanges",
    "Plans": "plans",
    "Watchers": "watchers",
    "filter": "filtering",
    "route": "routing",
    "read": "reading",
    "register_feeds": "feed_source",
    "session": "sessions",
    "watch": "watching",
    "write": "writing",
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
