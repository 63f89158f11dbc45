"""C = A @ B as one composite that is written out: what the passes are to make of the plain loop in `gemm.py`."""

import ahbmc.language as al
import triton
import triton.language as tl


@triton.jit
def gemm_load_ref_written(a_ptr, b_ptr, c_ptr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """A is read as a whole before the composite, B is streamed by it."""
    a = tl.load(al.ref(a_ptr, (M, K)))
    al.composite(op="gemm", a=a, b=al.ref(b_ptr, (K, N)), out=al.ref(c_ptr, (M, N)))


@triton.jit
def gemm_ref_ref_written(a_ptr, b_ptr, c_ptr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """Both are streamed."""
    al.composite(op="gemm", a=al.ref(a_ptr, (M, K)), b=al.ref(b_ptr, (K, N)), out=al.ref(c_ptr, (M, N)))
