"""The Python API: `ahbmc.load`, `jit`, `run`, `study`, `compile`, `load_pass` and `load_recipe`. Kernels are launched
as in Triton, `kernel[grid](...)`.

Every error is an `AhbmcError`; its note shows the place with a caret.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias, cast, overload

from ..backend_sim.target.machine_file import DEFAULT, SET
from ..dialects.errors import AhbmcError, Sources, fail, render
from ..dialects.text import print_module
from ..passes import PIPELINE_TEXT
from .call import Call, option, run_call
from .forms import settled
from .kernels import Kernel, find_kernel, kernel_names
from .live import LiveText
from .lowering import Level, Request, compile_request
from .own_files import load_own
from .prepare import prepare
from .result import Result
from .run import run_workload
from .study import study_of
from .study_files import as_object
from .workload import load as load_workload
from .workload import read_text, split_kernel

Grid: TypeAlias = int | Sequence[int] | Callable[[Mapping[str, Any]], int | Sequence[int]]


class KernelHandle:
    """A kernel that can be launched: `kernel[grid](*arguments, **arguments)`."""

    def __init__(self, name: str, find: Callable[[Sources], Kernel]):
        self.__name__ = name
        self._find = find

    def __getitem__(self, grid: Grid) -> Callable[..., Result]:
        """A function that launches the kernel on a grid: sizes, or a function of the arguments that gives them.

        It takes the kernel's arguments by position or name, arrays (numpy, `__array__`, DLPack) and numbers, and:
        `machine` (name or file), `machine_set` (["pe.gemm.peak_tflops=16", ...]), `pipeline`, `options` ({"pass":
        {"option": value}}), `map` ({"kind": ..., "pes": ...}), `place` ({"argument": {"pe": "row_wise", ...}}),
        `timing_only`. Arrays that the kernel writes are written in place.
        """

        def launch(*arguments: Any, **keywords: Any) -> Result:
            sources = Sources()
            with _noting(sources):
                return run_call(Call(self._find(sources), grid, arguments, keywords), sources)

        functools.update_wrapper(launch, self, assigned=("__name__",), updated=())
        return launch

    def __call__(self, *_: Any, **__: Any) -> Any:
        raise fail(f"`{self.__name__}` is a kernel and needs a grid", hint=f"write {self.__name__}[grid](...)")

    def compile(
        self,
        signature: Mapping[str, str],
        constants: Mapping[str, Any] | None = None,
        *,
        emit: Level = "pe",
        machine: str = DEFAULT,
        machine_set: Sequence[str] = (),
        pipeline: str = "auto",
        options: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> str:
        """The IR of the kernel for argument types (`{"x": "*fp16", "n": "i32"}`) and constants, as text."""
        sources = Sources()
        with _noting(sources):
            pipeline = option("pipeline", pipeline, str)
            settings = option("machine_set", machine_set, tuple[str, ...])
            chosen = option("options", options or {}, dict[str, dict[str, Any]])
            sources.add(PIPELINE_TEXT, pipeline)
            sources.add(SET, "\n".join(settings))
            kernel, constants = self._find(sources), dict(constants or {})
            request = Request(kernel, signature, constants, machine, settings, pipeline, chosen)
            return print_module(compile_request(request, emit).module)

    def __repr__(self) -> str:
        return f"<ahbmc kernel {self.__name__}>"


class KernelFile:
    """The kernels of a file, each an attribute. The file is parsed, never imported or executed."""

    def __init__(self, path: str | Path):
        self._path = str(path)
        with _noting(Sources()):
            self._text = read_text(Path(path), "kernel file")
            self._names = kernel_names(self._text, self._path)

    def __getattr__(self, name: str) -> KernelHandle:
        if name.startswith("__") or name not in self._names:
            raise AttributeError(
                f"{self._path} has no kernel `{name}`; its kernels: {', '.join(self._names) or 'none'}"
            )

        def find(sources: Sources) -> Kernel:
            sources.add(self._path, self._text)
            return find_kernel(self._text, self._path, name)

        return KernelHandle(name, find)

    def __dir__(self) -> list[str]:
        return list(self._names)

    def __repr__(self) -> str:
        return f"<ahbmc kernels of {self._path}: {', '.join(self._names)}>"


def load(path: str | Path) -> KernelFile:
    """The kernels of the file `path`: `ahbmc.load("matmul.py").matmul_kernel[grid](...)`."""
    return KernelFile(path)


class JitKernel(KernelHandle):
    """A live function as a kernel. Its text is taken when it is launched."""

    def __init__(self, function: Callable[..., Any]):
        def find(sources: Sources) -> Kernel:
            live = LiveText(function)
            sources.add(live.file, live.text)
            return find_kernel(live.text, live.file, live.name)

        super().__init__(function.__name__, find)
        self.__wrapped__ = function
        self.__doc__ = function.__doc__


@overload
def jit(function: Callable[..., Any]) -> JitKernel: ...


@overload
def jit() -> Callable[[Callable[..., Any]], JitKernel]: ...


def jit(function: Callable[..., Any] | None = None) -> JitKernel | Callable[[Callable[..., Any]], JitKernel]:
    """Make a kernel of a function in a live file or notebook: `@ahbmc.jit`. The function is parsed, never called."""
    return JitKernel if function is None else JitKernel(function)


def run(
    workload: str | Path,
    *,
    machine: str | None = None,
    pipeline: str | None = None,
    set: Mapping[str, Any] | Sequence[str] = (),
    timing_only: bool = False,
    autotune: bool = False,
) -> Result:
    """Run a workload file, as `ahbmc run`; `set` is {"const.BLOCK": 32} or ["const.BLOCK=32"]. With `autotune` the best
    configuration of @triton.autotune is run, and `summary()["autotune"]` lists all.
    """
    sources = Sources()
    with _noting(sources):
        sources.add(PIPELINE_TEXT, pipeline or "")
        texts = _overrides(set)
        outcome = run_workload(
            workload,
            overrides=texts,
            machine=machine,
            pipeline=pipeline,
            timing_only=timing_only,
            tune=autotune,
            sources=sources,
        )
        return Result(outcome)


def study(
    workload: str | Path | Sequence[str | Path],
    *,
    pipelines: Sequence[str] = (),
    set: Mapping[str, Any] | Sequence[str] = (),
    ablate: bool = False,
    machine: str | None = None,
    timing_only: bool = False,
    y: Sequence[str] = (),
) -> dict[str, Any]:
    """Run variants of workload files, or a study file, as `ahbmc study`, to the object of its `--json`.

    `pipelines` are names or lists of passes; `set` is {"const.BLOCK": [32, 64]} or ["const.BLOCK=32,64"].
    `y` names figures over those values, by their keys in the object of `ahbmc run --json`.
    """
    sources = Sources()
    with _noting(sources):
        settings = [f"{path}={_values(v)}" for path, v in set.items()] if isinstance(set, Mapping) else set
        return as_object(
            study_of(
                [str(workload)] if isinstance(workload, str | Path) else [str(each) for each in workload],
                pipelines=pipelines,
                settings=settings,
                ablated=ablate,
                machine=machine,
                timing_only=timing_only,
                y=y,
                sources=sources,
            )
        )


def compile(
    target: str | Path,
    *,
    signature: Mapping[str, str] | None = None,
    constants: Mapping[str, Any] | None = None,
    emit: Level = "pe",
    machine: str | None = None,
    pipeline: str | None = None,
    set: Mapping[str, Any] | Sequence[str] = (),
) -> str:
    """The IR of a workload file's kernels, or of `FILE.py::NAME` for argument types and constants, as text."""
    sources = Sources()
    with _noting(sources):
        sources.add(PIPELINE_TEXT, pipeline or "")
        if Path(target).suffix in (".yaml", ".yml"):
            requests = prepare(load_workload(target, _overrides(set), sources), machine, pipeline).requests
            return "// -----\n".join(print_module(compile_request(settled(r), emit).module) for r in requests)
        path, name = split_kernel(str(target), None, Path())
        machine_set = tuple(text.removeprefix("machine.") for text in _overrides(set))
        handle: KernelHandle = getattr(load(path), name)
        return handle.compile(
            signature or {},
            constants,
            emit=emit,
            machine=machine or DEFAULT,
            machine_set=machine_set,
            pipeline=pipeline or "auto",
        )


