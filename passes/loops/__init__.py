"""What the passes that reorder the iterations of a loop share."""
