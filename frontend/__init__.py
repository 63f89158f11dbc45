"""Kernel text to `tl`: grammar, parser, semantic analysis. The text is parsed, never executed."""