def _overrides(given: Mapping[str, Any] | Sequence[str]) -> tuple[str, ...]:
    if isinstance(given, Mapping):
        return tuple(f"{path}={_yaml(value)}" for path, value in given.items())
    return tuple(given)


def _values(values: object) -> str:
    """One value, or several in a list, as `path=` has them."""
    return ",".join(map(_yaml, cast("list[object]", values))) if isinstance(values, list) else _yaml(values)


def _yaml(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def load_pass(file: str | Path) -> None:
    """Make the pass of a file of your own known to the pipelines of all other calls, as `--load-pass` does.

    The file is executed. Raises AhbmcError where it holds no pass.
    """
    sources = Sources()
    with _noting(sources):
        load_own([str(file)], [], sources)


def load_recipe(file: str | Path) -> None:
    """Make the recipes of a file of your own known, as `--load-recipe` does.

    The file is executed. Raises AhbmcError where it holds none.
    """
    sources = Sources()
    with _noting(sources):
        load_own([], [str(file)], sources)


@contextmanager
def _noting(sources: Sources) -> Generator[None]:
    """Errors of the body carry what the command line would print, as a note."""
    try:
        yield
    except AhbmcError as error:
        if not getattr(error, "__notes__", None):
            error.add_note(render(error, sources))
        raise
