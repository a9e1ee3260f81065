"""What all tests share: one BLAS thread per process, for arrays here are small and threads only fight."""

from __future__ import annotations

import os

for library in ("OPENBLAS", "MKL", "OMP"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")
