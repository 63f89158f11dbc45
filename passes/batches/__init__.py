"""The parts of folding batches of products: what they share, and how their blocks are read and written."""
