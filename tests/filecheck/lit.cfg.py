"""Lets `lit tests/filecheck` run the same files through real processes: slower than pytest, and the truth in doubt."""

import lit.formats

config.name = "ahbmc"  # noqa: F821  (lit executes this file with `config` in its globals)
config.test_format = lit.formats.ShTest(execute_external=False)  # noqa: F821
config.suffixes = [".mlir", ".py", ".yaml"]  # noqa: F821
config.excludes = ["lit.cfg.py"]  # noqa: F821
