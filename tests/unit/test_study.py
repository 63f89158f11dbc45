"""`ahbmc study`: variants side by side, passes left out and added, and differences that add up."""

from __future__ import annotations

import csv
import io
import json
import re
import shlex
from pathlib import Path
from typing import Any

import ahbmc
import pytest
from ahbmc.driver.ablation import names_of
from ahbmc.driver.grid import axes
from ahbmc.driver.main import argument_parser, main
from ahbmc.driver.study_tables import explanation
from ahbmc.driver.variants import Trials
from ahbmc.passes.pipeline_text import single_passes
from ahbmc.passes.pipelines import PIPELINES

EXAMPLES = Path(__file__).parents[2] / "examples"
FLASH = [str(EXAMPLES / "flash_attention.yaml"), "--set", "args.S=128"]
MATMUL = [str(EXAMPLES / "matmul.yaml"), "--set", "args.M=100", "--set", "args.N=77", "--set", "args.K=90"]
RMSNORM = str(EXAMPLES / "rmsnorm_linear.yaml")
SOFTMAX = [str(EXAMPLES / "softmax.yaml"), "--set", "args.n_rows=3", "--set", "args.n_cols=100"]
SHORT = (
    "normalise-loops,raise-regions,raise-k-loops,match-recipes,form-composites,lower-to-commands,expand-recipes,"
    "allocate-scratch,tile-composites"
)
SHORTEST = "raise-regions,lower-to-commands,allocate-scratch"
Capture = pytest.CaptureFixture[str]


def studied(capsys: Capture, *arguments: str, status: int = 0) -> dict[str, Any]:
    assert main(["study", *arguments, "--json", "-"]) == status
    return json.loads(capsys.readouterr().out)


def test_all_pipelines_side_by_side(capsys: Capture) -> None:
    """Without a choice every named pipeline runs, each with the figures of `run --json`."""
    found = studied(capsys, *FLASH)
    assert found["schema"] == 1 and [v["pipeline"] for v in found["variants"]] == list(PIPELINES)
    latency = {v["pipeline"]: v["latency_ns"] for v in found["variants"]}
    assert latency["auto"] == latency["pipelined"] < latency["fused"] < latency["primitive"]
    for variant in found["variants"]:
        assert variant["check"] == "pass" and variant["refused"] is None
        assert sum(variant["attribution"].values()) == pytest.approx(variant["latency_ns"], abs=1e-6)
        assert main(["run", *FLASH, "--pipeline", variant["pipeline"], "--json", "-"]) == 0
        alone = json.loads(capsys.readouterr().out)
        same = ("latency_ns", "commands", "issue_cycles", "bytes", "engines", "attribution", "check")
        assert {k: variant[k] for k in same} == {k: alone[k] for k in same}


def test_the_report_has_figures_parts_and_engines(capsys: Capture) -> None:
    assert main(["study", *FLASH, "--pipelines", "primitive,fused"]) == 0
    out = capsys.readouterr().out
    for heading in ("Variants\n", "Where the time went, in ns\n", "How busy the engines are\n"):
        assert heading in out
    assert "Fastest: fused, " in out and "primitive takes " in out


def test_a_grid_is_every_combination(capsys: Capture) -> None:
    """With several values of a path the pipeline is the workload's, and the last path varies fastest."""
    found = studied(capsys, *FLASH, "--set", "const.BLOCK_M=32,64", "--set", "const.BLOCK_N=64,32")
    settings = [(v["settings"]["const.BLOCK_M"], v["settings"]["const.BLOCK_N"]) for v in found["variants"]]
    assert settings == [("32", "64"), ("32", "32"), ("64", "64"), ("64", "32")]
    assert {v["pipeline"] for v in found["variants"]} == {"auto"}
    assert len({v["latency_ns"] for v in found["variants"]}) == 4


def test_options_and_the_machine_vary_too(capsys: Capture) -> None:
    peak = studied(capsys, *MATMUL, "--set", "machine.pe.gemm.peak_tflops=8,16", "--pipelines", "composite")
    slow, fast = (v["latency_ns"] for v in peak["variants"])
    assert fast < slow


