"""`heliograph lint`: finds subscriptions, nodes and edges that look wrong."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from heliograph.cli.main import Exit
from heliograph.cli.options import OUTPUT, Interests, Output, takes
from heliograph.errors import UsageError

if TYPE_CHECKING:
    import pyarrow as pa

    from heliograph.cli.run import Run
    from heliograph.lint.lint import Linter


_SHOWN = 200  # findings that a terminal shows


@dataclass(frozen=True, slots=True)
class LintOptions:
    interests: Interests
    sample: Annotated[
        str | None,
        typer.Option(
            "--sample",
            metavar="P",
            help="Publications as they will come (tables, documents, feeds): to find names that nobody uses, "
            "and to measure what is expensive.",
        ),
    ] = None
    nodes: Annotated[str | None, typer.Option("--nodes", "-n", metavar="N", help="The nodes of an exchange.")] = None
    edges: Annotated[str | None, typer.Option("--edges", "-e", metavar="E", help="The edges of an exchange.")] = None
    out: Annotated[
        str | None,
        typer.Option(
            "--out",
            "-o",
            metavar="L",
            help="Findings (subject_id, code, message, related_id): .parquet, .csv, .ndjson; - is NDJSON on stdout. "
            "Without it a table on a terminal, else NDJSON.",
            rich_help_panel=OUTPUT,
        ),
    ] = None
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with 1 if anything was found.", rich_help_panel=OUTPUT)
    ] = False


@takes(LintOptions)
def lint_command(options: LintOptions) -> int:
    """Find subscriptions, nodes and edges that look wrong."""
    from heliograph.cli.inputs import once
    from heliograph.cli.run import Run

    interests = options.interests
    once(interests, options.nodes, options.edges, options.sample)
    exchange = _has_exchange(options)
    with Run(Output(out=options.out or "-"), "lint") as run:
        tables = []
        if exchange:
            tables.append(_lint_exchange(str(options.nodes), str(options.edges), run))
        if not exchange or interests.subscriptions or interests.patterns or options.sample:
            tables.append(_lint_interests(interests, options.sample, run))
        found = _report(tables, run, shown=options.out is None and sys.stdout.isatty())
    return Exit.FAILED if found and options.strict else run.exit_code


def _has_exchange(options: LintOptions) -> bool:
    given = [path for path in (options.nodes, options.edges) if path is not None]
    if len(given) == 1:
        raise UsageError("HG-032", "an exchange needs both --nodes and --edges", fix="give the other one too")
    return bool(given)


def _lint_exchange(nodes: str, edges: str, run: Run) -> pa.Table:
    from heliograph.route.lint import lint_route

    return lint_route(run.whole("--nodes", "nodes", nodes), run.whole("--edges", "edges", edges))


def _lint_interests(interests: Interests, sample: str | None, run: Run) -> pa.Table:
    from heliograph.cli.inputs import read_context, subscribe
    from heliograph.lint.findings import table_of
    from heliograph.lint.lint import Linter
    from heliograph.taxonomy import Taxonomy

    context = read_context(interests, run)
    linter = Linter(context.taxonomy or Taxonomy(), context.prefixes)
    subscribe(linter, interests, run)
    if sample is not None:
        _learn(linter, sample, context.prefixes, run)
    return table_of(linter.findings())


def _learn(linter: Linter, sample: str, prefixes: Mapping[str, str], run: Run) -> None:
    from heliograph.cli.inputs import read_publications
    from heliograph.filter.encode import encode

    for batch in read_publications(sample, linter.vocabulary, prefixes, run, "--sample"):
        publications, rejected = encode(batch.items, linter.vocabulary, prefixes)
        run.reject([*batch.rejected, *rejected])
        linter.learn(publications)


# --- telling ----------------------------------------------------------------------------------------------------


def _report(tables: list[pa.Table], run: Run, *, shown: bool) -> int:
    import pyarrow as pa

    findings = pa.concat_tables(tables)
    if shown:
        _show(findings)
    else:
        run.write(findings)
    return findings.num_rows


def _show(findings: pa.Table) -> None:
    """The findings as a table for people, the first of many; how many there are of each kind."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False)
    if not findings.num_rows:
        console.print("nothing looks wrong", style="green")
        return
    table = Table(box=None, header_style="bold")
    for name, style in (("subject", "cyan"), ("code", "yellow"), ("finding", "")):
        table.add_column(name, style=style, overflow="fold", no_wrap=name == "code")
    for row in findings.slice(0, _SHOWN).to_pylist():  # a message names what else it has to do with
        table.add_row(*(Text(row[name] or "") for name in ("subject_id", "code", "message")))
    console.print(table)
    console.print(Text(_summary(findings), "dim"))


def _summary(findings: pa.Table) -> str:
    counts = Counter(findings["code"].to_pylist())
    kinds = ", ".join(f"{count:,} × {code}" for code, count in sorted(counts.items()))
    rest = "" if findings.num_rows <= _SHOWN else f"; the first {_SHOWN} are shown, --out FILE writes all"
    return f"{findings.num_rows:,} findings: {kinds}{rest}"
