"""What is wrong in a kernel is said once, at its place, with the reason and a way out; nothing ends in a traceback."""

from __future__ import annotations

import pytest
from ahbmc.dialects.errors import AhbmcError
from ahbmc.frontend import compile_kernel, kernel_names, kernel_parameters
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support_frontend import CONSTANTS, FILE, SIGNATURE, kernel_text, report

# (what it shows, body, where, what is under the caret, part of the message, part of the hint)
CASES: list[tuple[str, str, str, str, str, str]] = [
    ("a misspelt function", "z = tl.lod(x)", "6:12", "lod", "triton.language has no 'lod'", "did you mean 'load'?"),
    ("a misspelt keyword", "z = tl.load(x, msk=1)", "6:20", "msk=1", "load has no parameter 'msk'",
     "did you mean 'mask'?"),
    ("a misspelt type", "z = tl.float33", "6:12", "float33", "has no 'float33'", "float32"),
    ("an undefined name", "z = nn + 1", "6:9", "nn", "undefined name 'nn'", ""),
    ("no pointer", "z = tl.load(3)", "6:9", "tl.load(3)", "a pointer or a block of pointers is needed",
     "add the offsets"),
    ("too few arguments", "tl.store(y)", "6:5", "tl.store(y)", "store needs an argument 'value'",
     "store(pointer, value"),
    ("too many arguments", "tl.program_id(0, 1)", "6:22", "1", "program_id takes 1 arguments, but 2",
     "program_id(axis)"),
    ("an argument twice", "tl.arange(0, 8, end=8)", "6:21", "end=8", "arange is given 'end' twice", ""),
    ("no power of two", "z = tl.arange(0, 24)", "6:9", "tl.arange(0, 24)", "24 is none", "take 32 and mask"),
    ("an empty range", "z = tl.arange(8, 8)", "6:9", "tl.arange(8, 8)", "must be greater than the start", ""),
    ("a size known only at run time", "z = tl.arange(0, n)", "6:22", "n", "a compile-time constant is needed",
     "tl.constexpr"),
    ("a constexpr that is none", "z: tl.constexpr = n\ntl.arange(0, z)", "7:18", "z",
     "a compile-time constant is needed, not a run-time i32", ""),
    ("shapes that do not fit", "z = tl.arange(0, B) + tl.arange(0, 32)", "6:9", "tl.arange(0, B) + tl.arange(0, 32)",
     "shapes [16] and [32] do not go together", "x[:, None]"),
    ("a dot of two types", "a = tl.zeros((B, B), tl.float16)\nz = tl.dot(a, a.to(tl.float32))", "7:9",
     "tl.dot(a, a.to(tl.float32))", "both blocks must be of one type, and they are fp16 and fp32",
     "`.to(tl.float16)`"),
    ("a dot of two inner sizes", "a = tl.zeros((B, 32), tl.float16)\nz = tl.dot(a, a)", "7:9", "tl.dot(a, a)",
     "the first has 32 columns, the second 16 rows", "tl.trans"),
    ("a dot of one axis", "a = tl.zeros((B,), tl.float16)\nz = tl.dot(a, a)", "7:9", "tl.dot(a, a)", "two axes", ""),
    ("a dot of integers without a sign", "a = tl.zeros((B, B), tl.uint8)\nz = tl.dot(a, a)", "7:9", "tl.dot(a, a)",
     "blocks of floats or of i8 are needed, not of u8", "`.to(tl.float16)`"),
    ("batches of two sizes", "z = tl.dot(tl.zeros((2, B, B), tl.float16), tl.zeros((4, B, B), tl.float16))", "6:9",
     "tl.dot(tl.zeros((2, B, B), tl.float16), tl.zeros((4, B, B), tl.float16))", "no batches of equally many", ""),
    ("a precision that is none", "a = tl.zeros((B, B), tl.float16)\nz = tl.dot(a, a, input_precision='high')", "7:9",
     "tl.dot(a, a, input_precision='high')", "input_precision 'high'", "tf32, tf32x3, ieee"),
    ("two precisions", "a = tl.zeros((B, B), tl.float16)\nz = tl.dot(a, a, allow_tf32=True, input_precision='ieee')",
     "7:9", "tl.dot(a, a, allow_tf32=True, input_precision='ieee')", "both input_precision and allow_tf32", "older"),
    ("scales in unequal groups", "a = tl.zeros((B, 64), tl.uint8)\ns = tl.zeros((B, 256), tl.uint8)\n"
     "z = tl.dot_scaled(a, s, 'e2m1', a, None, 'e2m1')", "8:9", "tl.dot_scaled(a, s, 'e2m1', a, None, 'e2m1')",
     "the scales do not divide the K axis into equal groups", ""),
    ("a format that is none", "a = tl.zeros((B, B), tl.uint8)\nz = tl.dot_scaled(a, None, 'e3m2', a, None, 'e2m1')",
     "7:9", "tl.dot_scaled(a, None, 'e3m2', a, None, 'e2m1')",
     "a format is one of e2m1, e4m3, e5m2, bf16 and fp16", ""),
    ("another accumulator", "a = tl.zeros((B, B), tl.float16)\nz = tl.dot(a, a, a, out_dtype=tl.float32)", "7:9",
     "tl.dot(a, a, a, out_dtype=tl.float32)", "the accumulator is", "out_dtype="),
    ("two pointers", "z = x + y", "6:9", "x + y", "two pointers", ""),
    ("a pointer and a float", "z = x + 1.5", "6:9", "x + 1.5", "cannot be moved by the number 1.5", "cast"),
    ("bits of floats", "z = tl.load(x) & 1", "6:9", "tl.load(x) & 1", "'&' is not defined for fp32", ""),
    ("a literal out of range", "z = n + 3000000000", "6:9", "n + 3000000000", "out of the range of i32", "wider"),
    ("a division by zero", "z = B // 0", "6:9", "B // 0", "divides by zero", ""),
    ("an enormous constant", "z = 2 ** 100000", "6:9", "2 ** 100000", "too large for a compile-time constant", ""),
    ("a function of the wrong domain", "z = tl.exp(n)", "6:9", "tl.exp(n)", "floats are needed, not i32", "float32"),
    ("a block as condition", "if tl.arange(0, B) > 3:\n    pass", "6:8", "tl.arange(0, B) > 3", "a condition",
     "tl.where"),
    ("a pointer as condition", "if x + 1:\n    pass", "6:8", "x + 1", "neither true nor false", "None"),
    ("a block into one place", "tl.store(y, tl.arange(0, B))", "6:5", "tl.store(y, tl.arange(0, B))",
     "'value' is a block", "block of pointers"),
    ("a mask of numbers", "z = tl.load(x + tl.arange(0, B), mask=n)", "6:9", "tl.load(x + tl.arange(0, B), mask=n)",
     "a mask is made of booleans, not of i32", "compare"),
    ("other without mask", "z = tl.load(x, other=0.0)", "6:9", "tl.load(x, other=0.0)",
     "'other' without a 'mask'", "mask="),
    ("an element of a block", "z = tl.arange(0, B)[3]", "6:9", "tl.arange(0, B)[3]",
     "cannot be indexed by the number 3", ":"),
    ("an element through brackets", "z = x[0]", "6:9", "x[0]", "cannot be indexed", "tl.load(pointer + offset)"),
    ("a store through brackets", "x[0] = 1.0", "6:5", "x[0]", "an assignment to this", "tl.store"),
    ("an axis too far", "z = tl.sum(tl.arange(0, B), axis=1)", "6:9", "tl.sum(tl.arange(0, B), axis=1)",
     "sum: axis 1", ""),
    ("another number of elements", "z = tl.reshape(tl.arange(0, B), (3, 5))", "6:9",
     "tl.reshape(tl.arange(0, B), (3, 5))", "has 16 elements, the shape [3, 5] has 15", ""),
    ("a grid axis too far", "z = tl.program_id(3)", "6:9", "tl.program_id(3)", "axes of a grid are 0, 1 and 2", ""),
    ("one branch only", "if n > 0:\n    q = 1\ntl.store(y, q)", "8:17", "q",
     "only one branch of the `if` at line 6", "before"),
    ("two types in two branches", "if n > 0:\n    q = 1\nelse:\n    q = 1.5\ntl.store(y, q)", "10:17", "q",
     "a run-time i32 in one branch and a run-time fp32 in the other", "of the same type"),
    ("a value of a loop's body", "for i in range(n):\n    q = i\ntl.store(y, q)", "8:17", "q",
     "the loop at line 6", "before"),
    ("a counter after its loop", "for i in range(n):\n    pass\ntl.store(y, i)", "8:17", "i",
     "loop that has ended", ""),
    ("a type that changes in a loop", "a = 0\nfor i in range(n):\n    a += 1.5", "8:9", "a += 1.5",
     "'a' is a run-time i32 before the loop and a run-time fp32 after its body", "keeps its type"),
    ("a tuple that grows at run time", "a = ()\nfor i in range(n):\n    a = a + (i,)", "8:9", "a = a + (i,)",
     "a tuple of 0 before the loop", "static_range"),
    ("a step of zero", "for i in range(0, n, 0):\n    pass", "6:5", "for i in range(0, n, 0):", "a step of 0", ""),
    ("run-time bounds to unroll", "for i in tl.static_range(n):\n    pass", "6:5", "for i in tl.static_range(n):",
     "compile-time integers", "tl.range"),
    ("too much to unroll", "for i in tl.static_range(1 << 40):\n    pass", "6:5",
     "for i in tl.static_range(1 << 40):",
     "to unroll", "tl.range"),
    ("no end", "while True:\n    pass", "6:11", "True", "never ends", ""),
    ("nothing to loop over", "for i in 3:\n    pass", "6:14", "3", "cannot be looped over", "range(...)"),
    ("names for another tuple", "a, b = 1, 2, 3", "6:5", "a, b", "2 names for a tuple of 3", ""),
    ("an assertion", "tl.static_assert(B == 3, 'B is 3')", "6:5", "tl.static_assert(B == 3, 'B is 3')", "B is 3", ""),
    ("a Python assertion", "assert B == 3, 'no'", "6:5", "assert B == 3, 'no'", "assertion failed: no", ""),
    ("an error that the kernel raises", "raise ValueError('bad B')", "6:5", "raise ValueError('bad B')", "bad B", ""),
    ("a result of a kernel", "return 3", "6:5", "return 3", "a kernel returns nothing", "tl.store"),
    ("a call of the host", "z = np.array(3)", "6:9", "np", "undefined name 'np'", ""),
    ("a destination without name", "al.copy_to(tl.zeros((B,), tl.float32), tl.zeros((B,), tl.float32))", "6:16",
     "tl.zeros((B,), tl.float32)", "'dst' of copy_to must be a name", ""),
    ("with", "with n:\n    pass", "6:5", "with n:", "not supported in a kernel: `with`", ""),
    ("lambda", "z = lambda q: q", "6:9", "lambda q: q", "not supported in a kernel: `lambda`", ""),
    ("a comprehension", "z = [a for a in (1, 2)]", "6:9", "[a for a in (1, 2)]", "a comprehension", ""),
    ("a dictionary", "z = {1: 2}", "6:9", "{1: 2}", "a dictionary", ""),
    ("try", "try:\n    pass\nexcept: pass", "6:5", "try", "not supported in a kernel: `try`", ""),
    ("class", "class A: pass", "6:5", "class", "not supported in a kernel: `class`", ""),
    ("a nested function", "def f(): pass", "6:5", "def f(): pass", "`def`", ""),
    ("break", "for i in range(n):\n    break", "7:9", "break", "`break`", "if"),
    ("continue", "for i in range(n):\n    continue", "7:9", "continue", "`continue`", "if"),
    ("return in a loop", "for i in range(n):\n    return", "7:9", "return", "`return` inside a loop", ""),
    ("global", "global q", "6:5", "global q", "`global`", ""),
    ("an atomic that floats do not have", "tl.atomic_and(x, 1)", "6:5", "tl.atomic_and(x, 1)",
     "memory holds fp32; it takes integers of 32 and 64 bits", "wider type"),
    ("bits of floats through a descriptor", "d = tl.make_tensor_descriptor(x, [n], [1], [B])\n"
     "d.atomic_or([0], tl.zeros((B,), tl.float32))", "7:5", "d.atomic_or([0], tl.zeros((B,), tl.float32))",
     "memory holds fp32, whose bits are not combined", "integers"),
    ("an order of memory that is none", "tl.atomic_add(x, 1.0, sem='seq_cst')", "6:5",
     "tl.atomic_add(x, 1.0, sem='seq_cst')", "'sem' is 'seq_cst'", "relaxed, acquire, release, acq_rel"),
    ("an atomic of a block in one place", "tl.atomic_add(x, tl.arange(0, B))", "6:5",
     "tl.atomic_add(x, tl.arange(0, B))", "'val' is a block", "one per lane"),
    ("a function that changes the type", "z = tl.reduce(tl.arange(0, B), 0, f)", "11:9",
     "tl.reduce(tl.arange(0, B), 0, f)", "reduce: the function that combines lanes gives fp32 for i32", "same types"),
    ("a scan of two shapes", "z = tl.associative_scan((tl.arange(0, B), tl.arange(0, 32)), 0, f)", "11:9",
     "tl.associative_scan((tl.arange(0, B), tl.arange(0, 32)), 0, f)",
     "associative_scan: all blocks must have one shape, and there are [16] and [32]", ""),
    ("an axis that a scan has not", "z = tl.cumsum(tl.arange(0, B), 1)", "6:9", "tl.cumsum(tl.arange(0, B), 1)",
     "cumsum: axis 1 of a block of rank 1", "0 to 0"),
    ("an index of floats", "z = tl.gather(tl.arange(0, B), tl.zeros((B,), tl.float32), 0)", "6:9",
     "tl.gather(tl.arange(0, B), tl.zeros((B,), tl.float32), 0)", "the index is made of integers, not of fp32",
     "tl.int32"),
    ("an index of another rank", "z = tl.gather(tl.arange(0, B)[:, None], tl.arange(0, B), 0)", "6:9",
     "tl.gather(tl.arange(0, B)[:, None], tl.arange(0, B), 0)", "the index has 1 axes, the source 2", "adds an axis"),
    ("an index of other rows", "z = tl.gather(tl.zeros((B, 4), tl.int32), tl.zeros((8, 4), tl.int32), 1)", "6:9",
     "tl.gather(tl.zeros((B, 4), tl.int32), tl.zeros((8, 4), tl.int32), 1)",
     "the index [8, 4] does not go with the source [16, 4]: axis 0 has 8 and 16 lanes", "only axis 1"),
    ("a histogram of floats", "z = tl.histogram(tl.zeros((B,), tl.float32), 4)", "6:9",
     "tl.histogram(tl.zeros((B,), tl.float32), 4)", "integers are needed, not fp32", "tl.int32"),
    ("a histogram of two axes", "z = tl.histogram(tl.zeros((B, B), tl.int32), 4)", "6:9",
     "tl.histogram(tl.zeros((B, B), tl.int32), 4)", "a block of one axis is needed", "tl.ravel"),
    ("a sort along the first axis", "z = tl.sort(tl.zeros((B, B), tl.int32), 0)", "6:9",
     "tl.sort(tl.zeros((B, B), tl.int32), 0)", "sort: only the last axis, 1, can be sorted, not 0", "tl.permute"),
    ("more lanes than there are", "z = tl.topk(tl.arange(0, B), 32)", "6:9", "tl.topk(tl.arange(0, B), 32)",
     "topk: the first 32 of 16 lanes", ""),
    ("a part of a sort that is no power of two", "z = tl.topk(tl.arange(0, B), 3)", "6:9",
     "tl.topk(tl.arange(0, B), 3)", "topk: a sort takes powers of two, and 3 is none", ""),
    ("a merge along the first axis", "z = tl.bitonic_merge(tl.zeros((B, B), tl.int32), 0)", "6:9",
     "tl.bitonic_merge(tl.zeros((B, B), tl.int32), 0)", "only the last axis can be merged", ""),
    ("a pair of two types", "z = tl.join(tl.arange(0, B), tl.zeros((B,), tl.float32))", "6:9",
     "tl.join(tl.arange(0, B), tl.zeros((B,), tl.float32))", "both blocks must be of one type", ""),
    ("a split of more than two", "z = tl.split(tl.zeros((B, 4), tl.int32))", "6:9",
     "tl.split(tl.zeros((B, 4), tl.int32))", "the last axis must have two lanes", ""),
    ("a run-time power", "z = n ** 2", "6:9", "n ** 2", "'**' of run-time values", ""),
]  # fmt: skip


