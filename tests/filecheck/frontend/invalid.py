# RUN: not ahbmc-opt %s --kernel unknown --arg x=*fp32 2>&1 | filecheck %s --check-prefix=NAME
# RUN: not ahbmc-opt %s --kernel size --arg x=*fp32 2>&1 | filecheck %s --check-prefix=SIZE
# RUN: not ahbmc-opt %s --kernel mixed --arg x=*fp16 2>&1 | filecheck %s --check-prefix=TYPE

# A fault ends in one message with place, caret, reason and hint; kernels beside the faulty one do not matter.
import triton
import triton.language as tl


# NAME: invalid.py:[[# @LINE + 5]]:20: error: triton.language has no 'exq' [invalid-input]
# NAME-NEXT: tl.store(x, tl.exq(1.0))
# NAME: hint: did you mean 'exp'?
@triton.jit
def unknown(x):
    tl.store(x, tl.exq(1.0))


# SIZE: invalid.py:[[# @LINE + 2]]:13: error: kernel `size` needs `B`
@triton.jit
def size(x, B: tl.constexpr):
    tl.store(x + tl.arange(0, B), 1.0)


# TYPE: error: dot: both blocks must be of one type, and they are fp16 and fp32
@triton.jit
def mixed(x):
    a = tl.zeros((16, 16), tl.float16)
    tl.store(x, tl.sum(tl.dot(a, a.to(tl.float32))))
