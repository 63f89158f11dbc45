"""`ahbmc bisect` finds faults that are put into passes: the pass is named, and the line of the kernel that shows it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from ahbmc.dialects import ahbm, tl
from ahbmc.dialects.ahbm.types import Scope, SpecAttr
from ahbmc.dialects.region import RegionOp
from ahbmc.dialects.shapes import element_of, shape_of
from ahbmc.driver.compile_cache import forget
from ahbmc.driver.main import main
from ahbmc.passes import all_passes
from ahbmc.passes.loaded import forget_own
from support_bisect import Fault, first, inject
from xdsl.context import Context
from xdsl.dialects import arith, math, scf
from xdsl.dialects.builtin import ArrayAttr, FloatAttr, IntegerAttr, ModuleOp, i64
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

EXAMPLES = Path(__file__).parents[2] / "examples"
FLASH = [str(EXAMPLES / "flash_attention.yaml"), "--set", "args.S=128", "--set", "const.BLOCK_N=32"]
MATMUL = [str(EXAMPLES / "matmul.yaml"), "--set", "args.M=100", "--set", "args.N=77", "--set", "args.K=90",
          "--set", "map.pes=sip0.cube0.pe0"]  # fmt: skip
ASYNC = [str(EXAMPLES / "gemm_async_tiled.yaml"), "--set", "const.K=192"]
Capture = pytest.CaptureFixture[str]
pytestmark = pytest.mark.usefixtures("compile_anew")


def replace(old: Operation, new: Operation) -> None:
    new.location = old.location
    Rewriter.replace_op(old, new)


def drop_epilogue(module: ModuleOp) -> None:
    scale = first(module, arith.MulfOp, lambda op: isinstance(op.parent_op(), tl.CompositeOp))
    Rewriter.replace_op(scale, [], [scale.lhs])


def swap_operands(module: ModuleOp) -> None:
    difference = first(module, arith.SubfOp)
    difference.operands = [difference.rhs, difference.lhs]


def shrink_extent(module: ModuleOp) -> None:
    """The rows of the block that is stored end one early."""
    store = first(module, tl.StoreRegionOp)
    region = store.region.owner
    assert isinstance(region, RegionOp)
    one = arith.ConstantOp(IntegerAttr(1, i64))
    less = arith.SubiOp(region.his[0], one)
    block = region.parent
    assert block is not None
    block.insert_ops_before([one, less], region)
    at = list(region.operands).index(region.his[0])
    region.operands = [less.result if i == at else v for i, v in enumerate(region.operands)]


def change_constant(module: ModuleOp) -> None:
    constant = first(
        module, arith.ConstantOp, lambda op: isinstance(op.value, FloatAttr) and 1 < op.value.value.data < 2
    )
    assert isinstance(constant.value, FloatAttr)
    constant.properties["value"] = FloatAttr(1.0, constant.value.type)


def change_comparison(module: ModuleOp) -> None:
    comparison = first(module, tl.CmpOp)
    replace(comparison, tl.CmpOp("sgt", comparison.lhs, comparison.rhs))


def forget_accumulator(module: ModuleOp) -> None:
    dot = first(module, tl.DotOp, lambda op: op.acc is not None)
    replace(dot, tl.DotOp(dot.a, dot.b, None, dot.result.type.element_type))


def drop_from_loop(module: ModuleOp) -> None:
    """What the loop carries last goes out as it came in."""
    loop = first(module, scf.ForOp)
    end = loop.body.block.last_op
    assert end is not None
    end.operands = [*end.operands[:-1], loop.body.block.args[-1]]


def wrong_spec(module: ModuleOp) -> None:
    """exp2 of a difference becomes exp."""
    composite = first(module, ahbm.CompositeOp, lambda op: any(s.kind.data == "exp2_diff" for s in op.specs))
    kinds = {"exp2_diff": "exp_diff"}
    specs = [
        SpecAttr(
            kinds.get(kind := s.kind.data, kind), Scope(s.scope.data), s.operand_numbers, s.out.data, s.extras.data
        )
        for s in composite.specs
    ]
    composite.properties["specs"] = ArrayAttr(specs)


def overlap_buffers(module: ModuleOp) -> None:
    """Two carried blocks get one place."""
    allocs = [op for op in module.walk() if isinstance(op, ahbm.AllocOp) and op.result.name_hint in ("m_i", "l_i")]
    allocs[1].properties["offset"] = allocs[0].properties["offset"]


def lose_store(module: ModuleOp) -> None:
    Rewriter.erase_op(first(module, ahbm.DmaWriteOp))


def shrink_k(module: ModuleOp) -> None:
    """A composite multiplies 32 lanes of K."""
    composite = first(module, ahbm.CompositeOp, lambda op: any(s.is_gemm for s in op.specs))
    lanes = arith.ConstantOp(IntegerAttr(32, i64))
    block = composite.parent
    assert block is not None
    block.insert_op_before(lanes, composite)
    k = composite.extents[2]
    composite.operands = [lanes.result if v is k else v for v in composite.operands]


def drop_fill(module: ModuleOp) -> None:
    Rewriter.erase_op(first(module, ahbm.FillOp, lambda op: op.buffer.name_hint == "l_i"))


def swap_exponent(module: ModuleOp) -> None:
    exponent = first(module, math.Exp2Op)
    replace(exponent, math.ExpOp(exponent.operand))


FAULTS = (
    Fault(drop_epilogue, "fuse-epilogues", FLASH, 46),
    Fault(swap_operands, "licm", FLASH, 52, "licm #1"),
    Fault(shrink_extent, "raise-regions", MATMUL, 55),
    Fault(change_constant, "normalise-loops", FLASH, 46),
    Fault(change_comparison, "drop-dead-iter-args", FLASH, 48, "drop-dead-iter-args #1"),
    Fault(forget_accumulator, "dot-accumulate", FLASH, 57),
    Fault(drop_from_loop, "shrink-regions", FLASH, 51),
    Fault(wrong_spec, "expand-recipes", FLASH, 57, "lower-to-commands or expand-recipes"),
    Fault(overlap_buffers, "allocate-scratch", FLASH, 57),
    Fault(lose_store, "allocate-scratch", [*FLASH, "--pipeline", "fused"], 64),
    Fault(drop_fill, "insert-dma-stages", FLASH, 57),
    Fault(shrink_k, "insert-dma-stages", FLASH, 46),
    Fault(swap_exponent, "cse", FLASH, 52, "cse #1"),
)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.damage.__name__)
def test_a_fault_of_values_is_found(fault: Fault, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    inject(monkeypatch, fault.pass_name, fault.damage)
    assert main(["bisect", *fault.workload, "--on", "values"]) == 3
    out = capsys.readouterr().out
    assert f"\n{fault.said or fault.pass_name} changes the values; " in out
    kernel = "matmul.py" if fault.workload is MATMUL else "flash_attention.py"
    assert "first value that is computed " in out and f"{kernel}:{fault.line}:" in out


def test_two_witnesses_that_read_the_same_are_told_apart(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    """By what makes their operands: a product takes the exponents in place of the exponentials."""

    def take_the_exponent(module: ModuleOp) -> None:
        power = first(module, math.Exp2Op, lambda op: len(shape_of(op.result.type)) == 2)
        dot = next(op for op in module.walk() if isinstance(op, tl.DotOp) and op.acc is not None)
        cast = tl.CastOp(power.operand, element_of(dot.a.type))
        Rewriter.insert_op(cast, InsertPoint.before(dot))
        dot.operands = [cast.result, *dot.operands[1:]]

    inject(monkeypatch, "dot-accumulate", take_the_exponent)
    assert main(["bisect", *FLASH, "--on", "values"]) == 3
    lines = [line.split(" : ")[0].strip() for line in capsys.readouterr().out.splitlines()]
    dots = [n for n, line in enumerate(lines) if " = tl.dot " in line]
    assert lines[dots[0]] == lines[dots[1]]
    assert [line for line in lines if " = tl.cast " in line] == ["%0 = tl.cast %p", "%0 = tl.cast %1"]


def test_values_that_every_pass_keeps(capsys: Capture) -> None:
    assert main(["bisect", *MATMUL, "--on", "values"]) == 0
    out = capsys.readouterr().out
    assert "matmul.py::matmul_kernel, pipeline auto\nno pass changes the values: " in out


def test_a_program_that_can_no_longer_be_executed_is_a_change(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    def leave_the_tensor(module: ModuleOp) -> None:
        region = first(module, RegionOp)
        far = arith.ConstantOp(IntegerAttr(1 << 30, i64))
        block = region.parent
        assert block is not None
        block.insert_op_before(far, region)
        region.operands = [region.operands[0], far.result, *region.operands[2:]]

    inject(monkeypatch, "raise-k-loops", leave_the_tensor)
    assert main(["bisect", *FLASH, "--on", "values"]) == 3
    out = capsys.readouterr().out
    assert "raise-k-loops changes the values; " in out and "  it cannot be executed: " in out


def remove_wait(module: ModuleOp) -> None:
    Rewriter.erase_op(first(module, ahbm.WaitOp))


def read_twice(module: ModuleOp) -> None:
    read = first(module, ahbm.DmaReadOp)
    block = read.parent
    assert block is not None
    block.insert_op_after(read.clone(), read)


def blow_up(module: ModuleOp) -> None:
    """A block is computed twice."""
    command = first(module, ahbm.MathOp)
    block = command.parent
    assert block is not None
    block.insert_op_before(command.clone(), command)


SHORT = (
    "raise-regions,match-recipes,form-composites,fuse-epilogues,lower-to-commands,expand-recipes,allocate-scratch,"
    "tile-composites"
)
WAITING = "raise-regions,lower-to-commands,allocate-scratch,check-limits"
LATENCY_FAULTS = (
    Fault(remove_wait, "lower-to-commands", [*ASYNC, "--pipeline", WAITING], 37, "the least"),
    Fault(read_twice, "check-limits", [*FLASH, "--pipeline", f"{SHORT},check-limits"], 31),
    Fault(blow_up, "insert-dma-stages", [*FLASH, "--pipeline", f"{SHORT},insert-dma-stages"], 44),
)


@pytest.mark.parametrize("fault", LATENCY_FAULTS, ids=lambda fault: fault.damage.__name__)
def test_a_fault_of_latency_is_found(
    fault: Fault, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    """The latencies after each pass of an earlier compiler are a file; the first one that differs is named."""
    earlier = str(tmp_path / "earlier.json")
    bisect = ["bisect", *fault.workload, "--on", "latency"]
    assert main([*bisect, "--json", earlier]) == 0
    assert main([*bisect, "--against", earlier]) == 0
    assert "after every pass the latency is that of the earlier result" in capsys.readouterr().out
    inject(monkeypatch, fault.pass_name, fault.damage)
    assert main([*bisect, "--against", earlier]) == 3
    out = capsys.readouterr().out
    assert f"\n{fault.said or fault.pass_name} is the first pass after which the latency is another" in out
    assert f".py:{fault.line}  " in out


def test_a_pass_that_does_nothing_any_more_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    earlier = str(tmp_path / "earlier.json")
    bisect = ["bisect", *FLASH, "--pipeline", SHORT, "--on", "latency"]
    assert main([*bisect, "--json", earlier]) == 0

    def nothing(_: ModulePass, ctx: Context, op: ModuleOp) -> None:
        del ctx, op

    monkeypatch.setattr(all_passes()["fuse-epilogues"](), "apply", nothing)
    forget()
    assert main([*bisect, "--against", earlier]) == 3
    assert "\nfuse-epilogues is the first pass after which" in capsys.readouterr().out


READ_TWICE = """\
from dataclasses import dataclass

