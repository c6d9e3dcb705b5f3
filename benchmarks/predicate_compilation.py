"""How long 11,000 SQL predicates of 6 to 12 comparisons take to compile, on one core.

`measure_apart`: no two predicates are built alike. `measure_shared`: they share 200 shapes and differ in their
constants. `measure_sqlglot`: what sqlglot alone takes to parse predicates of the first kind, for comparison.
"""

from __future__ import annotations

import random
import time
from collections.abc import Sequence

from heliograph.predicate.form import Constant
from heliograph.predicate.parser import compile_predicates

COUNT = 11_000
SHAPES = 200
ATTRIBUTES = ("topic", "geo", "age", "hour", "adsize", "price", "user.segment", "device.kind")
SLOT = "\0"  # stands for a constant in a shape


def measure_apart(seed: int, count: int = COUNT) -> float:
    """Seconds for `count` predicates of as many shapes."""
    chance = random.Random(seed)
    shapes: dict[str, None] = {}
    while len(shapes) < count:
        shapes[_shape(chance)] = None
    return _seconds([_fill(shape, chance) for shape in shapes])


def measure_shared(seed: int, count: int = COUNT, shapes: int = SHAPES) -> float:
    """Seconds for `count` predicates of few shapes."""
    chance = random.Random(seed)
    several = [_shape(chance) for _ in range(shapes)]
    return _seconds([_fill(chance.choice(several), chance) for _ in range(count)])


def measure_sqlglot(seed: int, count: int = 500) -> float:
    """Milliseconds a predicate that sqlglot's parser takes, without making anything of its tree."""
    import sqlglot

    chance = random.Random(seed)
    texts = [_fill(_shape(chance), chance) for _ in range(count)]
    start = time.perf_counter()
    for text in texts:
        sqlglot.parse_one(text)
    return (time.perf_counter() - start) * 1000 / count


def _seconds(texts: Sequence[str]) -> float:
    start = time.perf_counter()
    compiled = compile_predicates(texts)
    took = time.perf_counter() - start
    assert not any(isinstance(form, Exception | Constant) for form in compiled)
    return took


def _shape(chance: random.Random) -> str:
    """6 to 12 comparisons under random connectives, with slots in place of constants."""
    parts = [_comparison(chance) for _ in range(chance.randint(6, 12))]
    while len(parts) > 1:
        size = min(len(parts), chance.randint(2, 4))
        joined = f" {chance.choice(['AND', 'OR'])} ".join(parts[:size])
        parts = [*parts[size:], f"{chance.choice(['', '', 'NOT '])}({joined})"]
    return parts[0]


def _comparison(chance: random.Random) -> str:
    name = chance.choice(ATTRIBUTES)
    return chance.choice(
        [
            f"{name} {chance.choice(['=', '<>', '<', '>='])} {SLOT}",
            f"{name} IN ({', '.join([SLOT] * chance.randint(2, 5))})",
            f"{name} BETWEEN {SLOT} AND {SLOT}",
            f"{name} LIKE '{SLOT}%'",
        ]
    )


def _fill(shape: str, chance: random.Random) -> str:
    pieces = shape.split(SLOT)
    return "".join(f"{piece}{chance.randrange(1000)}" for piece in pieces[:-1]) + pieces[-1]
