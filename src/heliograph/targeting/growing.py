"""Arrays that only grow: what was handed out stays as it was while the one writer goes on.

The law: a view shows the elements that there were when it was taken, for ever; appending costs a copy of everything
only when the capacity, which doubles, is used up.
"""

from __future__ import annotations

from typing import Any, Self, TypeVar

import numpy as np
import numpy.typing as npt

_LEAST = 16
_Arrays = TypeVar("_Arrays", bound=tuple[Any, ...])


class Growing:
    """A one-dimensional array of one type with room behind its elements."""

    def __init__(self, dtype: Any, first: tuple[int, ...] = ()) -> None:
        self._data: npt.NDArray[Any] = np.zeros(_LEAST, dtype)
        self._size = 0
        self.extend(first)

    @classmethod
    def of(cls, values: npt.NDArray[Any]) -> Self:
        """Begins with an array, which may be mapped: it is copied as soon as something is added, and not before."""
        made = cls(values.dtype)
        made._data, made._size = values, len(values)
        return made

    def __len__(self) -> int:
        return self._size

    def extend(self, values: Any) -> None:
        """Appends values of the array's type, such as a list of numbers or another array."""
        added = np.asarray(values, self._data.dtype)
        size = self._size + len(added)
        if size > len(self._data):
            room = np.zeros(max(size, 2 * len(self._data)), self._data.dtype)
            room[: self._size] = self._data[: self._size]
            self._data = room
        if len(added):  # nothing fits behind an array that is full and cannot be written to
            self._data[self._size : size] = added
            self._size = size

    def replace(self, changes: dict[int, int]) -> None:
        """Other values for some elements, in a copy: views that were taken keep the old ones."""
        if changes:
            self._data = self._data.copy()
            self._data[list(changes)] = list(changes.values())

    def view(self) -> Any:
        """The elements so far, read-only."""
        shown = self._data[: self._size]
        shown.flags.writeable = False
        return shown


def fixed(arrays: _Arrays) -> _Arrays:
    """A NamedTuple whose arrays cannot be written to, the one type that kernels are compiled for."""
    kind: Any = type(arrays)
    return kind(*map(_view, arrays))  # type: ignore[no-any-return]


def _view(part: Any) -> Any:
    if isinstance(part, np.ndarray):
        part = np.ascontiguousarray(part).view()
        part.flags.writeable = False
    return part
