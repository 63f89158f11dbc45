"""Passes from `tl` to `ahbm` to `pe`, found by name."""
