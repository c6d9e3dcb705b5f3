"""The table of addresses: under every name stands an array of just the type and the columns that kernels take it for.

Nothing checks that at a call, so it is checked here, for every array of a machine at work.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
from numba import int32
from numba.np.numpy_support import as_dtype

from heliograph import Watch
from heliograph.watch import network_kernels as network_world
from heliograph.watch.layout import PARTS_OF_WORLD


class Taken(NamedTuple):
    """What kernels take an array for: numbers, or rows of so many columns."""

    name: str
    dtype: np.dtype[Any]
    columns: int


def taken() -> Iterator[Taken]:
    """Every `_line("Part.array", dtype)` and `_rows("Part.array", columns[, dtype])` of the module."""
    for call in ast.walk(ast.parse(inspect.getsource(network_world))):
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
            continue
        if call.func.id in ("_line", "_rows"):
            name, *rest = (eval(ast.unparse(each), vars(network_world)) for each in call.args)
            columns, dtype = (0, rest[0]) if call.func.id == "_line" else (rest[0], (*rest, int32)[1])
            yield Taken(name, as_dtype(dtype), columns)


@pytest.fixture(scope="module")
def arrays() -> dict[str, Any]:
    """All arrays of an engine with a window, weights, variables and counts, by name."""
    engine = Watch("change", algorithm="indexed", window_updates=3)
    engine.subscribe(("q", "ASK { ?x :p ?y . ?y :q ?z . ?z :p :c FILTER(?y != :c) }"))
    engine.subscribe(("n", "SELECT (COUNT(*) AS ?n) { ?x :p ?y } HAVING (COUNT(*) > 1)"))
    engine.publish([{"op": "+", "subject": "a", "property": "p", "object": "b", "weight": 0.5}])
    machine: Any = engine._strategy._enrolment.machine  # type: ignore[attr-defined]
    names = [f"{part.__name__}.{name}" for part in PARTS_OF_WORLD for name in part._fields]
    return dict(zip(names, machine._world._arrays, strict=True))


def test_arrays_are_what_kernels_take_them_for(arrays: dict[str, Any]) -> None:
    found = list(taken())
    assert len(found) > 50
    for name, dtype, columns in found:
        array = arrays[name]
        assert array.flags.c_contiguous, name
        assert (array.dtype, array.shape[1:]) == (dtype, (columns,) if columns else ()), name


def test_no_array_is_taken_twice_under_different_types() -> None:
    names = [each.name for each in taken()]
    assert len(set(names)) == len(names)
