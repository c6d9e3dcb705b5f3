"""The tools beside the verbs: `heliograph lint`, `heliograph demo` and `heliograph generate`."""

from __future__ import annotations

import inspect
import re
import shlex
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from heliograph.cli.main import Exit, Lazy, LazyGroup, show_pandas
from heliograph.cli.options import OUTPUT, InterestOptions, OutputOptions, option, takes
from heliograph.errors import UsageError

if TYPE_CHECKING:
    import pyarrow as pa

    from heliograph.cli.run import CommandRun


# --- lint: subscriptions, nodes and edges that look wrong ---

_SHOWN = 200  # findings that a terminal shows


@dataclass(frozen=True, slots=True)
class LintOptions:
    interests: InterestOptions
    sample: Annotated[
        str | None,
        option(
            "--sample P",
            "Typical publications (tables, documents, feeds): to find names that none of them has, "
            "and to measure what is expensive.",
        ),
    ] = None
    nodes: Annotated[str | None, option("--nodes -n N", "The nodes of an exchange.")] = None
    edges: Annotated[str | None, option("--edges -e E", "The edges of an exchange.")] = None
    out: Annotated[
        str | None,
        option(
            "--out -o L",
            "Findings (subject_id, code, message, related_id): .parquet, .csv, .ndjson; - is NDJSON on stdout. "
            "Without it a table on a terminal, else NDJSON.",
            OUTPUT,
        ),
    ] = None
    strict: Annotated[bool, option("--strict", "Exit with 1 if anything was found.", OUTPUT)] = False


@takes(LintOptions)
def lint_command(options: LintOptions) -> int:
    """Find subscriptions, nodes and edges that look wrong."""
    import pyarrow as pa

    from heliograph.cli.inputs import once
    from heliograph.cli.run import CommandRun

    interests = options.interests
    once(interests, options.nodes, options.edges, options.sample)
    if (options.nodes is None) != (options.edges is None):
        raise UsageError("HG-032", "an exchange needs both --nodes and --edges", fix="give the other one too")
    with CommandRun(OutputOptions(out=options.out or "-"), "lint") as run:
        tables = []
        if options.nodes is not None and options.edges is not None:
            from heliograph.route.lint import lint_route

            nodes = run.whole("--nodes", "nodes", options.nodes)
            tables.append(lint_route(nodes, run.whole("--edges", "edges", options.edges)))
        if options.nodes is None or interests.subscriptions or interests.patterns or options.sample:
            tables.append(_lint_interests(interests, options.sample, run))
        findings = pa.concat_tables(tables)
        if options.out is None and sys.stdout.isatty():
            _show(findings)
        else:
            run.write(findings)
    found = findings.num_rows
    return Exit.FAILED if found and options.strict else run.exit_code


def _lint_interests(interests: InterestOptions, sample: str | None, run: CommandRun) -> pa.Table:
    from heliograph.cli.inputs import read_context, read_publications, subscribe
    from heliograph.filter.encode import encode
    from heliograph.lint.lint import Linter, table_of
    from heliograph.taxonomy import Taxonomy

    prefixes, taxonomy = read_context(interests, run)
    linter = Linter(taxonomy or Taxonomy(), prefixes)
    subscribe(linter, interests, run)
    batches = () if sample is None else read_publications(sample, linter.vocabulary, prefixes, run, "--sample")
    for batch in batches:
        publications, rejected = encode(batch.items, linter.vocabulary, prefixes)
        run.reject([*batch.rejected, *rejected])
        linter.learn(publications)
    return table_of(linter.findings())


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
    counts = Counter(findings["code"].to_pylist())
    kinds = ", ".join(f"{count:,} × {code}" for code, count in sorted(counts.items()))
    rest = "" if findings.num_rows <= _SHOWN else f"; the first {_SHOWN} are shown, --out FILE writes all"
    console.print(Text(f"{findings.num_rows:,} findings: {kinds}{rest}", "dim"))


# --- demo: three small stories on shipped data; `--write` hands the data over, with commands to run ---

STORIES = ("feeds", "exchange", "social")
SPARK_STORY = "spark"  # takes as long to start as the others to run, so it runs only when asked for

# To be run in the folder that `--write` made.
_FEEDS = "--subscriptions feeds/queries --publications feeds/documents --taxonomy feeds/taxonomy.csv"
_EXCHANGE = "--nodes exchange/nodes.csv --edges exchange/edges.csv --events exchange/events.ndjson"
_SOCIAL = "--subscriptions social/queries.csv --updates social/updates.csv"
COMMANDS = {
    "feeds": (
        f"heliograph filter {_FEEDS} --bindings 1",
        f"heliograph explain filter {_FEEDS} --subscription by-arno --publication urn:heliograph:paper-18",
    ),
    "exchange": (
        f"heliograph route {_EXCHANGE} --subscribers-only --rank cost",
        f"heliograph route {_EXCHANGE} --what-if exchange/changes.csv",
        f"heliograph explain route {_EXCHANGE} --subscription Adv2 --publication visit-1",
    ),
    "social": (
        f"heliograph watch {_SOCIAL} --witness",
        f"heliograph explain watch {_SOCIAL} --subscription circle --publication 4",
    ),
}


