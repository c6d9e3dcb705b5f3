"""Structures of arrays and numbers that kernels and Python share, each declared once.

A structure is a class with one line for each of its parts:

    class Cores(Struct):
        core: Int32s = array(int32, "vertex")  # by vertex
        links: Int32s = array(int32, "vertex", 2)  # by vertex, rows of two
        moved: Int32s = array(int32, "move")
        moves: int = number()
        moves_wanted: int = wanted("move")

    CORES = view(Cores)

In Python each part is an attribute. A kernel takes the structure's `address`, and `CORES(address)` gives the same
attributes there: `cores.core[vertex]`, `cores.moves += 1`. So a structure of thirty arrays is one number at every call.
Handed over as tuples such arrays take several times as long to compile, and about a tenth longer to run.

The laws.

- Arrays of one *dimension* have as many rows each. `resize` gives them more; what was there stays, and the rest holds
  what the array is declared to be filled with. Kernels never exchange an array.
- A kernel that lacks room writes how many rows of a dimension it wants and returns False; `run` makes room wherever it
  is wanted and calls it again, until it returns something else. Where a kernel stops changes no answer.
- The addresses stay as they are while a kernel runs, so compiled code loads each once and keeps it.
- The caller keeps a structure while a kernel works on it: an address keeps nothing alive.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba import int64, types
from numba.core import imputils
from numba.core.typing.templates import AttributeTemplate
from numba.extending import infer_getattr, intrinsic, models, register_model
from numba.np import arrayobj
from numba.np.numpy_support import as_dtype

from heliograph.compiled.growing import first_room

Anything = npt.NDArray[Any]
_Array = TypeVar("_Array", bound="npt.NDArray[Any]")
ADDRESS = int64  # Numba's type of an address of a structure
ANY = -1  # columns

_LEAST = 16  # rows that an array grows by, at least
_WORDS = 3  # of the table for each part: a number; an address; or an array's address, its rows and its columns


def enlarged(array: _Array, rows: int, fill: Any = 0) -> _Array:
    """The same rows, with room for more; the new ones hold `fill`."""
    larger = np.full((rows, *array.shape[1:]), fill, array.dtype)
    larger[: len(array)] = array
    return larger  # type: ignore[return-value]


def more(rows: int) -> int:
    """Half as many again: what is copied in growing is twice what there is in the end."""
    return first_room(rows + rows // 2 + _LEAST, rows + 1)


# --- declaring --------------------------------------------------------------------------------------------------


class _Field(NamedTuple):
    """A part of a structure. `kind`: Numba's type of a number, of the items of an array, or of another structure."""

    kind: Any
    dimension: str = ""  # of an array
    columns: int = 0  # of an array of rows; ANY: as many as the array has at the moment
    fill: Any = 0  # of an array, or what a number is at first
    wants: str = ""  # the dimension whose rows a number counts


def array(kind: Any, dimension: str, columns: int = 0, fill: Any = 0) -> Any:
    """An array of numbers, or of rows of numbers, with as many rows as its dimension has."""
    return _Field(kind, dimension, columns, fill)


def number(first: float = 0, kind: Any = int64) -> Any:
    """A number, 64 bits wide, that kernels may change."""
    return _Field(kind, fill=first)


def wanted(dimension: str) -> Any:
    """How many rows of a dimension a kernel wants."""
    return _Field(int64, wants=dimension)


def part(record: type[Struct]) -> Any:
    """Another structure, which is set once."""
    return _Field(record)


class Struct:
    """A structure; its subclasses declare what it is made of."""

    _fields: ClassVar[dict[str, _Field]] = {}
    _places: ClassVar[dict[str, int]] = {}

    def __init_subclass__(cls) -> None:
        cls._fields = {name: each for name, each in vars(cls).items() if isinstance(each, _Field)}
        cls._places = {name: _WORDS * place for place, name in enumerate(cls._fields)}
        for name, each in cls._fields.items():
            owner: Any = _Part if each.dimension or not isinstance(each.kind, types.Type) else _Number
            setattr(cls, name, owner(name, cls._places[name], each))

    def __init__(self, parts: Mapping[str, Struct] | None = None, **rows: int) -> None:
        """`rows` are those of dimensions that begin with some; `parts` the structures that belong to this one."""
        self._table = np.zeros(_WORDS * len(self._fields), np.int64)
        self.address = self._table.ctypes.data
        self._kept: dict[str, Any] = {}
        for name, each in self._fields.items():
            if each.dimension:
                count = rows.get(each.dimension, 0)
                shape = (count, max(each.columns, 0)) if each.columns else (count,)
                setattr(self, name, np.full(shape, each.fill, as_dtype(each.kind)))
            else:
                setattr(self, name, (parts or {})[name] if isinstance(each.kind, type) else each.fill)

    @property
    def nbytes(self) -> int:
        return sum(each.nbytes for each in self._kept.values())

    def rows(self, dimension: str) -> int:
        """How many rows the arrays of a dimension have."""
        return next(len(self._kept[name]) for name, each in self._fields.items() if each.dimension == dimension)

    def resize(self, dimension: str, rows: int) -> None:
        """Gives the arrays of a dimension so many rows, more than there were."""
        for name, each in self._fields.items():
            if each.dimension == dimension:
                setattr(self, name, enlarged(self._kept[name], rows, each.fill))

    def make_room(self) -> None:
        """Room for what kernels want."""
        for name, each in self._fields.items():
            if each.wants:
                lacking = int(self._table[self._places[name]])
                if lacking > self.rows(each.wants):
                    self.resize(each.wants, first_room(2 * lacking, lacking))
            elif isinstance(each.kind, type):
                self._kept[name].make_room()


