"""The decode of `bench/`: its values against numpy, and where the tiles of every PE lie."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from ahbmc.backend_sim.engine.commands import Command, Composite, Stream
from ahbmc.backend_sim.launch import Launch
from ahbmc.backend_sim.memory import Memory, Tensor
from ahbmc.backend_sim.program.alike import key_of
from ahbmc.backend_sim.program.program import Program
from ahbmc.driver.lowering import compile_request
from ahbmc.driver.prepare import prepare
from ahbmc.driver.run import run_workload
from ahbmc.driver.workload import load

BENCH = Path(__file__).parents[2] / "bench"
Array = npt.NDArray[Any]
# Sixteen PEs in two cubes with two sweeps each.
PES, CONTEXT = 16, 16 * 2048
SMALL = (
    f"const.PROGRAMS={PES}",
    f"args.context={CONTEXT}",
    "map.pes=[sip0.cube0-1.pe0-7]",
    *[f"args.{name}.place.num_cubes=2" for name in "qkvoml"],
)


def in_tiles(values: Array, *, keys_last: bool, spare: int) -> Array:
    """Keys x head as the kernel wants them: 64 x 32 tiles of each sweep of 1,024 keys, `spare` tiles after a PE's."""
    sweeps = values.reshape(PES, -1, 1024, 128)
    if keys_last:
        sweeps = sweeps.swapaxes(2, 3)
    pe, count, rows, columns = sweeps.shape
    tiles = sweeps.reshape(pe, count, rows // 64, 64, columns // 32, 32).transpose(0, 1, 4, 2, 3, 5).reshape(pe, -1)
    return np.pad(tiles, ((0, 0), (0, spare * 2048)))


@pytest.mark.parametrize(("name", "spare"), [("decode", 0), ("decode_shared", 1)])
def test_values(name: str, spare: int, tmp_path: Path) -> None:
    """O, m and l of every PE are those of its own keys, wherever the tiles lie."""
    random = np.random.default_rng(4)
    q, k, v = (
        random.standard_normal(shape).astype(np.float16) for shape in [(32, 128), (CONTEXT, 128), (CONTEXT, 128)]
    )
    columns = 16384 if spare else CONTEXT // PES * 128
    np.save(tmp_path / "k.npy", in_tiles(k, keys_last=True, spare=spare).reshape(-1, columns))
    np.save(tmp_path / "v.npy", in_tiles(v, keys_last=False, spare=spare).reshape(-1, columns))
    np.save(tmp_path / "q.npy", q)
    files = [f"args.{tensor}.init={{file: {tmp_path}/{tensor}.npy}}" for tensor in "qkv"]
    outcome = run_workload(BENCH / f"{name}.yaml", overrides=(*SMALL, *files))
    found = outcome.executed.execution.memory
    scale = 0.12751741
    scores = q.astype(np.float64) @ k.astype(np.float64).reshape(PES, -1, 128).swapaxes(1, 2) * scale
    most = scores.max(axis=2)
    weights = np.exp2(scores - most[:, :, None])
    np.testing.assert_allclose(found["m"], most, rtol=1e-3)
    np.testing.assert_allclose(found["l"], weights.sum(axis=2), rtol=1e-3)
    np.testing.assert_allclose(found["o"], weights @ v.astype(np.float64).reshape(PES, -1, 128), rtol=1e-2, atol=0.05)


def commands_of(name: str) -> list[list[Command]]:
    """The commands of the program of each PE."""
    prepared = prepare(load(BENCH / f"{name}.yaml", SMALL, None), None, None)
    bound = prepared.bindings.launches[0]
    function = compile_request(prepared.requests[0]).function
    launch = Launch(function, prepared.machine, tuple(bound.values.values()), bound.grid, bound.programs)
    memory = Memory(prepared.machine, [v for v in bound.values.values() if isinstance(v, Tensor)])
    program = Program(launch, memory)
    return [list(program.commands(ids[0], pe)) for pe, ids in sorted(bound.programs.items())]


def streams(name: str) -> list[list[Stream]]:
    """K and V of every composite, by PE."""
    made = commands_of(name)
    return [[c.tiles.b for c in commands if isinstance(c, Composite) and c.tiles and c.tiles.b] for commands in made]


def in_loop_order(stream: Stream, across_k: int, across_n: int) -> Sequence[int]:
    """The owners of the slices of a stream's tiles as the tile loop reads them, k innermost; one slice for each."""
    tiles = [stream.of(k * across_n + n) for n in range(across_n) for k in range(across_k)]
    assert all([size for _, size, _ in tile] == [4096] for tile in tiles)
    return [tile[0][0] for tile in tiles]


def test_private_tiles_lie_in_the_slice_of_their_pe() -> None:
    found = streams("decode")
    assert len(found) == PES and all(len(each) == 4 for each in found)
    for pe, each in enumerate(found):
        for number, stream in enumerate(each):
            assert set(in_loop_order(stream, *((16, 4) if number % 2 else (2, 32)))) == {pe}


def test_shared_tiles_go_round_the_slices_of_the_cube() -> None:
    """Tile t of PE p lies on slice (p + t) % 8 of the PE's own cube, in the order in which the loop reads."""
    for pe, each in enumerate(streams("decode_shared")):
        wanted = [pe // 8 * 8 + (pe + t) % 8 for t in range(64)]
        for number, stream in enumerate(each):
            assert in_loop_order(stream, *((16, 4) if number % 2 else (2, 32))) == wanted


@pytest.mark.parametrize("name", ["decode", "decode_shared"])
def test_programs_are_alike_relative_to_their_cubes(name: str) -> None:
    """PE 3 of cube 0 runs as PE 3 of cube 1 does; two PEs of one cube differ, and so do all without their cubes."""
    made = commands_of(name)
    keys = [key_of(commands, range(pe // 8 * 8, pe // 8 * 8 + 8)) for pe, commands in enumerate(made)]
    assert keys[:8] == keys[8:] and len(set(keys)) == 8
    assert len({key_of(commands) for commands in made}) == PES


def test_a_slice_of_another_cube_is_that_slice() -> None:
    """Told that they are in other cubes than they are, the programs of two cubes are not alike."""
    made = commands_of("decode")
    elsewhere = [key_of(made[pe], range(32, 40)) for pe in (3, 11)]
    assert elsewhere[0] != elsewhere[1]
    assert key_of(made[3], range(3, 11)) != key_of(made[3], range(32, 40))  # slice 0 of a cube and slice 3 of all
