"""Run by `peers.py` with a Python that has SCALE-Sim: CPU seconds of the latency of a GEMM on a systolic array of our
GEMM engine's rate (64 x 64 multiply-adds at 1 GHz, 8 TFLOP/s); no values.

`peer_scalesim.py gemm SIZE REPEATS` prints the median.
"""

import contextlib
import os
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from scalesim.scale_sim import scalesim

SIZE, REPEATS = int(sys.argv[2]), int(sys.argv[3])
CONFIG = """\
[general]
run_name = peer
[run_presets]
InterfaceBandwidth = CALC
UseRamulatorTrace = False
[architecture_presets]
ArrayHeight = 64
ArrayWidth = 64
IfmapSramSzkB = 512
FilterSramSzkB = 512
OfmapSramSzkB = 512
IfmapOffset = 0
FilterOffset = 10000000
OfmapOffset = 20000000
Dataflow = ws
Bandwidth = 256
ReadRequestBuffer = 64
WriteRequestBuffer = 64
[layout]
IfmapCustomLayout = False
FilterCustomLayout = False
IfmapSRAMBankBandwidth = 10
IfmapSRAMBankNum = 10
IfmapSRAMBankPort = 2
FilterSRAMBankBandwidth = 10
FilterSRAMBankNum = 10
FilterSRAMBankPort = 2
[sparsity]
SparsitySupport = false
"""


def gemm(folder):
    (folder / "array.cfg").write_text(CONFIG)
    (folder / "gemm.csv").write_text(f"Layer,M,N,K,\ngemm,{SIZE},{SIZE},{SIZE},\n")
    (folder / "layout.csv").write_text(f"Layer{',x' * 15},\ngemm{',1' * 15},\n")
    files = {"config": "array.cfg", "topology": "gemm.csv", "layout": "layout.csv"}
    start = time.process_time()
    with open(os.devnull, "w") as quiet, contextlib.redirect_stdout(quiet), contextlib.redirect_stderr(quiet):
        paths = {name: str(folder / file) for name, file in files.items()}
        scalesim(save_disk_space=True, verbose=False, input_type_gemm=True, **paths).run_scale(top_path=str(folder))
    return time.process_time() - start


with tempfile.TemporaryDirectory() as scratch:
    print(median(gemm(Path(scratch)) for _ in range(REPEATS)))
