"""Terms in flat arrays: how a vocabulary is saved, and how a saved one is used without loading it.

The laws: term i of a save is term i of the vocabulary that was saved; a look-up costs a probe or two in a hash table
over the mapped arrays, however many there are.

A term is its text (UTF-8) and a head: its kind, and the number of its datatype and language in a short list.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from heliograph.errors import Place, StorageError
from heliograph.kernels import lexicon_layout
from heliograph.kernels.layout import Table, Texts
from heliograph.publications import Ids
from heliograph.terms import Term, TermKind, spell
from heliograph.values import Kind
from heliograph.vocabulary import respelling
from heliograph.vocabulary.hashtable import find_text, find_texts, make_table, pays, text_at
from heliograph.vocabulary.lexicon import Entries, Lexicon, arrow_strings, strings_of
from heliograph.vocabulary.typed import DTYPES, TEXTS, Flags, Typed

_REMEMBERED = 1 << 16  # decoded terms; forgotten all at once when full
_KINDS = tuple(TermKind)

Qualifiers = dict[tuple[str, str], int]  # the number of each (datatype, language)


class Packed(NamedTuple):
    """Terms as `storage.write_folder` takes them."""

    arrays: dict[str, np.ndarray[Any, Any]]
    meta: dict[str, Any]


def flatten(terms: Sequence[Term], qualifiers: Qualifiers) -> Texts:
    """The arrays of these terms; `qualifiers` is extended as needed."""
    heads = np.array([_head(term, qualifiers) for term in terms], np.int32)
    return Texts(heads, *_utf8([term.value for term in terms]))


def flatten_lexicon(lexicon: Lexicon, first: int, last: int, qualifiers: Qualifiers) -> Texts:
    """The arrays of the terms with the ids from `first` to `last` of a lexicon."""
    spelled = lexicon.spelled()[first - lexicon.first : last - lexicon.first]
    is_iri = lexicon.kinds(first, last) == lexicon_layout.IRI
    values = pc.if_else(pa.array(is_iri), respelling.values(spelled), pa.scalar(None, pa.large_string()))
    heads = np.full(len(spelled), 4 * qualifiers.setdefault(("", ""), len(qualifiers)) + TermKind.IRI, np.int32)
    rows = np.flatnonzero(np.asarray(values.is_null()))
    terms = [lexicon.term(first + row) for row in rows.tolist()]
    heads[rows] = [_head(term, qualifiers) for term in terms]
    whole = pc.replace_with_mask(values, values.is_null(), pa.array([term.value for term in terms], pa.large_string()))
    return Texts(heads, *_buffers(whole))


def _head(term: Term, qualifiers: Qualifiers) -> int:
    return 4 * qualifiers.setdefault((term.datatype, term.language), len(qualifiers)) + term.kind


def _utf8(texts: Sequence[str]) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    return _buffers(pa.array(texts, pa.large_string()))


def _buffers(texts: Any) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    _, offsets, data = texts.buffers()
    if not len(texts) or offsets is None or data is None:
        return np.zeros(1, np.int64), np.zeros(0, np.uint8)
    ends = np.frombuffer(memoryview(offsets), np.int64)[: len(texts) + 1]
    return ends, np.frombuffer(memoryview(data), np.uint8)[: ends[-1]]


def appended(first: Texts, second: Texts) -> Texts:
    return Texts(
        np.concatenate((first.heads, second.heads)),
        np.concatenate((first.offsets, second.offsets[1:] + first.offsets[-1])),
        np.concatenate((first.data, second.data)),
    )


class Parts(NamedTuple):
    """What a save of terms consists of; heads refer to the (datatype, language) pairs in `qualifiers`."""

    texts: Texts
    qualifiers: tuple[tuple[str, str], ...]
    table: Table
    typed: Typed


class Stored:
    """Saved terms: found and decoded one at a time from mapped arrays."""

    def __init__(self, parts: Parts, source: str | None = None) -> None:
        self._texts, self._qualifiers, self._table, self._typed = parts
        self._numbers: Qualifiers = {pair: number for number, pair in enumerate(parts.qualifiers)}
        self._source = source
        self._decoded: dict[int, Term] = {}

    def __len__(self) -> int:
        return len(self._texts.heads)

    def find_many(self, terms: Sequence[Term]) -> list[int]:
        """The id of each term, or -1."""
        if not pays(len(terms)):
            return [self._find(term) for term in terms]
        # A pair that no stored term has gets a number that no stored head has.
        wanted = flatten(terms, dict(self._numbers))
        ids: list[int] = find_texts(wanted, self._texts, self._table).tolist()
        return ids

    def _find(self, term: Term) -> int:
        number = self._numbers.get((term.datatype, term.language))
        if number is None:
            return -1
        return find_text(4 * number + term.kind, term.value.encode(), self._texts, self._table)

    def term(self, id: int) -> Term:
        known = self._decoded.get(id)
        return self._decode(id) if known is None else known

    def _decode(self, id: int) -> Term:
        number, kind = divmod(int(self._texts.heads[id]), 4)
        try:
            value = text_at(self._texts, id).decode()
        except UnicodeDecodeError as error:
            raise _damaged(f"term {id} is not UTF-8", self._source) from error
        if len(self._decoded) >= _REMEMBERED:
            self._decoded = {}
        self._decoded[id] = term = Term(_KINDS[kind], value, *self._qualifiers[number])
        return term

    def typed(self, ids: Ids | None = None) -> Typed:
        return self._typed if ids is None else self._typed.take(ids)

    def textual(self, first: int, last: int) -> Flags:
        plain = np.array([datatype in TEXTS for datatype, _ in self._qualifiers], np.bool_)
        return cast("Flags", plain[self._texts.heads[first:last] // 4])

    def texts(self, qualifiers: Qualifiers) -> Texts:
        qualifiers.update(self._numbers)
        return self._texts

    def spelled(self) -> Entries:
        """All terms as a lexicon takes them."""
        kinds = self._texts.heads % 4
        values = self._strings()
        is_iri = pa.array(kinds == TermKind.IRI)
        spelled = pc.if_else(is_iri, respelling.spellings(values), pa.scalar(None, pa.large_string()))
        rows = np.flatnonzero(np.asarray(spelled.is_null()))
        others = pa.array([spell(self.term(row)) for row in rows.tolist()], pa.large_string())
        texts = self.textual(0, len(self))
        return Entries(
            strings_of(pc.replace_with_mask(spelled, spelled.is_null(), others)),
            np.where(texts, lexicon_layout.TEXT, kinds).astype(np.uint8),
        )

    def _strings(self) -> Any:
        strings = arrow_strings(len(self), self._texts.offsets, self._texts.data)
        try:
            strings.validate(full=True)
        except pa.ArrowInvalid as error:
            raise _damaged("its terms are not UTF-8", self._source) from error
        return strings


# --- packing ----------------------------------------------------------------------------------------------------


def pack(texts: Texts, qualifiers: Qualifiers, typed: Typed) -> Packed:
    table = make_table(texts)
    arrays = {**texts._asdict(), **typed._asdict(), "slots": table.slots, "marks": table.marks}
    return Packed(arrays, {"qualifiers": [list(pair) for pair in qualifiers], "key": table.key})


def unpack(packed: Packed, source: str | None = None) -> Stored:
    """The terms of a save; arrays that do not fit together are refused here, so that no look-up runs astray."""
    try:
        parts = _parts(packed)
    except (KeyError, TypeError, ValueError) as error:
        raise _damaged(f"{type(error).__name__}, {error}", source) from error
    if not (_texts_fit(parts) and _table_fits(parts.table, parts.texts) and _typed_fits(parts.typed, parts.texts)):
        raise _damaged("its arrays do not fit together", source)
    return Stored(parts, source)


_TEXT_COLUMNS = (("heads", np.int32), ("offsets", np.int64), ("data", np.uint8))


def _parts(packed: Packed) -> Parts:
    arrays, meta = packed
    return Parts(
        Texts(*(_column(arrays, name, dtype) for name, dtype in _TEXT_COLUMNS)),
        tuple((str(datatype), str(language)) for datatype, language in meta["qualifiers"]),
        Table(_column(arrays, "slots", np.int32), _column(arrays, "marks", np.uint32), int(meta["key"])),
        Typed(*(_column(arrays, name, dtype) for name, dtype in zip(Typed._fields, DTYPES, strict=True))),
    )


def _column(arrays: Mapping[str, np.ndarray[Any, Any]], name: str, dtype: Any) -> np.ndarray[Any, Any]:
    column = arrays[name]
    if column.dtype != dtype or column.ndim != 1:
        raise ValueError(f"{name} is no column of {np.dtype(dtype)}")
    return column


def _texts_fit(parts: Parts) -> bool:
    heads, offsets, data = parts.texts
    return (
        len(offsets) == len(heads) + 1
        and offsets[0] == 0
        and offsets[-1] == len(data)
        and bool((np.diff(offsets) >= 0).all())
        and bool(((heads >= 0) & (heads % 4 < len(_KINDS)) & (heads // 4 < len(parts.qualifiers))).all())
    )


def _table_fits(table: Table, texts: Texts) -> bool:
    """A power of two of slots, some of them free: otherwise a search would not end."""
    size, count = len(table.slots), len(texts.heads)
    return (
        size == len(table.marks)
        and size.bit_count() == 1
        and size > count
        and np.count_nonzero(table.slots >= 0) == count
        and (count == 0 or int(table.slots.max()) < count)
    )


def _typed_fits(typed: Typed, texts: Texts) -> bool:
    known = int(typed.kind.max(initial=0)) <= max(Kind) and int(typed.category.max(initial=0)) <= max(TermKind)
    return known and all(len(column) == len(texts.heads) for column in typed)


def _damaged(why: str, source: str | None) -> StorageError:
    return StorageError("HG-805", f"a damaged vocabulary: {why}", place=Place(source), fix="save it again")
