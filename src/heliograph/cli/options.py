"""The options that commands share, and how a dataclass of options becomes a command's signature.

The law: a command is a function of one frozen dataclass; a field that is a dataclass itself stands for all its
fields. So the same option has one spelling, one help text and one type wherever it appears.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from typing import Annotated, Any, Literal, TypeVar, get_type_hints

import typer

from heliograph.errors import UsageError

Options = TypeVar("Options")
Outcome = TypeVar("Outcome")

INTERESTS = "Interests"
OUTPUT = "Output"
SPARK = "Spark"


def option(spelled: str, help: str, panel: str | None = None, **more: Any) -> Any:
    """An option as the help spells it, such as `--out -o FILE`, and the panel of the help that it stands in."""
    *names, metavar = spelled.split()
    if metavar.startswith("-"):
        names, metavar = [*names, metavar], ""
    return typer.Option(*names, help=help, metavar=metavar or None, rich_help_panel=panel, **more)


@dataclass(frozen=True, slots=True)
class InterestOptions:
    """What is asked for: SPARQL text or pattern tables, with the classes and prefixes they rely on."""

    subscriptions: Annotated[
        str | None,
        option(
            "--subscriptions -s S",
            "Table (subscription_id, query), a .rq file, or a folder or glob of them; - reads NDJSON.",
            INTERESTS,
        ),
    ] = None
    patterns: Annotated[
        str | None,
        option("--patterns P", "Table (subscription_id, subject, property, object) in place of SPARQL.", INTERESTS),
    ] = None
    constraints: Annotated[
        str | None,
        option("--constraints C", "Table (subscription_id, variable, operator, value) for --patterns.", INTERESTS),
    ] = None
    taxonomy: Annotated[
        str | None,
        option(
            "--taxonomy -t T", "Classes: a table (child, parent), or an RDF document with rdfs:subClassOf.", INTERESTS
        ),
    ] = None
    prefix: Annotated[
        list[str] | None,
        option("--prefix P=IRI", "Declare a prefix for queries and tables; may be repeated.", INTERESTS),
    ] = None
    objects: Annotated[
        Literal["names", "texts"],
        option("--objects names|texts", "What a bare word in the object column of rows is.", INTERESTS),
    ] = "names"


@dataclass(frozen=True, slots=True)
class OutputOptions:
    """Where the outcome goes."""

    out: Annotated[
        str,
        option("--out -o N", "Notifications: .parquet, .csv, .ndjson or .jsonl; - is NDJSON on stdout.", OUTPUT),
    ] = "-"
    evidence: Annotated[
        Literal["terms", "plain", "sparql"],
        option(
            "--evidence terms|plain|sparql",
            "How evidence writes terms: as in tables, as plain JSON values, or as SPARQL's JSON results do.",
            OUTPUT,
        ),
    ] = "terms"
    rejected: Annotated[
        str | None,
        option("--rejected R", "What was refused, and why; else NDJSON on stderr.", OUTPUT),
    ] = None
    stats: Annotated[
        str | None,
        option("--stats J", "Counts and times as a JSON file.", OUTPUT),
    ] = None
    engine: Annotated[
        Literal["embedded", "spark"],
        option("--engine embedded|spark", "Where to run.", OUTPUT),
    ] = "embedded"


@dataclass(frozen=True, slots=True)
class SparkOptions:
    """Where and how Spark runs, with `--engine spark`."""

    master: Annotated[
        str | None,
        option(
            "--master M",
            "Spark's master: local[N], local-cluster[…], spark://…; all processors of this machine unless given.",
            SPARK,
        ),
    ] = None
    conf: Annotated[
        list[str] | None,
        option("--conf K=V", "A setting of Spark; may be repeated.", SPARK),
    ] = None
    follow: Annotated[
        bool,
        option("--follow", "Process the files of a folder and those that come to it, until interrupted.", SPARK),
    ] = False
    once: Annotated[
        bool,
        option("--once", "As --follow, but end when all files there are processed.", SPARK),
    ] = False
    checkpoint: Annotated[
        str | None,
        option(
            "--checkpoint DIR",
            "With --follow: where the stream notes how far it got, to go on from there next time.",
            SPARK,
        ),
    ] = None
    folder: Annotated[
        str | None,
        option(
            "--shared DIR",
            "A folder that driver and workers share, for compiled interests; needed on a cluster.",
            SPARK,
        ),
    ] = None
    traceback: Annotated[bool, option("--traceback", "Show all of a failure in Spark.", SPARK)] = False

    @property
    def streaming(self) -> bool:
        return self.follow or self.once


def check_cluster(
    cluster: SparkOptions, output: OutputOptions, others: Sequence[str] = (), objects: str = "names"
) -> bool:
    """Whether to run on Spark; raises where options of Spark come without it, or others with it."""
    if output.engine == "spark":
        alone = ["--evidence"] * (output.evidence != "terms") + ["--objects"] * (objects != "names")
        if alone:
            fix = "use --engine embedded; or write texts in quotes, and take evidence as terms"
            raise UsageError("HG-037", f"{alone[0]} with --engine spark", fix=fix)
        return True
    names = {each.name: "--shared" if each.name == "folder" else f"--{each.name}" for each in fields(cluster)}
    given = [*(option for name, option in names.items() if getattr(cluster, name)), *others]
    if given:
        raise UsageError("HG-032", f"{given[0]} without Spark", fix="add --engine spark")
    return False


def takes(options: type[Options]) -> Callable[[Callable[[Options], Outcome]], Callable[..., Outcome]]:
    """Makes a function of `options` a command: one command-line option for each field."""

    def wrap(run: Callable[[Options], Outcome]) -> Callable[..., Outcome]:
        def command(**given: Any) -> Outcome:
            return run(_filled(options, given))

        command.__name__, command.__doc__ = run.__name__, run.__doc__
        command.__annotations__ = {}
        command.__signature__ = inspect.Signature(list(_parameters(options)))  # type: ignore[attr-defined]
        return command

    return wrap


def read_prefixes(given: list[str] | None) -> dict[str, str]:
    """The built-in prefixes and those of `--prefix p=iri`."""
    from heliograph.terms import PREFIXES

    prefixes = dict(PREFIXES)
    for text in given or ():
        name, equals, namespace = text.partition("=")
        if not equals or ":" not in namespace or any(character in name for character in ":<> "):
            raise UsageError(
                "HG-031", f"--prefix {text} declares no prefix", fix="write --prefix ex=http://example.org/"
            )
        prefixes[name] = namespace.removeprefix("<").removesuffix(">")
    return prefixes


def _parameters(options: type) -> Iterator[inspect.Parameter]:
    hints = get_type_hints(options, include_extras=True)
    for field in _fields(options):
        hint = hints[field.name]
        if is_dataclass(hint):
            yield from _parameters(hint)  # type: ignore[arg-type]
        else:
            default = inspect.Parameter.empty if field.default is MISSING else field.default
            yield inspect.Parameter(field.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint)


def _filled(options: type[Options], given: dict[str, Any]) -> Options:
    hints = get_type_hints(options)
    values = {
        field.name: _filled(hints[field.name], given) if is_dataclass(hints[field.name]) else given[field.name]
        for field in _fields(options)
    }
    return options(**values)


def _fields(options: type) -> tuple[Field[Any], ...]:
    return fields(options)
