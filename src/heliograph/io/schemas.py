"""The plain tables: their columns, what each cell holds, and which columns may be left out.

Every reader coerces to these schemas and every writer starts from them, so a table means the same in Parquet, CSV and
NDJSON, on a pipe and in Python.
"""

from __future__ import annotations

import difflib
import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cached_property, lru_cache
from types import MappingProxyType

import pyarrow as pa

from heliograph.errors import Place, TableError, UsageError

_LOG = logging.getLogger("heliograph")


class CellKind(Enum):
    """What the cells of a column hold."""

    TEXT = "text"  # ids, queries, operators: any scalar becomes its text
    TERM = "term"  # text that spells an RDF term
    PROPERTY = "property"  # a term in the property column, where `a` means rdf:type
    VALUE = "value"  # a term, or a JSON array of terms
    INTEGER = "integer"
    NUMBER = "number"
    TIME = "time"
    JSON = "json"  # JSON text
    LABELS = "labels"  # a list of strings
    TRUTH = "truth"


ARROW_TYPES: Mapping[CellKind, pa.DataType] = MappingProxyType(
    {
        CellKind.INTEGER: pa.int64(),
        CellKind.NUMBER: pa.float64(),
        CellKind.TIME: pa.timestamp("us", tz="UTC"),
        CellKind.LABELS: pa.list_(pa.string()),
        CellKind.TRUTH: pa.bool_(),
    }
)


@dataclass(frozen=True, slots=True)
class TableColumn:
    """One column. A `sparse` one must be there, but single NDJSON rows and Python items may leave it out."""

    name: str
    kind: CellKind = CellKind.TEXT
    required: bool = True
    sparse: bool = False

    @property
    def type(self) -> pa.DataType:
        return ARROW_TYPES.get(self.kind, pa.string())


@dataclass(frozen=True)
class TableSchema:
    """A table of the contract by name, with its columns in order."""

    name: str
    columns: tuple[TableColumn, ...]

    @cached_property
    def arrow(self) -> pa.Schema:
        return pa.schema([pa.field(column.name, column.type) for column in self.columns])

    @cached_property
    def struct(self) -> pa.StructType:
        """The type of a whole row."""
        return pa.struct(list(self.arrow))

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    @cached_property
    def row_required(self) -> tuple[str, ...]:
        """The columns that every single row must name."""
        return tuple(column.name for column in self.columns if column.required and not column.sparse)

    @cached_property
    def optional(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns if not column.required)

    @cached_property
    def key(self) -> str | None:
        """The column that identifies a row to its author, if the table begins with one."""
        return self.names[0] if self.names[0] == "id" or self.names[0].endswith("_id") else None

    def empty(self) -> pa.Table:
        return self.arrow.empty_table()

    def check(self, present: Iterable[str], place: Place) -> None:
        """Raise unless the columns that are present serve this table: every required one, and each only once."""
        names = list(present)
        twice = sorted({name for name in self.names if names.count(name) > 1})
        if twice:
            fix = "drop or rename one of the two"
            raise TableError("HG-203", f"the column {_quoted(twice)} stands twice", place=place, fix=fix)
        missing = [column.name for column in self.columns if column.required and column.name not in names]
        if missing:
            raise self.lacking(missing, names, place)

    def hint(self, present: Iterable[str], place: Place) -> None:
        """Warn of each unknown column that is most likely a misspelt optional one, which nobody would miss.

        Unknown columns are allowed, and a table without targeting accepts everything: a slip would open every node.
        """
        names = set(present)
        absent = tuple(name for name in self.optional if name not in names)
        for name in sorted(names.difference(self.names)) if absent else ():
            if near := _misspelt(name, absent):
                where = f"{self.name} ({place.source})" if place.source else self.name
                _LOG.warning(
                    "%s: no column %r, but %s, which is ignored: is that a slip?", where, near, _quoted([name])
                )

    def lacking(self, missing: list[str], present: list[str], place: Place) -> TableError:
        """The error for a table, or one row, that does not name required columns."""
        shown = _quoted(present[:20]) + (" …" if len(present) > 20 else "") if present else "nothing"
        message = f"{self.name} without {_quoted(missing)}: there is {shown}"
        fixes = []
        if len(present) == 1:
            fixes = [f"separate the fields with commas, not {sign!r}" for sign in ";\t|" if sign in present[0]]
        spare = {name.lower(): name for name in present if name not in self.names}
        for name in missing:
            near = difflib.get_close_matches(name, spare, 1, 0.6)
            fixes += [f"rename {spare[each][:60]!r} to {name!r}" for each in near]
        return TableError("HG-202", message, place=place, fix=[*fixes, f"add the column {_quoted(missing)}"][0])


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(repr(name if len(name) <= 60 else name[:60] + "…") for name in names)


