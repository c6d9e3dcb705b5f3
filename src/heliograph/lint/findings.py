"""What lint tells: a subscription, what is odd about it, and the other one that this has to do with."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import pyarrow as pa

from heliograph.tables.schemas import TABLES

TWICE = "HG-501"
SAME, NEVER, COVERED, APART = "HG-711", "HG-712", "HG-713", "HG-714"
PREDICTED, MEASURED = "HG-715", "HG-716"
UNSEEN_PROPERTY, UNSEEN_CLASS, UNBOUND = "HG-717", "HG-718", "HG-719"


class Finding(NamedTuple):
    """One row of the lint table."""

    subject_id: str
    code: str
    message: str
    related_id: str | None = None


def table_of(findings: Iterable[Finding]) -> pa.Table:
    """The findings as a table, in their order."""
    rows, schema = list(findings), TABLES["lint"].arrow
    columns = zip(*rows, strict=True) if rows else ((),) * len(schema)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)
