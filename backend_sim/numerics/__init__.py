"""Values without time: numpy semantics of the `tl` level (reference) and of the command level (device)."""
