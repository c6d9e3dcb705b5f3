"""Filtering: 100,000 graph patterns against documents, on one core, as multiples of asking pyoxigraph for each.

Every answer is checked before its time counts. Times are the processor's, of all threads, so that a busy machine does
not decide; the timings that make up a ratio are taken in turns, so that what slows it down falls on both. A workload
is drawn once a seed and then measured five times, because loading it takes far longer than what is measured; another
seed is another run.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyoxigraph import RdfFormat, parse

from benchmarks.filter_opponent import ask
from benchmarks.filter_workloads import Case, Size, check, make, spelled

FULL = Size()
SAMPLES = 5
Samples = Sequence[float]


# --- matching ---------------------------------------------------------------------------------------------------


def measure_matching(seed: int, size: Size = FULL) -> Samples:
    """How many times as long a pyoxigraph ASK for each subscription takes as `publish`."""
    return _against_asking(plain_case(seed, size), size)


def measure_matching_time(seed: int, size: Size = FULL) -> Samples:
    """Microseconds a publication."""
    return _microseconds(plain_case(seed, size).seconds)


def measure_different(seed: int, size: Size = FULL) -> Samples:
    """Microseconds a publication where five times as many of them differ: half of the subscriptions match something."""
    return _microseconds(make(seed, size.batch, size.options(publications=size.different)).seconds)


def measure_strings(seed: int, size: Size = FULL) -> Samples:
    """Microseconds a publication where the batch is an Arrow table of strings, terms interned on the clock."""
    case = plain_case(seed, size)
    return _microseconds(lambda: case.seconds(case.strings))


def measure_candidates(seed: int, size: Size = FULL) -> float:
    """Candidates a match."""
    case = plain_case(seed, size)
    found = case.engine.publish(case.batch)
    check(found, case.expected)
    return found.stats.candidates / max(1, len(found))


@lru_cache(maxsize=1)
def plain_case(seed: int, size: Size) -> Case:
    """The workload of the first row, with which others are compared."""
    return make(seed, size.batch, size.options())


# --- one shared structure ---------------------------------------------------------------------------------------


def measure_structure(seed: int, size: Size = FULL) -> Samples:
    """How many times as long pyoxigraph takes where all subscriptions share a pattern and differ in their ranges."""
    return _against_asking(_structure_case(seed, size), size)


def measure_structure_time(seed: int, size: Size = FULL) -> Samples:
    """Microseconds a publication."""
    return _microseconds(_structure_case(seed, size).seconds)


def measure_flatness(seed: int, size: Size = FULL) -> Samples:
    """How many times as long a publication takes with all ranges as with a tenth of them, as many matches in both."""
    ratios = _ratios(_structure_case(seed, size), make(seed, size.batch, size.one_structure(size.few)))
    _structure_case.cache_clear()  # the last row that needs it
    return ratios


@lru_cache(maxsize=1)
def _structure_case(seed: int, size: Size) -> Case:
    return make(seed, size.batch, size.one_structure(size.subscriptions))


# --- harder and larger ------------------------------------------------------------------------------------------


def measure_hard_negatives(seed: int, size: Size = FULL) -> Samples:
    """How many times the first row's time where half of the non-matching lack one edge to match."""
    return _against_plain(seed, size, hard_negatives=0.5)


def measure_is_a(seed: int, size: Size = FULL) -> Samples:
    """How many times the first row's time where half of the variables ask for a class."""
    return _against_plain(seed, size, classes=size.classes, is_a=0.5)


def measure_many(seed: int, size: Size = FULL) -> Samples:
    """How many times the first row's time with ten times the subscriptions, as many matches in both."""
    return _against_plain(seed, size, subscriptions=size.many)


def _against_plain(seed: int, size: Size, **options: Any) -> Samples:
    plain = plain_case(seed, size)
    return _ratios(make(seed, size.batch, size.options(**options)), plain)


# --- documents --------------------------------------------------------------------------------------------------


def measure_documents(seed: int, size: Size = FULL) -> Samples:
    """How many times as long it takes to read, intern and match documents as pyoxigraph takes to parse them."""
    case = plain_case(seed, size)
    with tempfile.TemporaryDirectory() as folder:
        paths = _write(case.strings, Path(folder))
        names = dict(zip(case.batch.ids, map(str, paths), strict=True))
        ids = pa.array([names[str(id)] for id in case.expected["publication_id"].to_pylist()], pa.string())
        expected = case.expected.set_column(1, "publication_id", ids)
        return [_reading(case, folder, expected) / _parsing(paths) for _ in range(SAMPLES)]


def _reading(case: Case, folder: str, expected: pa.Table) -> float:
    started = time.process_time()
    found = case.engine.publish(f"{folder}/*.nt")
    took = time.process_time() - started
    check(found, expected)
    return took


def _parsing(paths: Sequence[Path]) -> float:
    started = time.process_time()
    for path in paths:
        for _ in parse(path.read_bytes(), format=RdfFormat.N_TRIPLES):
            pass
    return time.process_time() - started


def _write(publications: pa.Table, folder: Path) -> list[Path]:
    """One file a publication, named so that they sort as they stand."""
    lines: dict[str, list[str]] = {}
    for id, *triple in zip(*(column.to_pylist() for column in publications.columns), strict=True):
        lines.setdefault(str(id), []).append(f"{' '.join(spelled(str(cell)) for cell in triple)} .\n")
    paths = [folder / f"{number:06}.nt" for number in range(len(lines))]
    for path, text in zip(paths, lines.values(), strict=True):
        path.write_text("".join(text))
    return paths


# --- samples ----------------------------------------------------------------------------------------------------


def _microseconds(seconds: Callable[[], float]) -> Samples:
    return [seconds() * 1e6 for _ in range(SAMPLES)]


def _ratios(case: Case, other: Case) -> Samples:
    return [case.seconds() / other.seconds() for _ in range(SAMPLES)]


def _against_asking(case: Case, size: Size) -> Samples:
    asking = ask(case.tables, size.asked, SAMPLES)
    return [asking.seconds(publication) / case.seconds() for publication in asking.stores]
