"""The named pipelines: lists of pass specs, with a reason beside each entry."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Entry:
    """One pass of a pipeline, as text (`form-composites{stage=a}`), and why it stands there."""

    spec: str
    reason: str


_REGIONS: tuple[Entry, ...] = (
    Entry("normalise-loops", "before canonicalize, which would delete loops that count down"),
    Entry("canonicalize", "constants fold, which the reading of addresses looks for"),
    Entry("cse", "what the kernel writes twice"),
    Entry("licm", "what a loop does not change must stand outside of it before addresses are read"),
    Entry("dot-accumulate", "`acc + dot` and `dot(a, b, acc)` are one form from here on"),
    Entry("raise-regions", "from here on loads and stores are of regions"),
    Entry("drop-dead-iter-args", "carried pointers are dead now"),
    Entry("canonicalize", "folds the arithmetic of the regions"),
    Entry("cse", "accesses of one block share their scalars"),
    Entry("licm", "scalars of regions that no iteration changes"),
)
"""From kernel text's loads and stores to regions: what every pipeline begins with."""

_PLANS: tuple[Entry, ...] = (
    Entry("canonicalize", "what is left over of the passes above"),
    Entry("cse", "the same"),
    Entry("lower-to-commands", "blocks become buffers"),
    Entry("expand-recipes", "before scratch is allocated: the rows of a recipe need blocks of their own"),
    Entry("allocate-scratch", "once there is every buffer"),
    Entry("tile-composites", "the plan of each composite"),
    Entry("insert-dma-stages", "into the plans"),
    Entry("check-limits", "every limit that is broken is reported at once"),
)
"""From blocks to commands; a kernel may write composites out itself, so every pipeline can make plans."""

_APART: tuple[Entry, ...] = (
    Entry("canonicalize", "what is left over of the passes above"),
    Entry("cse", "the same"),
    Entry("lower-to-commands", "blocks become buffers"),
    Entry("expand-recipes", "before scratch is allocated: the rows of a recipe need blocks of their own"),
    Entry("double-buffer", "the next scores are stored while this tile's are still being read"),
    Entry("allocate-scratch{reuse=short}", "what takes over bytes waits for those in flight that use them"),
    Entry("tile-composites", "the plan of each composite"),
    Entry("insert-dma-stages", "into the plans"),
    Entry("check-limits", "every limit that is broken is reported at once"),
)
"""As `_PLANS`, for commands that are to overlap."""

_SPLIT: tuple[Entry, ...] = (
    *_APART[:4],
    Entry("split-composites", "the softmax of a step need not wait for the product of the step before"),
    *_APART[4:],
)
"""As `_APART`, with softmax and product apart."""

_AHEAD: tuple[Entry, ...] = (
    Entry("software-pipeline", "the next tile's scores start before this tile's softmax"),
    Entry("prefetch-loads", "after it, as a product that is early wants its operands earlier still"),
    Entry("drop-dead-iter-args", "what was carried only for what starts early now"),
)
"""What lets iterations overlap."""

_GEMMS: tuple[Entry, ...] = (
    Entry("fold-batches", "before it, as one product with more rows is a GEMM and a batch of products is none"),
    Entry("split-batches", "what cannot be folded: each product can be a GEMM, a batch cannot"),
    Entry("raise-k-loops", "a loop that only accumulates is one GEMM, whose operands stream"),
    Entry("canonicalize", "takes out the loads whose loops are gone"),
    Entry("cse", "operands of a GEMM share their scalars"),
    Entry("shrink-regions", "after the GEMMs, through which it walks from the stores back to the loads"),
)

PIPELINES: dict[str, tuple[Entry, ...]] = {
    "primitive": (*_REGIONS, Entry("shrink-regions", "lanes that no store wants are not read"), *_PLANS),
    "composite": (
        *_REGIONS,
        *_GEMMS,
        Entry("form-composites", "every product becomes a composite"),
        Entry("fuse-epilogues", "what follows a product joins its composite"),
        *_APART,
    ),
    "fused": (
        *_REGIONS,
        *_GEMMS,
        Entry("match-recipes", "before composites are formed, because a recipe takes the product after it"),
        Entry("form-composites", "every product becomes a composite"),
        Entry("fuse-epilogues", "what follows a product joins its composite"),
        *_APART,
    ),
    "pipelined": (
        *_REGIONS,
        *_GEMMS,
        Entry("match-recipes", "before composites are formed, because a recipe takes the product after it"),
        Entry("form-composites{in-loops=load}", "loads can be issued early, a stream starts with its product"),
        Entry("fuse-epilogues", "what follows a product joins its composite"),
        Entry("overlap-programs", "the next program's loads and first scores start beside the end of this one"),
        Entry("form-tails", "PE_CPU does not wait for what it only issues"),
        *_AHEAD,
        *_SPLIT,
    ),
    "auto": (
        *_REGIONS,
        *_GEMMS,
        Entry("match-recipes{when=auto}", "not where single ops do an iteration faster"),
        Entry("form-composites{in-loops=load when=auto}", "a GEMM stays a single op where that is cheaper"),
        Entry("fuse-epilogues", "what follows a product joins its composite"),
        Entry("overlap-programs", "the next program's loads and first scores start beside the end of this one"),
        Entry("form-tails", "PE_CPU does not wait for what it only issues"),
        *_AHEAD,
        *_SPLIT,
    ),
}

ABOUT: dict[str, str] = {
    "primitive": "single-op commands only, as a study's ground to compare with; loads do not hold up PE_CPU",
    "composite": "GEMMs over all of K as composites, with what follows them lane by lane",
    "fused": "as composite, and a recipe before a GEMM joins its composite",
    "pipelined": "as fused, and iterations of a loop overlap",
    "auto": "as pipelined, but composites only where the cost model finds them cheaper than single ops; where the "
    "launch is known, every named pipeline is tried on it and the fastest runs; the default",
}
"""Each pipeline in a line."""
