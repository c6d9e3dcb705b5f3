"""What a condition leaves of each variable: regions of terms, and boxes of one region a variable.

A region holds the terms that lie on its lines, and those whose text has one of its keys. A box is a conjunction: each
variable in it lies in its region, and any other variable is free. The law: both operations give supersets, so what they
lose is told (`exact`), never what is true.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from heliograph.index.comparing import EVERYWHERE, Lines
from heliograph.index.domains import Domain
from heliograph.index.interests import Atom
from heliograph.index.lines import EMPTY, WHOLE, Line, atoms, intersection, union
from heliograph.terms import Variable


class Region(NamedTuple):
    """Terms by where they lie, or by a key of their text."""

    lines: Lines
    words: frozenset[int] = frozenset()

    @property
    def nothing(self) -> bool:
        return not self.lines and not self.words

    @property
    def everything(self) -> bool:
        return len(self.lines) == len(EVERYWHERE) and all(line == WHOLE for line in self.lines.values())


class Box(NamedTuple):
    """What is asked of each variable; `never` where nothing can satisfy it, whatever the variables are."""

    regions: dict[Variable, Region]
    exact: bool = True
    never: bool = False


ANYTHING, ALWAYS, NEVER = Box({}, exact=False), Box({}), Box({}, never=True)


def all_of(boxes: Sequence[Box]) -> Box:
    """What all boxes ask."""
    if any(box.never for box in boxes):
        return NEVER
    if len(boxes) == 1:
        return boxes[0]
    asked = _by_variable(boxes)
    exact = all(box.exact for box in boxes)
    return Box({variable: _common(regions) for variable, regions in asked.items()}, exact)


def any_of(boxes: Sequence[Box]) -> Box:
    """What any of the boxes asks: of a variable that only some of them speak of, nothing."""
    possible = [box for box in boxes if not (box.never or any(region.nothing for region in box.regions.values()))]
    if len(possible) < 2:
        return (*possible, *boxes, NEVER)[0]
    boxes = possible
    asked = {variable: regions for variable, regions in _by_variable(boxes).items() if len(regions) == len(boxes)}
    free = any(box.exact and not box.regions for box in boxes)
    single = len(asked) == 1 and all(box.exact and len(box.regions) == 1 for box in boxes)
    return Box({variable: _joint(regions) for variable, regions in asked.items()}, free or single)


def _by_variable(boxes: Iterable[Box]) -> dict[Variable, list[Region]]:
    asked: dict[Variable, list[Region]] = {}
    for box in boxes:
        for variable, region in box.regions.items():
            asked.setdefault(variable, []).append(region)
    return asked


def _common(regions: Sequence[Region]) -> Region:
    """What lies in all regions. A text has many keys, so of regions by key one alone must speak for the others."""
    plain = common([region.lines for region in regions if not region.words])
    worded = [region for region in regions if region.words]
    return worded[0] if worded and plain else Region(plain)


def common(several: Sequence[Lines]) -> Lines:
    """What lies on the lines of all."""
    if len(several) < 2:
        return several[0] if several else EVERYWHERE
    shared = set(several[0]).intersection(*several[1:])
    return _kept({domain: intersection([lines[domain] for lines in several]) for domain in shared})


def _joint(regions: Sequence[Region]) -> Region:
    """What lies in any region."""
    gathered: dict[int, list[Line]] = {}
    for region in regions:
        for domain, line in region.lines.items():
            gathered.setdefault(domain, []).append(line)
    lines = {domain: union(found) for domain, found in gathered.items()}
    return Region(lines, frozenset().union(*(region.words for region in regions)))


def _kept(lines: Lines) -> Lines:
    return {domain: line for domain, line in lines.items() if line != EMPTY}


def alternatives(region: Region) -> tuple[Atom, ...]:
    """The region as atoms. A float is in doubt wherever there is any atom, so it needs one only where it is alone."""
    found = [
        atom
        for domain in sorted(region.lines)
        if domain != Domain.FLOAT
        for atom in atoms(domain, region.lines[domain])
    ]
    found += [Atom(Domain.WORD, key, key) for key in sorted(region.words)]
    if not found and Domain.FLOAT in region.lines:
        found = atoms(Domain.FLOAT, region.lines[Domain.FLOAT])
    return tuple(found)
