"""RDF documents as publications: one for each named graph, with the graph's IRI as id (`_:label` for a blank node), and
one for the default graph, with the document's name.

A document without any triple is one publication without triples. A triple that holds a term of RDF 1.2 (a triple term,
a literal with a base direction) is refused, the others are read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from heliograph.errors import DocumentError, HeliographError, Place
from heliograph.feeds.assembly import Reading, nothing
from heliograph.feeds.interning import ABSENT, REFUSED, Codes, Interner
from heliograph.feeds.lines import QUADS, TRIPLES, Texts, Width, split
from heliograph.feeds.opening import Document
from heliograph.feeds.places import shortened
from heliograph.feeds.syntaxes import SYNTAXES, as_lines
from heliograph.model import MOST_TOLD, Rejected
from heliograph.terms import TermKind

TOGETHER = 64 << 20  # bytes of lines whose distinct texts are read together


def read_rdf(document: Document, suffix: str, interner: Interner, locate: Callable[[], Place] | None = None) -> Reading:
    """The publications of an RDF document, with what was refused in it.

    `locate` finds the place of an error that comes without one.
    """
    syntax = SYNTAXES[suffix]
    rejected: list[Rejected] = []
    try:
        lines = as_lines(document, syntax, rejected)
        return read_lines(Lines(document.name, lines, QUADS if syntax.quads else TRIPLES), interner, rejected)
    except HeliographError as error:
        if error.place.line is None:
            is_parsed = error.code == "HG-302"  # else it was refused because parsing it would be dangerous
            error.place = locate() if locate and is_parsed else Place(document.name)
        return nothing([*rejected, Rejected.of(error, document.name)])


class Lines(NamedTuple):
    """A document as N-Triples or N-Quads of one shape, in blocks: see `lines`."""

    name: str
    blocks: Iterable[bytes]
    width: Width


def read_lines(lines: Lines, interner: Interner, rejected: list[Rejected]) -> Reading:
    """The publications of a document that has become lines; what is refused in them adds to `rejected`."""
    name, blocks, width = lines
    interner.begin()
    codes = [interned(group, width, interner, name, rejected).codes for group in _grouped(blocks, width)]
    return _reading(name, np.concatenate([np.empty((0, width), np.int32), *codes]), interner, rejected)


def _grouped(lines: Iterable[bytes], width: Width) -> Iterator[list[Texts]]:
    group: list[Texts] = []
    size = 0
    for block in lines:
        if block:
            group.append(split(block, width))
            size += len(block)
        if size > TOGETHER:
            yield group
            group, size = [], 0
    if group:
        yield group


class Interned(NamedTuple):
    """The ids of the lines that hold no refused term, and which of all lines these are."""

    codes: Codes
    kept: npt.NDArray[np.bool_]


def interned(blocks: Sequence[Texts], width: int, interner: Interner, name: str, rejected: list[Rejected]) -> Interned:
    """The ids of lines of `width` texts each; lines that hold a refused term are reported."""
    codes = interner.columns(blocks, width)
    kept = (codes != REFUSED).all(axis=1)
    if not kept.all():
        texts = [text or "" for block in blocks for text in block.to_pylist()]
        starts = (np.flatnonzero(~kept) * width).tolist()
        rejected += [_refused("".join(texts[start : start + width]), name) for start in starts[:MOST_TOLD]]
        rejected += [Rejected(name, None, "HG-308", "")] * len(starts[MOST_TOLD:])
        codes = codes[kept]
    return Interned(codes, kept)


def _refused(line: str, name: str) -> Rejected:
    shown = shortened(line.strip())
    fix = "state it without << >> and without a base direction; the other triples were read"
    return Rejected.of(DocumentError("HG-308", f"a term of RDF 1.2 in {shown}", place=Place(name), fix=fix), name)


def _reading(name: str, codes: Codes, interner: Interner, rejected: list[Rejected]) -> Reading:
    """Rows numbered by graph, graphs in the order of their first rows. Without graphs, the fourth text is the dot."""
    graphs, first, inverse = np.unique(codes[:, 3], return_index=True, return_inverse=True)
    order = np.argsort(first)
    ids = [_publication_id(int(graph), name, interner) for graph in graphs[order]]
    numbers = np.argsort(order)[inverse].astype(np.int64)
    if not ids and not rejected:
        ids = [name]
    return Reading(ids, numbers, codes[:, :3], rejected)


def _publication_id(graph: int, name: str, interner: Interner) -> str:
    if graph == ABSENT:
        return name
    term = interner.vocabulary.term(graph)
    return f"_:{term.value}" if term.kind is TermKind.BLANK else term.value
