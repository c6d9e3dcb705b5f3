"""Interests from files: SPARQL tables and `.rq` files, or pattern tables, and the taxonomy they rely on.

The law: a bad subscription is rejected with its file and loses no other.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from heliograph.cli.options import Interests, read_prefixes
from heliograph.cli.run import Intake, Run
from heliograph.errors import HeliographError, Place, TableError, UsageError
from heliograph.model import Receipt, Rejected
from heliograph.tables.reader import read_table
from heliograph.tables.sources import (
    DOCUMENT_SUFFIXES,
    PIPE,
    QUERY_SUFFIXES,
    TABLE_SUFFIXES,
    Source,
    find_sources,
)
from heliograph.taxonomy import Row, Taxonomy
from heliograph.terms import RDF_TYPE, RDFS_SUBCLASS_OF


class Subscriber(Protocol):
    """An engine that takes SPARQL subscriptions."""

    def subscribe(self, items: Any = None, *, patterns: Any = None, constraints: Any = None) -> Receipt: ...


class Context(NamedTuple):
    """What an engine is made with."""

    prefixes: Mapping[str, str]
    taxonomy: Taxonomy | None


def read_context(interests: Interests, run: Run) -> Context:
    """The prefixes, and the taxonomy if there is one."""
    prefixes = read_prefixes(interests.prefix)
    taxonomy = None if interests.taxonomy is None else _read_taxonomy(interests.taxonomy, prefixes, run)
    return Context(prefixes, taxonomy)


def subscribe(engine: Subscriber, interests: Interests, run: Run) -> None:
    """Subscribes to everything that the options name."""
    _check(interests)
    if interests.patterns is not None:
        _subscribe_patterns(engine, interests, run)
    if interests.subscriptions is not None:
        _subscribe_queries(engine, interests.subscriptions, run)


def _check(interests: Interests) -> None:
    if interests.subscriptions is None and interests.patterns is None:
        raise UsageError("HG-032", "no interests", fix="give --subscriptions S, or --patterns P [--constraints C]")
    if interests.constraints is not None and interests.patterns is None:
        raise UsageError("HG-032", "--constraints without --patterns", fix="give --patterns P as well")


def once(*inputs: Interests | str | None) -> None:
    """Refuses to read standard input for two things."""
    if [spec for given in inputs for spec in _specs(given) if spec == PIPE][1:]:
        raise UsageError("HG-033", "two inputs are -", fix="give one of them as a file")


def _specs(given: Interests | str | None) -> tuple[str | None, ...]:
    if not isinstance(given, Interests):
        return (given,)
    return given.subscriptions, given.patterns, given.constraints, given.taxonomy


# --- subscriptions ----------------------------------------------------------------------------------------------


def _subscribe_patterns(engine: Subscriber, interests: Interests, run: Run) -> None:
    patterns = run.whole("--patterns", "patterns", str(interests.patterns))
    limits = interests.constraints and run.whole("--constraints", "constraints", interests.constraints)
    receipt = engine.subscribe(patterns=patterns, constraints=limits)
    run.reject(receipt.rejected, interests.patterns)


def _subscribe_queries(engine: Subscriber, spec: str, run: Run) -> None:
    sources = find_sources(spec, TABLE_SUFFIXES + QUERY_SUFFIXES)
    texts = [source for source in sources if source.suffix in QUERY_SUFFIXES]
    tables = [source for source in sources if source.suffix not in QUERY_SUFFIXES]
    for read in run.checked("--subscriptions", read_table("subscriptions", tables)):
        run.reject(engine.subscribe(read).rejected, read.source)
    if texts:
        _subscribe_texts(engine, spec, texts, run)


def _subscribe_texts(engine: Subscriber, spec: str, sources: list[Source], run: Run) -> None:
    names: dict[str, str] = {}
    items: list[tuple[str, str]] = []
    for source in sources:
        try:
            items.append((query_id(spec, source), read_text(source)))
            names[items[-1][0]] = source.name
        except HeliographError as error:
            run.reject([Rejected.of(error, source.name, query_id(spec, source))])
    rejected = engine.subscribe(items).rejected
    run.reject(replace(entry, source=names.get(entry.item or "", entry.source)) for entry in rejected)


def query_id(spec: str, source: Source) -> str:
    """The id of a `.rq` file: its path below the folder (or the fixed part of the glob) given, without the suffix."""
    path = Path(source.name)
    if glob.has_magic(spec):
        fixed = Path(*_fixed_part(spec))
        path = path.relative_to(fixed) if path.is_relative_to(fixed) else path
    elif not os.path.isdir(spec):
        path = Path(path.name)
    return path.with_suffix("").as_posix()


def _fixed_part(pattern: str) -> Iterator[str]:
    for part in Path(pattern).parts[:-1]:
        if glob.has_magic(part):
            return
        yield part


def read_text(source: Source) -> str:
    """The text of a `.rq` file."""
    assert source.path is not None
    try:
        return source.path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise TableError("HG-207", f"bytes that are not UTF-8: {error.reason}", fix="save it as UTF-8") from error
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise TableError(
            "HG-201", f"cannot read it: {reason}", place=Place(source.name), fix="check the file"
        ) from error


# --- taxonomy ---------------------------------------------------------------------------------------------------


def _read_taxonomy(spec: str, prefixes: Mapping[str, str], run: Run) -> Taxonomy:
    rows: list[Row] = []
    intake = Intake("--taxonomy")
    for source in find_sources(spec, TABLE_SUFFIXES + DOCUMENT_SUFFIXES):
        read = _from_document(source) if source.suffix in DOCUMENT_SUFFIXES else _from_table(source, prefixes)
        run.reject(_placed(read.rejected, source.name))
        intake.note(len(read.rows), read.rejected)
        rows += read.rows
    intake.check()
    taxonomy = Taxonomy(rows)
    run.reject(_placed(taxonomy.rejected, spec))  # its cycles, by name
    return taxonomy


def _placed(rejected: Iterable[Rejected], source: str | None) -> list[Rejected]:
    """A taxonomy does not know which file its rows came from."""
    return [entry if entry.source != "taxonomy" else replace(entry, source=source) for entry in rejected]


class _Classes(NamedTuple):
    rows: list[Row]
    rejected: list[Rejected]


def _from_table(source: Source, prefixes: Mapping[str, str]) -> _Classes:
    found = _Classes([], [])
    for read in read_table("taxonomy", [source]):
        part = Taxonomy.read(read, prefixes)
        found.rows.extend(part.rows)
        found.rejected.extend(part.rejected[: len(part.rejected) - len(part.cycles)])  # cycles are told of the whole
    return found


def _from_document(source: Source) -> _Classes:
    """The classes of an RDF document: what it says with rdfs:subClassOf and rdf:type."""
    from heliograph.feeds import read_triples
    from heliograph.vocabulary import Vocabulary

    found = read_triples(source, Vocabulary())
    triples = (triple for _, graph in found.publications.graphs() for triple in sorted(graph))
    rows = [(child, parent) for child, kind, parent in triples if kind in (RDFS_SUBCLASS_OF, RDF_TYPE)]
    return _Classes(rows, list(found.rejected))
