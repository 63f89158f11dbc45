"""The discrete-event engine: PE_CPUs, engines, DMA and HBM of a launch in integer picoseconds. It knows no values."""
