"""How the command line ends: exit codes, and what is printed about a failure.

0 done, 1 failed, 2 usage, 3 some input rejected and the rest processed, 4 environment; 130 after Ctrl-C.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from enum import IntEnum

import typer

from heliograph.errors import HeliographError, SetupError, UsageError

DEBUG = "HELIOGRAPH_DEBUG"


class Exit(IntEnum):
    DONE = 0
    FAILED = 1
    USAGE = 2
    REJECTED = 3
    ENVIRONMENT = 4
    INTERRUPTED = 130


@contextmanager
def guarded() -> Iterator[None]:
    """Turns every failure into a line on stderr and an exit code; a traceback is shown only when asked for."""
    try:
        yield
    except HeliographError as error:
        if debugging():
            raise
        print_error(error)
        raise typer.Exit(exit_code(error)) from None
    except KeyboardInterrupt:
        raise typer.Exit(Exit.INTERRUPTED) from None
    except BrokenPipeError:
        _silence_stdout()
        raise typer.Exit(Exit.DONE) from None
    except OSError as error:
        if debugging():
            raise
        print_error(HeliographError("HG-029", _describe(error), fix="check the path and its permissions"))
        raise typer.Exit(Exit.FAILED) from None
    except Exception as error:
        if _is_of_the_framework(error) or debugging():
            raise
        print_error(_unexpected(error))
        raise typer.Exit(Exit.FAILED) from None


def exit_code(error: HeliographError) -> Exit:
    if isinstance(error, UsageError):
        return Exit.USAGE
    return Exit.ENVIRONMENT if isinstance(error, SetupError) else Exit.FAILED


def print_error(error: HeliographError) -> None:
    """The error on stderr: in colour on a terminal, plain text otherwise."""
    if not sys.stderr.isatty():
        print(error, file=sys.stderr)
        return
    from rich.console import Console
    from rich.text import Text

    where = str(error.place)
    text = Text.assemble((f"{error.code}: ", "bold red"), error.message, (f" ({where})" if where else "", "dim"))
    if error.fix:
        text.append(f"\n  {error.fix}", "green")
    if error.snippet:
        text.append(f"\n{error.snippet}", "yellow")
    Console(stderr=True, highlight=False, soft_wrap=True).print(text)


def _unexpected(error: Exception) -> HeliographError:
    found = f"an unexpected {type(error).__name__}" + (f": {error}" if str(error) else "")
    return HeliographError("HG-028", found, fix=f"set {DEBUG}=1 to see the traceback, and please report it")


def _describe(error: OSError) -> str:
    return f"{error.strerror or error}" + (f": {error.filename}" if error.filename else "")


def debugging() -> bool:
    return os.environ.get(DEBUG, "0") not in ("", "0")


def _is_of_the_framework(error: Exception) -> bool:
    """Usage errors and exits of typer (and of click, which it carries) have their own way out."""
    return type(error).__module__.partition(".")[0] in ("typer", "click")


def _silence_stdout() -> None:
    """The reader of our pipe has gone: nothing more is written, not even by the interpreter's last flush."""
    with suppress(OSError):  # standard output may be no file at all, as in a test
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
