"""How functions of the kernel are compiled: only for each other, never to be called from Python.

numba makes a library of every function, links into it all that the function calls, directly or not, and optimises the
whole: a function at the bottom is optimised again in each one above it. Here a function is only typed and lowered; the
entrance links all of them and optimises once.
"""

from __future__ import annotations

from typing import Any

import numba
from numba import njit

from cepheid.matching.compiled.kernel.memory import put_word_at, word_at

_WORDS = ("t", "w")  # what the tables and the space are called everywhere in the kernel
# Without the wrappers for Python and C there is half as much to compile. And nobody counts who holds the arrays: the
# caller does until the kernel is done, and counting at each call took four tenths of the time.
OPTIONS = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "_nrt": False}

# Below stand names that numba does not promise to keep: only versions this was tried with are trusted to have them.
TRIED = ("0.68.",)

try:
    if not numba.__version__.startswith(TRIED):
        raise ImportError
    from numba.core import ir
    from numba.core.codegen import JITCodeLibrary
    from numba.core.compiler import Compiler
    from numba.core.compiler_machinery import FunctionPass, register_pass
    from numba.core.untyped_passes import ReconstructSSA
except ImportError:  # another numba: each function is a library of its own, which takes longer
    pass
else:

    class _NoEnvironment:
        """Stands where a function's environment is set: only code that calls Python needs one."""

        def set_env(self, name: str, environment: Any) -> None:
            pass

    class _PartLibrary(JITCodeLibrary):  # type: ignore[misc]
        """A function as it was lowered. What it calls is linked when it is linked itself; it is never run alone."""

        codegen = _NoEnvironment()

        def _optimize_functions(self, module: Any) -> None:
            module.data_layout = self._codegen._data_layout

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
                own = (
                    library._final_module
                    if isinstance(library, _PartLibrary)
                    else library._get_module_for_linking()
                )
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

    @register_pass(mutates_CFG=False, analysis_only=False)
    class _PlainWords(FunctionPass):  # type: ignore[misc]
        """What numba looks up for long, said shortly.

        A constant is a number like any other, or every operation is looked up anew for each value. And `t[i]` and
        `w[i]`, most of what the kernel does, are a load or a store at a place that is known to be there.
        """

        _name = "cepheid_plain_words"

        def __init__(self) -> None:
            super().__init__()

        def run_pass(self, state: Any) -> bool:
            for block in state.func_ir.blocks.values():
                block.body = [new for old in block.body for new in self._plain(old, block.scope)]
            return True

        def _plain(self, statement: Any, scope: Any) -> list[Any]:
            value = getattr(statement, "value", None)
            if isinstance(statement, ir.SetItem | ir.StaticSetItem) and statement.target.name in _WORDS:
                index = statement.index_var if isinstance(statement, ir.StaticSetItem) else statement.index
                nothing = scope.redefine("$nothing", statement.loc)
                return self._called(put_word_at, [statement.target, index, value], nothing, scope)
            if not isinstance(statement, ir.Assign):
                return [statement]
            if isinstance(value, ir.Const | ir.Global | ir.FreeVar) and type(value.value) is int:
                statement.value = ir.Const(value.value, value.loc, use_literal_type=False)
            if isinstance(value, ir.Expr) and value.op in ("getitem", "static_getitem"):
                index = value.index if value.op == "getitem" else value.index_var
                if value.value.name in _WORDS:
                    return self._called(word_at, [value.value, index], statement.target, scope)
            return [statement]

        def _called(self, function: Any, args: list[Any], target: Any, scope: Any) -> list[Any]:
            name = scope.redefine("$" + function.__name__, target.loc)
            load = ir.Global(function.__name__, function, target.loc)
            call = ir.Expr.call(name, args, (), target.loc)
            return [ir.Assign(load, name, target.loc), ir.Assign(call, target, target.loc)]

    class _PartCompiler(Compiler):  # type: ignore[misc]
        def define_pipelines(self) -> Any:
            pipelines = super().define_pipelines()
            for passes in pipelines:
                passes.add_pass_after(_PlainWords, ReconstructSSA)
                passes.finalize()
            return pipelines

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            if self.state.library is None:
                self.state.library = _PartLibrary(self.state.targetctx.codegen(), "part")

    OPTIONS["pipeline_class"] = _PartCompiler

inner: Any = njit(**OPTIONS)
