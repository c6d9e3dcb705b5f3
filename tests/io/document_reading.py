"""Helpers of these tests: bytes in, publications and rejections out."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from heliograph.io.documents import read_documents
from heliograph.io.sources import Source
from heliograph.model import Rejected
from heliograph.terms import PREFIXES, Position, Term, parse_cell
from heliograph.vocabulary import Vocabulary

Graph = frozenset[tuple[Term, Term, Term]]


class Outcome(NamedTuple):
    """What was read: each publication's triples by its id, in order, and what was refused."""

    publications: dict[str, Graph]
    rejected: list[Rejected]

    @property
    def ids(self) -> list[str]:
        return list(self.publications)

    @property
    def codes(self) -> list[str]:
        return [refused.code for refused in self.rejected]

    @property
    def only(self) -> Graph:
        (graph,) = self.publications.values()
        return graph


def read_files(files: Mapping[str, bytes | str], batch: int = 1000) -> Outcome:
    """Reads documents in one call; every triple is checked for terms that may not stand where they do."""
    publications: dict[str, Graph] = {}
    rejected: list[Rejected] = []
    with tempfile.TemporaryDirectory() as folder:
        sources = []
        for number, (name, data) in enumerate(files.items()):
            path = Path(folder, str(number) + Path(name).suffix)
            path.write_bytes(data.encode() if isinstance(data, str) else data)
            sources.append(Source(path, name))
        for documents in read_documents(sources, Vocabulary().overlay(), batch=batch):
            assert len(documents.publications.ids) <= batch
            for id, graph in documents.publications.graphs():
                assert id not in publications
                publications[id] = graph
            rejected += documents.rejected
    for graph in publications.values():
        for subject, predicate, _ in graph:
            assert not subject.is_literal
            assert parse_cell(f"<{predicate.value}>", Position.PROPERTY) == predicate
    return Outcome(publications, rejected)


def read(data: bytes | str, name: str = "feed.xml") -> Outcome:
    return read_files({name: data})


def triples(*rows: str) -> Graph:
    """Triples written as three cells between bars, with the prefixes that are built in."""
    cells = [[cell.strip() for cell in row.split(" | ")] for row in rows]
    return frozenset(
        (
            parse_cell(subject, Position.SUBJECT, PREFIXES),
            parse_cell(predicate, Position.PROPERTY, PREFIXES),
            parse_cell(value, Position.OBJECT, PREFIXES),
        )
        for subject, predicate, value in cells
    )
