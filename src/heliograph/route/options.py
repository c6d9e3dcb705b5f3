"""How an event is routed: the options of `publish`, checked once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypedDict

from heliograph.errors import UsageError

_MOST = 2**62  # a larger number means as much: no exchange has so many nodes


class Choices(TypedDict, total=False):
    """The keyword options of `Route.publish` and `Route.route`."""

    paths: bool
    rank: str | None
    limit: int | None
    subscribers_only: bool
    hops: int | None


@dataclass(frozen=True, slots=True)
class Options:
    """`rank` is "cost" or None; `limit` counts results per event; `hops` bounds the edges of a path."""

    paths: bool = False
    rank: str | None = None
    limit: int | None = None
    subscribers_only: bool = False
    hops: int | None = None

    def __post_init__(self) -> None:
        if self.rank not in (None, "cost"):
            raise UsageError("HG-065", f"results cannot be ranked by {self.rank!r}", fix="write cost")
        for name in ("limit", "hops"):
            object.__setattr__(self, name, _count(name, getattr(self, name)))

    @property
    def evidence(self) -> bool:
        """Whether results carry their path; ranking implies it."""
        return self.paths or self.rank is not None

    @property
    def alone(self) -> bool:
        """Whether each event has to walk by itself: for its paths, or to count their edges."""
        return self.evidence or self.hops is not None


def check_match(match: Any) -> str | None:
    """The comparison of labels, by name."""
    if match not in (None, "superset", "subset", "intersects"):
        fix = "write superset, subset or intersects"
        raise UsageError("HG-062", f"labels cannot be compared by {match!r}", fix=fix)
    return match if match is None else str(match)


def _count(name: str, value: Any) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise UsageError("HG-063", f"{name} is {value!r}", fix="write a whole number from 0")
    return min(value, _MOST)
