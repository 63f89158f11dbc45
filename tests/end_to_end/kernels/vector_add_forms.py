"""Ten ways in which users write a vector addition."""

import triton
import triton.language as tl


@triton.jit
def renamed(x, y, out, size, BLOCK: tl.constexpr):
    first = BLOCK * tl.program_id(0)
    where = tl.arange(0, BLOCK) + first
    inside = size > where
    total = tl.load(y + where, inside) + tl.load(x + where, inside)
    tl.store(out + where, total, inside)


@triton.jit
def pointers_first(x_ptr, y_ptr, z_ptr, n, BLOCK: tl.constexpr):
    start = tl.program_id(0) * BLOCK
    x_ptr += start
    y_ptr += start
    z_ptr += start
    lanes = tl.arange(0, BLOCK)
    mask = lanes < n - start
    tl.store(z_ptr + lanes, tl.load(x_ptr + lanes, mask=mask, other=0.0) + tl.load(y_ptr + lanes, mask=mask), mask=mask)


@triton.jit
def several_blocks(x_ptr, y_ptr, z_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    step = tl.num_programs(0) * BLOCK
    for start in range(0, n, step):
        at = start + offsets
        tl.store(z_ptr + at, tl.load(x_ptr + at, mask=at < n) + tl.load(y_ptr + at, mask=at < n), mask=at < n)


@triton.jit
def advanced(x_ptr, y_ptr, z_ptr, n, BLOCK: tl.constexpr, STEPS: tl.constexpr):
    offsets = tl.program_id(0) * (BLOCK * STEPS) + tl.arange(0, BLOCK)
    x_ptrs = x_ptr + offsets
    y_ptrs = y_ptr + offsets
    z_ptrs = z_ptr + offsets
    for _ in range(STEPS):
        mask = offsets < n
        tl.store(z_ptrs, tl.load(x_ptrs, mask=mask) + tl.load(y_ptrs, mask=mask), mask=mask)
        x_ptrs += BLOCK
        y_ptrs += BLOCK
        z_ptrs += BLOCK
        offsets += BLOCK


@triton.jit
def as_matrix(x_ptr, y_ptr, z_ptr, n, ROWS: tl.constexpr, COLS: tl.constexpr):
    base = tl.program_id(0) * ROWS * COLS
    offsets = base + tl.arange(0, ROWS)[:, None] * COLS + tl.arange(0, COLS)[None, :]
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(z_ptr + offsets, x + y, mask=mask)


@triton.jit
def _sum(left, right):
    return left + right


@triton.jit
def with_helper(x_ptr, y_ptr, z_ptr, n, BLOCK: tl.constexpr):
    pid = tl.program_id(axis=0).to(tl.int64)
    offsets = pid * BLOCK + tl.arange(0, BLOCK).to(tl.int64)
    mask = offsets < n
    tl.store(z_ptr + offsets, _sum(right=tl.load(y_ptr + offsets, mask), left=tl.load(x_ptr + offsets, mask)), mask)


@triton.jit
def in_fp32(x_ptr, y_ptr, z_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask).to(tl.float32)
    y = tl.load(y_ptr + offsets, mask=mask).to(tl.float32)
    tl.store(z_ptr + offsets, (x + y).to(z_ptr.dtype.element_ty), mask=mask)


@triton.jit
def accumulated(x_ptr, y_ptr, z_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    total = tl.zeros([BLOCK], dtype=tl.float32)
    total += tl.load(x_ptr + offsets, mask=mask)
    total += tl.load(y_ptr + offsets, mask=mask)
    tl.store(z_ptr + offsets, total, mask=mask)


@triton.jit
def guarded(x_ptr, y_ptr, z_ptr, n, BLOCK: tl.constexpr, MASKED: tl.constexpr):
    pid = tl.program_id(0)
    if pid * BLOCK >= n:
        return
    offsets = pid * BLOCK + tl.arange(0, BLOCK)
    if MASKED:
        mask = offsets < n
        tl.store(z_ptr + offsets, tl.load(x_ptr + offsets, mask=mask) + tl.load(y_ptr + offsets, mask=mask), mask=mask)
    else:
        tl.store(z_ptr + offsets, tl.load(x_ptr + offsets) + tl.load(y_ptr + offsets))


@triton.jit
def backward(x_ptr, y_ptr, z_ptr, n, BLOCK: tl.constexpr):
    pid = tl.num_programs(0) - 1 - tl.program_id(0)
    lanes = pid * BLOCK + (BLOCK - 1 - tl.arange(0, BLOCK))
    mask = (lanes >= 0) & (lanes < n)
    tl.store(z_ptr + lanes, tl.load(x_ptr + lanes, mask=mask) + tl.load(y_ptr + lanes, mask=mask), mask=mask)
