"""Saved terms: flat arrays with a hash table over them, mapped from disk and used without loading.

A term is its text (UTF-8) and a head: its kind, and the number of its (datatype, language) in a short list of
qualifiers. The laws: term i of a save is term i of the vocabulary that was saved; a look-up costs a probe or two in the
table, however many terms there are. The table is filled and searched in plain Python when small, by kernels when large:
both give the same table and the same answers, so a save does not depend on which one made it. The route engine and the
predicates keep their names in the same table.
"""

from __future__ import annotations

import secrets
import sys
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from heliograph.compiled.growing import fixed
from heliograph.errors import Place, StorageError
from heliograph.terms import Term, TermKind, spell
from heliograph.values import Kind
from heliograph.vocabulary.columns import (
    DTYPES,
    PRIME,
    TEXT,
    TEXTS,
    Flags,
    Ids,
    SpelledTerms,
    Typed,
    arrow_strings,
    hash_text,
    spellings,
    strings_of,
)

_COLD, _WARM = 100_000, 5_000  # texts
_REMEMBERED = 1 << 16  # decoded terms; forgotten all at once when full
_MARK = 0xFFFFFFFF
_KINDS = tuple(TermKind)

Qualifiers = dict[tuple[str, str], int]  # the number of each (datatype, language)


class Texts(NamedTuple):
    """Texts end to end: number i has the bytes from offsets[i] to offsets[i + 1], and a head that belongs to it."""

    heads: npt.NDArray[np.int32]
    offsets: npt.NDArray[np.int64]
    data: npt.NDArray[np.uint8]


class Table(NamedTuple):
    """A hash table over texts by linear probing; a power of two of slots, at most half of them taken."""

    slots: npt.NDArray[np.int32]  # the number of a text, or -1
    marks: npt.NDArray[np.uint32]  # the upper bits of its hash, so that a miss seldom touches the text
    key: int


class Packed(NamedTuple):
    """Terms as `storage.write_folder` takes them."""

    arrays: dict[str, np.ndarray[Any, Any]]
    meta: dict[str, Any]


# --- the table ----------------------------------------------------------------------------------------------------


def pays(count: int) -> bool:
    """Whether this many texts are worth the kernels: a text costs 8 µs in Python, importing Numba nearly a second."""
    return count >= (_WARM if "numba" in sys.modules else _COLD)


def text_at(texts: Texts, number: int) -> bytes:
    return texts.data[texts.offsets[number] : texts.offsets[number + 1]].tobytes()


def make_table(texts: Texts, key: int | None = None) -> Table:
    """The table of these texts, all different; the key is random unless given."""
    count = len(texts.heads)
    size = 1 << max(3, (2 * count - 1).bit_length())
    chosen = 1 + secrets.randbelow(PRIME - 1) if key is None else key
    table = Table(np.full(size, -1, np.int32), np.zeros(size, np.uint32), chosen)
    if pays(count):
        from heliograph.vocabulary import kernels

        kernels.fill(fixed(texts), table._replace(key=cast(int, np.uint64(chosen))))
        return table
    for number, head in enumerate(texts.heads.tolist()):
        hashed = hash_text(head, text_at(texts, number), chosen)
        slot = hashed & (size - 1)
        while table.slots[slot] >= 0:
            slot = (slot + 1) & (size - 1)
        table.slots[slot], table.marks[slot] = number, hashed >> 29 & _MARK
    return table


def find_text(head: int, text: bytes, stored: Texts, table: Table) -> int:
    """The number under which a text is stored, or -1."""
    hashed = hash_text(head, text, table.key)
    mask, mark = len(table.slots) - 1, hashed >> 29 & _MARK
    slot = hashed & mask
    while (number := int(table.slots[slot])) >= 0:
        if table.marks[slot] == mark and stored.heads[number] == head and text_at(stored, number) == text:
            return number
        slot = (slot + 1) & mask
    return -1


def find_texts(wanted: Texts, stored: Texts, table: Table) -> Ids:
    """`find_text` for many, by the kernel."""
    from heliograph.vocabulary import kernels

    out = np.empty(len(wanted.heads), np.int32)
    keyed = table._replace(key=cast(int, np.uint64(table.key)))
    kernels.find(fixed(wanted), fixed(stored), fixed(keyed), out)
    return out


# --- terms as texts -----------------------------------------------------------------------------------------------


def head_of(term: Term, qualifiers: Qualifiers) -> int:
    """The head of a term; `qualifiers` is extended as needed."""
    return 4 * qualifiers.setdefault((term.datatype, term.language), len(qualifiers)) + term.kind


