"""The discrete-event model of the machine: executes a lowered program, yields the op-log and the values."""
