"""A form made ready to be compared with many others, in both directions."""

from __future__ import annotations

from functools import cached_property

from heliograph.partition.candidates import Marks
from heliograph.partition.extents import Extent, Extents
from heliograph.partition.forms import Form
from heliograph.partition.homomorphisms import Images, Target, homomorphisms, search_order
from heliograph.partition.implication import image_suits, residue_follows
from heliograph.partition.regions import EVERYTHING, Region, just
from heliograph.syntax.query import Node, Pattern
from heliograph.taxonomy import Taxonomy
from heliograph.terms import Term

MAPS = 8  # maps between the edges of two forms that are tried


class Outline:
    """Edges in search order and as a target, and their maps into themselves: what forms with these edges share."""

    def __init__(self, edges: tuple[Pattern, ...], taxonomy: Taxonomy) -> None:
        self.edges = edges
        self.taxonomy = taxonomy
        self.marks: Marks | None = None  # its edges as candidates are looked for

    @cached_property
    def present(self) -> frozenset[Pattern]:
        return frozenset(self.edges)

    @cached_property
    def order(self) -> tuple[Pattern, ...]:
        return search_order(self.edges)

    @cached_property
    def target(self) -> Target:
        return Target(self.edges, self.taxonomy)

    @cached_property
    def own_maps(self) -> list[Images]:
        return [
            dict(images)
            for images, _ in zip(homomorphisms(self.order, self.target, admit_all), range(MAPS), strict=False)
        ]


def admit_all(node: Node, image: Node) -> bool:
    return True


class Probe:
    """A form, with the outline of its edges and the places that its regions reach."""

    def __init__(self, form: Form, outline: Outline, extents: Extents) -> None:
        self.form = form
        self.outline = outline
        self.asked: dict[Node, Region] = dict(form.regions)
        self._extents = extents

    def region(self, node: Node) -> Region:
        """What a node of the form may stand for."""
        return just({node}) if isinstance(node, Term) else self.asked.get(node, EVERYTHING)

    def extent(self, region: Region) -> Extent:
        return self._extents.of(region)


def holds_by(general: Form, images: Images, special: Form) -> bool:
    """Whether one form contains another by this map of its edges."""
    suits = all(image_suits(region, images[node], special) for node, region in general.regions)
    return suits and residue_follows(general, images, special)
