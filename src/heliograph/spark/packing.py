"""Tables as single cells: Arrow streams, their texts each once."""

from __future__ import annotations

import pyarrow as pa


def to_bytes(table: pa.Table) -> bytes:
    """A table as an Arrow stream, as plain as it is."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def from_bytes(payload: bytes) -> pa.Table:
    with pa.ipc.open_stream(payload) as stream:
        return stream.read_all()


def encoded(table: pa.Table) -> pa.Table:
    """The same with each distinct text once."""
    columns = [
        column.dictionary_encode().unify_dictionaries() if pa.types.is_string(column.type) else column
        for column in table.columns
    ]
    return pa.Table.from_arrays(columns, table.column_names).combine_chunks()
