"""`heliograph lint`: finds subscriptions, nodes and edges that look wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from heliograph.cli.guard import Exit
from heliograph.cli.options import OUTPUT, Interests, Output, read_prefixes, takes
from heliograph.errors import UsageError

if TYPE_CHECKING:
    import pyarrow as pa

    from heliograph.cli.run import Run
    from heliograph.lint import Compiled
    from heliograph.model import Receipt


@dataclass(frozen=True, slots=True)
class LintOptions:
    interests: Interests
    nodes: Annotated[str | None, typer.Option("--nodes", "-n", metavar="N", help="The nodes of an exchange.")] = None
    edges: Annotated[str | None, typer.Option("--edges", "-e", metavar="E", help="The edges of an exchange.")] = None
    out: Annotated[
        str,
        typer.Option(
            "--out",
            "-o",
            metavar="L",
            help="Findings (subject_id, code, message, related_id): .parquet, .csv, .ndjson; - is NDJSON on stdout.",
            rich_help_panel=OUTPUT,
        ),
    ] = "-"
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with 1 if anything was found.", rich_help_panel=OUTPUT)
    ] = False


@takes(LintOptions)
def lint_command(options: LintOptions) -> int:
    """Find subscriptions, nodes and edges that look wrong."""
    from heliograph.cli.interests import once
    from heliograph.cli.run import Run

    interests = options.interests
    once(interests, options.nodes, options.edges)
    exchange = options.nodes is not None or options.edges is not None
    if exchange and (options.nodes is None or options.edges is None):
        raise UsageError("HG-032", "an exchange needs both --nodes and --edges", fix="give the other one too")
    with Run(Output(out=options.out), "lint") as run:
        found = 0
        if exchange:
            found += _report(_lint_exchange(str(options.nodes), str(options.edges), run), run)
        if not exchange or interests.subscriptions or interests.patterns:
            found += _report(_lint_interests(interests, run), run)
    return Exit.FAILED if found and options.strict else run.exit_code


def _report(findings: pa.Table, run: Run) -> int:
    run.write(findings)
    return findings.num_rows


def _lint_exchange(nodes: str, edges: str, run: Run) -> pa.Table:
    from heliograph.route.lint import lint_route

    return lint_route(run.whole("--nodes", "nodes", nodes), run.whole("--edges", "edges", edges))


def _lint_interests(interests: Interests, run: Run) -> pa.Table:
    from heliograph.cli.interests import subscribe
    from heliograph.lint import lint_subscriptions

    collected = _Collector(read_prefixes(interests.prefix))
    subscribe(collected, interests, run)
    return lint_subscriptions(collected.compiled)


class _Collector:
    """Takes subscriptions as an engine does, and only compiles them. Watch reads all that filter reads, and more."""

    def __init__(self, prefixes: Mapping[str, str]) -> None:
        self._prefixes = prefixes
        self.compiled: list[Compiled] = []

    def subscribe(self, items: Any = None, *, patterns: Any = None, constraints: Any = None) -> Receipt:
        from heliograph.model import Receipt
        from heliograph.syntax.patterns import compile_patterns
        from heliograph.syntax.sparql import compile_sparql
        from heliograph.tables.items import as_table

        if patterns is not None:
            limits = as_table("constraints", constraints or [])
            self.compiled += compile_patterns(patterns.table, limits.table, self._prefixes).items()
            return Receipt()
        read = as_table("subscriptions", items)
        texts = [text or "" for text in read.table["query"].to_pylist()]
        queries = compile_sparql(texts, verb="watch", prefixes=self._prefixes)
        self.compiled += zip(read.table["subscription_id"].to_pylist(), queries, strict=True)
        return Receipt(len(queries), read.rejected)