def test_a_list_of_passes_is_a_pipeline(capsys: Capture) -> None:
    passes = ",".join(single_passes("primitive"))
    found = studied(capsys, *SOFTMAX, "--pipelines", "primitive", "--pipeline", passes)
    assert [v["pipeline"] for v in found["variants"]] == ["primitive", passes]
    assert found["variants"][0]["latency_ns"] == found["variants"][1]["latency_ns"]


def test_a_variant_that_does_not_run_is_a_row_with_the_reason(capsys: Capture) -> None:
    arguments = [*SOFTMAX, "--pipelines", "primitive", "--pipeline", "canonicalize"]
    assert main(["study", *arguments]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "does not run: " in out and "'tl.program_id' has no values here" in out
    refused = studied(capsys, *arguments)["variants"][1]
    assert "latency_ns" not in refused and "has no values" in refused["refused"]


def test_wrong_values_are_told_and_status_3(capsys: Capture) -> None:
    arguments = [*SOFTMAX, "--pipelines", "primitive", "--set", "check.out_ptr.reference=x_ptr"]
    assert main(["study", *arguments]) == 3
    out = capsys.readouterr().out
    assert "fail" in out and "No variant leaves the right values." in out
    assert main(["study", *arguments, "--timing-only"]) == 0
    assert "skipped" in capsys.readouterr().out


def test_ablation_adds_up(tmp_path: Path, capsys: Capture) -> None:
    """Each change of the latency is the sum of the changes of its parts; the last pass added makes the whole."""
    file = tmp_path / "study.json"
    assert main(["study", *FLASH, "--ablate", "--pipeline", SHORT, "--json", str(file)]) == 0
    found = json.loads(file.read_text())
    whole = found["variants"][0]["latency_ns"]
    ablation = found["ablation"]
    assert [s["pass"] for s in ablation["left_out"]] == names_of(single_passes(SHORT))
    for step in (*ablation["left_out"], *ablation["added"]):
        if step["refused"] is None:
            assert sum(step["parts_ns"].values()) == pytest.approx(step["change_ns"], abs=1e-6)
    for step in ablation["left_out"]:
        if step["refused"] is None:
            assert step["latency_ns"] == pytest.approx(whole + step["change_ns"], abs=1e-6)
    changes = [step["change_ns"] for step in ablation["added"] if step["refused"] is None]
    assert ablation["least"]["latency_ns"] + sum(changes) == pytest.approx(whole, abs=1e-6)
    by_name = {step["pass"]: step for step in ablation["left_out"]}
    assert by_name["raise-regions"]["change_ns"] > 0
    assert "has no values" in by_name["lower-to-commands"]["refused"]
    out = capsys.readouterr().out
    assert "Cannot be left out: lower-to-commands, expand-recipes, allocate-scratch, tile-composites." in out
    assert "Worth most: normalise-loops, " in out and "WRONG" not in out


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("flash_attention", ("args.S=128",)),
        ("flash_decode", ("args.S=1024",)),
        ("gemm_load_ref", ("args.K=256",)),
        ("matmul", ("args.M=100", "args.N=77", "args.K=90")),
        ("softmax", ("args.n_rows=3", "args.n_cols=100")),
    ],
)
def test_why_adds_up_to_the_difference(name: str, settings: tuple[str, ...]) -> None:
    """What is said of two runs: parts that add up to the difference of the latencies, then commands and bytes."""
    trials = Trials(str(EXAMPLES / f"{name}.yaml"), timing_only=True)
    before, after = (trials.run(pipeline, settings).measured for pipeline in ("primitive", "auto"))
    assert before is not None and after is not None and before is not after
    parts, _, counts = explanation(before, after).partition("; ")
    said = [float(figure.replace(",", "")) for figure in re.findall(r"[+-][\d,]+\.\d\d", parts)]
    assert sum(said) == pytest.approx((after.latency_ps - before.latency_ps) / 1000, abs=0.005 * len(said) + 1e-6)
    sizes = [abs(figure) for figure in said[:5]]
    assert 1 < len(said) <= 6 and sizes == sorted(sizes, reverse=True)
    issued = after.summary["commands"]["total"] - before.summary["commands"]["total"]
    assert (f"{issued:+,} commands" in counts) == bool(issued)


