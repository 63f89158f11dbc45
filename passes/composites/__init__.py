"""The parts of forming composites: what may be streamed, what is staged, and what a choice costs."""
