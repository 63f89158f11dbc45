"""What a study file may hold: the one schema, from which decoding and `docs/study.schema.json` are made.

Each struct is a mapping of the file; the descriptions are those of the JSON Schema.
"""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

from msgspec import Meta, Struct

# Any: whatever a workload file may hold under the path; `workload.py` decodes it there.
Settings: TypeAlias = dict[str, Any]


class StudyWorkload(Struct, frozen=True, forbid_unknown_fields=True):
    """A workload under study, under a name of its own."""

    file: Annotated[str, Meta(description="the workload file, relative to the study file")]
    pipeline: Annotated[
        str | None, Meta(description="run it under this pipeline alone; default: `pipelines`, else the workload's own")
    ] = None
    set: Annotated[Settings, Meta(description="values laid over the workload file, by path")] = {}


class Plot(Struct, frozen=True, forbid_unknown_fields=True):
    """What is tabled and drawn over the points of the study."""

    x: Annotated[
        str | None, Meta(description="the path of `set` that is the axis; default: `points`, else the last path")
    ] = None
    y: Annotated[
        str | Annotated[tuple[str, ...], Meta(min_length=1)],
        Meta(description="figures by their keys in `run --json`, as `gemm.tflops`"),
    ] = "latency_ns"


class StudyFile(Struct, frozen=True, forbid_unknown_fields=True):
    """A study: every workload at every point, under each of the pipelines."""

    workloads: Annotated[
        dict[str, str | StudyWorkload] | tuple[str, ...],
        Meta(description="by name: a workload file, or a mapping with `file`; or a list of files, named after these"),
    ]
    pipelines: Annotated[
        tuple[str, ...],
        Meta(min_length=1, description="names or lists of passes; default: the pipeline of each workload"),
    ] = ()
    points: Annotated[
        dict[str, Settings], Meta(description="points by name, each with its values by path: `big: {args.M: 4096}`")
    ] = {}
    set: Annotated[
        dict[str, Any], Meta(description="values by path, one or a list of them; every combination is a point")
    ] = {}
    plot: Annotated[Plot, Meta(description="what is drawn over the points")] = Plot()
