"""The command line, workload files and checks: the only layer that may import everything."""
