"""A form made ready to be compared with many others, in both directions."""

from __future__ import annotations

from functools import cached_property

from heliograph.partition.extents import Extent, Extents
from heliograph.partition.forms import Form
from heliograph.partition.homomorphisms import Images, Target, search_order
from heliograph.partition.implication import image_suits, residue_follows
from heliograph.partition.regions import EVERYTHING, Region, just
from heliograph.syntax.query import Node, Pattern
from heliograph.taxonomy import Taxonomy
from heliograph.terms import Term


class Probe:
    """A form with its edges in search order, and as a target for others."""

    def __init__(self, form: Form, taxonomy: Taxonomy, extents: Extents) -> None:
        self.form = form
        self.taxonomy = taxonomy
        self.asked: dict[Node, Region] = dict(form.regions)
        self._extents = extents

    @cached_property
    def order(self) -> tuple[Pattern, ...]:
        return search_order(self.form.edges)

    @cached_property
    def target(self) -> Target:
        return Target(self.form.edges, self.taxonomy)

    def region(self, node: Node) -> Region:
        """What a node of the form may stand for."""
        return just({node}) if isinstance(node, Term) else self.asked.get(node, EVERYTHING)

    def extent(self, region: Region) -> Extent:
        return self._extents.of(region)


def holds_by(general: Form, images: Images, special: Form) -> bool:
    """Whether one form contains another by this map of its edges."""
    suits = all(image_suits(region, images[node], special) for node, region in general.regions)
    return suits and residue_follows(general, images, special)
