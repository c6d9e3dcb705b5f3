"""The arrays of the filter's index that kernels and their callers share. Does not import Numba.

A node of a pattern is a term id, or `~v` for the variable number v. `-1` in a key stands for anything.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

Int8s: TypeAlias = "npt.NDArray[np.uint8]"
Int16s: TypeAlias = "npt.NDArray[np.int16]"
Int32s: TypeAlias = "npt.NDArray[np.int32]"
Int64s: TypeAlias = "npt.NDArray[np.int64]"
Hashes: TypeAlias = "npt.NDArray[np.uint64]"
Floats: TypeAlias = "npt.NDArray[np.float64]"


class Edges(NamedTuple):
    """Edges of many graphs end to end: graph i has those from offsets[i] to offsets[i + 1]."""

    offsets: Int64s
    subject: Int32s
    predicate: Int32s
    object: Int32s


class Atoms(NamedTuple):
    """Intervals of coordinates, each in one domain."""

    domain: Int8s
    low: Floats
    high: Floats
    flags: Int8s


class Conjuncts(NamedTuple):
    """Conditions on one variable each: number i holds in the atoms from offsets[i] to offsets[i + 1]."""

    variable: Int16s
    offsets: Int64s
    atoms: Atoms


class Keys(NamedTuple):
    """Access edges by open addressing, and under each key the structures that are looked up by it."""

    slots: Int64s  # the upper half of the hash and, in the lower half, 1 + the number of the key; 0 is free
    subject: Int32s
    predicate: Int32s
    object: Int32s
    offsets: Int64s
    postings: Int32s
    masks: Int8s  # which combinations of known parts occur: bit 1 subject, 2 predicate, 4 object
    always: Int32s  # structures without any edge


class Structures(NamedTuple):
    """Patterns up to the names of their variables, their edges in the order in which they are verified."""

    steps: Edges
    modes: Int8s  # of each step, which parts are known when it is reached: bits as in Keys.masks
    variables: Int16s  # how many
    gates: Int32s  # after so many steps every variable that some member asks about is bound
    members: Int64s  # offsets
    scanned: Int32s  # so many of its members, the first ones, are tried one by one; the others stand in tables
    tables: Int64s  # offsets
    alive: Int32s  # members that nobody has removed; changes


class Members(NamedTuple):
    """Subscriptions, those of one structure together."""

    number: Int64s
    died: Int64s  # the version at which it was removed; changes
    flags: Int8s
    conjuncts: Int64s  # offsets


class Entries(NamedTuple):
    """Atoms of many members in one domain, by their low end; `reach` is the largest high end of the part of the table
    whose middle an entry is, so that a search leaves out whatever ends too early."""

    low: Floats
    high: Floats
    reach: Floats
    member: Int32s


class Tables(NamedTuple):
    """Constraint tables: number i is about one variable and one domain, with the entries from offsets[i]."""

    variable: Int16s
    domain: Int8s
    offsets: Int64s
    entries: Entries


class Index(NamedTuple):
    """One segment, all of it."""

    keys: Keys
    structures: Structures
    members: Members
    conjuncts: Conjuncts
    tables: Tables


class Places(NamedTuple):
    """The domain and the coordinate of each term."""

    domain: Int8s
    coordinate: Floats
    rounded: npt.NDArray[np.bool_]


class Values(NamedTuple):
    """Where terms lie: ids below `start` in `base`, the others in `own`."""

    start: int
    base: Places
    own: Places


class Words(NamedTuple):
    """The text keys of the terms `ids`, ascending."""

    ids: Int32s
    offsets: Int64s
    keys: Floats


class Closure(NamedTuple):
    """A taxonomy over the ids below len(offsets) - 1: rows upwards, everything above, and all pairs in a hash table."""

    parent_offsets: Int64s
    parents: Int32s
    offsets: Int64s
    ancestors: Int32s
    pairs: Int64s  # 1 + (below << 32 | above), 0 is free
    rdf_type: int
    subclass_of: int


class Found(NamedTuple):
    """What a search writes: sure matches, and doubtful ones with the solution that is to be judged."""

    publication: Int32s
    number: Int64s
    doubtful: Int32s  # publication, member and start of the solution, three for each; -1 if there is no solution
    solutions: Int32s
