"""How functions of the kernel are compiled: only for each other, never to be called from Python.

numba makes a library of every function, links into it all that the function calls, directly or not, and optimises the
whole: a function at the bottom is optimised again in each one above it. Here a function is only typed and lowered; the
entrance links all of them and optimises once.
"""

from __future__ import annotations

from typing import Any

from numba import njit

# Without the wrappers for Python and C there is half as much to compile.
OPTIONS = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}

try:
    from numba.core.codegen import JITCodeLibrary
    from numba.core.compiler import Compiler
except ImportError:  # another numba: each function is a library of its own, which takes longer
    pass
else:

    class _NoEnvironment:
        """Stands for the code generator where a function's environment is set: only code that calls Python needs one."""

        def set_env(self, name: str, environment: Any) -> None:
            pass

    class _PartLibrary(JITCodeLibrary):  # type: ignore[misc]
        """A function as it was lowered. What it calls is linked when it is linked itself; it is never run alone."""

        codegen = _NoEnvironment()

        def finalize(self) -> None:
            self._raise_if_finalized()
            self._finalized = True

        def get_pointer_to_function(self, name: str) -> int:
            self._ensure_finalized()
            return 0

        def _get_module_for_linking(self) -> Any:
            """Itself and all that it calls, each once."""
            self._ensure_finalized()
            whole = self._final_module.clone()
            for library in self._all_parts({self}):
                own = library._final_module if isinstance(library, _PartLibrary) else library._get_module_for_linking()
                whole.link_in(own, preserve=True)
            for function in whole.functions:
                if not function.is_declaration and function.linkage.name == "external":
                    function.linkage = "linkonce_odr"
            return whole

        def _all_parts(self, seen: set[Any]) -> list[Any]:
            found = []
            for library in self._linking_libraries:
                if library not in seen:
                    seen.add(library)
                    found.append(library)
                    if isinstance(library, _PartLibrary):
                        found += library._all_parts(seen)
            return found

    class _PartCompiler(Compiler):  # type: ignore[misc]
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            if self.state.library is None:
                self.state.library = _PartLibrary(self.state.targetctx.codegen(), "part")

    OPTIONS["pipeline_class"] = _PartCompiler

inner: Any = njit(**OPTIONS)
