"""What follows from what: images of variables, and what regions cannot say."""

from __future__ import annotations

import pytest

from heliograph.partition.containment import image_suits, residue_follows
from heliograph.sparql.normalize import NormalForm, form_of, numbered
from heliograph.sparql.query import Node
from heliograph.sparql.templates import parse_sparql
from heliograph.terms import Term, literal, plain_name
from heliograph.values import XSD_DECIMAL, XSD_INTEGER

V0, V1 = numbered(0), numbered(1)


def form(condition: str) -> NormalForm:
    return form_of(parse_sparql(f"ASK {{ ?a :p ?b {condition} }}", verb="filter"))


def number(text: str) -> Term:
    return literal(text, XSD_DECIMAL if "." in text else XSD_INTEGER)


@pytest.mark.parametrize(
    ("asked", "image", "suits"),
    [
        ("?b > 5", number("6"), True),
        ("?b > 5", number("5"), False),
        ("?b = 5", number("5.0"), True),
        ("?b > 5", plain_name("A"), False),
        ("?b != :B", plain_name("A"), True),
        ('?b IN ("a", "b")', literal("a"), True),
        ('?b IN ("a", "b")', literal("a", language="en"), False),
    ],
)
def test_a_constant_must_satisfy(asked: str, image: Term, suits: bool) -> None:
    assert image_suits(form(f"FILTER({asked})").region(V1), image, form("")) is suits


@pytest.mark.parametrize(
    ("asked", "given", "suits"),
    [
        ("?b > 5", "?b > 10", True),
        ("?b > 10", "?b > 5", False),
        ("?b > 5", "?b IN (6, 7.5)", True),
        ("?b > 5", "?b > 6 || ?b = 5.5", True),
        ("?b > 5", "?b > 6 || ?b = 4.5", False),
        ("?b != 5", "?b < 5", True),
        ("?b != 5", "?b <= 5", False),
        ("?b >= 0 && ?b < 10", "?b > 1 && ?b <= 9", True),
        ("isIRI(?b)", "?b IN (:A, :B)", True),
        ("isLiteral(?b)", "?b > 1", True),
        ("?b != :A", '?b = "text"', True),
        ("!(?b < 5)", "?b >= 5", True),
        ("?b >= 5", "!(?b < 5)", False),  # not-a-number
        ("?b > 16777216", "?b >= 16777217", False),  # 16777216 as xsd:float
    ],
)
def test_regions_imply_regions(asked: str, given: str, suits: bool) -> None:
    assert image_suits(form(f"FILTER({asked})").region(V1), V1, form(f"FILTER({given})")) is suits


@pytest.mark.parametrize(
    ("asked", "given", "images", "follows"),
    [
        ('CONTAINS(?b, "x")', 'CONTAINS(?b, "x")', {}, True),
        ('CONTAINS(?b, "x")', 'CONTAINS(?b, "xy")', {}, False),
        ('CONTAINS(?b, "x")', "?b = 1", {V1: literal("axe")}, True),
        ('CONTAINS(?b, "x")', "?b = 1", {V1: literal("age")}, False),
        ("?a != ?b", "?a != ?b", {}, True),
        ("?a != ?b", "?b != ?a", {}, True),
        ("?a != ?b", "?a != ?b", {V0: V1, V1: V0}, True),
        ("?a < ?b", "?a < ?b", {V0: V1, V1: V0}, False),
        ("?a < ?b", "?b < 5", {V0: number("1")}, False),
        ("?a < ?b", "?b > 5", {V0: number("1")}, True),
        ("?a != ?b", "?b > 5", {V0: plain_name("A"), V1: plain_name("B")}, True),
        ("?a != ?b", "?b > 5", {V0: plain_name("A"), V1: plain_name("A")}, False),
    ],
)
def test_the_rest_follows_from_itself_or_is_known(
    asked: str, given: str, images: dict[Node, Node], follows: bool
) -> None:
    found = residue_follows(form(f"FILTER({asked})"), {V0: V0, V1: V1, **images}, form(f"FILTER({given})"))
    assert found is follows


def test_values_of_several_variables_follow_from_themselves() -> None:
    rows = "VALUES (?a ?b) { (:A :B) (:C :D) }"
    images: dict[Node, Node] = {V0: V0, V1: V1}
    assert residue_follows(form(rows), images, form("VALUES (?a ?b) { (:C :D) (:A :B) }"))
    assert not residue_follows(form(rows), images, form("VALUES (?a ?b) { (:A :B) }"))
