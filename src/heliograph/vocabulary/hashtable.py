"""A hash table over flat texts: filled and searched in plain Python when small, by kernels when large.

The law: both ways give the same table and the same answers, so a save does not depend on which one made it.
"""

from __future__ import annotations

import secrets
import sys
from typing import Any

import numpy as np

from heliograph.kernels.layout import Table, Texts
from heliograph.publications import Ids

PRIME = (1 << 61) - 1
_MARK = 0xFFFFFFFF
_COLD, _WARM = 100_000, 5_000


def pays(count: int) -> bool:
    """Whether this many texts are worth the kernels: a text costs 8 µs in Python, importing Numba nearly a second."""
    return count >= (_WARM if "numba" in sys.modules else _COLD)


def hash_text(head: int, text: bytes, key: int) -> int:
    """A polynomial in `key` over the text's 7-byte words, modulo the prime; see `kernels.hashing`."""
    hashed = head
    for start in range(0, len(text), 7):
        hashed = (hashed * key + int.from_bytes(text[start : start + 7], "little")) % PRIME
    return (hashed * key + len(text)) % PRIME


def text_at(texts: Texts, number: int) -> bytes:
    return texts.data[texts.offsets[number] : texts.offsets[number + 1]].tobytes()


def make_table(texts: Texts, key: int | None = None) -> Table:
    """The table of these texts, all different; the key is random unless given."""
    count = len(texts.heads)
    size = 1 << max(3, (2 * count - 1).bit_length())
    chosen = 1 + secrets.randbelow(PRIME - 1) if key is None else key
    table = Table(np.full(size, -1, np.int32), np.zeros(size, np.uint32), chosen)
    if pays(count):
        from heliograph.kernels import hashing

        hashing.fill(_frozen(texts), _keyed(table))
    else:
        _fill(texts, table)
    return table


def _fill(texts: Texts, table: Table) -> None:
    mask = len(table.slots) - 1
    for number, head in enumerate(texts.heads.tolist()):
        hashed = hash_text(head, text_at(texts, number), table.key)
        slot = hashed & mask
        while table.slots[slot] >= 0:
            slot = (slot + 1) & mask
        table.slots[slot] = number
        table.marks[slot] = hashed >> 29 & _MARK


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
    from heliograph.kernels import hashing

    out = np.empty(len(wanted.heads), np.int32)
    frozen = Table(_readonly(table.slots), _readonly(table.marks), table.key)
    hashing.find(_frozen(wanted), _frozen(stored), _keyed(frozen), out)
    return out


def _keyed(table: Table) -> Table:
    key: Any = np.uint64(table.key)
    return table._replace(key=key)


def _frozen(texts: Texts) -> Texts:
    return Texts(_readonly(texts.heads), _readonly(texts.offsets), _readonly(texts.data))


def _readonly(array: np.ndarray[Any, Any]) -> Any:
    """Mapped arrays are read-only; showing kernels no other kind spares compiling them twice."""
    view = array.view()
    view.flags.writeable = False
    return view