@pytest.mark.parametrize(("shows", "body", "where", "marked", "message", "hint"), CASES, ids=[c[0] for c in CASES])
def test_a_fault_has_place_reason_and_hint(
    shows: str, body: str, where: str, marked: str, message: str, hint: str
) -> None:
    """The name of the case says what is wrong; the caret marks exactly the text that is."""
    # A function that some cases call.
    helper = "@triton.jit\ndef f(a, b):\n    return a * 1.0\n\n\n" if body.endswith(", f)") else ""
    lines = report(body, helper).splitlines()
    head, caret = lines[0], lines[2]
    assert head.startswith(f"{FILE}:{where}: error: ")
    assert message in head
    assert lines[1][caret.index("^") : caret.rindex("^") + 1] == marked
    assert hint in "\n".join(lines[3:])
    assert sum("error:" in line for line in lines) == 1


GLOBALS = """
import numpy as np
LIMIT = np.iinfo("int32").max

@triton.jit
def helper(a, b: tl.constexpr, c=1):
    return a + b * undefined_in_helper

def plain(a):
    return a

@triton.jit
def again(a):
    return again(a + 1)
"""

HELPER_CASES = [
    (
        "a fault of a helper is shown in the helper",
        "helper(n, 2)",
        "undefined name 'undefined_in_helper'",
        "def helper",
    ),
    ("too few arguments for a helper", "helper(n)", "helper needs an argument 'b'", "helper(a, b, c)"),
    ("a misspelt parameter of a helper", "helper(n, bb=2)", "helper has no parameter 'bb'", "did you mean 'b'?"),
    ("a function of the host", "plain(n)", "'plain' is no kernel function", "put @triton.jit above"),
    ("a function that calls itself", "again(1)", "calls are nested deeper", "cannot call itself"),
    ("a constant of the host", "z = n + LIMIT", "a value of the host, which is not executed", ""),
    (
        "a module of the host",
        "z = np.sin(n)",
        "the module 'numpy' (its 'sin') cannot be called",
        "only functions of tl",
    ),
]


