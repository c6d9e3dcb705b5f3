"""How fast columns are interned: terms a second on one core, first reading of each term included."""

from __future__ import annotations

import time

import numpy as np
import pyarrow as pa

from heliograph.terms import Position
from heliograph.vocabulary import Vocabulary

ROWS = 5_000_000
DISTINCT = 20_000
VERTICES = 1_200_000
BATCH = 1 << 16


def measure(seed: int, rows: int = ROWS) -> float:
    """Terms a second for `rows` cells of 20,000 different terms: IRIs, names, numbers, texts and dates."""
    column = _column(seed, rows)
    vocabulary = Vocabulary()
    start = time.perf_counter()
    ids = vocabulary.intern_cells(column, Position.OBJECT).ids
    took = time.perf_counter() - start
    assert len(ids) == rows
    return rows / took


def measure_names(seed: int, rows: int = ROWS // 5, spelling: str = "v{}") -> float:
    """Terms a second for two columns of so many names of 1.2 million vertices, in batches, kernels loaded."""
    columns = [_names(seed + number, rows, spelling) for number in range(2)]
    Vocabulary().intern_cells(columns[0].slice(0, BATCH), Position.SUBJECT)
    vocabulary = Vocabulary()
    start = time.perf_counter()
    for row in range(0, rows, BATCH):
        for column in columns:
            vocabulary.intern_cells(column.slice(row, BATCH), Position.SUBJECT)
    return 2 * rows / (time.perf_counter() - start)


def _names(seed: int, rows: int, spelling: str) -> pa.StringArray:
    picked = np.random.default_rng(seed).integers(0, VERTICES, rows)
    return pa.array([spelling.format(number) for number in picked.tolist()], pa.string())


def _column(seed: int, rows: int) -> pa.StringArray:
    spellings = ("<http://example.org/item/{}>", "name-{}", "{}", '"text number {}"@en', '"20{:02}-01-01"^^xsd:date')
    cells = [spellings[number % 5].format(number if number % 5 < 4 else number % 100) for number in range(DISTINCT)]
    picked = np.random.default_rng(seed).integers(0, DISTINCT, rows)
    return pa.array(cells, pa.string()).take(picked)
