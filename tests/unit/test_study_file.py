"""Studies of several workloads and points: study files, figures over an axis, their tables and pictures."""

from __future__ import annotations

import csv
import io
import json
import re
import shlex
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import ahbmc
import msgspec
import pytest
from ahbmc.backend_sim.analysis.plots import Figure, picture, plot
from ahbmc.driver.main import main
from ahbmc.driver.study_schema import Plot, StudyFile, StudyWorkload

EXAMPLES = Path(__file__).parents[2] / "examples"
ADD, SOFTMAX = EXAMPLES / "vector_add.yaml", EXAMPLES / "softmax.yaml"
Capture = pytest.CaptureFixture[str]

STUDY = f"""\
workloads:
  add: {{file: {ADD}, set: {{const.BLOCK_SIZE: 256, args.n_elements: 1000}}}}
  softmax: {{file: {SOFTMAX}, set: {{args.n_rows: 16}}}}
pipelines: [primitive]
points:
  narrow: {{machine.pe.math.lanes: 64}}
  wide: {{machine.pe.math.lanes: 256}}
plot: {{y: [latency_ns, commands.total]}}
"""


def write(folder: Path, text: str) -> str:
    file = folder / "study.yaml"
    file.write_text(text)
    return str(file)


def studied(capsys: Capture, *arguments: str) -> dict[str, Any]:
    assert main(["study", *arguments, "--timing-only", "--json", "-"]) == 0
    return json.loads(capsys.readouterr().out)


def test_every_workload_runs_at_every_point(tmp_path: Path, capsys: Capture) -> None:
    """Points come in the order of the file, at each of them the workloads; figures have a line per workload."""
    found = studied(capsys, write(tmp_path, STUDY))
    assert [(v["point"], v["workload"]) for v in found["variants"]] == [
        (point, workload) for point in ("narrow", "wide") for workload in ("add", "softmax")
    ]
    latency, commands = found["figures"]
    assert (latency["y"], latency["x"], latency["points"]) == ("latency_ns", "point", ["narrow", "wide"])
    assert latency["lines"] == {
        name: [v["latency_ns"] for v in found["variants"] if v["workload"] == name] for name in ("add", "softmax")
    }
    assert commands["lines"]["add"][0] == commands["lines"]["add"][1]
    assert all(narrow > wide for narrow, wide in latency["lines"].values())


def test_the_keys_of_json_are_those_of_the_page(tmp_path: Path, capsys: Capture) -> None:
    """Beside those of `run --json` a variant has what tells it apart; a figure has its axes and lines."""
    found = studied(capsys, write(tmp_path, STUDY))
    assert set(found) == {"schema", "workload", "variants", "figures"}
    assert main(["run", str(SOFTMAX), "--timing-only", "--json", "-"]) == 0
    alone = set(json.loads(capsys.readouterr().out))
    lists = {"attribution_commands", "slices", "links", "remarks"}
    own = {"workload", "point", "settings", "refused"}
    assert set(found["variants"][0]) == alone - lists | own
    assert set(found["figures"][0]) == {"y", "x", "points", "lines"}
    page = (EXAMPLES.parent / "docs" / "study.md").read_text()
    assert all(f"`{key}`" in page for key in (*own, "pipeline", "figures", "y", "x", "points", "lines"))


def test_settings_of_a_workload_hold_at_every_point(tmp_path: Path, capsys: Capture) -> None:
    """What the study sets in a workload is what `ahbmc run --set` gives."""
    found = studied(capsys, write(tmp_path, STUDY))
    arguments = [
        "--set",
        "const.BLOCK_SIZE=256",
        "--set",
        "args.n_elements=1000",
        "--pipeline",
        "primitive",
        "--timing-only",
        "--json",
        "-",
    ]
    arguments += ["--set", "machine.pe.math.lanes=64"]
    assert main(["run", str(ADD), *arguments]) == 0
    alone = json.loads(capsys.readouterr().out)
    assert found["variants"][0]["latency_ns"] == alone["latency_ns"]


def test_a_bare_name_is_a_parameter_wherever_it_stands(capsys: Capture) -> None:
    """`n_cols` is `args.n_cols`, `BLOCK_SIZE` is `const.BLOCK_SIZE`."""
    bare = studied(capsys, str(SOFTMAX), "--set", "n_cols=64,100", "--set", "BLOCK_SIZE=128")
    whole = studied(capsys, str(SOFTMAX), "--set", "args.n_cols=64,100", "--set", "const.BLOCK_SIZE=128")
    assert [v["latency_ns"] for v in bare["variants"]] == [v["latency_ns"] for v in whole["variants"]]
    assert bare["variants"][0]["settings"] == {"n_cols": "64", "BLOCK_SIZE": "128"}
    assert bare["figures"][0]["x"] == "n_cols"


