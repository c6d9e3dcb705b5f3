"""Pandas, hidden from the process of the command line until something there needs it.

Where pandas is installed, PyArrow imports it at its first array from a list: a third of a second, for nothing that the
embedded engines do. Spark does need it.
"""

from __future__ import annotations

import sys


class _NoPandas:
    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError("the command line does without pandas", name=name)


def hide_pandas() -> None:
    sys.meta_path.insert(0, _NoPandas)


def show_pandas() -> None:
    """To be called before PyArrow has looked for it in vain."""
    sys.meta_path[:] = [finder for finder in sys.meta_path if finder is not _NoPandas]
