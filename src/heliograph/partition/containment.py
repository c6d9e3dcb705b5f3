"""Containment: whether everything that matches one pattern matches another.

S1 contains S2 if a homomorphism from the edges of S1 to those of S2 exists under which S2's conditions imply S1's
(`homomorphisms`, `implication`). The law: `contains` is never true falsely, whatever a publication holds and however
little is known of it. It may be false where it need not be: when a search takes too long, when only several maps
together would show it, or when nothing but a query as a whole tells what it means (a count).
"""

from __future__ import annotations

from heliograph.partition.forms import Form
from heliograph.partition.homomorphisms import STEPS, Images, Target, homomorphisms, search_order
from heliograph.partition.implication import image_suits, residue_follows
from heliograph.partition.regions import EVERYTHING, Region
from heliograph.syntax.query import Node, Pattern
from heliograph.taxonomy import Taxonomy


def contains(general: Form, special: Form, taxonomy: Taxonomy, steps: int = STEPS) -> bool:
    """Whether every publication that matches the special form is known to match the general one."""
    return witness(general, special, taxonomy, steps) is not None


def witness(general: Form, special: Form, taxonomy: Taxonomy, steps: int = STEPS) -> Images | None:
    """What the variables of the general form stand for in the special one; None if it is not known to contain it."""
    return witness_in(Target(special.edges, taxonomy), general, special, search_order(general.edges), steps)


def witness_in(
    target: Target, general: Form, special: Form, order: tuple[Pattern, ...], steps: int = STEPS
) -> Images | None:
    """The same, with the special form's edges as a target and the general form's in search order."""
    if general.opaque or special.opaque:
        return {node: node for node in general.variables} if general == special else None
    asked: dict[Node, Region] = dict(general.regions)

    def admits(node: Node, image: Node) -> bool:
        return image_suits(asked.get(node, EVERYTHING), image, special)

    for images in homomorphisms(order, target, admits, steps):
        if residue_follows(general, images, special):
            return dict(images)
    return None
