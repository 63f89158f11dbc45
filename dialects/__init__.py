"""Dialects, types, attributes and errors: what every layer speaks. Imports xDSL only."""
