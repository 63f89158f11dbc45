"""Compiles the kernels of `AHBMC_SPECS` (a file for `ahbmc check --specs`) whose text lies in `AHBMC_SOURCES` (files,
folders and wheels, with `:` between them), and runs a seeded tenth of those that compile with values: what the text
says against what the commands do. Exits with 1 where a kernel ends in an internal error.

`corpus.py [SHARE]`: another share than 0.1 of the kernels runs.
"""

import os
import random
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np
from ahbmc.backend_sim.numerics.device import run_device
from ahbmc.backend_sim.numerics.reference import run_reference
from ahbmc.backend_sim.target.machine_file import DEFAULT
from ahbmc.driver.check import checked
from ahbmc.driver.check_rows import rows_of_specs
from ahbmc.driver.guess import Guess
from ahbmc.driver.init import arguments_of, draft_of, tried
from ahbmc.driver.kernel_files import files_of, find_import, module_in
from ahbmc.driver.kernels import kernel_of
from ahbmc.driver.lowering import Request, compile_request
from ahbmc.driver.outermost import caught
from ahbmc.frontend import compile_kernel

SPECS = Path(os.environ["AHBMC_SPECS"])
SHARE = float(sys.argv[1]) if len(sys.argv) > 1 else 0.1
LIMIT_S = 60.0


def compiled_rows():
    """The rows that compile; prints how many, and how long they take."""
    files = [f for path in os.environ["AHBMC_SOURCES"].split(":") for f in files_of(path)]
    rows = rows_of_specs(str(SPECS), SPECS.read_text(encoding="utf-8"), files)
    start = time.perf_counter()
    outcomes = checked(rows, DEFAULT, "composite", jobs=2, limit_s=LIMIT_S)
    seconds = time.perf_counter() - start
    found = sorted(o.ms for o in outcomes if o.status != "missing")
    compiled = [r for r, o in zip(rows, outcomes, strict=True) if o.status == "compiled"]
    print(f"{len(compiled)} of {len(found)} kernels compile ({len(compiled) / len(found):.1%})")
    print(
        f"CPU ms: median {found[len(found) // 2]:.0f} | 99% {found[-1 - len(found) // 100]:.0f} | most {found[-1]:.0f}"
    )
    print(f"1,000 kernels on 2 cores: {seconds / len(found) * 1000:.0f} s")
    return compiled


def compare(row):
    """What becomes of one kernel: "agrees", "differs: ...", or why it does not run."""
    module = module_in(row.file)
    name = row.function.rpartition(".")[2]
    draft = draft_of(module, row.function, Guess(row.signature, row.constants))
    draft, fault = tried(module, draft, row.function)
    if fault is not None:
        return f"no launch found: {fault.message} [{fault.category}]"
    results = []

    def run():
        text = compile_kernel(
            module.text.content, row.file, row.function, draft.signature, dict(draft.constants), find_import
        )
        request = Request(kernel_of(module, row.function), draft.signature, draft.constants, pipeline="composite")
        for function, lowered in ((run_reference, text), (run_device, compile_request(request).module)):
            results.append(arguments_of(draft))
            function(lowered, results[-1], draft.grid)

    error = caught(name, run)
    if error is not None:
        return f"ends: {error.faults[0].message} [{error.faults[0].category}]"
    for argument, wanted, got in zip(draft.signature, *results, strict=True):
        wide = (np.asarray(wanted, np.float64), np.asarray(got, np.float64))
        if not np.allclose(*wide, rtol=2e-2, atol=1e-2, equal_nan=True):
            return f"differs: {argument}"
    return "agrees"


def main():
    rows = [r for r in compiled_rows() if not any("tensordesc" in t for t in r.signature.values())]
    rows = random.Random(4).sample(rows, round(len(rows) * SHARE))
    count = Counter()
    internal = False
    for row in rows:
        result = compare(row)
        count[result.partition(":")[0]] += 1
        internal |= "[internal]" in result
        if result != "agrees":
            print(f"{row.path} {row.function}: {result}")
    print(" | ".join(f"{kind}: {number}" for kind, number in count.most_common()))
    return 1 if internal else 0


if __name__ == "__main__":
    sys.exit(main())
