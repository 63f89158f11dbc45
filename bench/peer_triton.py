"""Run by `peers.py` with a Python that has Triton and PyTorch: CPU seconds of a kernel of `examples/` in Triton's CPU
interpreter, which computes values.

`peer_triton.py gemm|attention SIZE REPEATS` prints the median; blocks are those of our side.
"""

import os
import sys
import time
from pathlib import Path
from statistics import median

os.environ["TRITON_INTERPRET"] = "1"  # read when triton is imported
sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))

import torch
from flash_attention import flash_attention_kernel
from gemm import gemm_kernel

KIND, SIZE, REPEATS = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])


def half(*shape):
    return torch.randn(*shape, dtype=torch.float32).half()


def gemm():
    a, b, c = half(SIZE, SIZE), half(SIZE, SIZE), torch.zeros(SIZE, SIZE, dtype=torch.float16)
    blocks = {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 64}
    start = time.process_time()
    gemm_kernel[SIZE // 128, SIZE // 128](a, b, c, SIZE, SIZE, SIZE, **blocks)
    seconds = time.process_time() - start
    assert torch.allclose(c.float(), a.float() @ b.float(), rtol=1e-2, atol=0.1)
    return seconds


def attention():
    q, k, v, o = half(SIZE, 64), half(SIZE, 64), half(SIZE, 64), torch.zeros(SIZE, 64, dtype=torch.float16)
    blocks = {"HEAD_DIM": 64, "BLOCK_M": 128, "BLOCK_N": 128, "CAUSAL": False}
    start = time.process_time()
    flash_attention_kernel[(SIZE // 128,)](q, k, v, o, 0.125, 64, 64, 64, 64, SIZE, **blocks)
    seconds = time.process_time() - start
    wanted = torch.softmax(q.float() @ k.float().T * 0.125, -1) @ v.float()
    assert torch.allclose(o.float(), wanted, rtol=1e-2, atol=2e-3)
    return seconds


print(median(gemm() if KIND == "gemm" else attention() for _ in range(REPEATS)))