from ahbmc.dialects import ahbm
from xdsl.passes import ModulePass


@dataclass(frozen=True)
class ReadTwicePass(ModulePass):
    name = "read-twice"

    def apply(self, ctx, op):
        read = next(each for each in op.walk() if isinstance(each, ahbm.DmaReadOp))
        read.parent.insert_op_after(read.clone(), read)
"""


def test_a_pass_that_the_earlier_result_has_not_is_found(tmp_path: Path, capsys: Capture) -> None:
    """It is held against the pass before it, not the next one against the earlier result."""
    earlier, own = str(tmp_path / "earlier.json"), tmp_path / "read_twice.py"
    own.write_text(READ_TWICE)
    bisect = ["bisect", *FLASH, "--on", "latency", "--load-pass", str(own), "--pipeline"]
    try:
        assert main([*bisect, SHORT, "--json", earlier]) == 0
        longer = SHORT.replace("expand-recipes", "read-twice,expand-recipes")
        assert main([*bisect, f"{longer},check-limits", "--against", earlier]) == 3
    finally:
        forget_own()
    assert "\nread-twice is the first pass after which the latency is another" in capsys.readouterr().out


def test_a_pass_with_which_nothing_runs_is_told(tmp_path: Path, capsys: Capture) -> None:
    """Before `lower-to-commands`, which an earlier result leaves to be added."""
    file = tmp_path / "earlier.json"
    file.write_text(json.dumps({"schema": 1, "least": ["lower-to-commands", "allocate-scratch"], "rows": []}))
    passes = "raise-regions,match-recipes,lower-to-commands,expand-recipes,allocate-scratch,tile-composites"
    assert main(["bisect", *FLASH, "--on", "latency", "--pipeline", passes, "--against", str(file)]) == 0
    assert "with match-recipes it does not run: " in capsys.readouterr().out
    file.write_text(file.read_text().replace("[]", '[{"pass": "match-recipes", "latency_ps": 1, "lines": []}]'))
    assert main(["bisect", *FLASH, "--on", "latency", "--pipeline", passes, "--against", str(file)]) == 3
    assert "match-recipes is the first pass after which it is not as in the earlier" in capsys.readouterr().out


def test_what_changes_the_latency_most(tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "found.json"
    assert main(["bisect", *FLASH, "--pipeline", SHORT, "--on", "latency", "--json", str(file)]) == 0
    out = capsys.readouterr().out
    assert "form-composites changes the latency most, by +" in out and "flash_attention.py:46  +" in out
    assert main(["bisect", *FLASH, "--pipeline", SHORT, "--on", "latency", "--json", "-"]) == 0
    assert capsys.readouterr().out == file.read_text()  # nothing else
    rows = json.loads(file.read_text())["rows"]
    assert [row["pass"] for row in rows] == ["the least", "raise-regions", "match-recipes", "form-composites",
                                             "fuse-epilogues"]  # fmt: skip
    for row in rows:
        assert sum(ps for line in row["lines"] for ps in line["parts_ps"].values()) == row["latency_ps"]


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["nowhere.yaml", "--on", "values"], 1, "there is no workload file nowhere.yaml"),
        (FLASH, 2, "required: --on"),
        ([*FLASH, "--on", "values", "--json", "f"], 1, "--json goes with --on latency"),
        ([*FLASH, "--on", "latency", "--pipeline", "cse,nonsense"], 1, "there is no pass or pipeline 'nonsense'"),
        ([*FLASH, "--on", "latency", "--against", "README.md"], 1, "README.md is no result of bisect"),
    ],
)
def test_what_is_wrong_is_said(
    arguments: list[str], status: int, said: str, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(EXAMPLES.parent)
    assert main(["bisect", *arguments]) == status
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"rows": 3, "least": 3}', "is no result of bisect"),
        ('{"schema": 1, "rows": [{"pass": 1}], "least": []}', "is no result of bisect"),
        ('{"schema": 0, "rows": [], "least": []}', "has schema 0; this ahbmc writes and reads 1"),
    ],
)
def test_a_file_that_is_no_earlier_result(text: str, said: str, tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "earlier.json"
    file.write_text(text)
    assert main(["bisect", *FLASH, "--on", "latency", "--against", str(file)]) == 1
    err = capsys.readouterr().err
    assert said in err and err.startswith("<command line>:1:")


def test_the_earlier_result_must_be_of_the_same_pipeline(tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "earlier.json"
    file.write_text(json.dumps({"schema": 1, "least": ["lower-to-commands", "tile-composites"], "rows": []}))
    short = "raise-regions,lower-to-commands,allocate-scratch"
    assert main(["bisect", *FLASH, "--on", "latency", "--pipeline", short, "--against", str(file)]) == 1
    assert "the earlier result is of another pipeline" in capsys.readouterr().err
