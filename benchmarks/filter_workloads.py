"""The workloads of the filter's table: subscriptions that are loaded, a batch to publish, and the answer it must give.

A batch repeats the drawn publications under new ids, the triples of each copy in another order. Why not a thousand
different ones: with 100 matches each they would leave no subscription of 100,000 that matches nothing. Nothing carries
over from one copy to the next, since an engine knows no publication once it is answered; that memory is warm for the
second copy is what the row with 500 different publications shows.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from heliograph import Filter
from heliograph.filter.encode import encode
from heliograph.io.publications import Publications
from heliograph.model import Notifications
from heliograph.terms import PLAIN, PREFIXES
from heliograph.workloads.filter import generate_filter

Tables = Mapping[str, pa.Table]


class WrongAnswer(Exception):
    """An answer is not the one that the workload must give: there is nothing to measure."""


class Size(NamedTuple):
    """How large the workloads are; the defaults are the issue's."""

    subscriptions: int = 100_000
    many: int = 1_000_000
    few: int = 10_000
    publications: int = 100
    different: int = 500
    matches: int = 100
    batch: int = 1_000
    asked: int = 500  # subscriptions of which pyoxigraph is asked
    changes: int = 20_000  # subscriptions that come and go while publishing
    classes: int = 200

    def options(self, **more: Any) -> dict[str, Any]:
        """The options of a workload of this size."""
        plain = {"subscriptions": self.subscriptions, "publications": self.publications, "matches": self.matches}
        return {**plain, **more}

    def one_structure(self, subscriptions: int) -> dict[str, Any]:
        """[R] figure 9(b). The shared pattern and its value count as 5 of the publication's nodes and 11 of its edges.

        Half of the publications, so that of the fewest subscriptions, too, one half matches nothing.
        """
        few = {"subscriptions": subscriptions, "publications": self.publications // 2}
        return self.options(one_structure=True, one_sided=0.5, publication_nodes=25, publication_edges=79, **few)


class Case(NamedTuple):
    """A loaded engine, a batch of interned publications, the same as a table, and what it must be answered."""

    engine: Filter
    tables: Tables
    batch: Publications
    strings: pa.Table
    expected: pa.Table

    def seconds(self, items: Publications | pa.Table | None = None) -> float:
        """How long a publication takes in this batch, or in the same batch in another form."""
        batch = self.batch if items is None else items
        started = time.process_time()
        found = self.engine.publish(batch)
        took = time.process_time() - started
        check(found, self.expected)
        return took / len(self.batch.ids)


def make(seed: int, batch: int, options: Mapping[str, Any]) -> Case:
    """Draws, loads and publishes once, so that kernels are compiled and the answer is known to be right."""
    tables = generate_filter(seed, **options)
    engine = loaded(tables)
    strings, expected = repeated(tables, batch // options["publications"], seed)
    case = Case(engine, tables, encode(strings, engine.vocabulary, PREFIXES).publications, strings, expected)
    case.seconds()
    return case


def loaded(tables: Tables, algorithm: str = "auto") -> Filter:
    """An engine with the subscriptions of the tables."""
    engine = Filter(tables["taxonomy"], algorithm=algorithm)
    receipt = engine.subscribe(patterns=tables["patterns"], constraints=tables["constraints"])
    if receipt.rejected:
        raise WrongAnswer(f"refused: {receipt.rejected[0]}")
    return engine


def check(found: Notifications, expected: pa.Table) -> None:
    """Raises unless exactly this was answered, in this order."""
    if found.rejected:
        raise WrongAnswer(f"refused: {found.rejected[0]}")
    answered = found.table.select(expected.column_names)
    if not answered.equals(expected):
        raise WrongAnswer(f"{answered.num_rows} notifications that are not the {expected.num_rows} expected")


# --- batches ----------------------------------------------------------------------------------------------------


def repeated(tables: Tables, copies: int, seed: int) -> tuple[pa.Table, pa.Table]:
    """The publications so many times, and the answer."""
    rng = np.random.default_rng(seed)
    publications = [_copy(_shuffled(rng, tables["publications"]), number) for number in range(copies)]
    expected = [_copy(tables["expected"], number) for number in range(copies)]
    return pa.concat_tables(publications).combine_chunks(), pa.concat_tables(expected).combine_chunks()


def _shuffled(rng: np.random.Generator, publications: pa.Table) -> pa.Table:
    """The triples of each publication in any order, the publications in theirs."""
    number = numbers(publications["publication_id"])
    return publications.take(np.lexsort((rng.random(len(number)), number)))


def _copy(table: pa.Table, number: int) -> pa.Table:
    """The same with other publication ids."""
    at = table.column_names.index("publication_id")
    prefix = pa.scalar(f"c{number}-")
    named = pc.binary_join_element_wise(prefix, table["publication_id"], "")  # type: ignore[call-overload]
    return table.set_column(at, "publication_id", named)


def numbers(ids: Any) -> np.ndarray[Any, np.dtype[np.int64]]:
    """What follows the letter of each id."""
    digits = pc.utf8_slice_codeunits(ids, 1).cast(pa.int64())
    return np.asarray(digits)


# --- text -------------------------------------------------------------------------------------------------------


def queries(tables: Tables, ids: Iterable[str]) -> dict[str, str]:
    """The SPARQL text of some subscriptions."""
    bodies: dict[str, list[str]] = {id: [] for id in ids}
    for id, *edge in _rows(tables["patterns"], bodies):
        bodies[id].append(f"{' '.join(map(spelled, edge))} .")
    for id, variable, operator, value in _rows(tables["constraints"], bodies):
        bodies[id].append(f"FILTER({variable} {operator} {spelled(value)})")
    return {id: f"ASK {{ {' '.join(body)} }}" for id, body in bodies.items()}


def _rows(table: pa.Table, ids: Iterable[str]) -> Iterator[list[str]]:
    wanted = table.filter(pc.is_in(table["subscription_id"], pa.array(list(ids), pa.string())))
    yield from zip(*(column.to_pylist() for column in wanted.columns), strict=True)


def spelled(cell: str) -> str:
    """A variable, an integer or a plain name, as SPARQL has it."""
    return cell if cell[0] == "?" or cell.lstrip("-").isdigit() else f"<{PLAIN}{cell}>"
