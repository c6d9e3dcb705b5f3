"""The shards of each root: where a publication goes that matches it.

The law: for a version of the plan a route names at least the shards that hold something below the root in that version,
and exactly those if nothing has left them since. So a publication is never kept from a shard that it must reach,
however old its publisher's version is; one shard too many costs a look-up.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

_SPARE = 64  # routes that nobody uses any more, beyond as many as are used, before they are dropped


class _State(NamedTuple):
    since: int  # the version from which on `exact` is enough
    exact: int  # a bit for each shard
    wide: int  # a bit for each shard that was ever named


class Route:
    """The shards of one root. One writer at a time; readers see one state or the next."""

    __slots__ = ("_state",)
    _state: _State

    def __init__(self, shards: int = 0, since: int = 0, older: Route | None = None) -> None:
        """From the version `since` on the shards are these; older versions may know another under the same number."""
        self._state = _State(since, shards, shards if older is None else shards | older._state.wide)

    def shards(self, version: int) -> int:
        """The shards to be asked for a version, as bits."""
        since, exact, wide = self._state
        return exact if version >= since else wide

    def become(self, shards: int, version: int) -> None:
        """From this version on, the shards are these."""
        since, exact, wide = self._state
        self._state = _State(version if exact & ~shards else since, shards, wide | shards)


class Routes:
    """The routes of whatever stands at the front, by number.

    Those of numbers that left stay in the table, for versions in which they are there; `tidy` makes another table once
    they are too many, and earlier versions keep the old one.
    """

    def __init__(self) -> None:
        self._table: dict[int, Route] = {}
        self._used: set[int] = set()

    def __len__(self) -> int:
        return len(self._used)

    @property
    def table(self) -> Mapping[int, Route]:
        return self._table

    def enter(self, number: int, version: int) -> Route:
        route = self._table[number] = Route(0, version, self._table.get(number))
        self._used.add(number)
        return route

    def leave(self, number: int) -> None:
        self._used.discard(number)

    def tidy(self) -> None:
        """To be called when no version that is taken from now on holds a number that left."""
        if len(self._table) > 2 * len(self._used) + _SPARE:
            self._table = {number: self._table[number] for number in self._used}
