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
Flags: TypeAlias = "npt.NDArray[np.bool_]"


# --- limits -----------------------------------------------------------------------------------------------------------
# What the widths below can hold, in one place. Whoever fills an array checks its limit or cannot reach it; kernels
# compute in 64 bits, whatever they read, so only what is written into a narrow array can wrap. NumPy is different: a
# narrow array and a Python int make a narrow array, so offsets are never added to one.
#
# 8 bits   domains, flags, modes and masks: a few constants each.
# 16 bits  numbers of variables within one interest: MOST_VARIABLES (`filter.interests` leaves the rest to the query).
# 32 bits  ids of terms: MOST_ROWS of a vocabulary. Structures, steps, members, conjuncts, atoms, tables and entries of
#          one segment: MOST_ROWS each. Publications of one call: fewer, see below. Starts of solutions: a search makes
#          no more room than MOST_ROWS, and one candidate needs a small part of that. The edges of one publication stand
#          in an array of 32 bits with the places of its own parts: MOST_EDGES. Counts of edges seen (sketch): they stop
#          at 2^32 - 1. Edges looked at for a candidate (cost): they stop at MOST_ROWS.
# 64 bits  offsets, numbers of subscriptions, versions; and whatever counts events of a batch or of a life (candidates,
#          solutions, walks), since these have no bound. A key of a publication and a subscription has NUMBER_BITS for
#          the latter, half of which are numbers of mergers, and the rest below the sign for the former.

NUMBER_BITS = 36
MOST_NUMBERS = 1 << (NUMBER_BITS - 1)  # of subscriptions: `subscriptions.MOST_SUBSCRIPTIONS`
MOST_PUBLICATIONS = 1 << (63 - NUMBER_BITS)  # of one call
MOST_EDGES = 1 << 27  # of one publication
MOST_ROWS = (1 << 31) - 1
MOST_VARIABLES = 30_000  # of one interest, and so many edges


class DocumentEdges(NamedTuple):
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


class AccessKeys(NamedTuple):
    """Access edges by open addressing, and under each key the structures that are looked up by it."""

    slots: Int64s  # the upper half of the hash and, in the lower half, 1 + the number of the key; 0 is free
    subject: Int32s
    predicate: Int32s
    object: Int32s
    offsets: Int64s
    postings: Int32s
    masks: Int8s  # which combinations of known parts occur: bit 1 subject, 2 predicate, 4 object
    always: Int32s  # structures without any edge


class Left(NamedTuple):
    """Of each structure, the version at which its last member was removed; and the version that is asked."""

    emptied: Int64s  # changes
    stamp: int


# The columns of the packed arrays. A kernel is compiled in a fraction of the time, and reads one line of the cache
# instead of several, if what belongs together is one row of one array.
FIRST_STEP, STEPS, VARIABLES, GATE, FIRST_MEMBER, MEMBERS, SCANNED, FIRST_TABLE, TABLES, SINGLE = range(10)
# (of structures; SINGLE: it has one member, which is exact)
SUBJECT, PREDICATE, OBJECT, MODE = range(4)  # of steps
FIRST_CONJUNCT, FLAGS = range(2)  # of members
VARIABLE, FIRST_ATOM = range(2)  # of conjuncts
DOMAIN, LOW, HIGH, ATOM_FLAGS = range(4)  # of atoms
TABLE_VARIABLE, TABLE_DOMAIN, FIRST_ENTRY = range(3)  # of tables
ENTRY_LOW, ENTRY_HIGH, REACH, MEMBER, ALONE = range(5)  # of entries; ALONE: its member asks nothing else
ASKED = 8  # added to the mode of a step that binds what a member asks about


class SegmentArrays(NamedTuple):
    """One segment, but for its keys. Each array is one row a thing; offsets have one row more than there are things.

    Structures are patterns up to the names of their variables. Their steps are their edges in the order in which they
    are verified, with the parts that are known when each is reached (bits as in AccessKeys.masks). After `GATE` steps
    every variable that some member asks about is bound. The first `SCANNED` of its members are tried one by one; the
    others stand in its tables: one variable, one domain, entries by their low ends, and in `REACH` the largest high end
    of the part of the table whose middle an entry is, so that a search leaves out whatever ends too early.
    """

    structures: Int32s
    steps: Int32s
    members: Int32s
    numbers: Int64s  # of members, the order of subscribing
    died: Int64s  # of members, the version at which it was removed; changes
    conjuncts: Int32s
    atoms: Floats
    tables: Int32s
    entries: Floats


COORDINATE, DOMAIN_CODE = range(2)  # of places
ROUNDED_CODE = 32  # added to the domain of a value whose coordinate is rounded


class TermPlaces(NamedTuple):
    """Where terms lie: ids below `start` in `base`, the others in `own`."""

    start: int
    base: Floats
    own: Floats


class TextKeys(NamedTuple):
    """The text keys of the terms `ids`, ascending."""

    ids: Int32s
    offsets: Int64s
    keys: Floats


class Closure(NamedTuple):
    """A taxonomy over the ids below len(offsets) - 1: types, sub-class rows upwards, everything above, and all pairs in
    hash tables. Where each row is both, types and parents are the same arrays, and so are the tables."""

    type_offsets: Int64s
    types: Int32s
    parent_offsets: Int64s
    parents: Int32s
    offsets: Int64s
    ancestors: Int32s
    pairs: Int64s  # 1 + (below << 32 | above), 0 is free
    instances: Int64s  # the same of what is an instance of what, directly or through sub-classes
    rdf_type: int
    subclass_of: int
    complete: int  # whether `ancestors` and the tables are there; else the rows are walked


class SearchOutput(NamedTuple):
    """What a search writes: sure matches, and doubtful ones with the solution that is to be judged."""

    publication: Int32s
    number: Int64s
    doubtful: Int32s  # publication, member and start of the solution, three for each; -1 if there is no solution
    solutions: Int32s
