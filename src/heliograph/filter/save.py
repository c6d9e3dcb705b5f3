"""A filter on disk: its subscriptions as they were written, its taxonomy, its prefixes, and its index if it has one.

The law: what is loaded gives the same notifications in the same order as what was saved. An index is saved as one
segment of what is alive, a plan as one for each of its places, together with the vocabulary whose ids it holds; it is
mapped when it is opened, and neither built nor are queries compiled. Numbers of subscriptions count from 0 again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
import pyarrow as pa

from heliograph import storage
from heliograph.errors import HeliographError, Place, StorageError
from heliograph.filter.encode import Matcher, check_options
from heliograph.filter.segment import Segment, check_arrays
from heliograph.io.schemas import TABLES
from heliograph.partition.plan import Scheme
from heliograph.partition.save import ROOTS, Parts, pack, scheme_of, taxonomy_table, unpack
from heliograph.storage import read_folder, write_folder
from heliograph.subscriptions import Subscription, Subscriptions
from heliograph.taxonomy import Taxonomy
from heliograph.terms import PREFIXES
from heliograph.vocabulary import Vocabulary
from heliograph.vocabulary.mapped import Packed

KIND, VERSION, PLANNED = "filter", 2, 3
_READ = {1, VERSION, PLANNED}  # 1 is a save without an index, 3 one with a plan
_TABLES = ("subscriptions", "patterns", "constraints", "taxonomy")
_TERMS = "vocabulary."

Arrays: TypeAlias = dict[str, "np.ndarray[Any, Any]"]


class Engine(NamedTuple):
    """The parts of a filter that are saved."""

    subscriptions: Subscriptions
    taxonomy: Taxonomy
    algorithm: str
    vocabulary: Vocabulary
    matcher: Matcher


# --- writing ----------------------------------------------------------------------------------------------------


class Saving(NamedTuple):
    """What is about to be saved."""

    tables: Mapping[str, pa.Table]
    arrays: Arrays
    meta: Mapping[str, Any]
    version: int = VERSION

    @classmethod
    def of(cls, engine: Engine) -> Self:
        """A filter as it is now; to be asked while nobody writes."""
        prefixes = engine.subscriptions.prefixes
        own = {name: iri for name, iri in prefixes.items() if PREFIXES.get(name) != iri}
        tables = {**engine.subscriptions.tables(), "taxonomy": taxonomy_table(engine.taxonomy)}
        meta = {"prefixes": own, "algorithm": engine.algorithm}
        plan = engine.matcher.planned()
        if plan is None:
            segment = engine.matcher.whole()
            index = Packed({}, {}) if segment is None else _with_terms(segment.pack(), engine.vocabulary)
            return cls(tables, index.arrays, {**meta, "vocabulary": index.meta})
        parts = pack(plan)
        index = _with_terms(parts.arrays, engine.vocabulary)
        meta |= {"vocabulary": index.meta, "plan": parts.manifest}
        return cls({**tables, ROOTS: parts.roots}, index.arrays, meta, PLANNED)

    def write(self, path: str | Path) -> None:
        write_folder(path, KIND, self.version, arrays=self.arrays, tables=self.tables, meta=self.meta)


def _with_terms(arrays: Arrays, vocabulary: Vocabulary) -> Packed:
    """The arrays of an index and its terms."""
    terms = vocabulary.pack()
    return Packed({**{_TERMS + name: array for name, array in terms.arrays.items()}, **arrays}, terms.meta)


# --- reading ----------------------------------------------------------------------------------------------------


class Saved(NamedTuple):
    """What a save holds, opened; without an index there are no arrays, and the vocabulary is empty."""

    path: str
    tables: Mapping[str, pa.Table]
    taxonomy: Taxonomy
    prefixes: Mapping[str, str]
    algorithm: str
    vocabulary: Vocabulary
    arrays: Arrays
    plan: Parts | None = None
    scheme: Scheme | None = None

    def fill(self, subscriptions: Subscriptions, matcher: Matcher) -> None:
        """Subscribes to what was saved."""
        try:
            if not self.arrays and self.plan is None:
                matcher.insert(subscriptions.restore(self.tables, check_options))
                return
            owners = subscriptions.reopen(self.tables, check_options)
        except HeliographError as error:
            raise _damaged(self.path, f"it holds a subscription that is refused: {error}") from error
        try:
            self._adopt(owners, matcher)
        except ValueError as error:
            raise _damaged(self.path, f"its index: {error}") from error

    def _adopt(self, owners: Sequence[Subscription], matcher: Matcher) -> None:
        plan = matcher.planned()
        if plan is not None and self.plan is not None:
            unpack(plan, self.plan, owners)
            return
        check_arrays(self.arrays, len(owners), self.vocabulary.start)
        matcher.adopt(Segment.unpack(self.arrays, owners))


def read(path: str | Path) -> Saved:
    opened = read_folder(path, KIND, _READ)
    tables = {name: _table(path, name, opened.tables.get(name)) for name in _TABLES}
    prefixes, algorithm = opened.meta.get("prefixes"), opened.meta.get("algorithm")
    if not isinstance(prefixes, dict) or not isinstance(algorithm, str):
        raise _damaged(path, "its prefixes or its algorithm are missing")
    taxonomy = Taxonomy.read(tables["taxonomy"])
    vocabulary = _vocabulary(path, opened.arrays, opened.meta.get("vocabulary"))
    arrays = {name: array for name, array in opened.arrays.items() if not name.startswith(_TERMS)}
    saved = Saved(str(path), tables, taxonomy, prefixes, algorithm, vocabulary, arrays)
    return saved if opened.version != PLANNED else saved._replace(**_plan(path, opened, arrays))


def _plan(path: str | Path, opened: storage.Saved, arrays: Arrays) -> dict[str, Any]:
    manifest, roots = opened.meta.get("plan"), opened.tables.get(ROOTS)
    if roots is None:
        raise _damaged(path, "its table of roots is missing")
    try:
        return {"plan": Parts(arrays, roots, manifest or {}), "scheme": scheme_of(manifest)}
    except ValueError as error:
        raise _damaged(path, f"its plan: {error}") from error


def _vocabulary(path: str | Path, arrays: Arrays, meta: Any) -> Vocabulary:
    if not arrays and not meta:
        return Vocabulary()
    terms = {name.removeprefix(_TERMS): array for name, array in arrays.items() if name.startswith(_TERMS)}
    return Vocabulary.unpack(Packed(terms, meta), str(path))


def _table(path: str | Path, name: str, table: pa.Table | None) -> pa.Table:
    if table is None or table.schema.names != list(TABLES[name].names):
        raise _damaged(path, f"its table {name} is missing or lacks a column")
    return table


def _damaged(path: str | Path, why: str) -> StorageError:
    return StorageError("HG-810", f"a damaged save of a filter: {why}", place=Place(str(path)), fix="save it again")
