"""Reads how long the phases of a run took, which HPL prints where it was compiled with -DHPL_DETAILED_TIMING.

It prints up to six lines behind a result line, each the time of the rank that took longest for that phase:
rfact (the recursive factorisation of panels; within it pfact, and within that mxswp, the search of pivots with their
exchange), update (of the rest of the matrix; within it laswp, the exchange of rows) and "up tr sv" (the triangular
solve). Source: HPL_pdtest.c.
"""

import re

PHASES = ("rfact", "pfact", "mxswp", "update", "laswp", "up tr sv")
"""In the order in which HPL prints them."""
_LINE = re.compile(rf"(?:\+ )?Max aggregated wall time ({'|'.join(PHASES)})[ .]*: +(\d{{1,12}}\.\d\d)")


def phase_of(line: str) -> tuple[str, float] | None:
    """Read a line: the name of the phase and its seconds, to 0.01 s; None where the line is another."""
    found = _LINE.fullmatch(line)
    return (found[1], float(found[2])) if found else None
