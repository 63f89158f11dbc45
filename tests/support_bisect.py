"""Faults that are put into passes, for `ahbmc bisect` to find."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import pytest
from ahbmc.driver.compile_cache import forget
from ahbmc.passes import all_passes
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

Op = TypeVar("Op", bound=Operation)
Damage = Callable[[ModuleOp], None]


@dataclass(frozen=True)
class Fault:
    """A damage that a pass does, what is said to be the culprit, and the line of the kernel that is named."""

    damage: Damage
    pass_name: str
    workload: list[str]
    line: int
    said: str = ""


def first(module: ModuleOp, kind: type[Op], which: Callable[[Op], bool] = lambda _: True) -> Op:
    return next(op for op in module.walk() if isinstance(op, kind) and which(op))


def inject(monkeypatch: pytest.MonkeyPatch, name: str, damage: Damage) -> None:
    """The pass `name` does `damage` after its work."""
    cls = all_passes()[name]()
    apply = cls.apply

    def broken(self: ModulePass, ctx: Context, op: ModuleOp) -> None:
        apply(self, ctx, op)
        damage(op)

    monkeypatch.setattr(cls, "apply", broken)
    forget()