def demo_command(
    stories: Annotated[
        list[str] | None,
        typer.Argument(metavar="[STORY]...", help="feeds, exchange, social, spark; none means the first three."),
    ] = None,
    write: Annotated[
        Path | None,
        option("--write DIR", "Write the stories' data to a folder and print commands to run on it."),
    ] = None,
) -> None:
    """Three small stories on shipped data, in a few seconds."""
    every = (*STORIES, SPARK_STORY)
    unknown = [story for story in stories or () if story not in every]
    if unknown:
        raise UsageError("HG-035", f"there is no story {unknown[0]!r}", fix=f"the stories are {', '.join(every)}")
    chosen = [story for story in every if story in (stories or STORIES)]
    if write is not None:
        _write_data(write, [story for story in chosen if story in STORIES])
    else:
        _show_stories(chosen)


def _show_stories(stories: list[str]) -> None:
    from heliograph import demo

    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")  # a terminal without box characters shows question marks
    if SPARK_STORY in stories:
        show_pandas()
    stage = demo.StoryPrinter()
    for story in stories:
        getattr(demo, f"show_{story}")(stage)
    hand_over = "heliograph demo --write heliograph-demo && cd heliograph-demo"
    stage.commands(
        "Next, try it yourself, and then put your own files in their place:",
        [hand_over, COMMANDS.get(stories[0], COMMANDS["feeds"])[0]],
    )


def _write_data(folder: Path, stories: list[str]) -> None:
    """Copies the data. Files that are there already are left alone."""
    from heliograph import demo

    _check_folder(folder)
    for source in sorted(path for story in stories for path in (demo.DATA / story).rglob("*") if path.is_file()):
        target = folder / source.relative_to(demo.DATA)
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.exists():
            target.write_bytes(source.read_bytes())
    stage = demo.StoryPrinter()
    stage.commands(
        f"The stories' data is in {folder}. Change it as you like, and run:", [f"cd {shlex.quote(str(folder))}"]
    )
    for story in stories:
        stage.commands(f"# {story}", COMMANDS[story])


def _check_folder(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise UsageError("HG-025", f"{folder} is a file", fix="give a folder")


# --- generate: the workloads of `heliograph.workloads`, whose options are the parameters of their generators ---

PANEL = "Workloads"

OutOption = Annotated[Path, option("--out -o DIR", "Folder for the Parquet files.")]
SeedOption = Annotated[int, option("--seed N", "The same seed gives the same files.")]


# What the options of each are read from, and its summary; `generate_VERB` makes it.
GENERATORS = {
    "filter": ("FilterWorkload", "Document graphs and graph-pattern subscriptions, after G-ToPSS."),
    "watch": ("WatchWorkload", "A growing graph and continuous queries cut out of it."),
    "route": ("generate_route", "An advertising exchange and its visits."),
}


class WorkloadCommands(LazyGroup):
    lazy: Mapping[str, Lazy] = {
        verb: Lazy(f"tools:{verb}_workload", summary, PANEL) for verb, (_, summary) in GENERATORS.items()
    }


generate_app = typer.Typer(cls=WorkloadCommands, no_args_is_help=True, add_completion=False)


@generate_app.callback()
def generate() -> None:
    """Write a seeded workload of any size, with the expected answer where the construction knows it."""


def __getattr__(name: str) -> Any:
    """A command whose options are the generator's parameters."""
    verb = name.removesuffix("_workload")
    if verb not in GENERATORS:
        raise AttributeError(name)
    source, summary = GENERATORS[verb]
    module = import_module(f"heliograph.workloads.{verb}")
    make: Callable[..., dict[str, pa.Table]] = getattr(module, f"generate_{verb}")

    def command(out: Path, seed: int, **given: Any) -> None:
        _write_tables(verb, make(seed, **given), out)

    parameters = getattr(module, source)
    fixed = (_parameter("out", OutOption), _parameter("seed", SeedOption, 1))
    about = re.sub(r"(?<!\n)\n(?!\n)", " ", inspect.getdoc(parameters) or "")
    command.__name__, command.__doc__ = f"{verb}_workload", f"{summary}\n\n{about}"
    command.__annotations__ = {}
    command.__signature__ = inspect.Signature([*fixed, *_options_of(parameters)])  # type: ignore[attr-defined]
    return command


def _options_of(parameters: Any) -> Iterator[inspect.Parameter]:
    """One option for each keyword of a function or field of a dataclass; its default is shown by the help."""
    hints = get_type_hints(parameters) if inspect.isfunction(parameters) else get_type_hints(parameters.__init__)
    for name, parameter in inspect.signature(parameters).parameters.items():
        if parameter.default is not inspect.Parameter.empty:
            spelled = typer.Option(f"--{name.replace('_', '-')}")
            yield _parameter(name, Annotated[hints[name], spelled], parameter.default)


def _parameter(name: str, annotation: Any, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _write_tables(verb: str, tables: dict[str, pa.Table], folder: Path) -> None:
    from pyarrow import parquet

    _check_folder(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for name, table in tables.items():
        parquet.write_table(table, folder / f"{name}.parquet")
        typer.echo(f"{table.num_rows:>12,} rows  {folder / name}.parquet", err=True)
    inputs = [name for name in tables if name != "expected" and tables[name].num_rows]
    line = ["heliograph", verb, *(part for name in inputs for part in (f"--{name}", f"{folder / name}.parquet"))]
    typer.echo(f"next: {shlex.join(line)} --out notifications.parquet", err=True)