def flatten(terms: Sequence[Term], qualifiers: Qualifiers) -> Texts:
    """The arrays of these terms; `qualifiers` is extended as needed."""
    heads = np.array([head_of(term, qualifiers) for term in terms], np.int32)
    return Texts(heads, *buffers(pa.array([term.value for term in terms], pa.large_string())))


def buffers(texts: Any) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Offsets and bytes of an Arrow array of large strings that begins its buffers."""
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


class SavedTerms:
    """The terms of a save: found and decoded one at a time from mapped arrays."""

    def __init__(
        self, texts: Texts, qualifiers: Sequence[tuple[str, str]], table: Table, typed: Typed, source: str | None
    ) -> None:
        self._texts, self._qualifiers, self._table, self._typed = texts, qualifiers, table, typed
        self._numbers: Qualifiers = {pair: number for number, pair in enumerate(qualifiers)}
        self._source = source
        self._decoded: dict[int, Term] = {}

    def __len__(self) -> int:
        return len(self._texts.heads)

    def find_many(self, terms: Sequence[Term]) -> list[int]:
        """The id of each term, or -1."""
        if pays(len(terms)):
            wanted = flatten(terms, dict(self._numbers))  # an unknown pair gets a number that no stored head has
            ids: list[int] = find_texts(wanted, self._texts, self._table).tolist()
            return ids
        found = []
        for term in terms:
            number = self._numbers.get((term.datatype, term.language))
            head = None if number is None else 4 * number + term.kind
            found.append(-1 if head is None else find_text(head, term.value.encode(), self._texts, self._table))
        return found

    def term(self, id: int) -> Term:
        known = self._decoded.get(id)
        if known is not None:
            return known
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

    def spelled(self) -> SpelledTerms:
        """All terms as an interner table takes them."""
        kinds, values = self._texts.heads % 4, arrow_strings(len(self), self._texts.offsets, self._texts.data)
        try:
            values.validate(full=True)
        except pa.ArrowInvalid as error:
            raise _damaged("its terms are not UTF-8", self._source) from error
        is_iri = pa.array(kinds == TermKind.IRI)
        spelled = pc.if_else(is_iri, spellings(values), pa.scalar(None, pa.large_string()))
        rows = np.flatnonzero(np.asarray(spelled.is_null()))
        others = pa.array([spell(self.term(row)) for row in rows.tolist()], pa.large_string())
        whole = strings_of(pc.replace_with_mask(spelled, spelled.is_null(), others))
        return SpelledTerms(whole, np.where(self.textual(0, len(self)), TEXT, kinds).astype(np.uint8))


# --- packing ------------------------------------------------------------------------------------------------------


def pack(texts: Texts, qualifiers: Qualifiers, typed: Typed) -> Packed:
    table = make_table(texts)
    arrays = {**texts._asdict(), **typed._asdict(), "slots": table.slots, "marks": table.marks}
    return Packed(arrays, {"qualifiers": [list(pair) for pair in qualifiers], "key": table.key})


def unpack(packed: Packed, source: str | None = None) -> SavedTerms:
    """The terms of a save; arrays that do not fit together are refused here, so that no look-up runs astray."""
    arrays, meta = packed
    try:
        texts = Texts(*_columns(arrays, Texts._fields, (np.int32, np.int64, np.uint8)))
        qualifiers = tuple((str(datatype), str(language)) for datatype, language in meta["qualifiers"])
        slots, marks = _columns(arrays, ("slots", "marks"), (np.int32, np.uint32))
        table = Table(slots, marks, int(meta["key"]))
        typed = Typed(*_columns(arrays, Typed._fields, DTYPES))
    except (KeyError, TypeError, ValueError) as error:
        raise _damaged(f"{type(error).__name__}, {error}", source) from error
    if not (_texts_fit(texts, len(qualifiers)) and _table_fits(table, texts) and _typed_fits(typed, texts)):
        raise _damaged("its arrays do not fit together", source)
    return SavedTerms(texts, qualifiers, table, typed, source)


def _columns(arrays: Mapping[str, np.ndarray[Any, Any]], names: Sequence[str], dtypes: Sequence[Any]) -> list[Any]:
    for name, dtype in zip(names, dtypes, strict=True):
        if arrays[name].dtype != dtype or arrays[name].ndim != 1:
            raise ValueError(f"{name} is no column of {np.dtype(dtype)}")
    return [arrays[name] for name in names]


def _texts_fit(texts: Texts, qualifiers: int) -> bool:
    heads, offsets, data = texts
    return (
        len(offsets) == len(heads) + 1
        and offsets[0] == 0
        and offsets[-1] == len(data)
        and bool((np.diff(offsets) >= 0).all())
        and bool(((heads >= 0) & (heads % 4 < len(_KINDS)) & (heads // 4 < qualifiers)).all())
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
