"""AHBM's own functions: a wrong use is one error at its place, with what to write instead; scopes give up blocks."""

from __future__ import annotations

import itertools

import pytest
from ahbmc.dialects import ahbm
from ahbmc.frontend.contracts import contract_of, recipes
from ahbmc.passes import build_pipeline, run_pipeline
from ahbmc.passes.analysis.scratch import size_of
from ahbmc.passes.recipes import RECIPES
from support_frontend import FILE, compiled, ran, report

BLOCK = "a = tl.zeros((B,), tl.float32)\n"
SCOPE = "with al.scratch_scope():\n    "

# (what it shows, body, where, what is under the caret, part of the message, part of the hint)
CASES: list[tuple[str, str, str, str, str, str]] = [
    ("a copy to another shape", BLOCK + "al.copy_to(a, tl.zeros((8,), tl.float32))", "7:5",
     "al.copy_to(a, tl.zeros((8,), tl.float32))", "'dst' has the shape [16], 'src' [8]", "of this shape"),
    ("a copy to another type", BLOCK + "al.copy_to(a, tl.zeros((B,), tl.int32))", "7:5",
     "al.copy_to(a, tl.zeros((B,), tl.int32))", "'dst' holds fp32, 'src' i32", "cast first"),
    ("a copy to HBM", BLOCK + "r = al.ref(x, (B,))\nal.copy_to(r, a)", "8:5", "al.copy_to(r, a)",
     "'dst' is a region of fp32 [16]", "tl.store"),
    ("a copy from HBM", BLOCK + "al.copy_to(a, al.ref(x, (B,)))", "7:5", "al.copy_to(a, al.ref(x, (B,)))",
     "'src' is a region of fp32 [16]", "tl.load"),
    ("a copy of a number", BLOCK + "al.copy_to(a, 3.0)", "7:5", "al.copy_to(a, 3.0)", "'src' is the number 3.0", ""),
    ("nothing to wait for", "al.wait()", "6:5", "al.wait()", "nothing to wait for", "al.wait(a, b)"),
    ("a wait for a region", "al.wait(al.ref(x, (B,)))", "6:5", "al.wait(al.ref(x, (B,)))",
     "only a value can be waited for, not a region", "al.wait(a, b)"),
    ("less than no time", "al.cycles(-1)", "6:5", "al.cycles(-1)", "-1 cycles", "from 0 to 2147483647"),
    ("more time than there is", "al.cycles(10**30)", "6:5", "al.cycles(10**30)", "0 cycles", "from 0 to 2147483647"),
    ("too long an axis", "a = tl.zeros((10**30, B), tl.float32)", "6:9", "tl.zeros((10**30, B), tl.float32)",
     "cannot have 1000", "from 1 to"),
    ("a region of no axis", "r = al.ref(x, (0, 3))", "6:20", "0, 3", "cannot have 0 elements", "from 1 to 2147483647"),
    ("a region in a product", "tl.dot(al.ref(x, (B, B)), al.ref(x, (B, B)))", "6:12", "al.ref(x, (B, B))",
     "a block is needed, not a region", "tl.load(al.ref(...))"),
    ("arithmetic on a region", "r = al.ref(x, (B,)) + 1.0", "6:9", "al.ref(x, (B,)) + 1.0", "'+' is not defined",
     "tl.load(al.ref(...))"),
    ("a mask for a region", "tl.load(al.ref(x, (B,)), mask=n > 2)", "6:5", "tl.load(al.ref(x, (B,)), mask=n > 2)",
     "'mask' does not go with a region", "leave it out"),
    ("a function of another language", "tl.cycles(3)", "6:8", "cycles", "triton.language has no 'cycles'",
     "import language as al"),
    ("time that is not known", "al.cycles(n)", "6:15", "n", "a compile-time constant is needed", "tl.constexpr"),
    ("a region of run-time size", "al.ref(x, (n,))", "6:16", "n,", "a compile-time constant is needed", ""),
    ("strides of another rank", "al.ref(x, (B, B), (B,))", "6:5", "al.ref(x, (B, B), (B,))", "1 strides for 2 axes",
     "one for each axis"),
    ("a block after its scope", SCOPE + BLOCK + "tl.store(al.ref(y, (B,)), a)", "8:31", "a",
     "'a' has no value here: it was made in the scratch scope of line 6, which has ended", "al.copy_to(dst, src)"),
    ("a name bound anew in a scope", BLOCK + SCOPE + "a = a + 1.0\ntl.store(al.ref(y, (B,)), a)", "9:31", "a",
     "it was made in the scratch scope of line 7", "al.copy_to(dst, src)"),
    ("a block after the inner scope", f"{SCOPE}{SCOPE.replace(chr(10), chr(10) + '    ')}{BLOCK}    b = a + 1.0",
     "9:13", "a", "it was made in the scratch scope of line 7", ""),
    ("a block in a tuple", f"{SCOPE}p = (n, tl.zeros((B,), tl.float32))\nq = p[0]", "8:9", "p",
     "it was made in the scratch scope of line 6", ""),
    ("a block that a loop of the scope has made", BLOCK + SCOPE + "for i in range(n):\n        a = a + 1.0\n"
     "tl.store(al.ref(y, (B,)), a)", "10:31", "a", "it was made in the scratch scope of line 7", ""),
    ("a loop that carries on a block of a scope",
     BLOCK + "for i in range(n):\n    with al.scratch_scope():\n        a = a + 1.0", "9:13", "a = a + 1.0",
     "'a' has no value at the end of the loop's body: it was made in the scratch scope of line 8", ""),
    ("a region of the round before",
     "r = al.ref(x, (B,))\nfor i in range(n):\n    a = tl.load(r)\n    r = al.ref(x + i, (B,))", "8:21", "r",
     "'r' has no value here: loops carry no regions, and the one at line 7 makes it another one", "where it is used"),
    ("a region of the last round",
     "r = al.ref(x, (B,))\nfor i in range(n):\n    r = al.ref(x + i, (B,))\na = tl.load(r)", "9:17", "r",
     "'r' has no value here: loops carry no regions, and the one at line 7", "where it is used"),
    ("a name for a scope", "with al.scratch_scope() as s:\n    pass", "6:32", "s", "gives nothing", "leave `as` out"),
    ("a scope that is not opened", "al.scratch_scope()", "6:5", "al.scratch_scope()", "nothing is in",
     "with al.scratch_scope():"),
    ("another context", "with al.cycles(3):\n    pass", "6:5", "with al.cycles(3):", "`with`", "al.scratch_scope()"),
    ("a return in a scope", "with al.scratch_scope():\n    if n > 3:\n        return", "6:5",
     "with al.scratch_scope():", "`return` inside a scratch scope", ""),
    ("dictionaries outside of the call", "ops = [{'op': 'exp'}]", "6:12", "{'op': 'exp'}", "a dictionary",
     "written in the call"),
    ("a message to another PE", "al.send(x)", "6:8", "send", "not supported in a kernel: ahbmc.language.send", "HBM"),
]  # fmt: skip

