"""How the parts of kernels are linked: once, into the kernel that Python calls, and only there are they optimised.

Left to itself, Numba links every function with all that it calls, optimises the whole and emits machine code for it,
at every level of the calls: a part five calls deep is optimised six times, and the machine code of a part, which
Python cannot call, is never run: half of the time that it took to compile all kernels (150 of 297 s). Here a part
stays as it was lowered and remembers what it calls; a kernel takes in the parts of its parts too, and LLVM optimises
them together, callees before callers, in one go.

That extends classes of Numba that are not for others to extend, so it is done with the versions that it was tried with;
any other compiles in its own way, which takes twice as long.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numba
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.environment import lookup_environment

TRIED = ("0.68",)  # versions of Numba
_FUNCTION, _ENVIRONMENT = "_ZN", "_ZN08NumbaEnv"  # how the names of what Numba compiles begin


class _Part(JITCodeLibrary):
    """Code that is neither optimised nor emitted by itself."""

    def __init__(self, codegen: Any, name: str) -> None:
        super().__init__(codegen, name)
        self.alone = _Alone(self)

    def finalize(self) -> None:
        self._raise_if_finalized()
        self._finalized = True

    def _get_module_for_linking(self) -> Any:
        """With all that it calls, for functions that are compiled as Numba does it."""
        whole = self.alone._get_module_for_linking().clone()
        for library in _callers_first(self._linking_libraries):
            whole.link_in(library._get_module_for_linking(), preserve=True)
        return whole

    def get_pointer_to_function(self, name: str) -> int:
        self._ensure_finalized()
        return 0

    @property
    def codegen(self) -> Any:
        return _Nowhere()


class _Alone:
    """The code of a part without that of the parts it calls."""

    def __init__(self, part: _Part) -> None:
        self._part = part
        self._reload_init = part._reload_init

    def _get_module_for_linking(self) -> Any:
        return JITCodeLibrary._get_module_for_linking(self._part)


class _Nowhere:
    """Where the environment of a part is put: it has an address only within a kernel."""

    def set_env(self, env_name: str, env: Any) -> None:
        """Left to the kernels."""


class _Whole(JITCodeLibrary):
    """The code of a kernel with all its parts."""

    def finalize(self) -> None:
        """Sets the environments of the parts, as Numba does when it loads a kernel from its cache."""
        self._linking_libraries = _callers_first(self._linking_libraries)
        super().finalize()
        for variable in self._final_module.global_variables:
            environment = lookup_environment(variable.name) if variable.name.startswith(_ENVIRONMENT) else None
            if environment is not None:
                self.codegen.set_env(variable.name, environment)

    def _verify_declare_only_symbols(self) -> None:
        """A function that is called and not there would end the process when it is called."""
        missing = [each.name for each in self._final_module.functions if each.is_declaration]
        assert not any(name.startswith(_FUNCTION) for name in missing), missing


def _callers_first(libraries: Iterable[Any]) -> list[Any]:
    """These and the parts that they call, and so on, each once, after all of its callers: LLVM leaves out a function
    that nothing linked before it calls."""
    called_first: dict[Any, None] = {}

    def visit(library: Any) -> None:
        if library not in called_first:
            for called in library._linking_libraries if isinstance(library, _Part) else ():
                visit(called)
            called_first[library] = None

    for library in libraries:
        visit(library)
    return [library.alone if isinstance(library, _Part) else library for library in reversed(called_first)]


def links() -> bool:
    """Whether this Numba is known to be linked so."""
    return ".".join(numba.__version__.split(".")[:2]) in TRIED


class PartCompiler(Compiler):
    """Compiles a part."""

    def compile_extra(self, func: Any) -> Any:
        self.state.library = _Part(self.state.targetctx.codegen(), func.__qualname__)
        return super().compile_extra(func)


class KernelCompiler(Compiler):
    """Compiles a kernel, which can be cached."""

    def compile_extra(self, func: Any) -> Any:
        self.state.library = _Whole(self.state.targetctx.codegen(), func.__qualname__)
        self.state.library.enable_object_caching()
        return super().compile_extra(func)