@pytest.mark.parametrize(("shows", "body", "message", "hint"), HELPER_CASES, ids=[c[0] for c in HELPER_CASES])
def test_faults_around_helpers_and_globals(shows: str, body: str, message: str, hint: str) -> None:
    """What a kernel takes from its file is checked where it is used."""
    text = report(body, GLOBALS)
    assert message in text.splitlines()[0]
    assert hint in text or hint == "def helper"


def test_a_fault_in_a_helper_names_the_line_of_the_helper() -> None:
    """Not the line of the call: the text that is wrong is the helper's."""
    text = kernel_text("helper(n, 2)", GLOBALS)
    line = next(n for n, t in enumerate(text.splitlines(), 1) if "undefined_in_helper" in t)
    assert report("helper(n, 2)", GLOBALS).startswith(f"{FILE}:{line}:20: error: undefined name")


def faults_of_parameters(signature: dict[str, str], constants: dict[str, int]) -> list[str]:
    text = kernel_text("pass")
    with pytest.raises(AhbmcError) as caught:
        compile_kernel(text, FILE, "k", signature, constants)
    return [fault.message for fault in caught.value.faults]


def test_every_missing_and_unknown_argument_is_reported_at_once() -> None:
    """Three independent faults of a call, three messages."""
    messages = faults_of_parameters({"x": "*fp32", "z": "i32"}, {})
    assert messages == [
        "an argument for 'y' of 'k' is missing",
        "an argument for 'n' of 'k' is missing",
        "a constant for 'B' of 'k' is missing",
        "the kernel 'k' has no parameter 'z'",
    ]