MERGE = "{'op': 'softmax_merge', 's': w, 'm': v, 'l': u, 'O': o}"
WITH_Q, WITH_BASE, WITH_SCOPE = (
    MERGE.replace("}", f", {more}}}") for more in ("'q': w", "'base': '10'", "'scope': 'k_tile'")
)
# The same; every body is one call of `al.composite` with these arguments, after blocks a [16, 32], b [32, 16], r and w.
COMPOSITES: list[tuple[str, str, str, str, str]] = [
    ("an op that is none", "op='conv', a=a, b=b", "al.composite(op='conv', a=a, b=b)",
     "op 'conv' is none of 'gemm' and 'math'", 'op="gemm"'),
    ("no b", "op='gemm', a=a", "al.composite(op='gemm', a=a)", "a GEMM without 'b'", "a=..., b=..."),
    ("a number for a", "op='gemm', a=3, b=b", "al.composite(op='gemm', a=3, b=b)", "'a' is the number 3", "al.ref"),
    ("pointers for b", "op='gemm', a=a, b=x", "al.composite(op='gemm', a=a, b=x)", "'b' is a pointer<fp32>", "al.ref"),
    ("shapes that do not fit", "op='gemm', a=a, b=a", "al.composite(op='gemm', a=a, b=a)",
     "the first has 32 columns, the second 16 rows", ""),
    ("a region that does not fit", "op='gemm', a=a, b=r", "al.composite(op='gemm', a=a, b=r)",
     "the shapes [16, 32] and [16, 16] do not go together", ""),
    ("two types", "op='gemm', a=a.to(tl.float16), b=b", "al.composite(op='gemm', a=a.to(tl.float16), b=b)",
     "they are fp16 and fp32", "cast one of them"),
    ("an output of another shape", "op='gemm', a=b, b=a, out=w", "al.composite(op='gemm', a=b, b=a, out=w)",
     "'out' has the shape [16, 16], the result [32, 32]", "of this shape"),
    ("a region of another shape as output", "op='gemm', a=b, b=a, out=r", "al.composite(op='gemm', a=b, b=a, out=r)",
     "'out' has the shape [16, 16], the result [32, 32]", ""),
    ("an output without name", "op='gemm', a=a, b=b, out=w + 1.0", "w + 1.0", "'out' of composite must be a name", ""),
    ("an output that the product reads", "op='gemm', a=w, b=w, out=w", "al.composite(op='gemm', a=w, b=w, out=w)",
     "'out' is an operand of the product", "another one"),
    ("a region that the product reads and writes", "op='gemm', a=r, b=w, out=r",
     "al.composite(op='gemm', a=r, b=w, out=r)", "'out' is an operand of the product", "another one"),
    ("a number as output", "op='gemm', a=a, b=b, out=3", "al.composite(op='gemm', a=a, b=b, out=3)",
     "'out' is the number 3", "al.ref"),
    ("a second GEMM", "op='gemm', a=a, b=b, epilogue=[{'op': 'gemm', 'b': b}]", "{'op': 'gemm', 'b': b}",
     "two GEMMs in one composite", "a second al.composite"),
    ("an unknown op", "op='gemm', a=a, b=b, epilogue=[{'op': 'ad', 'other': w}]", "'ad'", "there is no op 'ad'",
     "did you mean 'add'?"),
    ("an op unlike any", "op='gemm', a=a, b=b, epilogue=[{'op': 'normalise'}]", "'normalise'",
     "there is no op 'normalise'",
     "add, sub, mul"),
    ("an op without name", "op='gemm', a=a, b=b, epilogue=[{'other': w}]", "{'other': w}", "an op without a name",
     '{"op": "add", "other": x}'),
    ("an op named by a number", "op='gemm', a=a, b=b, epilogue=[{'op': 3}]", "3", "an op is named by a string", ""),
    ("an unknown operand", "op='gemm', a=a, b=b, epilogue=[{'op': 'add', 'by': w}]", "w", "add has no operand 'by'",
     "add takes 'other'"),
    ("a missing operand", "op='gemm', a=a, b=b, epilogue=[{'op': 'scale'}]", "{'op': 'scale'}",
     "scale needs an operand 'by'", "scale takes 'by'"),
    ("an operand too many", "op='gemm', a=a, b=b, epilogue=[{'op': 'exp', 'other': w}]", "w",
     "exp has no operand 'other'", "exp takes no operand"),
    ("an operand twice", "op='gemm', a=a, b=b, epilogue=[{'op': 'add', 'other': w, 'other': w}]", "'other'",
     "'other' is given twice", ""),
    ("an operand in HBM", "op='gemm', a=a, b=b, epilogue=[{'op': 'add', 'other': r}]", "r",
     "'other' of add is a region of fp32 [16, 16]; ops beside the GEMM take blocks in TCM", "tl.load"),
    ("an operand that does not fit", "op='gemm', a=a, b=b, epilogue=[{'op': 'add', 'other': a}]", "a",
     "'other' of add: shapes [16, 32] and [16, 16] do not go together", ""),
    ("a pointer as operand", "op='gemm', a=a, b=b, epilogue=[{'op': 'add', 'other': x}]", "x",
     "'other' of add: a block or a number is needed, not a pointer<fp32>", ""),
    ("a cast to no type", "op='gemm', a=a, b=b, epilogue=[{'op': 'cast', 'to': 3}]", "3", "'to' of cast: a type", ""),
    ("another scope", "op='gemm', a=a, b=b, epilogue=[{'op': 'relu', 'scope': 'k_tile'}]", "'k_tile'",
     "relu with scope the string 'k_tile'", "here it is 'output_tile' or 'once'"),
    ("a cast at the end", "op='gemm', a=a, b=b, epilogue=[{'op': 'cast', 'to': tl.float16, 'scope': 'once'}]", "'once'",
     "cast with scope the string 'once'", "here it is 'output_tile'"),
    ("an op on tiles after the end", "op='gemm', a=a, b=b, epilogue=[{'op': 'relu', 'scope': 'once'}, {'op': 'exp'}]",
     "{'op': 'exp'}", "exp after relu, which runs once at the end", "put it before relu"),
    ("an end on HBM", "op='gemm', a=a, b=b, out=r, epilogue=[{'op': 'relu', 'scope': 'once'}]",
     "al.composite(op='gemm', a=a, b=b, out=r, epilogue=[{'op': 'relu', 'scope': 'once'}])",
     "'out' is a region of fp32 [16, 16], and relu runs once on the output, in TCM", "store it afterwards"),
    ("no list", "op='gemm', a=a, b=b, epilogue={'op': 'relu'}", "epilogue={'op': 'relu'}",
     "'epilogue' of composite: a list of dictionaries is needed, not a dictionary", '[{"op": "add", "other": x}]'),
    ("a list of names", "op='gemm', a=a, b=b, epilogue=['relu']", "epilogue=['relu']",
     "a list of dictionaries is needed, not the string 'relu'", '[{"op": "add", "other": x}]'),
    ("a key that is no string", "op='gemm', a=a, b=b, epilogue=[{3: w}]", "3", "a key is a string here", ""),
    ("a spread dictionary", "op='gemm', a=a, b=b, epilogue=[{**w}]", "w", "`**` in a dictionary", "name the operands"),
    ("a function of integers", "op='gemm', a=tl.zeros((8, 8), tl.int8), b=tl.zeros((8, 8), tl.int8), "
     "epilogue=[{'op': 'exp'}]", "{'op': 'exp'}", "exp of i32", "cast"),
    ("a and a prologue", f"op='gemm', a=w, b=b, prologue=[{MERGE}]",
     f"al.composite(op='gemm', a=w, b=b, prologue=[{MERGE}])",
     "'a' beside a prologue", "leave out one"),
    ("two recipes", f"op='gemm', b=a, prologue=[{MERGE}, {MERGE}]", MERGE, "two recipes before one GEMM", "a second"),
    ("a recipe without GEMM", f"op='math', a=a, prologue=[{MERGE}]", MERGE, "a recipe without a GEMM", 'op="gemm"'),
    ("an unknown recipe", "op='gemm', b=a, prologue=[{'op': 'softmax_merg'}]", "'softmax_merg'",
     "there is no recipe 'softmax_merg'", "did you mean 'softmax_merge'?"),
    ("a recipe that is loaded", "op='gemm', b=a, prologue=[{'op': 'my_rows'}]", "'my_rows'",
     "there is no recipe 'my_rows'", "a recipe of --load-recipe is looked for in kernels"),
    ("an op for a recipe", "op='gemm', b=a, prologue=[{'op': 'add', 'other': w}]", "'add'",
     "add is an op of an epilogue", "softmax_merge"),
    ("a recipe for an op", "op='gemm', a=a, b=b, epilogue=[{'op': 'softmax_merge', 's': w}]", "'softmax_merge'",
     "softmax_merge is a recipe of a prologue", "add, sub"),
    ("a recipe without an operand", "op='gemm', b=a, prologue=[{'op': 'softmax_merge', 's': w, 'm': v, 'l': u}]",
     "{'op': 'softmax_merge', 's': w, 'm': v, 'l': u}", "softmax_merge needs an operand 'O'", "'s', 'm', 'l', 'O'"),
    ("an operand that the recipe has not", f"op='gemm', b=a, prologue=[{WITH_Q}]", "w",
     "softmax_merge has no operand 'q'", "'s', 'm', 'l', 'O'"),
    ("an operand of a recipe in HBM", f"op='gemm', b=a, prologue=[{MERGE.replace(': w', ': r')}]", "r",
     "'s' of softmax_merge is a region of fp32 [16, 16]; the operands of a recipe must lie in TCM", "tl.load"),
    ("a number for an operand of a recipe", f"op='gemm', b=a, prologue=[{MERGE.replace(': v', ': 0.0')}]", "0.0",
     "'m' of softmax_merge is a block, not the number 0.0", ""),
    ("an operand of a recipe that does not fit", f"op='gemm', b=a, prologue=[{MERGE.replace(': v', ': w')}]", "w",
     "'m' of softmax_merge has the shape [16, 16], not [M]; M is 16 by 's'", "ahbmc recipes"),
    ("an operand of a recipe of another type",
     f"op='gemm', b=a.to(tl.float16), prologue=[{MERGE.replace(': w', ': w.to(tl.float64)')}]", "v",
     "'m' of softmax_merge is a block <[16], fp32>, and the recipe leaves a block <[16], fp64> in it",
     "of this type"),
    ("a written operand without name", f"op='gemm', b=a, prologue=[{MERGE.replace(': v', ': v + 1.0')}]", "v + 1.0",
     "'m' of softmax_merge is written, so it must be a name", ""),
    ("a written operand twice", f"op='gemm', b=a, prologue=[{MERGE.replace(': u', ': v')}]", "v",
     "'m' of softmax_merge is written, and is another operand too", "a block of its own"),
    ("a base that is none", f"op='gemm', b=a, prologue=[{WITH_BASE}]", "'10'",
     "'base' of softmax_merge is the string '10'", "'e', '2'"),
    ("another scope of a recipe", f"op='gemm', b=a, prologue=[{WITH_SCOPE}]",
     "'k_tile'", "softmax_merge with scope the string 'k_tile'", "here it is 'once'"),
    ("an op after the end",
     "op='gemm', a=a, b=b, epilogue=[{'op': 'log_sum_exp', 'm': v, 'l': u}, {'op': 'exp'}]", "{'op': 'exp'}",
     "exp after log_sum_exp, which runs once at the end", "put it before log_sum_exp"),
    ("an end that reads a converted output",
     "op='gemm', a=a.to(tl.float16), b=b.to(tl.float16), out=w.to(tl.float16), "
     "epilogue=[{'op': 'log_sum_exp', 'm': v, 'l': u}]",
     "al.composite(op='gemm', a=a.to(tl.float16), b=b.to(tl.float16), out=w.to(tl.float16), "
     "epilogue=[{'op': 'log_sum_exp', 'm': v, 'l': u}])",
     "and log_sum_exp runs once on the output, in TCM and as fp32", "a block of fp32"),
    ("an output that nothing makes", "op='math', a=w, out=w, epilogue=[{'op': 'log_sum_exp', 'm': v, 'l': u}]",
     "al.composite(op='math', a=w, out=w, epilogue=[{'op': 'log_sum_exp', 'm': v, 'l': u}])",
     "an 'out', but log_sum_exp makes none", "leave it out"),
    ("a tile that does not fit a recipe", "op='gemm', a=a, b=b, epilogue=[{'op': 'swiglu_gate', 'u': a}]", "a",
     "'u' of swiglu_gate has the shape [16, 32], not [M, N]; M is 16 by 't', N is 16 by 't'", "ahbmc recipes"),
    ("MATH without ops", "op='math', a=a", "al.composite(op='math', a=a)", "a composite without ops", "epilogue="),
    ("MATH with b", "op='math', a=a, b=a, epilogue=[{'op': 'exp'}]",
     "al.composite(op='math', a=a, b=a, epilogue=[{'op': 'exp'}])", "op 'math' takes one block", "in the epilogue"),
    ("MATH on HBM", "op='math', a=r, epilogue=[{'op': 'exp'}]",
     "al.composite(op='math', a=r, epilogue=[{'op': 'exp'}])",
     "'a' is a region of fp32 [16, 16]; op 'math' takes a block in TCM", "tl.load"),
    ("MATH on nothing", "op='math', epilogue=[{'op': 'exp'}]", "al.composite(op='math', epilogue=[{'op': 'exp'}])",
     "op 'math' takes a block as 'a', not None", ""),
]  # fmt: skip


