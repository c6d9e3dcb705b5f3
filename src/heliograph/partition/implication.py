"""What one form's conditions say of another's: whether an image of a variable, and of what is left over, must satisfy.

The law: if `image_suits` of every variable and `residue_follows`, then every solution of the special form, read through
the images, satisfies all conditions of the general one. A variable that stands for a constant needs the constant to
satisfy what is asked; text tests and conditions on several variables follow only from themselves.
"""

from __future__ import annotations

from collections.abc import Mapping

from heliograph.partition.flat import Flat, Head, is_ground, raised, substituted, variables_of
from heliograph.partition.forms import Form
from heliograph.partition.regions import EVERYTHING, Region, holds, within
from heliograph.partition.truths import truth_of
from heliograph.semantics import expressions
from heliograph.syntax.query import Node
from heliograph.terms import Variable

Images = Mapping[Node, Node]


def image_suits(asked: Region, image: Node, special: Form) -> bool:
    """Whether whatever an image stands for lies in the region that is asked for."""
    if asked is EVERYTHING:
        return True
    if isinstance(image, Variable):
        return within(special.region(image), asked)
    return holds(asked, image)


def residue_follows(general: Form, images: Images, special: Form) -> bool:
    """Whether all that regions cannot say of the general form follows from the special one."""
    return all(_follows(substituted(flat, images), special) for flat in general.residue)


def _follows(asked: Flat, special: Form) -> bool:
    if asked in special.residue:
        return True
    head = asked[0]
    if isinstance(head, Head) and head.kind == "Values":
        return False
    if is_ground(asked):
        return expressions.holds(raised(asked), {})
    found = variables_of(asked)
    truth = truth_of(raised(asked)) if len(found) == 1 else None
    return truth is not None and within(special.region(found.pop()), truth.true)
