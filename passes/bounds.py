"""Bounds of a pass's options: part of the field's type, so that whoever reads the option can check and tell them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated


@dataclass(frozen=True)
class Least:
    """The option is this number or more."""

    value: int


NotNegative = Annotated[int, Least(0)]
Positive = Annotated[int, Least(1)]
