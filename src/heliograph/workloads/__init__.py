"""The seeds' workloads, any size, seeded: tables that the engines, the benchmarks and the demo read."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from heliograph.errors import UsageError
from heliograph.model import NOTIFICATIONS_SCHEMA

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Random = np.random.Generator
Texts: TypeAlias = "pa.Array[Any]"
Parameters = TypeVar("Parameters")


def named(prefix: str, numbers: Ints) -> Texts:
    """The prefix with each number behind it."""
    digits: Any = pa.array(numbers, pa.int64()).cast(pa.string())
    joined: Texts = pc.binary_join_element_wise(prefix, digits, "")
    return joined


def texts_of(items: list[str]) -> Texts:
    return pa.array(items, pa.string())


def expected_notifications(verb: str, subscriptions: Texts, publications: Texts, changes: Texts) -> pa.Table:
    """The notifications that a workload must give, in order and without evidence."""
    total = len(subscriptions)
    none = pa.nulls(total, pa.string())
    at = pa.nulls(total, pa.timestamp("us", tz="UTC"))
    columns = [subscriptions, none, publications, pa.repeat(verb, total), changes, at, none]
    return pa.Table.from_arrays(columns, schema=NOTIFICATIONS_SCHEMA)


def parameters(kind: type[Parameters], options: dict[str, Any], code: str, about: str = "") -> Parameters:
    """The parameters of a workload out of options by name."""
    names = [field.name for field in fields(kind)]  # type: ignore[arg-type]
    unknown = sorted(set(options) - set(names))
    if unknown:
        raise UsageError(code, f"{about}no option {unknown[0]!r}", fix=f"the options are {', '.join(names)}")
    return kind(**options)
