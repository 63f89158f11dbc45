"""Atomics: what they leave in memory and what they return, lane by lane in order, against a loop in Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from ahbmc.backend_sim.numerics.dtypes import Array
from ahbmc.backend_sim.program import program
from ahbmc.dialects.errors import AhbmcError, Category
from ahbmc.driver.lowering import front
from ahbmc.passes import build_pipeline, run_pipeline
from support_kernels import case_of_body, check_values, simulated_values
from support_values import Case, assert_close, check_every_pass, random_array

CHANGES: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda old, value: old + value,
    "max": max,
    "min": min,
    "and": lambda old, value: old & value,
    "or": lambda old, value: old | value,
    "xor": lambda old, value: old ^ value,
    "xchg": lambda old, value: value,
}
BODY = """
i = tl.program_id(0) * 16 + tl.arange(0, 16)
v = tl.load(x + i)
at = c + tl.load(j + i)
old = {0}
tl.store(o + i, old, mask=i < n)
"""
FLOATS = [(kind, "fp32") for kind in ("add", "max", "min", "xchg")] + [("add", "fp16"), ("add", "bf16")]


def by_loop(kind: str, memory: Array, index: Array, values: Array, count: int) -> tuple[Array, Array]:
    """(memory, old values) after one lane after the other; lanes from `count` on are masked off."""
    memory, old = memory.copy(), np.zeros_like(values)
    for lane in range(count):
        old[lane] = memory[index[lane]]
        memory[index[lane]] = CHANGES[kind](old[lane], values[lane])
    return memory, old


@pytest.mark.parametrize(
    ("kind", "element"),
    [(kind, element) for kind in CHANGES for element in ("i32", "u32", "i64")] + FLOATS,
)
def test_lanes_that_meet_go_in_order(kind: str, element: str) -> None:
    """Two programs of 16 lanes, several of which go to one place; masked lanes change nothing."""
    values, memory = random_array((32,), element, 1), random_array((9,), element, 2)
    index = np.random.default_rng(3).integers(0, 8, 32).astype(np.int32)
    arguments = {"x": values, "j": index, "c": memory, "o": np.zeros_like(values), "n": 27}
    case = case_of_body(BODY.format(f"tl.atomic_{kind}(at, v, mask=i < n)"), arguments, (2,))
    left, old = by_loop(kind, memory, index, values, 27)
    check_values(case, {"c": left, "o": old})


def test_compare_and_swap_sees_what_the_lane_before_left() -> None:
    """The first lane at each place finds the zero, the others what it wrote."""
    values, index = np.arange(1, 33, dtype=np.int32), (np.arange(32, dtype=np.int32) * 5) % 8
    arguments = {"x": values, "j": index, "c": np.zeros(9, np.int32), "o": np.zeros(32, np.int32), "n": 32}
    case = case_of_body(BODY.format("tl.atomic_cas(at, 0, v)"), arguments, (2,))
    left, old = np.zeros(9, np.int32), np.zeros(32, np.int32)
    for lane in range(32):
        old[lane] = left[index[lane]]
        left[index[lane]] = left[index[lane]] or values[lane]
    check_values(case, {"c": left, "o": old})


def test_a_ticket_decides_where_a_program_writes() -> None:
    """Scalars: the old value is an address and a condition of PE_CPU, a mask keeps a program out."""
    body = """
t = tl.atomic_add(c, 1, sem="relaxed", scope="gpu")
tl.store(o + t, t * 10 + n)
if t == 2:
    tl.atomic_xchg(c + 1, 7)
won = tl.atomic_cas(c + 2, 0, t + 1)
tl.store(o + 8 + t, won)
tl.atomic_max(c + 3, t, mask=t > 1)
s = tl.atomic_add(f, tl.sum(tl.load(f + 1 + tl.arange(0, 4)), 0))
tl.store(f + 5 + t, s)
"""
    f = np.arange(9, dtype=np.float32)
    arguments = {"c": np.zeros(4, np.int32), "o": np.zeros(16, np.int32), "f": f, "n": 3}
    expected = {
        "c": np.array([4, 7, 1, 3], np.int32),
        "o": np.array([3, 13, 23, 33, 0, 0, 0, 0, 0, 1, 1, 1, 0, 0, 0, 0], np.int32),
        "f": np.array([40, 1, 2, 3, 4, 0, 10, 20, 30], np.float32),
    }
    check_values(case_of_body(body, arguments, (4,)), expected)


def test_a_store_of_a_product_is_not_moved_across_an_atomic() -> None:
    """The atomic reads what the store before it wrote, and the load after it what the atomic left."""
    body = """