def test_ablation_studies_one_pipeline_and_one_point(capsys: Capture) -> None:
    assert main(["study", *FLASH, "--ablate", "--pipelines", "auto,fused"]) == 1
    assert "several pipelines were given" in capsys.readouterr().err
    assert main(["study", *FLASH, "--ablate", "--set", "const.BLOCK_M=32,64"]) == 1
    err = capsys.readouterr().err
    assert "several values of --set were given" in err and "hint: run it once for each" in err


def test_ablation_of_a_pipeline_that_does_not_run_is_its_error(capsys: Capture) -> None:
    assert main(["study", *SOFTMAX, "--ablate", "--pipeline", "canonicalize,cse"]) == 1
    assert "'tl.program_id' has no values here" in capsys.readouterr().err


def test_ablation_of_passes_that_are_all_needed(tmp_path: Path, capsys: Capture) -> None:
    """Nothing can be added to them: no table, and no bars of nothing."""
    page = tmp_path / "study.html"
    needed = "lower-to-commands,allocate-scratch"
    assert main(["study", *SOFTMAX, "--ablate", "--pipeline", needed, "--timing-only", "--html", str(page)]) == 0
    out = capsys.readouterr().out
    assert f"\nCannot be left out: {needed.replace(',', ', ')}.\n" in out and "added" not in out
    assert "added" not in page.read_text()


