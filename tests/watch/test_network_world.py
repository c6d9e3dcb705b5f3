"""The table of addresses: every array of a runner at work is of the type and the columns that its structure declares.

Kernels take arrays by these declarations and nothing checks them at a call, so they are checked here.
"""

from __future__ import annotations

from typing import Any

from heliograph import Watch
from heliograph.watch.layout import STRUCTURES, fields_of


def test_arrays_are_what_their_structures_declare() -> None:
    """Of an engine with a window, weights, variables and counts."""
    engine = Watch("change", algorithm="indexed", window_updates=3)
    engine.subscribe(("q", "ASK { ?x :p ?y . ?y :q ?z . ?z :p :c FILTER(?y != :c) }"))
    engine.subscribe(("n", "SELECT (COUNT(*) AS ?n) { ?x :p ?y } HAVING (COUNT(*) > 1)"))
    engine.publish([{"op": "+", "subject": "a", "property": "p", "object": "b", "weight": 0.5}])
    runner: Any = engine._strategy._queries.runner  # type: ignore[attr-defined]
    declared = [(each.__name__, field) for each in STRUCTURES for field in fields_of(each)]
    assert len(declared) > 50
    for (structure, field), array in zip(declared, runner._arrays, strict=True):
        assert array.flags.c_contiguous, (structure, field)
        columns = (field.columns,) if field.columns else ()
        assert (array.dtype, array.shape[1:]) == (field.dtype, columns), (structure, field)
