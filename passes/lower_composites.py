from .emission import Emission
from ..dialects import tl
def lower_composite(e: Emission, op: tl.CompositeOp) -> None:
    raise AssertionError
