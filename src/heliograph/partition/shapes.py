"""The roots of one shape: forms with the same edges, which differ in what they ask of their variables.

A map between the edges of two forms is found once for all roots of a shape. What is left is a search among boxes: which
of these hold the box that the map makes of a form's conditions, and which does it hold. Roots are kept apart by the
variables that they constrain and by their residue. The law: answers are true; some may be missed where a shape has very
many different residues or maps.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations, islice

from heliograph.partition.boxes import Boxes
from heliograph.partition.containment import witness_in
from heliograph.partition.flat import Flat, substituted, variables_of
from heliograph.partition.forms import Form
from heliograph.partition.homomorphisms import Admits, Images, Target, homomorphisms, is_absent, search_order
from heliograph.partition.probes import MAPS, Outline, Probe, admit_all, holds_by
from heliograph.partition.regions import EVERYTHING, Region, holds, meet
from heliograph.syntax.query import Node, Pattern
from heliograph.terms import Term, Variable

Residue = tuple[Flat, ...]
Names = tuple[Variable, ...]

_MANY = 64  # residues of one shape that are looked through; others must be met by name
_TRIED = 256  # boxes that are asked exactly before a search gives up
_SUBSETS = 5  # conditions of a residue of which all subsets are looked for
_NO_GROUPS: dict[tuple[Variable, ...], dict[tuple[Flat, ...], Boxes]] = {}  # shared by all that have none


class Shape:
    """The roots whose edges these are. The first one is kept plain: most shapes have no other."""

    __slots__ = ("_groups", "_only", "_order", "edges", "key", "number", "outline")

    def __init__(self, number: int, edges: tuple[Pattern, ...], key: int) -> None:
        self.number = number
        self.edges = edges
        self.key = key
        self.outline: Outline | None = None  # of a shape that had several roots
        self._only: int | None = None
        self._groups: dict[Names, dict[Residue, Boxes]] = _NO_GROUPS
        self._order: tuple[Pattern, ...] | None = None

    @property
    def order(self) -> tuple[Pattern, ...]:
        if self._order is None:
            self._order = search_order(self.edges)
        return self._order

    @property
    def empty(self) -> bool:
        return self._only is None and not self._groups

    def add(self, node: int, forms: Mapping[int, Form], probe: Probe) -> None:
        if self.empty:
            self._only = node
            return
        if self.outline is None:
            self.outline, self._groups = Outline(self.edges, probe.outline.taxonomy), {}
        if self._only is not None:
            self._enter(self._only, forms[self._only], probe)
            self._only = None
        self._enter(node, forms[node], probe)

    def _enter(self, node: int, form: Form, probe: Probe) -> None:
        names, residue = _group_of(form)
        boxes = self._groups.setdefault(names, {}).setdefault(residue, Boxes(len(names)))
        boxes.add(node, [probe.extent(region) for _, region in form.regions])

    def remove(self, node: int, form: Form) -> None:
        if self._only == node:
            self._only = None
            return
        names, residue = _group_of(form)
        boxes = self._groups[names][residue]
        boxes.remove(node)
        if not len(boxes):
            del self._groups[names][residue]
        if not self._groups[names]:
            del self._groups[names]

    # --- roots that contain a form ------------------------------------------------------------------------------

    def containing(self, probe: Probe, forms: Mapping[int, Form]) -> int | None:
        """A root that contains a form."""
        if any(is_absent(edge, probe.outline.present) for edge in self.edges):
            return None
        if self._only is not None:
            found = witness_in(probe.outline.target, forms[self._only], probe.form, self.order)
            return None if found is None else self._only
        for images in self._maps_into(probe):
            for node in islice(self._around(probe, images), _TRIED):
                if holds_by(forms[node], images, probe.form):
                    return node
        return None

    def _maps_into(self, probe: Probe) -> Iterable[Images]:
        if probe.outline is self.outline:
            return self.outline.own_maps
        return islice(homomorphisms(self.order, probe.outline.target, admit_all), MAPS)

    def _around(self, probe: Probe, images: Images) -> Iterator[int]:
        """Roots whose boxes may hold the box of a form."""
        for names, by_residue in self._groups.items():
            regions = [probe.region(images[name]) for name in names]
            if EVERYTHING in regions:
                continue  # whoever asks something of a variable does not hold those that ask nothing of it
            extents = [probe.extent(region) for region in regions]
            for residue in _residues(by_residue, probe.form.residue, images):
                yield from by_residue[residue].around(extents)

    # --- roots that a form contains -----------------------------------------------------------------------------

    def contained(self, probe: Probe, forms: Mapping[int, Form]) -> list[int]:
        """The roots that a form contains."""
        if self._only is not None:
            special, target = forms[self._only], Target(self.edges, probe.outline.taxonomy)
            return [] if witness_in(target, probe.form, special, probe.outline.order) is None else [self._only]
        found: dict[int, None] = {}
        for images in self._maps_of(probe):
            for node in self._inside(probe, images):
                if node not in found and holds_by(probe.form, images, forms[node]):
                    found[node] = None
        return list(found)

    def _maps_of(self, probe: Probe) -> Iterable[Images]:
        assert self.outline is not None
        if probe.outline is self.outline:
            return self.outline.own_maps
        return islice(homomorphisms(probe.outline.order, self.outline.target, _admits(probe)), MAPS)

    def _inside(self, probe: Probe, images: Images) -> Iterator[int]:
        """Roots whose boxes the box of a form may hold."""
        wanted: dict[Node, Region] = {}
        for node, region in probe.asked.items():
            image = images[node]
            if isinstance(image, Variable):
                wanted[image] = meet(wanted.get(image, EVERYTHING), region)
        extents = {node: probe.extent(region) for node, region in wanted.items()}
        needed = {substituted(flat, images) for flat in probe.form.residue}
        for names, by_residue in self._groups.items():
            if wanted.keys() <= set(names):
                for residue in _fuller(by_residue, needed):
                    yield from by_residue[residue].inside([extents.get(name) for name in names])


def _group_of(form: Form) -> tuple[Names, Residue]:
    return tuple([name for name, _ in form.regions]), form.residue


def _admits(probe: Probe) -> Admits:
    """Constants must satisfy; of variables nothing is known yet."""
    asked = probe.asked

    def admits(node: Node, image: Node) -> bool:
        return not isinstance(image, Term) or node not in asked or holds(asked[node], image)

    return admits


def _residues(known: Mapping[Residue, Boxes], given: Residue, images: Images) -> Iterable[Residue]:
    """The residues of roots that may follow from what is given: a few are all tried, of many the likely ones."""
    if len(known) <= _MANY:
        return list(known)
    back: Images = {image: node for node, image in images.items() if isinstance(image, Variable)}
    named = [substituted(flat, back) for flat in given if variables_of(flat) <= back.keys()][:_SUBSETS]
    likely = [
        tuple(sorted(some, key=repr))
        for size in range(len(named) + 1)
        for some in combinations(sorted(named, key=repr), size)
    ]
    return dict.fromkeys([*(each for each in likely if each in known), *islice(known, _MANY)])


def _fuller(known: Mapping[Residue, Boxes], needed: set[Flat]) -> Iterable[Residue]:
    """The residues of roots from which what is needed may follow: of many, the very same and some."""
    if not needed or len(known) <= _MANY:
        return list(known)
    same = tuple(sorted(needed, key=repr))
    return dict.fromkeys([*([same] if same in known else []), *islice(known, _MANY)])
