"""N-Triples and N-Quads lines as columns of term texts, split in bulk.

Every RDF syntax passes through here: pyoxigraph reads it and writes it again as lines of one shape,
`subject predicate object [graph] .` with one space between. There subjects, predicates and graph names hold no space,
and a graph name no quote; so positions of spaces, quotes and line ends are enough to cut a whole block at once.

A block that is of that shape already (`is_plain`) need not be read by pyoxigraph at all. The law on which this rests:
pyoxigraph accepts every plain block, and finds the same terms in it.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Width = Literal[4, 5]
TRIPLES: Width = 4  # texts a line: subject, predicate, object, and the dot; a term keeps the space behind it
QUADS: Width = 5  # with the graph before the dot, empty where there is none
_NEWLINE, _SPACE, _QUOTE, _LESS, _UNDERSCORE = b'\n "<_'

Texts = pa.StringArray

# What both sides surely accept, and nearly all data consists of: IRIs in ASCII, literals in UTF-8.
_ESCAPED = r"%[0-9A-Fa-f]{2}"
_PATH = rf"(?:[A-Za-z0-9._~!$&'()*+,;=:@/-]|{_ESCAPED})*"
_TAIL = rf"(?:[A-Za-z0-9._~!$&'()*+,;=:@/?-]|{_ESCAPED})*"
_WEB = rf"https?://[A-Za-z0-9.-]+(?:/{_PATH})?(?:\?{_TAIL})?(?:#{_TAIL})?"
_URN = rf"(?:urn|tag):[A-Za-z0-9]{_PATH}"
_IRI = rf"<(?:{_WEB}|{_URN})>"
_BLANK = r"_:[A-Za-z][A-Za-z0-9]*"
_CHARACTER = (
    r"[\x20\x21\x23-\x5b\x5d-\x7e]|[\xc2-\xdf][\x80-\xbf]|\xe0[\xa0-\xbf][\x80-\xbf]"
    r"|[\xe1-\xec\xee\xef][\x80-\xbf]{2}|\xed[\x80-\x9f][\x80-\xbf]|\xf0[\x90-\xbf][\x80-\xbf]{2}"
    r"|[\xf1-\xf3][\x80-\xbf]{3}|\xf4[\x80-\x8f][\x80-\xbf]{2}"
)
_LITERAL = rf'"(?:{_CHARACTER}|\\[tbnrf"\\])*"(?:@[A-Za-z]{{2,3}}(?:-[A-Za-z]{{2}})?|\^\^{_IRI})?'
_TRIPLE = rf"(?:{_IRI}|{_BLANK}) {_IRI} (?:{_IRI}|{_BLANK}|{_LITERAL})"


@cache
def _plain(quads: bool) -> Any:
    import re2

    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.never_capture = True
    options.log_errors = False
    graph = rf"(?: (?:{_IRI}|{_BLANK}))?" if quads else ""
    return re2.compile(rf"(?:{_TRIPLE}{graph} \.\n)*".encode("ascii"), options)


def is_plain(block: bytes, quads: bool) -> bool:
    """Whether a block consists of lines of the one shape, made of terms that are beyond doubt."""
    return _plain(quads).fullmatch(block) is not None


def split(lines: bytes, width: Width) -> Texts:
    """The texts of the lines, `width` for each."""
    data = np.frombuffer(lines, np.uint8)
    ends = np.flatnonzero(data == _NEWLINE)
    starts = np.concatenate(([0], ends[:-1] + 1))
    spaces = np.flatnonzero(data == _SPACE)
    first = np.searchsorted(spaces, starts)
    offsets = np.empty((len(ends), width), np.int32)
    offsets[:, 0] = starts
    offsets[:, 1] = spaces[first] + 1
    offsets[:, 2] = spaces[first + 1] + 1
    offsets[:, -1] = ends - 1
    if width == QUADS:
        offsets[:, 3] = _graph_starts(data, spaces, first, ends)
    bounds: Any = np.append(offsets, np.int32(len(data)))
    return pa.StringArray.from_buffers(offsets.size, pa.py_buffer(bounds), pa.py_buffer(lines))


Positions = npt.NDArray[np.int64]


def _graph_starts(data: npt.NDArray[np.uint8], spaces: Positions, first: Positions, ends: Positions) -> Positions:
    """Where the graph name begins, or the dot where there is none.

    The last word before the dot names a graph if it comes fourth or later, begins as an IRI or a blank node, and holds
    no quote: the last word of a literal holds the closing quote.
    """
    dot_space = np.searchsorted(spaces, ends) - 1
    words = spaces[dot_space - 1] + 1
    quotes = np.flatnonzero(data == _QUOTE)
    unquoted = np.searchsorted(quotes, words) == np.searchsorted(quotes, ends)
    begins = (data[words] == _LESS) | (data[words] == _UNDERSCORE)
    return np.where((dot_space - first >= 3) & begins & unquoted, words, ends - 1)