i = tl.arange(0, 16)
at = c + i[:, None] * 16 + i[None, :]
a = tl.load(x + i[:, None] * 16 + i[None, :])
tl.store(at, tl.dot(a, a))
old = tl.atomic_add(at, a)
tl.store(x + i[:, None] * 16 + i[None, :], tl.load(at) - old)
"""
    x = random_array((16, 16), "fp32", 1)
    arguments = {"x": x, "c": np.zeros((16, 16), np.float32)}
    check_values(case_of_body(body, arguments), {"c": x @ x + x, "x": x}, ("primitive", "composite", "auto"))


def test_extrema_of_floats_are_found_by_their_bits() -> None:
    """As Triton does it: a NaN is the greatest number of all, and -0.0 is less than 0.0."""
    body = "i = tl.arange(0, 4)\ntl.atomic_max(c + i, tl.load(x + i))\ntl.atomic_min(d + i, tl.load(x + i))"
    x = np.array([1.0, float("nan"), -2.0, float("-inf")], np.float32)
    arguments = {"x": x, "c": np.array([float("nan"), 1, -3, 0], np.float32), "d": np.ones(4, np.float32)}
    nan = float("nan")
    expected = {"c": np.array([nan, nan, -2, 0], np.float32), "d": np.array([1, 1, -2, float("-inf")], np.float32)}
    check_values(case_of_body(body, arguments), expected, ("primitive",))


@pytest.mark.parametrize(("kind", "element"), [("add", "fp32"), ("add", "bf16"), ("max", "u32"), ("xor", "i32")])
def test_atomics_through_a_descriptor(kind: str, element: str) -> None:
    """Lanes outside of the tensor are cut off; two programs add to blocks that overlap."""
    body = f"""
desc = tl.make_tensor_descriptor(c, [5, 24], [24, 1], [4, 16])
i = tl.arange(0, 4)[:, None] * 16 + tl.arange(0, 16)[None, :]
desc.atomic_{kind}([tl.program_id(0) * 2, 12], tl.load(x + i))
"""
    x, memory = random_array((4, 16), element, 1), random_array((5, 24), element, 2)
    left, change = memory.copy(), np.maximum if kind == "max" else {"add": np.add, "xor": np.bitwise_xor}[kind]
    for first in (0, 2):
        rows = min(4, 5 - first)
        left[first : first + rows, 12:] = change(left[first : first + rows, 12:], x[:rows, :12])
    check_values(case_of_body(body, {"x": x, "c": memory}, (2,)), {"c": left})


LOCKED_SUM = """
i = tl.arange(0, 16)
v = tl.load(x + tl.program_id(0) * 16 + i)
while tl.atomic_cas(lock, 0, 1) == 1:
    pass
if tl.load(lock + 1) == 0:
    tl.atomic_xchg(lock + 1, 1)
else:
    v += tl.load(o + i)
tl.store(o + i, v)
tl.debug_barrier()
tl.atomic_xchg(lock, 0)
"""


def locked_case(lock: int) -> Case:
    """Programs that add up their rows under a lock, as the layer norm of Triton's tutorials does."""
    arguments = {"x": random_array((8, 16), "fp32", 1), "o": np.zeros(16, np.float32)}
    return case_of_body(LOCKED_SUM, arguments | {"lock": np.array([lock, 0], np.int32)}, (8,))


def test_a_lock_lets_one_program_after_the_other_in() -> None:
    """On one PE nobody has to wait; on four PEs they spin until the one before has let go."""
    case = locked_case(0)
    expected = {"o": case.arguments["x"].sum(0), "lock": np.array([0, 1], np.int32)}
    check_values(case, expected)
    module = check_every_pass(case, "auto")
    assert_close(simulated_values(case, module, pes=4), expected, "on four PEs")


def test_a_spin_that_nobody_ends_is_a_deadlock(monkeypatch: pytest.MonkeyPatch) -> None:
    """The lock is taken from the start: the fault names the program and the line."""
    monkeypatch.setattr(program, "_MOST_SPINS", 50)
    case = locked_case(1)
    module = front(case.request)
    run_pipeline(module, build_pipeline("auto", {}))
    with pytest.raises(AhbmcError, match=r"program \(0, 0, 0\) spins on an atomic") as error:
        simulated_values(case, module, pes=2)
    fault = error.value.faults[0]
    assert fault.category is Category.DEADLOCK
    assert fault.place is not None and "atomic_cas" in case.request.kernel.source.splitlines()[fault.place.line - 1]