def test_csv_has_a_line_per_variant_or_step(capsys: Capture) -> None:
    assert main(["study", *FLASH, "--pipelines", "composite,fused", "--csv", "-"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [row["pipeline"] for row in rows] == ["composite", "fused"] and rows[0]["args.S"] == "128"
    parts = [float(value) for name, value in rows[0].items() if name.startswith("attribution.")]
    assert sum(parts) == pytest.approx(float(rows[0]["latency_ns"]), abs=1e-6)
    assert main(["study", *SOFTMAX, "--ablate", "--pipeline", SHORTEST, "--csv", "-"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    left = next(r for r in rows if r["way"] == "left out" and r["pass"] == "raise-regions")
    assert float(left["change_ns"]) == pytest.approx(
        sum(float(value) for name, value in left.items() if name.startswith("change.")), abs=1e-6
    )


def test_the_page_has_a_bar_per_variant_and_needs_no_network(tmp_path: Path, capsys: Capture) -> None:
    page = tmp_path / "study.html"
    assert main(["study", *FLASH, "--pipelines", "composite,fused", "--html", str(page)]) == 0
    text = page.read_text()
    assert text.count("<svg") == 1 and "<script" not in text and "http" not in text
    assert "Latency of the variants" in text and '<text x="0" y="32">composite</text>' in text
    assert main(["study", *SOFTMAX, "--ablate", "--pipeline", SHORTEST, "--html", str(page)]) == 0
    text = page.read_text()
    assert text.count("<svg") == 2 and ">raise-regions</text>" in text and "Passes left out" in text
    capsys.readouterr()


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["nowhere.yaml"], 1, "there is no workload file nowhere.yaml"),
        ([*FLASH, "--pipelines", "fusd"], 1, "there is no pipeline `fusd`; there are primitive"),
        ([*FLASH, "--pipelines", "auto,fusd"], 1, "hint: did you mean `fused`?"),
        ([*SOFTMAX, "--set", "const.BLOCK_SIZE=128,256", "--y", "gemm.tflop"], 1, "hint: did you mean `gemm.tflops`?"),
        ([*FLASH, "--pipeline", "cse,nonsense"], 1, "there is no pass or pipeline 'nonsense'"),
        ([*FLASH, "--set", "const.BLOCK_M"], 1, "`const.BLOCK_M` is not path=value,value,..."),
        ([*FLASH, "--set", "const.BLOCK_M=32,"], 1, "hint: write const.BLOCK=64, or const.BLOCK=32,64,128"),
        ([*FLASH, "--set", "args.S=128"], 1, "`args.S` is set more than once"),
        ([*FLASH, "--set", "const.BLOK_M=32,64"], 1, "has no parameter `BLOK_M`"),
        (
            [RMSNORM, "--set", "launches.1.pipeline=fused", "--ablate"],
            1,
            "have several pipelines; --ablate studies one",
        ),
        ([*FLASH, "--csv", "nowhere/f.csv"], 1, "cannot write nowhere/f.csv: its folder does not exist"),
        ([*FLASH, "--json", "-", "--csv", "-"], 2, "only one output can be -"),
    ],
)
def test_what_is_wrong_is_said(arguments: list[str], status: int, said: str, capsys: Capture) -> None:
    assert main(["study", *arguments]) == status
    assert said in capsys.readouterr().err


def test_lines_that_are_equally_fast_are_both_named(capsys: Capture) -> None:
    settings = ["--set", "args.n_elements=1000", "--set", "BLOCK_SIZE=64,128", "--timing-only"]
    assert main(["study", str(EXAMPLES / "vector_add.yaml"), *settings, "--pipelines", "primitive,composite"]) == 0
    assert "\nFastest over BLOCK_SIZE: primitive and composite at 64, 128.\n" in capsys.readouterr().out


def test_from_python(capsys: Capture) -> None:
    """`ahbmc.study` gives the object of --json."""
    workload = str(EXAMPLES / "softmax.yaml")
    settings = {"args.n_rows": [3, 5], "args.n_cols": 100}
    found = ahbmc.study(workload, pipelines=["primitive"], set=settings, timing_only=True)
    texts = ["--set", "args.n_rows=3,5", "--set", "args.n_cols=100"]
    said = studied(capsys, workload, *texts, "--pipelines", "primitive", "--timing-only")
    for each in (*found["variants"], *said["variants"]):
        del each["wall_s"]
    assert found == said and len(found["variants"]) == 2
    with pytest.raises(ahbmc.AhbmcError, match="there is no pass or pipeline 'fusd'"):
        ahbmc.study(workload, pipelines=["fusd"])


@pytest.mark.parametrize(("name", "least"), [("study", 10), ("studies", 5)])
def test_the_commands_of_a_page_are_right(name: str, least: int) -> None:
    """Every command of the page is one that the command line takes, on an example that there is."""
    page = (EXAMPLES.parent / "docs" / f"{name}.md").read_text()
    commands = [line.partition("#")[0] for line in re.findall(r"^ahbmc (.*)$", page, re.MULTILINE)]
    assert len(commands) >= least
    for text in commands:
        arguments = argument_parser().parse_args(shlex.split(text))
        files = getattr(arguments, "workloads", [getattr(arguments, "workload", None) or "README.md"])
        assert all((EXAMPLES.parent / file).is_file() for file in files), text


def test_values_with_commas_stay_whole() -> None:
    settings = ['grid=["1, 2", 3],[4]', "map={kind: block, pes: [a, b]}"]
    assert axes(settings) == {"grid": ['["1, 2", 3]', "[4]"], "map": ["{kind: block, pes: [a, b]}"]}
    assert axes([]) == {}
    assert axes(["a=1,2,1"]) == {"a": ["1", "2"]}


def test_passes_of_a_pipeline_as_texts() -> None:
    """Each is a pipeline of its own, with its options."""
    assert single_passes("cse, form-composites{ stage=a when=auto }") == ("cse", "form-composites{stage=a when=auto}")
    assert single_passes(",".join(single_passes("auto"))) == single_passes("auto")
    assert names_of(("cse", "licm", "cse{}")) == ["cse #1", "licm", "cse #2"]
