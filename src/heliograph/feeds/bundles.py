"""Many small documents, read together: what a document costs by itself is several times what its triples cost.

The law: a bundle gives what its documents give one by one. So only N-Triples of which every line is good, and of which
no blank node is renamed, go into one (nor a second document of one name, whose blank nodes are); its documents are told
apart by their numbers of lines. Whatever does not fit ends the bundle before it, so that the order stays.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from heliograph.errors import HeliographError
from heliograph.feeds.assembly import Reading
from heliograph.feeds.documents import EXHAUSTED, open_document, read_document, unread
from heliograph.feeds.interning import REFUSED, Interner, has_own_blanks
from heliograph.feeds.lines import TRIPLES, split
from heliograph.feeds.opening import Document
from heliograph.feeds.rdf import TOGETHER, Lines, read_lines
from heliograph.feeds.syntaxes import BLOCK, SYNTAXES, as_lines
from heliograph.model import Rejected
from heliograph.tables.sources import Source

SMALL = BLOCK // 8  # bytes; a larger document gains next to nothing in company


def read_sources(sources: Iterable[Source], interner: Interner) -> Iterator[Reading]:
    """The publications of sources in order; never raises for what they hold. A reading may be of several sources."""
    bundle: dict[str, bytes] = {}
    size, met = 0, set[str]()
    for source in sources:
        try:
            document = open_document(source)
            lines = None if source.name in met else _good_lines(document)
            if lines is None or size > TOGETHER:
                yield from _together(bundle, interner)
                bundle, size = {}, 0
            if lines is None:
                yield read_document(document, interner)
            else:
                bundle[source.name] = lines
                size += len(lines)
        except (HeliographError, *EXHAUSTED) as error:
            yield from _together(bundle, interner)
            bundle, size = {}, 0
            yield unread(error, source)
        met.add(source.name)
    yield from _together(bundle, interner)


def _good_lines(document: Document) -> bytes | None:
    """The lines of a document that can join others; None for any other document."""
    syntax = SYNTAXES.get(document.source.suffix)
    if syntax is None or syntax.quads or not syntax.by_line or len(document.data) > SMALL:
        return None
    rejected: list[Rejected] = []
    lines = b"".join(as_lines(document, syntax, rejected))
    return None if rejected or not lines or has_own_blanks(lines) else lines


def _together(bundle: dict[str, bytes], interner: Interner) -> Iterator[Reading]:
    """The documents of a bundle as one reading; one by one where a term must be refused, to say in which."""
    if not bundle:
        return
    interner.begin()
    codes = interner.columns([split(block, TRIPLES) for block in _blocks(bundle.values())], TRIPLES)
    if (codes == REFUSED).any():
        for name, lines in bundle.items():
            yield read_lines(Lines(name, [lines], TRIPLES), interner, [])
        return
    counts = [lines.count(b"\n") for lines in bundle.values()]
    yield Reading(list(bundle), np.repeat(np.arange(len(counts)), counts), codes[:, :3], [])


def _blocks(parts: Iterable[bytes]) -> Iterator[bytes]:
    """The same bytes in blocks that a cache holds."""
    block: list[bytes] = []
    size = 0
    for part in parts:
        block.append(part)
        size += len(part)
        if size >= BLOCK:
            yield b"".join(block)
            block, size = [], 0
    if block:
        yield b"".join(block)
