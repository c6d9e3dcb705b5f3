"""A kernel calls its parts, and theirs, as Python would; a part has no machine code of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest import mock

import pytest
from numba import njit
from numba.core.compiler import Compiler

from heliograph.compiled.compile import kernel
from heliograph.compiled.linking import KernelCompiler, PartCompiler, links

_PART: Any = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "pipeline_class": PartCompiler}


@njit(**_PART)
def _half(number: Any) -> Any:
    if number % 2:
        raise ValueError("odd", number)
    return number // 2


@njit(**_PART)
def _never_half(number: Any) -> Any:
    """LLVM removes the call before anything is linked."""
    return _half(number) if number != number else number


@njit(**_PART)
def _quarter(number: Any) -> Any:
    return _half(_half(number))


@njit(pipeline_class=KernelCompiler)
def _three_quarters(number: Any) -> Any:
    return _quarter(_never_half(number)) + _quarter(2 * number)


@njit
def _plainly(number: Any) -> Any:
    return _quarter(_never_half(number)) + _quarter(2 * number)


@pytest.mark.parametrize("function", [_three_quarters, _plainly], ids=["a kernel", "any function"])
def test_parts_of_parts_are_linked(function: Callable[[int], int]) -> None:
    assert [function(number) for number in (0, 4, -8)] == [0, 3, -6]


def test_an_error_of_a_part_has_its_values() -> None:
    with pytest.raises(ValueError, match="odd") as caught:
        _three_quarters(6)
    assert caught.value.args == ("odd", 3)


def test_versions_of_numba_that_were_not_tried_compile_in_their_own_way() -> None:
    assert links()  # the one that is locked
    with mock.patch("numba.__version__", "0.99.1"):
        assert not links()
        part: Any = kernel()(_plain_half)
    assert part._compiler.pipeline_class is Compiler
    assert njit(lambda number: part(number) + 1)(8) == 5


def _plain_half(number: Any) -> Any:
    return number // 2


def test_a_part_has_no_machine_code() -> None:
    _three_quarters(4)
    parts = [compiled for part in (_half, _quarter) for compiled in part.overloads.values()]
    names = [compiled.fndesc.llvm_func_name for compiled in parts]
    kernel: Any = next(iter(_three_quarters.overloads.values()))
    assert [name for name in names if kernel.library.codegen._engine.is_symbol_defined(name)] == []