def test_several_files_are_workloads_by_their_names(capsys: Capture) -> None:
    found = studied(capsys, str(ADD), str(SOFTMAX))
    assert [(v["workload"], v["pipeline"]) for v in found["variants"]] == [("vector_add", "auto"), ("softmax", "auto")]
    assert "figures" not in found


def test_settings_of_the_command_line_go_over_those_of_the_file(tmp_path: Path, capsys: Capture) -> None:
    text = f"workloads: {{softmax: {SOFTMAX}}}\nset: {{n_cols: [64, 100], n_rows: 2}}\n"
    found = studied(capsys, write(tmp_path, text), "--set", "n_cols=80,90,99", "--pipelines", "primitive,auto")
    assert [(v["settings"]["n_cols"], v["settings"]["n_rows"], v["pipeline"]) for v in found["variants"]] == [
        (columns, "2", pipeline) for columns in ("80", "90", "99") for pipeline in ("primitive", "auto")
    ]
    assert list(found["figures"][0]["lines"]) == ["primitive", "auto"]


def test_the_report_tables_figures_and_says_what_is_fastest_where(tmp_path: Path, capsys: Capture) -> None:
    assert main(["study", write(tmp_path, STUDY), "--timing-only"]) == 0
    out = capsys.readouterr().out
    assert re.search(r"^latency_ns\n +point +add +softmax\nnarrow +[\d.,]+ +[\d.,]+\n +wide ", out)
    assert "\ncommands.total\n" in out
    assert re.search(r"\nworkload +point +latency ns", out)
    assert "Fastest over point: " in out
    changes = re.findall(r"^(?:add|softmax) +(?:narrow|wide) +[\d.,]+ +(\S+%)", out, re.MULTILINE)
    assert len(changes) == 4 and changes[0] == changes[2] == "0.0%" and "0.0%" not in (changes[1], changes[3])


