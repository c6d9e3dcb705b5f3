"""Binding tables: [G] figure 8, the join against DuckDB's, and truth without listing."""

from __future__ import annotations

from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.papers.filter import BindingTable, Vertex, joinable, natural_join
from heliograph.terms import Term, plain_name

A, B, E = map(plain_name, "ABE")
NODES = [plain_name(name) for name in "ABCD"]


def pairs(text: str) -> list[tuple[Term, ...]]:
    return [tuple(plain_name(name) for name in pair) for pair in text.split()]


def test_g_figure_8() -> None:
    """ "Joining of these two tables produces ACB and AEB and hence *1 can be bound with value C and E"."""
    left = BindingTable((A, 1), pairs("AB AC AE"))
    right = BindingTable((1, B), pairs("AB DB CB EB GB"))
    assert natural_join(left, right) == BindingTable((A, 1, B), pairs("ACB AEB"))


def test_r_figure_6() -> None:
    """e1(a, b), e1(a, *) and e2(*, d): "joining of these three tables produces one entry (a, b, c, d)". Under
    homomorphism * may be b too: the printed join drops (a, b, b, d) unsaid."""
    a, b, d = map(plain_name, "abd")
    first, second, third = BindingTable((a, b), pairs("ab")), BindingTable((a, 1), pairs("ab ac")), pairs("bd cd")
    joined = natural_join(natural_join(first, second), BindingTable((1, d), third))
    assert joined == BindingTable((a, b, 1, d), pairs("abbd abcd"))


nodes = st.sampled_from(NODES)
columns = st.sampled_from([(1, 2), (2, 1), (2, 3), (3, 1), (4, 3), (1,), (3,), (5,), ()])


@st.composite
def tables(draw: st.DrawFn) -> BindingTable:
    names: tuple[Vertex, ...] = draw(columns)
    return BindingTable(names, draw(st.lists(st.tuples(*(nodes for _ in names)), max_size=6, unique=True)))


def full_join(given_tables: list[BindingTable]) -> BindingTable:
    joined = BindingTable((), [()])
    for table in given_tables:
        joined = natural_join(joined, table)
    return joined


@settings(max_examples=300, deadline=None)
@given(st.lists(tables(), max_size=5), st.sets(st.tuples(st.integers(1, 5), nodes), max_size=6))
def test_joinable_is_whether_the_full_join_has_an_accepted_row(
    given_tables: list[BindingTable], refused: set[tuple[Vertex, Term]]
) -> None:
    def accept(column: Vertex, value: Term) -> bool:
        return (column, value) not in refused

    full = full_join(given_tables)
    accepted = [row for row in full.rows if all(accept(*cell) for cell in zip(full.columns, row, strict=True))]
    assert joinable(given_tables, accept) is bool(accepted)


def test_a_fork_is_not_multiplied_out() -> None:
    """SEED_NOTES, filter 2: the rows that are checked are those of single tables, not of their product."""
    rows = [(A, node) for node in NODES]
    seen: list[Term] = []
    fork = [BindingTable((1, star), rows) for star in range(2, 12)]
    assert joinable(fork, lambda column, value: not seen.append(value))  # type: ignore[func-returns-value]
    assert len(seen) == 1 + 10 * len(NODES)
    assert len(list(product(rows, repeat=3))) == len(full_join(fork[:3]).rows)