@pytest.mark.parametrize(("shows", "call", "marked", "message", "hint"), COMPOSITES, ids=[c[0] for c in COMPOSITES])
def test_a_composite_that_is_none_is_one_error(shows: str, call: str, marked: str, message: str, hint: str) -> None:
    """At the operand that is wrong, or else at the call."""
    blocks = (("a", "16, 32"), ("b", "32, 16"), ("w", "16, 16"), ("v", "16,"), ("u", "16,"), ("o", "16, 32"))
    body = "".join(f"{name} = tl.zeros(({shape}), tl.float32)\n" for name, shape in blocks)
    lines = report(f"{body}r = al.ref(x, (16, 16))\nal.composite({call})").splitlines()
    caret = lines[2]
    assert lines[0].startswith(f"{FILE}:13:") and message in lines[0]
    assert lines[1][caret.index("^") : caret.rindex("^") + 1] == marked
    assert hint in "\n".join(lines[3:])
    assert sum("error:" in line for line in lines) == 1


@pytest.mark.parametrize(("shows", "body", "where", "marked", "message", "hint"), CASES, ids=[c[0] for c in CASES])
def test_a_wrong_use_is_one_error(shows: str, body: str, where: str, marked: str, message: str, hint: str) -> None:
    """The name of the case says what is wrong; the caret marks exactly the text that is."""
    lines = report(body).splitlines()
    caret = lines[2]
    assert lines[0].startswith(f"{FILE}:{where}: error: ")
    assert message in lines[0]
    assert lines[1][caret.index("^") : caret.rindex("^") + 1] == marked
    assert hint in "\n".join(lines[3:])
    assert sum("error:" in line for line in lines) == 1


