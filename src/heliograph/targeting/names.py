"""What the names and strings of events are called inside: attributes and words, by number.

An attribute is a path of names, such as `a.b`; a word is a string constant that some expression compares one attribute
with. Numbers are given once and never taken back.

The laws: equal paths have one number, equal texts of one attribute one word; a snapshot goes on giving the answers of
its time while the one writer adds more, because a search stops at numbers that came later. Its hash tables are keyed at
random (see `vocabulary.hashtable`), so that no choice of names makes them slow, and are filled only when a snapshot is
wanted: small jobs use the dictionaries beside them.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from heliograph.kernels.layout import Texts
from heliograph.kernels.targeting_layout import Names
from heliograph.syntax.predicate_form import Path
from heliograph.targeting.growing import Growing, fixed
from heliograph.vocabulary.hashtable import PRIME, hash_text, pays, text_at

LABELS: Path = ("", "labels")  # the label set of an event, which is compared whole; no expression can name it
NO_NAME = ""
NAME_HEAD = 1  # goes into the hash of a name; into that of a word goes one more than its attribute, never 0


class NameTable:
    """Attributes and words, growing. One thread writes; snapshots may be taken and used by any."""

    def __init__(self, key: int | None = None) -> None:
        self.paths: list[Path] = []
        self._attributes: dict[Path, int] = {}
        self._beginning: dict[str, tuple[int, ...]] = {}
        self._words: list[dict[str, int]] = []
        self._word_count = 0
        self._lock = threading.Lock()
        self._flat = _Flat(1 + secrets.randbelow(PRIME - 1) if key is None else key)
        self._snapshot: Names | None = None

    def attribute(self, path: Path) -> int:
        """The number of an attribute, which becomes known by this."""
        known = self._attributes.get(path)
        return self._add_attribute(path) if known is None else known

    def word(self, attribute: int, text: str) -> int:
        """The number of a text as a string constant of one attribute, which becomes known by this."""
        known = self._words[attribute].get(text)
        return self._add_word(attribute, text) if known is None else known

    def words(self) -> tuple[list[int], list[str]]:
        """The attribute and the text of each word, by number."""
        found = sorted((n, at, text) for at, some in enumerate(self._words) for text, n in some.items())
        return [at for _, at, _ in found], [text for _, _, text in found]

    @property
    def word_count(self) -> int:
        return self._word_count

    def find_attribute(self, path: Path) -> int:
        """The number of an attribute, or -1."""
        return self._attributes.get(path, -1)

    def find_word(self, attribute: int, text: str) -> int:
        """The number of a text as a string constant of one attribute, or -1."""
        return self._words[attribute].get(text, -1)

    def beginning(self, name: str) -> tuple[int, ...]:
        """The attributes whose paths begin with this name, that of the name alone first."""
        return self._beginning.get(name, ())

    def snapshot(self) -> Names:
        """Everything known so far, as arrays that stay as they are."""
        with self._lock:
            if self._snapshot is None:
                self._snapshot = self._flat.names()
            return self._snapshot

    def _add_attribute(self, path: Path) -> int:
        with self._lock:
            number = len(self.paths)
            self.paths.append(path)
            self._words.append({})
            if path[0] != NO_NAME:
                self._flat.new_attributes.append((number, path))
                others = self._beginning.get(path[0], ())
                self._beginning[path[0]] = (number, *others) if len(path) == 1 else (*others, number)
            self._attributes[path] = number
            self._snapshot = None
        return number

    def _add_word(self, attribute: int, text: str) -> int:
        with self._lock:
            number = self._word_count
            self._flat.new_words.append((attribute, text))
            self._word_count = number + 1
            self._words[attribute][text] = number
            self._snapshot = None
        return number


class _Flat:
    """The arrays of a snapshot; what is new since the last one waits in lists."""

    def __init__(self, key: int) -> None:
        self.new_attributes: list[tuple[int, Path]] = []
        self.new_words: list[tuple[int, str]] = []
        self._names: dict[str, int] = {}
        self._name_attributes, self._nested = Growing(np.int32), Growing(np.uint8)
        self._word_attributes = Growing(np.int32)
        self._name_table, self._word_table = _Texts(key), _Texts(key)
        self._key: Any = np.uint64(key)

    def names(self) -> Names:
        self._take_words()
        self._take_attributes()
        names, words = self._name_table, self._word_table
        parts = names.slots, names.offsets.view(), names.data.view(), self._name_attributes.view(), self._nested.view()
        others = words.slots, self._word_attributes.view(), words.offsets.view(), words.data.view()
        return Names(self._key, *parts, *others)

    def _take_words(self) -> None:
        if self.new_words:
            attributes, texts = zip(*self.new_words, strict=True)
            self.new_words.clear()
            self._word_attributes.extend(attributes)
            self._word_table.extend([attribute + 1 for attribute in attributes], [utf8(text) for text in texts])

    def _take_attributes(self) -> None:
        alone: dict[int, int] = {}
        nested: dict[int, int] = {}
        fresh: list[bytes] = []
        for number, path in self.new_attributes:
            name = self._names.setdefault(path[0], len(self._names))
            if name == len(self._name_attributes) + len(fresh):
                fresh.append(utf8(path[0]))
            if len(path) == 1:
                alone[name] = number
            else:
                nested[name] = 1
        self.new_attributes.clear()
        self._name_attributes.extend([-1] * len(fresh))
        self._nested.extend([0] * len(fresh))
        self._name_attributes.replace(alone)
        self._nested.replace(nested)
        self._name_table.extend([NAME_HEAD] * len(fresh), fresh)


class _Texts:
    """Texts end to end and the hash table that finds them by head and bytes; at most half of its slots are taken."""

    def __init__(self, key: int) -> None:
        self._key = key
        self._hashes = Growing(np.uint64)
        self._slots = np.full(16, -1, np.int32)
        self.offsets, self.data = Growing(np.int64, (0,)), Growing(np.uint8)

    @property
    def slots(self) -> npt.NDArray[np.int32]:
        view = self._slots.view()
        view.flags.writeable = False
        return view

    def extend(self, heads: Sequence[int], texts: Sequence[bytes]) -> None:
        """Appends texts, all of them new. A slot that is filled in place was empty for every older snapshot."""
        first, base = len(self._hashes), len(self.data)
        ends = np.cumsum([0, *map(len, texts)], dtype=np.int64)
        data = np.frombuffer(b"".join(texts), np.uint8)
        self._hashes.extend(hash_texts(Texts(np.array(heads, np.int32), ends, data), self._key))
        self.data.extend(data)
        self.offsets.extend(ends[1:] + base)
        self._fill(first)

    def _fill(self, first: int) -> None:
        count = len(self._hashes)
        if 2 * count > len(self._slots):
            self._slots, first = np.full(1 << (4 * count - 1).bit_length(), -1, np.int32), 0
        slots, mask = self._slots, len(self._slots) - 1
        for number, slot in enumerate((self._hashes.view()[first:] & np.uint64(mask)).tolist(), first):
            while slots[slot] >= 0:
                slot = (slot + 1) & mask
            slots[slot] = number


def hash_texts(texts: Texts, key: int) -> npt.NDArray[np.uint64]:
    """The hash of each text with its head: in plain Python where they are few."""
    if not pays(len(texts.heads)):
        heads = texts.heads.tolist()
        return np.array([hash_text(head, text_at(texts, row), key) for row, head in enumerate(heads)], np.uint64)
    from heliograph.kernels import hashing

    out = np.empty(len(texts.heads), np.uint64)
    hashing.hashes(fixed(texts), np.uint64(key), out)
    return out


def utf8(text: str) -> bytes:
    """The bytes of a text; JSON can spell half of a surrogate pair, which keeps its place in the order."""
    return text.encode("utf-8", "surrogatepass")
