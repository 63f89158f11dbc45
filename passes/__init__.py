"""Passes from `tl` to `ahbm` to `pe`, found by name, and the one function that runs a list of them.

Importing this imports no pass: the registry is a table of names, and a pass is loaded when somebody asks for it. File,
class and test carry the pass's name: `form-composites` is `FormCompositesPass` in `form_composites.py`, tested by
`tests/filecheck/passes/form-composites.mlir`.
"""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Callable, Mapping, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, cast

from ..dialects.errors import AhbmcError, Category, Place, fail
from .loaded import LOADED

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.passes import ModulePass

    from .pipeline_text import Value

PASS_NAMES = (
    "normalise-loops",
    "canonicalize",
    "cse",
    "licm",
    "dot-accumulate",
    "raise-regions",
    "drop-dead-iter-args",
    "fold-batches",
    "split-batches",
    "raise-k-loops",
    "shrink-regions",
    "match-recipes",
    "form-composites",
    "fuse-epilogues",
    "overlap-programs",
    "form-tails",
    "prefetch-loads",
    "software-pipeline",
    "lower-to-commands",
    "expand-recipes",
    "split-composites",
    "double-buffer",
    "allocate-scratch",
    "tile-composites",
    "insert-dma-stages",
    "check-limits",
)
"""Every pass, in the order in which a pipeline would run them."""

PIPELINE_TEXT = "<pipeline>"
"""The file name under which places in a pipeline text that is in no file are reported."""


def pass_names() -> tuple[str, ...]:
    """Every pass that there is now: ours, then those that `load_pass` has made known."""
    return (*PASS_NAMES, *LOADED)


def all_passes() -> dict[str, Callable[[], type[ModulePass]]]:
    """Name -> factory of every pass of `pass_names`; calling the factory imports the pass."""
    return {name: _factory(name) for name in pass_names()}


def _factory(name: str) -> Callable[[], type[ModulePass]]:
    def load() -> type[ModulePass]:
        if name in LOADED:
            return LOADED[name].cls
        module = importlib.import_module("." + name.replace("-", "_"), __package__)
        return cast("type[ModulePass]", getattr(module, class_name(name)))

    return load


def class_name(name: str) -> str:
    """The class that a pass name stands for: `raise-k-loops` -> `RaiseKLoopsPass`."""
    return "".join(word.capitalize() for word in name.split("-")) + "Pass"


def build_pipeline(
    pipeline: str, options: Mapping[str, Mapping[str, Value]] | None = None, origin: Place | None = None
) -> tuple[ModulePass, ...]:
    """The passes that a pipeline text names.

    The text is a comma-separated list of passes, `pass{option=value option=value}`, and of names of pipelines, which
    stand for their passes. `options` (pass -> option -> value) goes over what the text says and may name a pass that
    this pipeline does not hold. `origin` is where the text starts in a file of the user's. Raises AhbmcError for an
    unknown pass or option and for a value of the wrong kind.
    """
    from .pipeline_text import instantiate, parse

    return instantiate(parse(pipeline, origin or Place(PIPELINE_TEXT, 1, 1)), options or {})


def run_pipeline(
    module: ModuleOp,
    pipeline: str | Sequence[ModulePass],
    options: Mapping[str, Mapping[str, Value]] | None = None,
    *,
    on_pass: Callable[[ModulePass, ModuleOp], None] | None = None,
    verify: bool = True,
    origin: Place | None = None,
) -> None:
    """Run a pipeline (text, a pipeline's name, or passes) over `module` in place.

    The module is verified before the first and after the last pass, and before and after one that `load_pass` has made
    known; with `verify` after every one. `on_pass` is called with each pass that has run. Raises AhbmcError: the user's
    fault that a pass found, or an internal one, naming the pass whose result is no valid IR. An interrupt names the
    pass that it found at work.
    """
    from ..dialects.text import new_context
    from ..dialects.verify import verify as verify_module

    passes = build_pipeline(pipeline, options, origin) if isinstance(pipeline, str) else tuple(pipeline)
    context = new_context()
    verify_module(module)
    functions = _has_function(module)
    for each, following in zip_longest(passes, passes[1:]):
        try:
            each.apply(context, module)
        except KeyboardInterrupt:
            raise KeyboardInterrupt(f"in pass '{each.name}'") from None
        own = each.name in LOADED
        if own and functions and not _has_function(module):
            raise fail(f"pass '{each.name}' left no function", category=Category.INVALID_IR, hint="mend the pass")
        if verify or own or following is None or following.name in LOADED:
            try:
                verify_module(module)
            except AhbmcError as error:
                raise _broken_by(each, error, certain=verify or own) from error
        if on_pass is not None:
            on_pass(each, module)


def _has_function(module: ModuleOp) -> bool:
    return any(op.name == "func.func" for op in module.body.block.ops)


def _broken_by(each: ModulePass, error: AhbmcError, *, certain: bool) -> AhbmcError:
    suspect = f"pass '{each.name}'" if certain else f"one of the passes up to '{each.name}'"
    own = certain and each.name in LOADED
    hint = "this is a fault of the compiler, not of the kernel: please report it with the kernel"
    return AhbmcError(
        *(
            dataclasses.replace(
                fault,
                message=f"{suspect} left invalid IR: {fault.message}",
                category=Category.INVALID_IR if own else Category.INTERNAL,
                hint="mend the pass" if own else hint,
            )
            for fault in error.faults
        )
    )
