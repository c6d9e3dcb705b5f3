"""Term texts to ids: each distinct text of a stretch of lines is read once.

The law: texts of one canonical term have one id. A blank node's label means a node of its own document only. Labels
that a document gives are kept; nodes without one are named `anon1`, `anon2`, … in the order of their appearance in the
call, so that a run can be repeated; a document's own `anon…` is renamed likewise.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from heliograph.errors import TermError
from heliograph.feeds.lines import Texts
from heliograph.terms import Term, TermKind, blank, literal, parse_cell
from heliograph.values import XSD_STRING

if TYPE_CHECKING:
    from heliograph.vocabulary import Vocabulary

ABSENT = -1  # the graph of a triple in the default graph
REFUSED = -2  # a term of RDF 1.2 that no table, query or notification could spell

Codes = npt.NDArray[np.int32]

_LESS, _QUOTE, _BACKSLASH = b'<"\\'
_IRI, _LITERAL = TermKind.IRI, TermKind.LITERAL  # members of an enumeration are slow to look up
_UNLABELLED = re.compile(r"[a-f][0-9a-f]{19,31}|anon[0-9]+")  # pyoxigraph writes 128 random bits in hexadecimal
_MAYBE_UNLABELLED = re.compile(rb"_:(?:[a-f][0-9a-f]{19}|anon[0-9])")
_new = tuple.__new__  # `Term(…)` by its own constructor takes half as long again


def has_own_blanks(lines: bytes) -> bool:
    """Whether lines may hold a blank node that gets another name in each document; all others keep theirs."""
    return _MAYBE_UNLABELLED.search(lines) is not None


class Interner:
    """Reads term texts into a vocabulary for one call; `begin` starts another document."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self.ready: dict[str, Term] = {}
        """Texts whose terms are known, so that they need not be read."""
        self._blanks: dict[str, Term] = {}
        self._named = 0

    def begin(self) -> None:
        """Blank nodes met from now on are none of those met before."""
        self._blanks = {}
        self.ready = {}

    def fresh_blank(self) -> int:
        """A blank node that no document has."""
        return self.vocabulary.intern(self._next_blank())

    def columns(self, blocks: Sequence[Texts], width: int) -> Codes:
        """The ids of texts, `width` in a row."""
        encoded: Any = pa.chunked_array([block.dictionary_encode() for block in blocks]).unify_dictionaries()
        ids = self.ids(encoded.chunk(0).dictionary)
        codes: Codes = np.concatenate([chunk.indices.to_numpy() for chunk in encoded.chunks])
        return ids[codes].reshape(-1, width)

    def ids(self, texts: Texts) -> Codes:
        """The id of each text, ABSENT for none, REFUSED for what we cannot hold.

        Sorted out by their first and last characters, nearly all texts become terms without a question asked of each.
        """
        iris, plain, others = _sorts(texts)
        cut = _Cut(texts)
        terms = [_new(Term, (_IRI, value, "", "")) for value in cut(iris, 1, 2)]
        terms += [_new(Term, (_LITERAL, value, XSD_STRING, "")) for value in cut(plain, 1, 2)]
        read = [*map(self._read, cut(others, 0, 0))]
        terms += [term for term in read if term is not None]
        ids = np.full(len(texts), ABSENT, np.int32)
        ids[others] = REFUSED
        readable = others[[term is not None for term in read]]
        ids[np.concatenate((iris, plain, readable))] = self.vocabulary.intern_many(terms)
        return ids

    def _read(self, text: str) -> Term | None:
        """The term that a text with a space behind it spells; None if we cannot hold it."""
        if text[0] == "_":
            return self._blank(text[2:-1])
        if text in self.ready:
            return self.ready[text]
        if text[0] == '"' and "\\" not in text:
            return _literal(text)
        try:
            return parse_cell(text[:-1])
        except TermError:
            return None

    def _blank(self, label: str) -> Term:
        known = self._blanks.get(label)
        if known is None:
            known = self._next_blank() if _UNLABELLED.fullmatch(label) else blank(label)
            self._blanks[label] = known
        return known

    def _next_blank(self) -> Term:
        self._named += 1
        return blank(f"anon{self._named}")


Rows = npt.NDArray[np.int64]


class _Sorts(NamedTuple):
    iris: Rows
    plain: Rows  # strings without escapes
    others: Rows


def _sorts(texts: Texts) -> _Sorts:
    """The rows of the texts by how they are to be read; the dot and the empty text are none."""
    buffers: Any = texts.buffers()
    data = np.frombuffer(buffers[2], np.uint8)
    bounds = np.frombuffer(buffers[1], np.int32)[texts.offset : texts.offset + len(texts) + 1]
    rows = np.flatnonzero(np.diff(bounds) > len(".\n"))
    starts, ends = bounds[rows], bounds[rows + 1]
    escapes = np.flatnonzero(data == _BACKSLASH)
    iris = (data[starts] == _LESS) & (data[starts + 1] != _LESS)
    plain = (data[starts] == _QUOTE) & (data[ends - 2] == _QUOTE)
    plain &= np.searchsorted(escapes, starts) == np.searchsorted(escapes, ends)
    return _Sorts(rows[iris], rows[plain], rows[~(iris | plain)])


class _Cut:
    """Cuts texts out of an array. From ASCII they come as slices of one string, without strings in between."""

    def __init__(self, texts: Texts) -> None:
        buffers: Any = texts.buffers()
        self._texts = texts
        self._bounds = np.frombuffer(buffers[1], np.int32)[texts.offset : texts.offset + len(texts) + 1]
        data = bytes(buffers[2])
        self._all = data.decode("ascii") if data.isascii() else None

    def __call__(self, rows: Rows, left: int, right: int) -> list[str]:
        """The texts of these rows without some characters on each side."""
        if self._all is None:
            return [(text or "")[left : len(text or "") - right] for text in self._texts.take(rows).to_pylist()]
        whole = self._all
        bounds = zip((self._bounds[rows] + left).tolist(), (self._bounds[rows + 1] - right).tolist(), strict=True)
        return [whole[start:end] for start, end in bounds]


def _literal(text: str) -> Term | None:
    """A literal without escapes, so that its last quote is the one that closes it."""
    close = text.rindex('"')
    if text[close + 1] == "@":
        language = text[close + 2 : -1]
        return None if "--" in language else literal(text[1:close], language=language)
    return literal(text[1:close], text[close + 4 : -2])