def test_csv_tells_workloads_and_points_apart(tmp_path: Path, capsys: Capture) -> None:
    assert main(["study", write(tmp_path, STUDY), "--timing-only", "--csv", "-"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [(row["workload"], row["point"]) for row in rows][:2] == [("add", "narrow"), ("softmax", "narrow")]


def test_pictures_of_a_study(tmp_path: Path, capsys: Capture) -> None:
    """--plot is an SVG file with a figure per key of y, --html has the same ones; no point stands for a variant that
    does not run.
    """
    picture, page = tmp_path / "study.svg", tmp_path / "study.html"
    arguments = [str(SOFTMAX), "--timing-only", "--set", "n_cols=64,100,700", "--set", "BLOCK_SIZE=128"]
    assert (
        main(["study", *arguments, "--y", "latency_ns,issue_cycles", "--plot", str(picture), "--html", str(page)]) == 0
    )
    root = ElementTree.fromstring(picture.read_text())
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert len(root.findall(".//{*}circle")) == 2 * 3
    assert "latency_ns over n_cols" in page.read_text() and page.read_text().count("<circle") == 6
    capsys.readouterr()


def test_a_list_of_workloads_takes_the_names_of_its_files(tmp_path: Path, capsys: Capture) -> None:
    found = studied(capsys, write(tmp_path, f"workloads: [{ADD}, {SOFTMAX}]\nset: {{machine.pe.math.lanes: 64}}\n"))
    assert [v["workload"] for v in found["variants"]] == ["vector_add", "softmax"]


def test_a_point_that_is_refused_is_a_gap_in_its_line(capsys: Capture) -> None:
    """Also where the pipeline is that of the file, which a variant that fails early has not read."""
    found = studied(capsys, str(SOFTMAX), "--set", "n_cols=64,oops,80")
    (figure,) = found["figures"]
    ((name, values),) = figure["lines"].items()
    assert name == "auto" and values[1] is None and None not in (values[0], values[2])


def test_the_pipeline_may_be_a_setting(capsys: Capture) -> None:
    found = studied(capsys, str(SOFTMAX), "--set", "pipeline=primitive,composite", "--set", "n_cols=64,80")
    assert list(found["figures"][0]["lines"]) == ["pipeline=primitive", "pipeline=composite"]
    assert None not in [value for line in found["figures"][0]["lines"].values() for value in line]


FAULTS = [
    ("{workloads: []}", "a study has one workload or more"),
    ("{workloads: [%s, %s]}", "two workloads have the name `softmax`"),
    ("{workloads: {a: %s}, plot: {y: []}}", "`y` has 0 entries; allowed: 1 or more"),
    ("{workloads: {a: %s}, pipelines: []}", "`pipelines` has 0 entries; allowed: 1 or more"),
    ("{workloads: {}}", "a study has one workload or more"),
    ("{workloads: {a: nowhere.yaml}}", "there is no workload file"),
    ("{workloads: {a: {file: %s, pipelin: fused}}}", "unknown key `pipelin` in `a`; allowed: file, pipeline, set"),
    ("{workloads: {a: {file: %s, pipeline: fusd}}}", "there is no pass or pipeline 'fusd'"),
    ("{workloads: {a: %s}, pipelines: [fused, cs]}", "there is no pass or pipeline 'cs'"),
    ("{workloads: {a: %s}, set: {n_cols: []}}", "`n_cols` has no values"),
    ("{workloads: {a: %s}, set: {n_col: [1, 2]}}", "`n_col` is neither in `args` nor in `const`"),
    ("{workloads: {a: %s}, set: {args.n_cols: [one, two]}}", "`two` is no argument and no constant"),
    ("{workloads: {a: %s}, set: {n_cols: [64, 80]}, plot: {x: n_rows}}", "`n_rows` does not vary in this study"),
    ("{workloads: {a: %s}, set: {n_cols: [64, 80]}, plot: {y: latncy_ns}}", "`latncy_ns` is no figure of a run"),
    ("{workloads: {a: %s}, plot: {y: latncy_ns}}", "`latncy_ns` is no figure of a run"),
    ("{workloads: {a: %s}, set: {n_cols: [64, 80]}, plot: {z: 1}}", "unknown key `z` in `plot`; allowed: x, y"),
]


@pytest.mark.parametrize(("text", "said"), FAULTS)
def test_what_is_wrong_with_a_study_file_is_said_at_its_place(
    text: str, said: str, tmp_path: Path, capsys: Capture
) -> None:
    assert main(["study", write(tmp_path, text.replace("%s", str(SOFTMAX))), "--timing-only"]) == 1
    err = capsys.readouterr().err
    assert said in err
    assert "hint: " in err and "study.yaml:1:" in err


def test_a_study_file_is_no_workload(tmp_path: Path, capsys: Capture) -> None:
    assert main(["run", write(tmp_path, STUDY)]) == 1
    err = capsys.readouterr().err
    assert "is a study file; a workload file is needed" in err and "hint: `ahbmc study " in err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([str(ADD), "--plot", "x.svg"], "a plot needs a study with several points"),
        ([str(ADD), "--plot", "x.png", "--set", "n_elements=1,2"], "a plot of a study is a file .svg; found x.png"),
        ([str(ADD), str(ADD)], "two workloads have the name `vector_add`"),
        ([str(ADD), str(EXAMPLES / "studies" / "gemm_shapes.yaml")], "is a study file, which stands alone"),
        ([str(ADD), str(SOFTMAX), "--ablate"], "several workloads were given"),
        ([str(ADD), "--set", "n_elements=1,2", "--x", "const.BLOCK"], "`const.BLOCK` does not vary in this study"),
    ],
)
def test_what_is_wrong_with_the_command_line_is_said(arguments: list[str], said: str, capsys: Capture) -> None:
    assert main(["study", *arguments, "--timing-only"]) == 1
    assert said in capsys.readouterr().err


def test_workloads_keep_the_pipelines_that_they_name(tmp_path: Path, capsys: Capture) -> None:
    """--pipelines is for the others; where there are none it is an error."""
    both = f"workloads: {{own: {{file: {SOFTMAX}, pipeline: primitive}}, free: {SOFTMAX}}}\n"
    found = studied(capsys, write(tmp_path, both), "--pipelines", "composite,auto")
    expected = [("own", "primitive"), ("free", "composite"), ("free", "auto")]
    assert [(v["workload"], v["pipeline"]) for v in found["variants"]] == expected
    own = f"workloads: {{own: {{file: {SOFTMAX}, pipeline: primitive}}}}\n"
    assert main(["study", write(tmp_path, own), "--pipelines", "composite,auto"]) == 1
    err = capsys.readouterr().err
    assert "names the pipeline that it runs under" in err and "--pipelines composite,auto" in err


