"""What came out of a study: its variants with what tells them apart, or what each pass does."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from .ablation import Ablation
from .study_plan import Plan
from .variants import POINT, Variant


@dataclass(frozen=True)
class Study:
    """The variants of a plan, or (`ablation`) what each pass of a pipeline does; then `variants` is the whole pipeline
    alone.
    """

    plan: Plan
    variants: tuple[Variant, ...]
    ablation: Ablation | None = None

    @property
    def workload(self) -> str:
        return self.plan.title

    @property
    def has_several_workloads(self) -> bool:
        return len(self.plan.entries) > 1

    @property
    def has_named_points(self) -> bool:
        return any(point.name for point in self.plan.points)

    @cached_property
    def has_several_pipelines(self) -> bool:
        """Whether a workload ran under several; else its name, or a setting, tells the pipeline too."""
        if "pipeline" in self.varying:
            return False
        under: dict[str, set[str]] = {}
        for variant in self.variants:
            under.setdefault(variant.workload, set()).update({variant.pipeline} - {""})
        return any(len(names) > 1 for names in under.values())

    @property
    def has_several_lines(self) -> bool:
        """Whether several workloads or pipelines are compared at each point."""
        return self.has_several_workloads or self.has_several_pipelines

    @cached_property
    def varying(self) -> tuple[str, ...]:
        """The paths of settings that have several values."""
        found: dict[str, set[str]] = {}
        for point in self.plan.points:
            for path, _, value in (setting.partition("=") for setting in point.settings):
                found.setdefault(path, set()).add(value)
        return tuple(path for path, values in found.items() if len(values) > 1)

    def label(self, variant: Variant, *, without: str | None = None) -> str:
        """What tells a variant apart from the others, but for where it lies on the axis `without`."""
        pieces = [variant.workload] if self.has_several_workloads else []
        pieces += [variant.pipeline] if self.has_several_pipelines else []
        pieces += [variant.point] if variant.point and without != POINT else []
        pieces += [f"{path}={variant.at(path)}" for path in self.varying if path != without]
        if pieces:
            return " ".join(pieces)
        return next((v.pipeline for v in self.variants if v.pipeline), "")  # one that is refused may not know its own