def test_a_type_for_a_constexpr_and_an_unknown_type() -> None:
    """A constexpr needs a value, and types are Triton's."""
    messages = faults_of_parameters({"x": "*fp33", "y": "*fp32", "n": "i32", "B": "i32"}, {})
    assert messages[0] == "argument 'x': unknown type '*fp33'"
    assert "'B' is a tl.constexpr" in messages[1]


def test_a_kernel_that_is_not_there() -> None:
    """The hint names the closest one."""
    with pytest.raises(AhbmcError) as caught:
        compile_kernel(kernel_text("pass"), FILE, "kk", {}, {})
    assert caught.value.faults[0].hint == "did you mean 'k'?"


def test_names_and_parameters_without_compiling() -> None:
    """What a driver asks before it binds arguments."""
    text = kernel_text("pass", parameters="x, n=1 + 2, *, B: tl.constexpr, C: 'tl.constexpr' = 4")
    assert kernel_names(text, FILE) == ("k",)
    found = [(p.name, p.constexpr, p.default) for p in kernel_parameters(text, FILE, "k")]
    assert found == [("x", False, None), ("n", False, "1 + 2"), ("B", True, None), ("C", True, "4")]


def test_deep_nesting_is_refused() -> None:
    """A thousand brackets are beyond what the compiler walks, and it says so."""
    deep = "(" * 900 + "n" + " + 1)" * 900
    assert "nested too deeply" in report(f"z = {deep}")


