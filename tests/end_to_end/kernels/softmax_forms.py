"""Ten ways in which users write a row-wise softmax."""

import triton
import triton.language as tl


@triton.jit
def renamed(result, source, ld_in, ld_out, width, BLOCK: tl.constexpr):
    r = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    values = tl.load(source + r * ld_in + c, mask=c < width, other=float("-inf"))
    shifted = values - tl.max(values, axis=0)
    e = tl.exp(shifted)
    tl.store(result + r * ld_out + c, e / tl.sum(e, axis=0), mask=c < width)


@triton.jit
def base_two(out_ptr, x_ptr, stride_x, stride_o, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    x_ptr += row * stride_x
    out_ptr += row * stride_o
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + cols, mask=cols < n_cols, other=-float("inf")).to(tl.float32) * 1.4426950408889634
    p = tl.exp2(x - tl.max(x, 0))
    tl.store(out_ptr + cols, (p * (1.0 / tl.sum(p, 0))).to(out_ptr.dtype.element_ty), mask=cols < n_cols)


@triton.jit
def row_blocks(out_ptr, x_ptr, stride_x, stride_o, n_rows, n_cols, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    cols = tl.arange(0, BLOCK)
    mask = (rows < n_rows)[:, None] & (cols < n_cols)[None, :]
    x = tl.load(x_ptr + rows[:, None] * stride_x + cols[None, :], mask=mask, other=0.0).to(tl.float32)
    x = tl.where((cols < n_cols)[None, :], x, -float("inf"))
    p = tl.exp(x - tl.max(x, axis=1)[:, None])
    y = p / tl.sum(p, axis=1)[:, None]
    tl.store(out_ptr + rows[:, None] * stride_o + cols[None, :], y.to(out_ptr.dtype.element_ty), mask=mask)


@triton.jit
def keep_dims(out_ptr, x_ptr, stride_x, stride_o, n_rows, n_cols, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    rows = (tl.program_id(0) * ROWS + tl.arange(0, ROWS))[:, None]
    cols = tl.arange(0, BLOCK)[None, :]
    mask = (cols < n_cols) & (rows < n_rows)
    x = tl.load(x_ptr + (rows * stride_x + cols), mask=mask, other=-1e30).to(tl.float32)
    top = tl.max(x, axis=1, keep_dims=True)
    p = tl.exp(x - top)
    tl.store(
        out_ptr + (rows * stride_o + cols),
        (p / tl.sum(p, axis=1, keep_dims=True)).to(out_ptr.dtype.element_ty),
        mask=mask,
    )


@triton.jit
def two_passes(out_ptr, x_ptr, stride_x, stride_o, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    top = tl.full([BLOCK], -float("inf"), tl.float32)
    for start in range(0, n_cols, BLOCK):
        cols = start + lanes
        x = tl.load(x_ptr + row * stride_x + cols, mask=cols < n_cols, other=-float("inf")).to(tl.float32)
        top = tl.maximum(top, x)
    highest = tl.max(top, axis=0)
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, n_cols, BLOCK):
        cols = start + lanes
        x = tl.load(x_ptr + row * stride_x + cols, mask=cols < n_cols, other=-float("inf")).to(tl.float32)
        total += tl.exp(x - highest)
    denominator = tl.sum(total, axis=0)
    for start in range(0, n_cols, BLOCK):
        cols = start + lanes
        x = tl.load(x_ptr + row * stride_x + cols, mask=cols < n_cols, other=-float("inf")).to(tl.float32)
        y = tl.exp(x - highest) / denominator
        tl.store(out_ptr + row * stride_o + cols, y.to(out_ptr.dtype.element_ty), mask=cols < n_cols)


@triton.jit
def persistent(out_ptr, x_ptr, stride_x, stride_o, n_rows, n_cols, BLOCK: tl.constexpr):
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    row = tl.program_id(0)
    x_ptrs = x_ptr + row * stride_x + cols
    out_ptrs = out_ptr + row * stride_o + cols
    step = tl.num_programs(0)
    for _ in range(row, n_rows, step):
        x = tl.load(x_ptrs, mask=mask, other=-float("inf")).to(tl.float32)
        p = tl.exp(x - tl.max(x, axis=0))
        tl.store(out_ptrs, (p / tl.sum(p, axis=0)).to(out_ptr.dtype.element_ty), mask=mask)
        x_ptrs += step * stride_x
        out_ptrs += step * stride_o


@triton.jit
def _row_softmax(x):
    e = tl.exp(x - tl.max(x, axis=0))
    return e / tl.sum(e, axis=0)


@triton.jit
def with_helper(out_ptr, x_ptr, stride_x, stride_o, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * stride_x + cols, mask=cols < n_cols, other=-float("inf")).to(tl.float32)
    tl.store(out_ptr + row * stride_o + cols, _row_softmax(x).to(out_ptr.dtype.element_ty), mask=cols < n_cols)


@triton.jit
def unmasked(out_ptr, x_ptr, stride_x, stride_o, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * stride_x + cols).to(tl.float32)
    x -= tl.max(x, axis=0)
    x = tl.exp(x)
    x /= tl.sum(x, axis=0)
    tl.store(out_ptr + row * stride_o + cols, x.to(out_ptr.dtype.element_ty))


@triton.jit
def by_logarithm(out_ptr, x_ptr, stride_x, stride_o, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * stride_x + cols, mask=cols < n_cols, other=-float("inf")).to(tl.float32)
    top = tl.max(x, axis=0)
    log_sum = top + tl.log(tl.sum(tl.exp(x - top), axis=0))
    tl.store(out_ptr + row * stride_o + cols, tl.exp(x - log_sum).to(out_ptr.dtype.element_ty), mask=cols < n_cols)


@triton.jit
def masked_after(out_ptr, x_ptr, stride_x, stride_o, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    valid = n_cols - cols > 0
    x = tl.load(x_ptr + row * stride_x + cols, mask=valid)
    x = tl.where(valid, x, -float("inf")).to(tl.float32)
    p = tl.where(valid, tl.exp(x - tl.max(x, axis=0)), 0.0)
    tl.store(out_ptr + row * stride_o + cols, (p / tl.sum(p, axis=0)).to(out_ptr.dtype.element_ty), mask=valid)
