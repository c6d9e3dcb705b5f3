"""The JSON kernel against its twins: plain Python in the package, `json` and `lookup` here."""

from __future__ import annotations

import json
import math
import random
import struct
from fractions import Fraction

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from heliograph.predicate.attributes import NameTable, json_column, scan_column
from tests.predicate.cell_cases import NUMBERS, broken_texts, cell_rows, check_encoded, event_texts, make_names

NAMES = make_names()


def _hard(names: NameTable, texts: list[str]) -> list[int]:
    """The rows that the kernel leaves to Python."""
    rows: list[int] = scan_column(names.snapshot(), json_column(pa.array(texts, pa.string())))[1].tolist()
    return rows


@settings(max_examples=80, deadline=None)
@given(st.lists(event_texts(), max_size=6))
def test_good_events_have_the_cells_of_their_trees(texts: list[str]) -> None:
    for compiled in (True, False):
        assert check_encoded(NAMES, list(texts), compiled=compiled).errors == {}


@settings(max_examples=150, deadline=None)
@given(st.lists(broken_texts(), min_size=1, max_size=6))
@example(['{"a":1}x', '{"a":01}', '{"a":-}', '{"a":1.}', '{"a":.5}', '{"a":1e}', '{"a":1e+}', '{"a":+1}', '{"a":1,}'])
@example(['{"a":[1,]}', '{"a":[,1]}', '{"a":[1 2]}', '{"a":tru}', '{"a":nul', '{"a":falsE}', '{"a" 1}', "{,}", '{"a"}'])
@example(
    ['{"a":"\\x"}', '{"a":"\\u12g4"}', '{"a":"\\', '{"a":"\\"}', '{"a":"\t"}', '{"\\u00":1}', '{"z":"\\q"}', '{"z":']
)
@example(["\ufeff{}", "\0", "{}\0", '{"a":"\0"}', "[1]", "1", "null", '"a"', "", " \n", "\u00a0", "\x1c", "NaN", "{"])
@example(['{"z":NaN}', '{"a":-Infinity}', '{"a":1e400}', '{"z":1e400}', '{"z":-1e-400}', '{"a":1e-400}', '{"z":[}]}'])
@example(['{"a":1,"a":2}', '{"b":{"c":1},"b":{}}', '{"a":1,"\\u0061":2}', '{"z":1,"z":2}', '{"z":{"y":1,"y":[]}}'])
def test_any_text_is_read_or_refused_as_json_does(texts: list[str]) -> None:
    for compiled in (True, False):
        assert len(check_encoded(NAMES, list(texts), compiled=compiled).cells.offsets) == len(texts) + 1


@settings(max_examples=150, deadline=None)
@given(st.lists(NUMBERS, min_size=1, max_size=40))
def test_numbers_are_those_of_python(numbers: list[float]) -> None:
    texts = [f'{{"a":{json.dumps(number)},"z":{number!r}}}' for number in numbers]
    assert check_encoded(NAMES, list(texts), compiled=True).errors == {}


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 10**20), st.integers(-340, 320), st.sampled_from("eE")), max_size=40))
def test_digits_and_exponents_are_rounded_as_python_does(parts: list[tuple[int, int, str]]) -> None:
    spelled = [f"{digits}{letter}{power:+d}" for digits, power, letter in parts]
    spelled += [f"-{str(digits)[0]}.{str(digits)[1:] or 0}{letter}{power}" for digits, power, letter in parts]
    check_encoded(NAMES, [f'{{"a":{text}}}' for text in spelled], compiled=True)


def test_floats_at_and_next_to_a_tie_are_rounded_as_python_does() -> None:
    """Decimals half-way between two floats, cut to 19 digits and one digit up and down."""
    generator = random.Random(5)
    texts = []
    for _ in range(3_000):
        number = struct.unpack("<d", struct.pack("<Q", generator.getrandbits(63)))[0]
        if 1e-270 < number < 1e270:
            middle = (Fraction(number) + Fraction(math.nextafter(number, math.inf))) / 2
            power = math.floor(math.log10(number)) - 18
            digits = int(middle * Fraction(10) ** -power)
            texts += [f'{{"a":{digits + step}e{power}}}' for step in (-1, 0, 1) if digits + step < 10**19]
    ties = [2**53 + 1, 2**54 + 2, 2**60 + 2**7, 9007199254740993, 10**19 - 2**10]
    texts += [f'{{"a":{tie}{tail}}}' for tie in ties for tail in (".0", "e0", "E-1", "e22", "0e-1", "e3", "e-3")]
    assert check_encoded(NAMES, list(texts), compiled=True).errors == {}
    assert len(_hard(NAMES, texts)) < 100 < len(texts)


