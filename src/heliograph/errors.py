"""How things fail: one exception tree, one stable code each.

    HeliographError
    ├── UsageError          HG-0xx  a wrong call, option or argument
    ├── TermError           HG-1xx  text that spells no RDF term
    ├── TableError          HG-2xx  a table that cannot be read or lacks a column
    ├── DocumentError       HG-3xx  an RDF document or feed that cannot be read
    ├── InterestError       HG-4xx  an interest's text: `SparqlError` (HG-40x–44x), `PredicateError` (HG-45x–49x)
    ├── SubscriptionError   HG-5xx  a duplicate, unknown or unacceptable subscription
    ├── PublicationError    HG-6xx  an update, event, node or edge the engine must refuse
    ├── StorageError        HG-8xx  a saved engine or vocabulary that cannot be opened
    └── SetupError          HG-9xx  something missing on the machine (Java, Spark)

Every message says what we got, where, what was expected and how to fix it. `docs/errors.md` lists the codes.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Place:
    """Where in the input something went wrong; whatever is unknown stays None."""

    source: str | None = None
    item: str | None = None
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        parts = [self.source, self.item and f"item {self.item}"]
        if self.line is not None:
            parts.append(f"line {self.line}" + (f", column {self.column}" if self.column is not None else ""))
        return ", ".join(part for part in parts if part)


class HeliographError(Exception):
    """Base of every error that Heliograph raises on purpose."""

    family = "HG-0"

    def __init__(
        self,
        code: str,
        message: str,
        *,
        place: Place | None = None,
        fix: str | None = None,
        snippet: str | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.place = place or Place()
        self.fix = fix
        self.snippet = snippet

    @property
    def line(self) -> int | None:
        return self.place.line

    @property
    def column(self) -> int | None:
        return self.place.column

    def describe(self) -> str:
        """The message without its code: what, where, how to fix, and the underlined text if there is any."""
        where = str(self.place)
        text = self.message + (f" ({where})" if where else "")
        if self.fix:
            text += f"; {self.fix}"
        return f"{text}\n{self.snippet}" if self.snippet else text

    def __str__(self) -> str:
        return f"{self.code}: {self.describe()}"


class UsageError(HeliographError):
    """A wrong call: an option, an argument or a combination of them."""


class TermError(HeliographError):
    """Text that spells no RDF term, or one that may not stand in its column."""

    family = "HG-1"


class TableError(HeliographError):
    """A table that cannot be read, lacks a column, or holds a cell of the wrong kind."""

    family = "HG-2"


class DocumentError(HeliographError):
    """An RDF document or a feed that cannot be read."""

    family = "HG-3"


class InterestError(HeliographError):
    """An interest whose text is wrong or uses what is not supported."""

    family = "HG-4"


class SparqlError(InterestError):
    """SPARQL text that is wrong, or beyond the part of SPARQL we accept."""


class PredicateError(InterestError):
    """A SQL predicate that is wrong, or beyond the part of SQL we accept."""


class SubscriptionError(HeliographError):
    """A duplicate, unknown or unacceptable subscription."""

    family = "HG-5"


class PublicationError(HeliographError):
    """A publication, update, event, node or edge that the engine must refuse."""

    family = "HG-6"


class StorageError(HeliographError):
    """A saved engine or vocabulary that cannot be opened."""

    family = "HG-8"


class SetupError(HeliographError):
    """Something the machine lacks, such as Java for Spark."""

    family = "HG-9"


FAILED = "HG-540"


def own_failure(
    what: str, error: Exception, *, inside: str = "publish", until: str = "unsubscribed"
) -> SubscriptionError:
    """What is said of a subscription, node, edge or predicate that failed inside a call, and is put aside."""
    message = f"{what} failed inside {inside}: {type(error).__name__}, {error}"
    return SubscriptionError(FAILED, message, fix=f"it is put aside until it is {until}")


def underline(text: str, line: int, column: int, length: int = 1) -> str:
    """The line of `text` at `line` (from 1) with carets under `length` characters from `column` (from 1)."""
    lines = text.splitlines() or [""]
    shown = lines[min(line, len(lines)) - 1].replace("\t", " ")
    start = max(0, column - 60)
    window = shown[start : start + 100]
    carets = "^" * max(1, min(length, len(window) - (column - 1 - start)))
    return f"  {window}\n  {' ' * (column - 1 - start)}{carets}"
