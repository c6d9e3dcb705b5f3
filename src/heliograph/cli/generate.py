"""`heliograph generate filter|watch|route`: the seeds' workloads, seeded, of any size, with the answer they must give.

The options of each are the parameters of its generator, read from it: see `heliograph.workloads`.
"""

from __future__ import annotations

import inspect
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, get_type_hints

import typer

from heliograph.cli.main import Lazy, LazyGroup
from heliograph.errors import UsageError

if TYPE_CHECKING:
    import pyarrow as pa


PANEL = "Workloads"

OutOption = Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="Folder for the Parquet files.")]
SeedOption = Annotated[int, typer.Option("--seed", metavar="N", help="The same seed gives the same files.")]


class Generator(NamedTuple):
    """Where a workload is made: the function, and what its options are read from."""

    module: str
    function: str
    parameters: str
    summary: str


GENERATORS = {
    "filter": Generator(
        "heliograph.workloads.filter",
        "generate_filter",
        "FilterWorkload",
        "Document graphs and graph-pattern subscriptions, after G-ToPSS.",
    ),
    "watch": Generator(
        "heliograph.workloads.watch",
        "generate_watch",
        "WatchWorkload",
        "A growing graph and continuous queries cut out of it.",
    ),
    "route": Generator(
        "heliograph.workloads.route", "generate_route", "generate_route", "An advertising exchange and its visits."
    ),
}


class Workloads(LazyGroup):
    lazy: Mapping[str, Lazy] = {
        verb: Lazy(f"heliograph.cli.generate:{verb}_workload", made.summary, PANEL) for verb, made in GENERATORS.items()
    }


generate_app = typer.Typer(cls=Workloads, no_args_is_help=True, add_completion=False)


@generate_app.callback()
def generate() -> None:
    """Write a seeded workload of any size, with the expected answer where the construction knows it."""


def __getattr__(name: str) -> Any:
    verb = name.removesuffix("_workload")
    if verb not in GENERATORS:
        raise AttributeError(name)
    return _command(verb, GENERATORS[verb])


def _command(verb: str, generator: Generator) -> Callable[..., None]:
    """A command whose options are the generator's parameters."""
    module = import_module(generator.module)
    make: Callable[..., dict[str, pa.Table]] = getattr(module, generator.function)

    def command(out: Path, seed: int, **given: Any) -> None:
        _write(verb, make(seed, **given), out)

    parameters = getattr(module, generator.parameters)
    fixed = (_parameter("out", OutOption), _parameter("seed", SeedOption, 1))
    about = re.sub(r"(?<!\n)\n(?!\n)", " ", inspect.getdoc(parameters) or "")
    command.__name__, command.__doc__ = f"{verb}_workload", f"{generator.summary}\n\n{about}"
    command.__annotations__ = {}
    command.__signature__ = inspect.Signature([*fixed, *_options(parameters)])  # type: ignore[attr-defined]
    return command


def _options(parameters: Any) -> Iterator[inspect.Parameter]:
    """One option for each keyword of a function or field of a dataclass; its default is shown by the help."""
    hints = get_type_hints(parameters) if inspect.isfunction(parameters) else get_type_hints(parameters.__init__)
    for name, parameter in inspect.signature(parameters).parameters.items():
        if parameter.default is not inspect.Parameter.empty:
            spelled = typer.Option(f"--{name.replace('_', '-')}")
            yield _parameter(name, Annotated[hints[name], spelled], parameter.default)


def _parameter(name: str, annotation: Any, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _write(verb: str, tables: dict[str, pa.Table], folder: Path) -> None:
    from pyarrow import parquet

    if folder.exists() and not folder.is_dir():
        raise UsageError("HG-025", f"{folder} is a file", fix="give a folder")
    folder.mkdir(parents=True, exist_ok=True)
    for name, table in tables.items():
        parquet.write_table(table, folder / f"{name}.parquet")
        typer.echo(f"{table.num_rows:>12,} rows  {folder / name}.parquet", err=True)
    inputs = [name for name in tables if name != "expected" and tables[name].num_rows]
    line = ["heliograph", verb, *(part for name in inputs for part in (f"--{name}", f"{folder / name}.parquet"))]
    typer.echo(f"next: {shlex.join(line)} --out notifications.parquet", err=True)
