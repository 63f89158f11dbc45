"""The parts of `lower-to-commands`: where values live, which buffers they share, which commands make them."""