def test_from_python(tmp_path: Path) -> None:
    """`ahbmc.study` takes a study file or several workloads, and figures."""
    found = ahbmc.study(write(tmp_path, STUDY), timing_only=True)
    assert [f["y"] for f in found["figures"]] == ["latency_ns", "commands.total"]
    found = ahbmc.study([SOFTMAX], set={"n_cols": [64, 80]}, y=["issue_cycles"], timing_only=True)
    assert [f["y"] for f in found["figures"]] == ["issue_cycles"]


def test_the_page_names_every_key() -> None:
    page = (EXAMPLES.parent / "docs" / "study.md").read_text()
    for struct in (StudyFile, StudyWorkload, Plot):
        for field in msgspec.structs.fields(struct):
            assert f"| `{field.encode_name}` |" in page


def test_the_example_of_the_page_prints_what_it_shows(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command above the table is run; the study file of the page is one."""
    page = (EXAMPLES.parent / "docs" / "study.md").read_text()
    (shown,) = re.findall(r"^```text\n(gemm.tflops\n.*?)^```$", page, re.MULTILINE | re.DOTALL)
    command = next(line for line in page.splitlines() if line.startswith("ahbmc study") and "--y gemm.tflops" in line)
    monkeypatch.chdir(EXAMPLES.parent)
    words = shlex.split(command.removeprefix("ahbmc ").replace("gemm.html", str(tmp_path / "gemm.html")))
    assert main([*words, "--timing-only"]) == 0
    assert shown in capsys.readouterr().out
    (example,) = re.findall(r"^```yaml\n(workloads:.*?)^```$", page, re.MULTILINE | re.DOTALL)
    example = re.sub(r"gemm_\w+\.yaml", lambda name: str(EXAMPLES / name[0]), example)
    found = studied(capsys, write(tmp_path, example))
    assert [v["refused"] for v in found["variants"]] == [None] * 8


def test_curves_lie_where_their_values_say() -> None:
    """Numbers on a linear axis from zero, doublings at equal distances; a missing value is a gap."""
    drawn = plot(Figure("y", "x", ("1", "2", "4"), {"a": (1.0, 2.0, 4.0), "b": (3.0, None, 3.0)}))
    dots = [(float(x), float(y)) for x, y in re.findall(r'<circle cx="([\d.]+)" cy="([\d.]+)"', drawn)]
    (x1, y1), (x2, y2), (x4, y4), *others = dots
    assert x2 - x1 == pytest.approx(x4 - x2, abs=0.11)
    assert y1 - y2 == pytest.approx((y2 - y4) / 2, abs=0.11)
    assert len(others) == 2


def test_named_points_are_columns() -> None:
    """Their heights are as their values; a name that is markup stays text."""
    drawn = picture([Figure("y", "x", ("one", "t<o"), {"a": (1.0, 2.0), "b": (0.0, -1.0)})])
    root = ElementTree.fromstring(drawn)
    columns = [r for r in root.findall(".//{*}rect") if r.find("{*}title") is not None]
    one, two, _, below = (float(r.attrib["height"]) for r in columns)
    assert two == pytest.approx(2 * one, abs=0.11) and below == pytest.approx(one, abs=0.11)
    assert "t<o" in [t.text for t in root.iter("{http://www.w3.org/2000/svg}text")]


def test_shares_begin_at_zero_and_wide_ranges_are_logarithmic() -> None:
    """A share of 1/10 has a tenth of the height; latencies that are ten times as long each lie at equal distances."""

    def heights(*values: float) -> list[float]:
        drawn = plot(Figure("y", "x", ("1", "2", "4"), {"a": values}))
        return [float(y) for y in re.findall(r'<circle cx="[\d.]+" cy="([\d.]+)"', drawn)]

    full, tenth, _ = heights(1.0, 0.1, 0.0)
    assert heights(1.0, 0.1, 0.01)[:2] == [full, tenth]
    low, middle, high = heights(10.0, 100.0, 1000.0)
    assert low - middle == pytest.approx(middle - high, abs=0.11)


def test_many_ranges_of_values_can_be_drawn() -> None:
    """Equal, zero, negative, tiny and huge values each give a picture."""
    for values in ((5.0, 5.0), (0.0, 0.0), (-1.0, -3.0), (1e-9, 2e-9), (1e-3, 1e12), (None, None)):
        ElementTree.fromstring(picture([Figure("y", "x", ("1", "2"), {"a": values})]))