def test_ordinary_events_are_left_to_nobody() -> None:
    """Shapes that events really have cost the kernel's time and not Python's, thirty times as much."""
    generator = random.Random(7)
    trees = [
        {"a": "x", "b": 5, "größe": "größe 😀 \n", "z": {"y": [1, 2.5, {"x": None}]}},
        {"a": generator.random(), "b": -1 / 3, "größe": 1e-7},
        {"a": [1, "x", None, True, {"y": 1}, [2]], "größe": {"c": 2}, "b": None},
        {"a": 1_700_000_000_123_456_789 // 10, "b": "2026-11-15T04:04:00Z"},
        {"a": 2**53 + 1, "d": "not an object"},
        {},
    ]
    texts = [json.dumps(tree, ensure_ascii=ascii) for tree in trees for ascii in (True, False)]
    assert _hard(NAMES, texts) == []
    check_encoded(NAMES, list(texts), compiled=True)


def test_deep_values_that_nobody_asks_for() -> None:
    """A chain of 64 levels is the kernel's, deeper ones are Python's; both are exact up to Python's own limit."""
    texts = [f'{{"z":{"[" * depth}{"]" * depth},"a":1}}' for depth in (1, 63, 64, 65, 66, 500)]
    texts += [
        f'{{"z":{"{" + chr(34) + "y" + chr(34) + ":"}{"[" * depth}{"]" * depth}}}}}' for depth in (62, 63, 64, 65)
    ]
    texts += [f'{{"z":{"[" * depth}{"}" * depth}}}' for depth in (1, 2, 64)]
    check_encoded(NAMES, list(texts), compiled=True)
    deep = f'{{"z":{"[" * 100_000}{"]" * 100_000}}}'
    assert list(check_encoded(NAMES, ["{}", deep, deep[:-2]], compiled=True).errors) == [1, 2]


def test_a_long_event_makes_room_for_its_cells() -> None:
    texts = ["{}", '{"a":[' + "1," * 50_000 + "2]}", '{"a":1}', '{"a":[' + '"",' * 200 + "0]}"]
    assert len(check_encoded(NAMES, list(texts), compiled=True).cells.kind) == 50_002 + 1 + 202


@pytest.mark.parametrize("count", [1, 200])
def test_names_in_another_order_and_beyond_what_is_remembered(count: int) -> None:
    names = make_names([(f"name{number}",) for number in range(count)], ["x"])
    generator = random.Random(count)
    texts = []
    for _ in range(30):
        known = [f"name{number}" for number in range(count + 20)]
        generator.shuffle(known)
        texts.append(json.dumps({name: generator.choice([1, "x", [2], None]) for name in known}))
    assert _hard(names, texts) == []
    check_encoded(names, list(texts), compiled=True)


def test_a_name_that_looks_like_the_end_of_a_string() -> None:
    """The last event's name at a place is compared by bytes; one with a quote in it never is."""
    names = make_names([('a"',), ("a",), ("a\\",)])
    texts = ['{"a\\"":1}', '{"a"":1}', '{"a":1}', '{"a\\":1}', '{"a\\\\":1}', '{"a\\"":2}', '{"a"":1}']
    assert list(check_encoded(names, list(texts), compiled=True).errors) == [1, 3, 6]


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=20), st.integers(0, 2**31))
def test_bytes_flipped_at_random(noise: bytes, seed: int) -> None:
    """Also bytes that are no UTF-8, which Arrow can hold and no table lets in."""
    generator = random.Random(seed)
    whole = bytearray('{"a": [1, "größe"], "b": {"c": -2.5e3}, "z": "\\u00e4"}'.encode())
    for byte in noise:
        whole[generator.randrange(len(whole))] ^= byte
    _check_bytes([bytes(whole), b"{}", noise])


def test_bytes_that_are_no_utf8() -> None:
    bad = [b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf5\x80\x80\x80", b"\xc0\x80"]
    _check_bytes([b'{"a":"' + byte + b'"}' for byte in bad] + [b'{"a":1}', b"\xff"])


def _check_bytes(rows: list[bytes]) -> None:
    from heliograph.predicate.attributes import encode

    texts = pa.array(rows, pa.binary()).view(pa.string())
    encoded = encode(NAMES, texts, compiled=True)
    for row, data in enumerate(rows):
        try:
            expected = check_encoded(NAMES, [data.decode()], compiled=False)
        except UnicodeDecodeError:
            assert encoded.errors[row].code == "HG-642"
            assert "UTF-8" in encoded.errors[row].message
        else:
            assert [str(error) for error in expected.errors.values()] == [
                str(error) for number, error in encoded.errors.items() if number == row
            ]
            assert cell_rows(encoded.cells, row) == cell_rows(expected.cells, 0)
