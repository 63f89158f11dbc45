"""Why a loop is left as it is."""

from __future__ import annotations


class Refused(Exception):
    """Raised where a condition for a rewrite does not hold, caught where the rewrite is decided on, never beyond: so
    that each condition reads as one line.
    """