WRITER = """
@triton.jit
def step(c, twice: tl.constexpr):
    d = c + 1.0
    al.copy_to(d, d + 1.0)
    al.copy_to(c, d)
    if twice:
        return c

"""


def test_a_function_gives_back_what_it_writes() -> None:
    """A block of the caller that a function writes must be returned; what is the function's own need not be."""
    assert ran(f"{BLOCK}a = step(a, True)\na = step(a, True)\ntl.store(al.ref(y, (B,)), a)", WRITER) == [4] * 16
    lines = report(f"{BLOCK}step(a, False)", WRITER).splitlines()
    assert "step writes the block 'c', and its caller does not get what is written" in lines[0]
    assert lines[1].strip() == "step(a, False)" and "return it" in lines[3]


# (what it shows, body, what is stored to y)
KEPT: list[tuple[str, str, list[float]]] = [
    ("what is copied to a block from outside", BLOCK + SCOPE + "al.copy_to(a, a + 1.0)\ntl.store(al.ref(y, (B,)), a)",
     [1] * 16),
    ("through a loop of the scope",
     BLOCK + SCOPE + "for i in range(n):\n        al.copy_to(a, a + 1.0)\ntl.store(al.ref(y, (B,)), a)", [5] * 16),
    ("through a `while` of the scope",
     BLOCK + SCOPE + "i = n\n    while i > 0:\n        al.copy_to(a, a + 1.0)\n        i -= 1\n"
     "tl.store(al.ref(y, (B,)), a)", [5] * 16),
    ("through a branch of the scope",
     BLOCK + SCOPE + "if n > 3:\n        al.copy_to(a, a + 1.0)\ntl.store(al.ref(y, (B,)), a)", [1] * 16),
    ("through scopes in a loop",
     BLOCK + "for i in range(n):\n    with al.scratch_scope():\n        b = a + 2.0\n        al.copy_to(a, b)\n"
     "tl.store(al.ref(y, (B,)), a)", [10] * 16),
    ("through nested scopes",
     BLOCK + SCOPE + "b = a + 1.0\n    with al.scratch_scope():\n        c = b + 1.0\n        al.copy_to(b, c)\n"
     "    al.copy_to(a, b)\ntl.store(al.ref(y, (B,)), a)", [2] * 16),
    ("a region that every round makes anew, beside it",
     BLOCK + "r = al.ref(x, (B,))\nal.copy_to(a, tl.load(r))\nfor i in range(n):\n    r = al.ref(x + i, (B,))\n"
     "    al.copy_to(a, tl.load(r))\ntl.store(al.ref(y, (B,)), a)", [4, 5, 6]),
    ("scalars, which PE_CPU keeps", SCOPE + "m = n + 1\ntl.store(y, m)", [6]),
]  # fmt: skip


