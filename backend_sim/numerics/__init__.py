"""Values without time: numpy semantics of the `tl` level (reference) and of the command level (device)."""

import os

# One BLAS thread: a tile's product is too small to share, and more threads change neither values nor, under load, the
# time for the better. It counts only where numpy is first imported here; who imported it before has made the choice.
for _variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")
