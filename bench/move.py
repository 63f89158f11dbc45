"""Bytes from one place in HBM to another through the TCM of a PE: one dma_read, one dma_write."""

import ahbmc.language as al
import triton
import triton.language as tl


@triton.jit
def move_kernel(source_ptr, target_ptr, ELEMENTS: tl.constexpr):
    block = tl.load(al.ref(source_ptr, (ELEMENTS,), (1,)))
    tl.store(al.ref(target_ptr, (ELEMENTS,), (1,)), block)
