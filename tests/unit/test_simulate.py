"""Lowered kernels on the simulator: commands from IR, values in order of completion, programs that run alike, memory
that timing must read."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from ahbmc.backend_sim.analysis.attribution import attribute
from ahbmc.backend_sim.launch import Launch
from ahbmc.backend_sim.memory import Memory, Placement, Tensor
from ahbmc.backend_sim.program.alike import key_of
from ahbmc.backend_sim.program.program import Program
from ahbmc.backend_sim.simulate import simulate
from ahbmc.backend_sim.target.cost import dma_read_ps, dma_write_ps
from ahbmc.backend_sim.target.machine_file import load_machine
from ahbmc.dialects.errors import AhbmcError, Category
from ahbmc.dialects.text import parse_module
from xdsl.dialects import func

MACHINE = load_machine("ahbm-2sip")
F32, F16, I32 = (np.dtype(t) for t in (np.float32, np.float16, np.int32))

ADD = """
func.func @add(%a: !tl.ptr<f32>, %b: !tl.ptr<f32>, %c: !tl.ptr<f32>, %n: i32) {
  %x = ahbm.alloc {offset = 0 : i64} : !ahbm.buffer<64xf32, tcm>
  %y = ahbm.alloc {offset = 256 : i64} : !ahbm.buffer<64xf32, tcm>
  %pid = ahbm.program_id {axis = 0 : i32}
  %size = arith.constant 64 : i64
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %wide = arith.extsi %n : i32 to i64
  %p = arith.extsi %pid : i32 to i64
  %at = arith.muli %p, %size : i64
  %left = arith.subi %wide, %at : i64
  %some = arith.maxsi %left, %zero : i64
  %hi = arith.minsi %some, %size : i64
  %ra = ahbm.region %a[%at] sizes(%size) strides(%one) lo(%zero) hi(%hi) {axes = ["affine"]}
    : !tl.ptr<f32> -> !ahbm.region<f32, 1>
  %rb = ahbm.region %b[%at] sizes(%size) strides(%one) lo(%zero) hi(%hi) {axes = ["affine"]}
    : !tl.ptr<f32> -> !ahbm.region<f32, 1>
  %rc = ahbm.region %c[%at] sizes(%size) strides(%one) lo(%zero) hi(%hi) {axes = ["affine"]}
    : !tl.ptr<f32> -> !ahbm.region<f32, 1>
  ahbm.dma_read %ra, %x : !ahbm.region<f32, 1>, !ahbm.buffer<64xf32, tcm>
  ahbm.dma_read %rb, %y : !ahbm.region<f32, 1>, !ahbm.buffer<64xf32, tcm>
  ahbm.math "add" ins(%x, %y : !ahbm.buffer<64xf32, tcm>, !ahbm.buffer<64xf32, tcm>)
    out(%x : !ahbm.buffer<64xf32, tcm>)
  ahbm.dma_write %x, %rc : !ahbm.buffer<64xf32, tcm>, !ahbm.region<f32, 1>
  func.return
}
"""

# Adds the first `k[0]` numbers of a: how long it runs is in memory.
SUM = """
func.func @sum(%k: !tl.ptr<i32>, %a: !tl.ptr<f32>, %out: !tl.ptr<f32>) {
  %count = ahbm.alloc {offset = 0 : i64} : !ahbm.buffer<i32, tcm>
  %x = ahbm.alloc {offset = 64 : i64} : !ahbm.buffer<f32, tcm>
  %sum = ahbm.alloc {offset = 128 : i64} : !ahbm.buffer<f32, tcm>
  ahbm.load_scalar %k, %count : !tl.ptr<i32>, !ahbm.buffer<i32, tcm>
  ahbm.fill %sum {value = 0.0 : f32} : !ahbm.buffer<f32, tcm>
  %n = ahbm.read_scalar %count : !ahbm.buffer<i32, tcm> -> i32
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  scf.for %i = %zero to %n step %one : i32 {
    %p = ahbm.addptr %a, %i : !tl.ptr<f32>, i32 -> !tl.ptr<f32>
    ahbm.load_scalar %p, %x : !tl.ptr<f32>, !ahbm.buffer<f32, tcm>
    ahbm.math "add" ins(%sum, %x : !ahbm.buffer<f32, tcm>, !ahbm.buffer<f32, tcm>) out(%sum : !ahbm.buffer<f32, tcm>)
  }
  ahbm.store_scalar %sum, %out : !ahbm.buffer<f32, tcm>, !tl.ptr<f32>
  func.return
}
"""


def function_of(text: str) -> func.FuncOp:
    module = parse_module(f"builtin.module {{ {text} }}", "k.mlir")
    return next(op for op in module.walk() if isinstance(op, func.FuncOp))


def tensor(name: str, values: np.ndarray, placement: Placement | None = None) -> Tensor:
    made = Tensor(name, values.dtype, values.shape, data=values)
    return made if placement is None else replace(made, placement=placement)


def add_launch(n: int, pes: int = 1, programs: int | None = None, placement: Placement | None = None) -> Launch:
    """c = a + b over n elements, programs of 64 in blocks of PEs."""
    rng = np.random.default_rng(n)
    arrays = [rng.standard_normal(n).astype(np.float32) for _ in range(2)]
    tensors = [tensor(name, v, placement) for name, v in zip("abc", (*arrays, np.zeros(n, np.float32)), strict=True)]
    count = programs or -(-n // 64)
    share = -(-count // pes)
    ids = {pe: [(p, 0, 0) for p in range(pe * share, min(count, (pe + 1) * share))] for pe in range(pes)}
    return Launch(function_of(ADD), MACHINE, (*tensors, n), (count, 1, 1), ids)


def data(launch: Launch, number: int) -> np.ndarray:
    argument = launch.arguments[number]
    assert isinstance(argument, Tensor) and argument.data is not None
    return argument.data


@pytest.mark.parametrize("pes", [1, 3])
def test_values_and_timing(pes: int) -> None:
    """Ragged vector add on one PE and on three that share a slice: right numbers, the same time with and without
    them.
    """
    launch = add_launch(1000, pes)
    run = simulate([launch], values=True)
    assert np.array_equal(run.memory["c"], data(launch, 0) + data(launch, 1))
    assert run.oplog.hash() == simulate([launch], values=False).oplog.hash()
    assert run.oplog.commands() == {"dma_read": 32, "math": 16, "dma_write": 16, "total": 64}
    assert attribute(run.oplog).total_ps == run.latency_ps


def test_a_program_alone() -> None:
    """One program by hand: 9 + 9 issue, the second read 29 - 12 ns behind ..., then math and the write in turn."""
    run = simulate([add_launch(64)], values=False)
    second_read = 18_000 + 1510 + 14_000  # 256 bytes: 13 + 1 ns
    math = second_read + 10_000 + 1010 + 1000
    assert run.latency_ps == math + 9_000 + 1510 + 14_000


def test_alike_programs_are_run_once() -> None:
    """Of 100 programs the full ones share their records, the ragged one has its own; masked-off programs move
    nothing.
    """
    log = simulate([add_launch(64 * 97 + 5, programs=100)], values=False).oplog
    assert len(np.unique(log.programs["first"])) == 3
    assert log.total("bytes_read") == 2 * 4 * (64 * 97 + 5)


def test_lanes_and_keys_agree() -> None:
    """The classes found on lanes are those found from command instances, program by program."""
    launch = add_launch(64 * 97 + 5, programs=100)
    program = Program(launch, Memory(MACHINE, [a for a in launch.arguments if isinstance(a, Tensor)]))
    found = program.lanes.alike(program.arguments, launch.programs[0], program.view(0))
    assert found is not None and found.slices == {0}
    keys = [key_of(program.commands(p, 0)) for p in launch.programs[0]]
    for i, j in ((0, 1), (0, 97), (97, 98), (98, 99), (5, 96)):
        assert (found.classes[i] == found.classes[j]) == (keys[i] == keys[j])


def test_repeated_programs_give_what_single_ones_give() -> None:
    """Replayed programs end when they would if each were run: the same launch, once with a PE per program."""
    replayed = simulate([add_launch(64 * 40)], values=False).oplog
    alone = simulate([add_launch(64)], values=False).latency_ps
    assert replayed.programs["end"].tolist() == [alone * (i + 1) for i in range(40)]


def test_own_slices_are_private_when_programs_stay_in_them() -> None:
    """Row-wise tensors, programs on the PE that owns their rows: every PE takes as long as if it were alone."""
    placement = Placement(pe="row_wise", num_cubes=1)
    log = simulate([add_launch(64 * 8 * 40, 8, placement=placement)], values=False).oplog
    alone = simulate([add_launch(64 * 40)], values=False).latency_ps
    assert log.latency_ps == alone
    assert attribute(log).parts["queue"] == 0


def test_replicated_output_is_written_to_each_copy() -> None:
    """Each PE writes its part of its own copy, so the copies differ and are named."""
    run = simulate([add_launch(64 * 4, 2, placement=Placement(num_cubes=1, num_pes=2))], values=True)
    assert run.differing == ("c",)


def test_control_flow_that_reads_memory() -> None:
    """The trip count comes from HBM: values are computed as far as timing needs them, even if nobody asked."""
    numbers = np.arange(1, 11, dtype=np.float32)
    tensors = (tensor("k", np.array([7], np.int32)), tensor("a", numbers), tensor("out", np.zeros(1, np.float32)))
    launch = Launch(function_of(SUM), MACHINE, tensors, (1, 1, 1), {0: [(0, 0, 0)]})
    run = simulate([launch], values=False)
    assert run.valued and run.memory["out"].tolist() == [28.0]
    assert run.oplog.commands() == {"dma_read": 8, "math": 7, "dma_write": 1, "total": 16}


def test_memory_written_by_an_earlier_launch_is_read() -> None:
    """A launch that reads its trip count from what the launch before wrote."""
    k, a, out = (
        tensor("k", np.array([3], np.int32)),
        tensor("a", np.ones(8, np.float32)),
        tensor("out", np.zeros(1, np.float32)),
    )
    first = Launch(function_of(SUM), MACHINE, (k, a, a), (1, 1, 1), {0: [(0, 0, 0)]})  # a[0] = 3
    second = Launch(function_of(SUM), MACHINE, (k, a, out), (1, 1, 1), {0: [(0, 0, 0)]})
    run = simulate([first, second], values=False)
    assert run.memory["out"].tolist() == [5.0]
    launches = run.oplog.header["launches"]
    assert launches[0]["end"] == launches[1]["start"] and attribute(run.oplog).parts["idle"] == 0


GATHER = """
func.func @pick(%a: !tl.ptr<f32>, %i: !tl.ptr<i32>, %c: !tl.ptr<f32>) {
  %n = arith.constant 16 : i64
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %x = ahbm.alloc {offset = 0 : i64} : !ahbm.buffer<16xf32, tcm>
  %j = ahbm.alloc {offset = 64 : i64} : !ahbm.buffer<16xi32, tcm>
  %ri = ahbm.region %i[%zero] sizes(%n) strides(%one) lo(%zero) hi(%n) {axes = ["affine"]}
    : !tl.ptr<i32> -> !ahbm.region<i32, 1>
  %rc = ahbm.region %c[%zero] sizes(%n) strides(%one) lo(%zero) hi(%n) {axes = ["affine"]}
    : !tl.ptr<f32> -> !ahbm.region<f32, 1>
  ahbm.dma_read %ri, %j : !ahbm.region<i32, 1>, !ahbm.buffer<16xi32, tcm>
  ahbm.gather %a[%j], %x : !tl.ptr<f32>, !ahbm.buffer<16xi32, tcm>, !ahbm.buffer<16xf32, tcm>
  ahbm.dma_write %x, %rc : !ahbm.buffer<16xf32, tcm>, !ahbm.region<f32, 1>
  func.return
}
"""


@pytest.mark.parametrize(("index", "bursts"), [(list(range(16)), 1), ([0, 1, 2, 3, 8, 9, 10, 11, *[20] * 8], 10)])
def test_gather_pays_a_burst_per_run(index: list[int], bursts: int) -> None:
    """Runs of consecutive addresses are found from the indices in memory; the values are right."""
    a = np.arange(32, dtype=np.float32)
    tensors = (tensor("a", a), tensor("i", np.array(index, np.int32)), tensor("c", np.zeros(16, np.float32)))
    run = simulate([Launch(function_of(GATHER), MACHINE, tensors, (1, 1, 1), {0: [(0, 0, 0)]})], values=True)
    assert run.memory["c"].tolist() == a[index].tolist()
    assert run.oplog.records["bytes_read"].tolist()[1] == bursts * 256
    assert run.oplog.records["useful_read"].tolist()[1] == 64


ATOMIC = GATHER.replace("ahbm.gather %a[%j], %x", 'ahbm.atomic "add", %a[%j] value(%v : f32), %x').replace(
    "  %x = ahbm.alloc", "  %v = arith.constant 1.5 : f32\n  %x = ahbm.alloc"
)


def test_an_atomic_reads_and_then_writes_each_run() -> None:
    """One burst is read and written back: the time is that of a read and, from its end on, of a write with its ack."""
    a, index = np.arange(32, dtype=np.float32), np.arange(16, dtype=np.int32)
    tensors = (tensor("a", a), tensor("i", index), tensor("c", np.zeros(16, np.float32)))
    run = simulate([Launch(function_of(ATOMIC), MACHINE, tensors, (1, 1, 1), {0: [(0, 0, 0)]})], values=True)
    assert run.memory["c"].tolist() == list(range(16))
    assert run.memory["a"].tolist() == [n + 1.5 * (n < 16) for n in range(32)]
    records = run.oplog.records
    assert (records["bytes_read"][1], records["bytes_written"][1]) == (256, 256)
    took = records["end"][1] - records["issue_end"][1] - MACHINE.pe.sched.entry_dma_ps
    assert took == dma_read_ps(MACHINE, 256) + dma_write_ps(MACHINE, 256)
    # PE_CPU goes on at the ack; all of it counts as reading.
    assert records["issue_start"][2] == records["end"][1]
    parts = attribute(run.oplog).parts
    assert sum(parts.values()) == run.latency_ps and parts["dma_read"] > took


def test_an_address_outside_is_found_without_values() -> None:
    """Timing alone finds an access that leaves its tensor, and says where in the kernel."""
    launch = add_launch(640, programs=11)
    launch = replace(launch, arguments=(*launch.arguments[:3], 700))
    with pytest.raises(AhbmcError, match=r"touches elements 640 to 699 of .a., which has 640") as error:
        simulate([launch], values=False)
    place = error.value.faults[0].place
    assert place is not None and place.file == "k.mlir"


SPIN = """
func.func @spin() {
  %lower = arith.constant 0 : i32
  %upper = arith.constant 2000 : i32
  %step = arith.constant 1 : i32
  scf.for %i = %lower to %upper step %step : i32 {
    %j = arith.addi %i, %step : i32
  }
  func.return
}
"""


def test_a_loop_that_never_ends_is_a_deadlock(monkeypatch: pytest.MonkeyPatch) -> None:
    """A loop in PE_CPU that issues nothing, for longer than any would, ends in an error that names the program."""
    monkeypatch.setattr("ahbmc.backend_sim.program.program._MOST_BLOCKS", 1000)
    with pytest.raises(AhbmcError, match=r"program \(0, 0, 0\) runs on in PE_CPU") as error:
        simulate([Launch(function_of(SPIN), MACHINE, (), (1, 1, 1), {0: [(0, 0, 0)]})], values=False)
    assert error.value.faults[0].category is Category.DEADLOCK


def test_a_command_that_never_ends_is_a_deadlock(monkeypatch: pytest.MonkeyPatch) -> None:
    """A PE whose command is never served is named, with the line of the command."""

    def never(*_: object) -> None:
        """Takes a command and does nothing with it."""

    monkeypatch.setattr("ahbmc.backend_sim.engine.pe.Pe.compute", never)
    with pytest.raises(AhbmcError, match=r"sip0\.cube0\.pe0 never gets past the command `math`") as error:
        simulate([add_launch(64)], values=False)
    fault = error.value.faults[0]
    assert fault.category is Category.DEADLOCK and fault.place is not None and fault.place.file == "k.mlir"


def test_exact_and_fast_agree() -> None:
    """Eight PEs on one slice: the same ends of programs, the same reasons and the same values either way."""
    launch = add_launch(64 * 8 * 50 - 9, 8)
    fast, exact = simulate([launch], values=True), simulate([launch], values=True, exact=True)
    for name in ("pe", "program", "start", "end", "number"):
        assert fast.oplog.programs[name].tolist() == exact.oplog.programs[name].tolist()
    assert attribute(fast.oplog).parts == attribute(exact.oplog).parts
    assert np.array_equal(fast.memory["c"], exact.memory["c"])
    assert np.array_equal(fast.memory["c"], data(launch, 0) + data(launch, 1))


def test_two_simulations_give_one_op_log() -> None:
    """Byte for byte, through a file too."""
    launch = add_launch(5000, 4)
    assert simulate([launch], values=False).oplog.hash() == simulate([launch], values=True).oplog.hash()
