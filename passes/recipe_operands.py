from xdsl.ir import SSAValue
from ..dialects import tl
def written_inputs(op: tl.CompositeOp) -> dict[int, SSAValue]:
    return {}