class _Part:
    """An array, or another structure, as an attribute in Python."""

    def __init__(self, name: str, place: int, field: _Field) -> None:
        self._name, self._place, self._field = name, place, field

    def __get__(self, record: Struct, kind: type) -> Any:
        return record._kept[self._name]

    def __set__(self, record: Struct, value: Any) -> None:
        record._kept[self._name] = value
        if isinstance(value, Struct):
            record._table[self._place] = value.address
        else:
            assert value.flags.c_contiguous, self._name
            assert value.dtype == as_dtype(self._field.kind), self._name
            record._table[self._place] = value.__array_interface__["data"][0]
            record._table[self._place + 1 : self._place + 1 + value.ndim] = value.shape


class _Number:
    """A number as an attribute in Python."""

    def __init__(self, name: str, place: int, field: _Field) -> None:
        self._place, self._dtype = place, None if field.kind is int64 else as_dtype(field.kind)

    def __get__(self, record: Struct, kind: type) -> Any:
        table = record._table if self._dtype is None else record._table.view(self._dtype)
        return table.item(self._place)

    def __set__(self, record: Struct, value: float) -> None:
        table = record._table if self._dtype is None else record._table.view(self._dtype)
        table[self._place] = value


def record_like(kind: Any, numba_type: Any) -> type[Struct]:
    """A structure with the parts of a NamedTuple of arrays, for kernels that take either."""
    fields = zip(kind._fields, numba_type.types, strict=True)
    parts = {name: array(each.dtype, name, ANY if each.ndim == 2 else 0) for name, each in fields}
    return type(kind.__name__, (Struct,), {**parts, "__module__": kind.__module__})


def run(kernel: Callable[..., Any], *arguments: Any) -> Any:
    """Calls a kernel, making room in the structures that it is given, until it is done; its answer."""
    records = [each for each in arguments if isinstance(each, Struct)]
    called = [each.address if isinstance(each, Struct) else each for each in arguments]
    while (answer := kernel(*called)) is False:
        for each in records:
            each.make_room()
    return answer


# --- in kernels -------------------------------------------------------------------------------------------------

_WORD = ir.IntType(64)
_POPULATE: Any = arrayobj.populate_array
_lower_getattr: Any = imputils.lower_getattr_generic
_lower_setattr: Any = imputils.lower_setattr_generic
_TYPES: dict[type[Struct], _RecordType] = {}


class _RecordType(types.Type):
    """A structure in kernels: the address of its table."""

    def __init__(self, record: type[Struct]) -> None:
        self.record = record
        super().__init__(f"{record.__module__}.{record.__qualname__}")

    def type_of(self, name: str) -> Any:
        """The type of a part; None if there is no such part."""
        field = self.record._fields.get(name)
        if field is None:
            return None
        if field.dimension:
            return types.Array(field.kind, 2 if field.columns else 1, "C")
        return _type_of(field.kind) if isinstance(field.kind, type) else field.kind


def _type_of(record: type[Struct]) -> _RecordType:
    return _TYPES.setdefault(record, _RecordType(record))


@register_model(_RecordType)
class _RecordModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _WORD.as_pointer())  # type: ignore[no-untyped-call]


@infer_getattr
class _RecordAttributes(AttributeTemplate):
    key = _RecordType

    def generic_resolve(self, kind: Any, name: str) -> Any:  # type: ignore[override]
        return kind.type_of(name)


def _fixed_word(builder: Any, table: Any, place: int) -> Any:
    """A word that stays as it is while a kernel runs."""
    load = builder.load(builder.gep(table, [_WORD(place)]))
    load.set_metadata("invariant.load", builder.module.add_metadata([]))
    return load


@_lower_getattr(_RecordType)
def _load(context: Any, builder: Any, kind: Any, table: Any, name: str) -> Any:
    field, place, found = kind.record._fields[name], kind.record._places[name], kind.type_of(name)
    if isinstance(found, _RecordType):
        return builder.inttoptr(_fixed_word(builder, table, place), _WORD.as_pointer())
    if not field.dimension:
        pointer = builder.gep(table, [_WORD(place)])
        return builder.load(builder.bitcast(pointer, context.get_value_type(found).as_pointer()))
    item = context.get_data_type(found.dtype)
    size, length = _WORD(context.get_abi_sizeof(item)), _fixed_word(builder, table, place + 1)
    made = context.make_array(found)(context, builder)
    shape, strides = [length], [size]
    if field.columns:
        columns = _fixed_word(builder, table, place + 2) if field.columns == ANY else _WORD(field.columns)
        shape, strides = [length, columns], [builder.mul(size, columns), size]
    data = builder.inttoptr(_fixed_word(builder, table, place), item.as_pointer())
    _POPULATE(made, data=data, shape=shape, strides=strides, itemsize=size, meminfo=None)
    return made._getvalue()


@_lower_setattr(_RecordType)
def _store(context: Any, builder: Any, signature: Any, arguments: Any, name: str) -> None:
    kind, given = signature.args
    value = context.cast(builder, arguments[1], given, kind.type_of(name))
    pointer = builder.gep(arguments[0], [_WORD(kind.record._places[name])])
    builder.store(value, builder.bitcast(pointer, value.type.as_pointer()))


def view(record: type[Struct]) -> Any:
    """A function for kernels that takes the address of a structure and gives its parts as attributes."""

    def typing(typing: Any, address: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.inttoptr(arguments[0], _WORD.as_pointer())

        return _type_of(record)(int64), generate

    return intrinsic(typing)
