"""A launch: one lowered kernel bound to arguments, a grid, and a mapping of its programs to PEs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects import func

from .memory import Tensor
from .target.machine import Machine

Argument = Tensor | int | float | bool
Program = tuple[int, int, int]


@dataclass(frozen=True, eq=False)
class Launch:
    """`function` is lowered down to commands with `pe` plans. `programs` gives each PE (machine-wide number) its
    programs (x, y, z) in the order in which they run there, in turn."""

    function: func.FuncOp
    machine: Machine
    arguments: tuple[Argument, ...]
    grid: Program
    programs: Mapping[int, Sequence[Program]]

    @property
    def name(self) -> str:
        return self.function.sym_name.data

    def number(self, program: Program) -> int:
        """The number of a program in the grid: x + X * (y + Y * z)."""
        x, y, z = program
        return x + self.grid[0] * (y + self.grid[1] * z)