SEED = kernel_text(
    """
    pid = tl.program_id(0)
    offs = pid * B + tl.arange(0, B)
    mask = offs < n
    acc = tl.zeros((B,), tl.float32)
    for i in range(0, tl.cdiv(n, B)):
        if i > 3:
            acc += tl.load(x + offs + i * B, mask=mask, other=0.0)
        else:
            acc = tl.where(mask, acc, 1.0)
    m = acc - tl.max(acc, axis=0)
    acc = tl.exp(m)[:, None] * LIMIT + helper(acc, 2)[None, :]
    while n > 3:
        n = n // 2
    tl.store(y + offs, tl.sum(acc, 1), mask=mask)
    """,
    "LIMIT: tl.constexpr = 3\n@triton.jit\ndef helper(a, b: tl.constexpr = 2):\n    return a * b, -a\n",
)
TOKENS = [
    "(", ")", "[", "]", ",", ":", "=", "==", "+", "-", "*", "/", "//", "%", "**", "<", "&", "|", "~", ".", " ", "\n",
    "\n    ", "\n        ", "\t", "'", '"', "#", "\\", "1", "0", "2.5", "0x", "1e400", "x", "y", "n", "B", "acc",
    "tl",
    "tl.load", "tl.dot", "tl.sum", "tl.zeros", "al.ref", "None", "True", "if", "else:", "for", "in", "while", "def",
    "return", "lambda", "class", "import", "not", "and", "is", "range", "tl.static_range", "(1,)", "float('nan')",
    "...",
    "\x00", "é", "\u2028", "tl.float32", ".to", ".T", ".shape", "[:, None]", "assert", "raise", "@", ":=", "*", "$",
]  # fmt: skip


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
@given(st.data())
def test_mutated_kernels_compile_or_are_refused(data: st.DataObject) -> None:
    """Up to three pieces of text inserted, deleted or replaced anywhere: an answer or an AhbmcError, nothing else."""
    text = SEED
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(text)))
        length = data.draw(st.sampled_from([0, 0, 1, 2, 5, 20]))
        text = text[:start] + data.draw(st.sampled_from(["", *TOKENS])) + text[start + length :]
    try:
        compile_kernel(text, FILE, "k", SIGNATURE, CONSTANTS)
    except AhbmcError as error:
        assert all(fault.message for fault in error.faults)
