"""ahbmc compiles Triton-like kernels for AHBM and runs them on a discrete-event model of the machine."""