@pytest.mark.parametrize(("shows", "body", "expected"), KEPT, ids=[c[0] for c in KEPT])
def test_what_outlives_a_scope(shows: str, body: str, expected: list[float]) -> None:
    assert ran(body)[: len(expected)] == expected


@pytest.mark.parametrize("name", recipes())
def test_a_recipe_means_what_its_rows_do(name: str) -> None:
    """Operands, axes, what is written, and choices are those of the rows; tests of kernels compare values."""
    contract, recipe = contract_of(name), RECIPES[name]
    assert set(contract.choices) == set(recipe.parameters)
    for choice in itertools.product(*contract.choices.values()):
        params = dict(zip(contract.choices, choice, strict=True))
        assert params in recipe.every_choice()
        assert contract.inputs(params) == recipe.inputs(params) and contract.written == recipe.written(params)
    assert contract.makes == (recipe.primary is not None)
    place = "before" if contract.tile is None else "tile" if contract.makes else "after"
    assert (contract.tile, place) == (recipe.tile, recipe.place)
    assert all(axes == recipe.axes[operand] for operand, axes in contract.axes.items())


def scratch_of(body: str) -> int:
    """The bytes of scratch that a kernel takes."""
    module = compiled(body)
    run_pipeline(module, build_pipeline("primitive"))
    ends = [
        op.offset.value.data + size_of(op.result.type)
        for op in module.walk()
        if isinstance(op, ahbm.AllocOp) and op.offset is not None
    ]
    return max(ends)


def test_scopes_one_after_another_share_their_scratch() -> None:
    """Eight scopes, each with two blocks of 4 KiB beside one from outside: never more than the three at a time."""
    part = """
with al.scratch_scope():
    b = tl.load(al.ref(x + {0}, (32, 32)))
    c = tl.exp(b) * 3.0
    al.copy_to(a, a + b * c)
"""
    body = "a = tl.zeros((32, 32), tl.float32)" + "".join(part.format(n) for n in range(8))
    assert scratch_of(body + "tl.store(al.ref(y, (32, 32)), a)") <= 3 * 4096
