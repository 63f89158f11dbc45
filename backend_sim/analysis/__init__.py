"""Views of the op-log: attribution, roofline, report, trace. Reads the op-log, never the engine."""
