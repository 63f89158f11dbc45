"""What ops that name an axis of the launch grid have in common, at both levels."""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, IntegerType, i32
from xdsl.irdl import IRDLOperation, ParsePropInAttrDict, prop_def, result_def, traits_def
from xdsl.traits import Pure

from .shapes import require


class OfGridAxis(IRDLOperation):
    """An i32 that belongs to one `axis` (0, 1 or 2) of the grid."""

    axis = prop_def(IntegerAttr[IntegerType])
    result = result_def(i32)
    irdl_options = (ParsePropInAttrDict(),)
    traits = traits_def(Pure())
    assembly_format = "attr-dict"

    def __init__(self, axis: int):
        super().__init__(properties={"axis": IntegerAttr(axis, i32)}, result_types=[i32])

    def verify_(self) -> None:
        require(self.axis.value.data in (0, 1, 2), "axis {} of a grid, which has axes 0, 1 and 2", self.axis.value.data)