_OTHER_NAMES = dict.fromkeys(
    "condition conditions constraint constraints expression filter predicate predicates where".split(), "targeting"
)
"""What else users call a column."""


@lru_cache(1024)
def _misspelt(name: str, absent: tuple[str, ...]) -> str | None:
    """The column that a name was to be. Of one with so few letters that chance makes neighbours, only the case."""
    if _OTHER_NAMES.get(name.lower()) in absent:
        return _OTHER_NAMES[name.lower()]
    for near in difflib.get_close_matches(name.lower(), absent, 1, 0.8):
        if len(near) > 3 or near == name.lower():
            return near
    return None


def table_schema(name: str) -> TableSchema:
    """The schema of a table by name."""
    if name not in TABLES:
        near = difflib.get_close_matches(name, TABLES, 1)
        fix = f"did you mean {near[0]!r}?" if near else f"the tables are {_quoted(TABLES)}"
        raise UsageError("HG-020", f"no table is called {name!r}", fix=fix)
    return TABLES[name]


def _optional(name: str, kind: CellKind = CellKind.TEXT) -> TableColumn:
    return TableColumn(name, kind, required=False)


_SUBSCRIPTION, _SUBJECT, _OBJECT = (
    TableColumn("subscription_id"),
    TableColumn("subject", CellKind.TERM),
    TableColumn("object", CellKind.TERM),
)
_PROPERTY = TableColumn("property", CellKind.PROPERTY)
_AT = _optional("at", CellKind.TIME)
_TARGETING, _COST = _optional("targeting"), _optional("cost", CellKind.NUMBER)
_LABELS = _optional("labels", CellKind.LABELS)

_COLUMNS: Mapping[str, tuple[TableColumn, ...]] = {
    "subscriptions": (
        _SUBSCRIPTION,
        _optional("subscriber"),
        TableColumn("query"),
        _optional("options", CellKind.JSON),
    ),
    "patterns": (_SUBSCRIPTION, _SUBJECT, _PROPERTY, _OBJECT),
    "constraints": (
        _SUBSCRIPTION,
        TableColumn("variable"),
        TableColumn("operator"),
        TableColumn("value", CellKind.VALUE),
    ),
    "publications": (TableColumn("publication_id"), _SUBJECT, _PROPERTY, _OBJECT),
    "updates": (
        _optional("seq", CellKind.INTEGER),
        TableColumn("op"),
        _SUBJECT,
        TableColumn("property", CellKind.PROPERTY, sparse=True),  # null in both removes the vertex
        TableColumn("object", CellKind.TERM, sparse=True),
        _optional("weight", CellKind.NUMBER),
        _AT,
    ),
    "graph": (  # what a watch starts from: triples, publications or updates
        _optional("op"),
        _SUBJECT,
        TableColumn("property", CellKind.PROPERTY, sparse=True),
        TableColumn("object", CellKind.TERM, sparse=True),
        _optional("weight", CellKind.NUMBER),
        _AT,
    ),
    "events": (TableColumn("event_id"), TableColumn("publisher"), TableColumn("attributes", CellKind.JSON)),
    "nodes": (TableColumn("node_id"), _TARGETING, _COST, _LABELS),
    "edges": (TableColumn("source"), TableColumn("target"), _optional("edge_id"), _TARGETING, _COST),
    "removals": (_optional("source"), _optional("target"), _optional("edge_id"), _TARGETING, _COST),  # of edges
    "predicates": (TableColumn("id"), TableColumn("predicate")),  # of an index without a graph
    "taxonomy": (TableColumn("child", CellKind.TERM), TableColumn("parent", CellKind.TERM)),
    "notifications": (
        _SUBSCRIPTION,
        _optional("subscriber"),
        _optional("publication_id"),
        TableColumn("verb"),
        TableColumn("change"),
        _AT,
        _optional("evidence", CellKind.JSON),
    ),
    "rejected": (_optional("source"), _optional("item"), TableColumn("code"), TableColumn("message")),
    "lint": (TableColumn("subject_id"), TableColumn("code"), TableColumn("message"), _optional("related_id")),
    "changes": (  # what-if goes in …
        TableColumn("kind"),
        TableColumn("op"),
        _optional("node_id"),
        _optional("source"),
        _optional("target"),
        _TARGETING,
        _COST,
        _optional("edge_id"),
        _LABELS,
    ),
    "what_if": (  # … and comes out
        TableColumn("event_id"),
        TableColumn("node_id"),
        TableColumn("before", CellKind.TRUTH),
        TableColumn("after", CellKind.TRUTH),
    ),
}

TABLES: Mapping[str, TableSchema] = MappingProxyType(
    {name: TableSchema(name, columns) for name, columns in _COLUMNS.items()}
)
