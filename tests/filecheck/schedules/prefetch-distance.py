# How many iterations early loads are issued: none, one, two and three.

# RUN: ahbmc run %S/launch.yaml --set kernel=%s::total --pipeline pipelined --set options.prefetch-loads.distance=0 --timing-only --oplog-text - | filecheck %s --check-prefix D0
# RUN: ahbmc run %S/launch.yaml --set kernel=%s::total --pipeline pipelined --set options.prefetch-loads.distance=1 --timing-only --oplog-text - | filecheck %s --check-prefix D1
# RUN: ahbmc run %S/launch.yaml --set kernel=%s::total --pipeline pipelined --set options.prefetch-loads.distance=2 --timing-only --oplog-text - | filecheck %s --check-prefix D2
# RUN: ahbmc run %S/launch.yaml --set kernel=%s::total --pipeline pipelined --set options.prefetch-loads.distance=3 --timing-only --oplog-text - | filecheck %s --check-prefix D3

# Each load is awaited at once.
# D0: pe_cpu #0 dma_read
# D0: pe_cpu #1 math {{.*}} after #0{{$}}

# The load of the next iteration is under way while this one's block is worked on.
# D1: pe_cpu #0 dma_read
# D1: pe_cpu #1 dma_read
# D1: pe_cpu #2 math {{.*}} after #0 beside #1{{$}}

# Two are; the third load has not yet left PE_CPU when the first ends.
# D2: pe_cpu #2 dma_read
# D2: pe_cpu #3 math {{.*}} after #0 beside #1{{$}}
# D2: dma_read #2 dma_read {{.*}} beside #1{{$}}

# Three are, and PE_CPU is the last to be ready.
# D3: pe_cpu #3 dma_read
# D3: pe_cpu #4 math {{.*}} after the issue of #3 beside #1, #2{{$}}
# D3: dma_read #3 dma_read {{.*}} beside #2{{$}}
import triton
import triton.language as tl


@triton.jit
def total(x, y, n, B: tl.constexpr):
    r = tl.arange(0, B)
    acc = tl.zeros((B,), tl.float32)
    for i in range(n):
        acc += tl.exp(tl.load(x + i * B + r).to(tl.float32))
    tl.store(y + r, acc.to(tl.float16))
