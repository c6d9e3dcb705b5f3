"""A filter on disk: its subscriptions as they were written, its taxonomy, its prefixes, and its index if it has one.

The law: what is loaded gives the same notifications in the same order as what was saved. An index is saved as one
segment of what is alive, a plan as one for each of its places, together with the vocabulary whose ids it holds; it is
mapped when it is opened, and neither built nor are queries compiled. Numbers of subscriptions count from 0 again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, cast

import numpy as np
import pyarrow as pa

from heliograph.errors import HeliographError, Place, StorageError
from heliograph.filter.segment import Segment, check_arrays
from heliograph.filter.strategy import Matcher
from heliograph.io.schemas import TABLES
from heliograph.partition.plan import Scheme
from heliograph.partition.save import ROOTS, PlanFiles, pack, scheme_of, taxonomy_table, unpack
from heliograph.storage import read_folder, write_folder
from heliograph.subscriptions import Accept, Subscriptions
from heliograph.taxonomy import Taxonomy
from heliograph.terms import PREFIXES
from heliograph.vocabulary import Vocabulary
from heliograph.vocabulary.mapped import Packed

KIND, VERSION, PLANNED = "filter", 2, 3
_READ = {VERSION, PLANNED}  # PLANNED is a save with a plan
_TABLES = ("subscriptions", "patterns", "constraints", "taxonomy")
_TERMS = "vocabulary."

Arrays: TypeAlias = dict[str, "np.ndarray[Any, Any]"]


# --- writing ------------------------------------------------------------------------------------------------------


def packed(
    subscriptions: Subscriptions, taxonomy: Taxonomy, algorithm: str, vocabulary: Vocabulary, matcher: Matcher
) -> Callable[[str | Path], None]:
    """A filter as it is now, to be asked while nobody writes; what is returned writes it to a folder."""
    own = {name: iri for name, iri in subscriptions.prefixes.items() if PREFIXES.get(name) != iri}
    tables = {**subscriptions.tables(), "taxonomy": taxonomy_table(taxonomy)}
    meta: dict[str, Any] = {"prefixes": own, "algorithm": algorithm, "vocabulary": {}}
    plan, version = matcher.planned(), VERSION
    arrays: Arrays = {}
    if plan is None:
        segment = matcher.whole()
        if segment is not None:
            arrays = segment.pack()
    else:
        arrays, roots, manifest = pack(plan)
        tables, meta, version = {**tables, ROOTS: roots}, {**meta, "plan": manifest}, PLANNED
    if arrays or plan is not None:
        terms = vocabulary.pack()
        arrays = {**{_TERMS + name: array for name, array in terms.arrays.items()}, **arrays}
        meta["vocabulary"] = terms.meta
    return lambda path: write_folder(path, KIND, version, arrays=arrays, tables=tables, meta=meta)


# --- reading ----------------------------------------------------------------------------------------------------


class SavedFilter(NamedTuple):
    """What a save holds, opened; without an index there are no arrays, and the vocabulary is empty."""

    path: str
    tables: Mapping[str, pa.Table]
    taxonomy: Taxonomy
    prefixes: Mapping[str, str]
    algorithm: str
    vocabulary: Vocabulary
    arrays: Arrays
    plan: PlanFiles | None = None
    scheme: Scheme | None = None

    def fill(self, subscriptions: Subscriptions, matcher: Matcher, accept: Accept) -> None:
        """Subscribes to what was saved; `accept` may refuse a subscription by raising."""
        try:
            if not self.arrays and self.plan is None:
                matcher.insert(subscriptions.restore(self.tables, accept))
                return
            owners = subscriptions.reopen(self.tables, accept)
        except HeliographError as error:
            raise _damaged(self.path, f"it holds a subscription that is refused: {error}") from error
        plan = matcher.planned()
        try:
            if plan is not None and self.plan is not None:
                unpack(plan, self.plan, owners)
            else:
                check_arrays(self.arrays, len(owners), self.vocabulary.start)
                matcher.adopt(Segment.unpack(self.arrays, owners))
        except ValueError as error:
            raise _damaged(self.path, f"its index: {error}") from error


def read(path: str | Path) -> SavedFilter:
    opened = read_folder(path, KIND, _READ)
    tables = {name: table for name, table in opened.tables.items() if name in _TABLES}
    for name in _TABLES:
        if name not in tables or tables[name].schema.names != list(TABLES[name].names):
            raise _damaged(path, f"its table {name} is missing or lacks a column")
    prefixes, algorithm, meta = (opened.meta.get(name) for name in ("prefixes", "algorithm", "vocabulary"))
    if not isinstance(prefixes, dict) or not isinstance(algorithm, str):
        raise _damaged(path, "its prefixes or its algorithm are missing")
    terms = {name.removeprefix(_TERMS): array for name, array in opened.arrays.items() if name.startswith(_TERMS)}
    arrays = {name: array for name, array in opened.arrays.items() if not name.startswith(_TERMS)}
    vocabulary = (
        Vocabulary.unpack(Packed(terms, cast("dict[str, Any]", meta)), str(path))
        if opened.arrays or meta
        else Vocabulary()
    )
    saved = SavedFilter(str(path), tables, Taxonomy.read(tables["taxonomy"]), prefixes, algorithm, vocabulary, arrays)
    if opened.version != PLANNED:
        return saved
    manifest, roots = opened.meta.get("plan"), opened.tables.get(ROOTS)
    if roots is None:
        raise _damaged(path, "its table of roots is missing")
    try:
        return saved._replace(plan=PlanFiles(arrays, roots, manifest or {}), scheme=scheme_of(manifest))
    except ValueError as error:
        raise _damaged(path, f"its plan: {error}") from error


def _damaged(path: str | Path, why: str) -> StorageError:
    return StorageError("HG-810", f"a damaged save of a filter: {why}", place=Place(str(path)), fix="save it again")
