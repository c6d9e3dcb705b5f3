"""Whether the arrays of a saved segment fit together: nothing that kernels follow may lead out of an array.

The law: over arrays that pass, a search ends and reads and writes inside them, whatever else is wrong. Kernels do not
look themselves; a save that was damaged is refused here, at the cost of a few passes over its columns.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from heliograph.index.domains import Domain
from heliograph.kernels import filter_layout as layout
from heliograph.kernels.filter_layout import Index, Int64s, Keys

Arrays: TypeAlias = Mapping[str, "np.ndarray[Any, Any]"]

# Type, and columns of one row (0: an array of one dimension), of every array by name.
_FORMS: dict[str, tuple[type[np.generic], int]] = {
    "keys.slots": (np.int64, 0),
    "keys.subject": (np.int32, 0),
    "keys.predicate": (np.int32, 0),
    "keys.object": (np.int32, 0),
    "keys.offsets": (np.int64, 0),
    "keys.postings": (np.int32, 0),
    "keys.masks": (np.uint8, 0),
    "keys.always": (np.int32, 0),
    "index.structures": (np.int32, layout.SINGLE + 1),
    "index.steps": (np.int32, 4),
    "index.members": (np.int32, 2),
    "index.numbers": (np.int64, 0),
    "index.conjuncts": (np.int32, 2),
    "index.atoms": (np.float64, 4),
    "index.tables": (np.int32, 3),
    "index.entries": (np.float64, layout.ALONE + 1),
    "names.offsets": (np.int64, 0),
    "names.numbers": (np.int16, 0),
}
_CLASSES = (Domain.IS_A, Domain.DIRECT, Domain.SUBCLASS_OF, Domain.SUPERCLASS_OF)
_LOWER_HALF = 0xFFFFFFFF


def check_arrays(arrays: Arrays, members: int, terms: int) -> None:
    """Raises ValueError if these are not the arrays of a segment of so many members over so many terms."""
    for name, (dtype, columns) in _FORMS.items():
        _check_form(arrays, name, dtype, columns)
    keys = Keys(*(arrays[f"keys.{name}"] for name in Keys._fields))
    index = Index(*(arrays[f"index.{name}" if name != "died" else "index.numbers"] for name in Index._fields))
    _check_numbers(index, members)
    _check_structures(index)
    _check_steps(index, terms)
    _check_conjuncts(index)
    _check_atoms(index, terms)
    _check_tables(index)
    _check_names(arrays["names.offsets"], arrays["names.numbers"], index)
    _check_keys(keys, len(index.structures), terms)


def _require(holds: Any, what: str) -> None:
    if not np.all(holds):
        raise ValueError(f"{what} do not fit")


def _check_form(arrays: Arrays, name: str, dtype: type[np.generic], columns: int) -> None:
    array = arrays.get(name)
    if array is None:
        raise ValueError(f"{name} is missing")
    shape = array.shape[1:]
    if array.dtype != dtype or array.ndim == 0 or shape != ((columns,) if columns else ()):
        raise ValueError(f"{name} is no array of {np.dtype(dtype)} in {columns or 1} columns")


def _within(values: Any, low: Any, high: Any) -> npt.NDArray[np.bool_]:
    """Which values lie between the two, `high` excluded."""
    inside: npt.NDArray[np.bool_] = (values >= low) & (values < high)
    return inside


def _are_offsets(offsets: npt.NDArray[Any], parts: int, total: int) -> bool:
    wide = offsets.astype(np.int64)
    ends = len(wide) == parts + 1 and wide[0] == 0 and wide[-1] == total
    return bool(ends and (wide[1:] >= wide[:-1]).all())


def _lie_end_to_end(first: npt.NDArray[Any], sizes: npt.NDArray[Any], total: int) -> bool:
    ends = np.cumsum(sizes.astype(np.int64))
    return bool((sizes >= 0).all() and (first == ends - sizes).all() and (ends[-1] if len(ends) else 0) == total)


def _owners(sizes: npt.NDArray[Any]) -> Int64s:
    """Of things that lie end to end, whose each is."""
    return np.repeat(np.arange(len(sizes)), sizes)


def _sizes(offsets: npt.NDArray[Any]) -> Int64s:
    wide = offsets.astype(np.int64)
    sizes: Int64s = wide[1:] - wide[:-1]
    return sizes


# --- members and structures -------------------------------------------------------------------------------------


def _check_numbers(index: Index, members: int) -> None:
    """Numbers count the members from 0, each once."""
    numbers = index.numbers
    _require(len(numbers) == members and _within(numbers, 0, members).all(), "the numbers")
    _require(np.bincount(numbers, minlength=members) == 1, "the numbers")
    _require(_are_offsets(index.members[:, layout.FIRST_CONJUNCT], members, len(index.conjuncts) - 1), "the members")
    _require(_within(index.members[:, layout.FLAGS], 0, 4), "the members")


def _check_structures(index: Index) -> None:
    rows = index.structures
    for first, size, total in (
        (layout.FIRST_STEP, layout.STEPS, len(index.steps)),
        (layout.FIRST_MEMBER, layout.MEMBERS, len(index.numbers)),
        (layout.FIRST_TABLE, layout.TABLES, len(index.tables) - 1),
    ):
        _require(_lie_end_to_end(rows[:, first], rows[:, size], total), "the structures")
    members = rows[:, layout.MEMBERS]
    _require(members > 0, "the structures")
    _require(members[rows[:, layout.SINGLE] != 0] == 1, "the structures")
    _require(_within(rows[:, layout.VARIABLES], 0, 1 << 15), "the structures")
    _require(_within(rows[:, layout.GATE], 0, rows[:, layout.STEPS].astype(np.int64) + 1), "the structures")
    _require(_within(rows[:, layout.SCANNED], 0, members.astype(np.int64) + 1), "the structures")


def _variables(index: Index, sizes: npt.NDArray[Any]) -> npt.NDArray[np.int32]:
    """Of things that lie end to end in structures, how many variables their structure has."""
    return np.repeat(index.structures[:, layout.VARIABLES], sizes)


def _check_steps(index: Index, terms: int) -> None:
    """Nodes are terms or variables of the structure; a part that is not known yet is a variable."""
    variables, modes = _variables(index, index.structures[:, layout.STEPS]), index.steps[:, layout.MODE]
    _require(_within(modes, 0, 2 * layout.ASKED), "the steps")
    for part, bit in ((layout.SUBJECT, 1), (layout.PREDICATE, 2), (layout.OBJECT, 4)):
        nodes = index.steps[:, part]
        _require(_within(nodes, -variables, terms), "the steps")
        _require((nodes < 0) | (modes & bit != 0), "the steps")


# --- conditions -------------------------------------------------------------------------------------------------


def _check_conjuncts(index: Index) -> None:
    owners = _owners(_sizes(index.members[:, layout.FIRST_CONJUNCT]))
    variables = _variables(index, index.structures[:, layout.MEMBERS])[owners]
    _require(_within(index.conjuncts[:-1, layout.VARIABLE], 0, variables), "the conjuncts")
    first = index.conjuncts[:, layout.FIRST_ATOM]
    _require(_are_offsets(first, len(index.conjuncts) - 1, len(index.atoms)), "the conjuncts")


def _check_atoms(index: Index, terms: int) -> None:
    """Domains are those there are; the coordinate of a class is a term."""
    domains, flags = index.atoms[:, layout.DOMAIN], index.atoms[:, layout.ATOM_FLAGS]
    _require(np.isin(domains, list(Domain)), "the atoms")
    _require(np.isin(flags, range(8)), "the atoms")
    classes = index.atoms[np.isin(domains, _CLASSES), layout.LOW]
    _require(_within(classes, 0, terms) & (classes == np.floor(classes)), "the atoms")


def _check_tables(index: Index) -> None:
    """Entries are members of the table's structure; a search makes ready what atoms ask for, so tables ask for that."""
    structures, tables = index.structures, index.tables
    sizes = structures[:, layout.TABLES]
    _require(_within(tables[:-1, layout.TABLE_VARIABLE], 0, _variables(index, sizes)), "the tables")
    _require(np.isin(tables[:-1, layout.TABLE_DOMAIN], index.atoms[:, layout.DOMAIN]), "the tables")
    first = tables[:, layout.FIRST_ENTRY]
    _require(_are_offsets(first, len(tables) - 1, len(index.entries)), "the tables")
    owner = _owners(sizes)[_owners(_sizes(first))]
    begin = structures[owner, layout.FIRST_MEMBER].astype(np.int64)
    members = index.entries[:, layout.MEMBER]
    _require(_within(members, begin, begin + structures[owner, layout.MEMBERS]), "the entries")
    _require(members == np.floor(members), "the entries")


