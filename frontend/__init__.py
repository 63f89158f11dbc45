"""Frontend: from kernel text to the `tl` dialect."""

from .lower import KernelParameter, compile_kernel, kernel_names, kernel_parameters

__all__ = ["KernelParameter", "compile_kernel", "kernel_names", "kernel_parameters"]