def _check_names(offsets: Int64s, numbers: npt.NDArray[np.int16], index: Index) -> None:
    """Each member names the variables of its structure."""
    variables = _variables(index, index.structures[:, layout.MEMBERS])
    _require(_are_offsets(offsets, len(index.numbers), len(numbers)), "the names")
    _require(_sizes(offsets) == variables, "the names")
    _require(_within(numbers, 0, np.repeat(variables, variables)), "the names")


# --- keys -------------------------------------------------------------------------------------------------------


def _check_keys(keys: Keys, structures: int, terms: int) -> None:
    """Every structure is found in one way; a search for a key ends at a free slot."""
    count, taken = len(keys.subject), keys.slots[keys.slots != 0]
    _require(len(keys.slots).bit_count() == 1 and len(taken) < len(keys.slots), "the slots")
    _require((taken > 0) & _within(taken & _LOWER_HALF, 1, count + 1), "the slots")
    for part in (keys.subject, keys.predicate, keys.object):
        _require(len(part) == count and _within(part, -1, terms).all(), "the keys")
    _require(_are_offsets(keys.offsets, count, len(keys.postings)), "the keys")
    _require(keys.masks < 8, "the keys")
    found = np.concatenate([keys.postings, keys.always])
    _require(_within(found, 0, structures), "the postings")
    _require(np.bincount(found, minlength=structures) == 1, "the postings")
