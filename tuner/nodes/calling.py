"""Runs a program on all nodes at the same time, each in the folder of its copied files, and tells what went wrong."""

from collections.abc import Mapping, Sequence

from runners.errors import UnreachableError
from runners.hosts.hearing import CommandResult
from runners.readiness.tied import TIMED_OUT, run_all_tied

from .step import StepPlace

MOST = 1e7
"""Of GFLOPS and of MB/s that one node reaches; a rack of GPUs has 1e6 GFLOPS."""
LIMIT_S = 600.0
"""Seconds that one call of a benchmark may take on a node; it hangs then."""
ONE_THREAD = tuple(f"{name}_NUM_THREADS=1" for name in ("OPENBLAS", "OMP", "MKL", "BLIS"))
"""Variables for a program that has a process for each core already."""

Said = CommandResult | UnreachableError


def call_all(
    place: StepPlace, nodes: Sequence[str], command: Sequence[str], limit_s: float | None = None
) -> Mapping[str, Said]:
    """Run a command on all nodes at the same time, each in its own folder.

    Args:
        command: variables, then a program; one of the folder is "./node_bench".
        limit_s: after which a node ends the program itself; None takes LIMIT_S.

    Returns:
        What each node said; none of a node whose program was stopped, as somebody asked for it.
    """
    return call_some(place, dict.fromkeys(nodes, command), limit_s)


def call_some(
    place: StepPlace, commands: Mapping[str, Sequence[str]], limit_s: float | None = None
) -> Mapping[str, Said]:
    """Run a command of its own on each node, all at the same time, as `call_all` does."""
    seconds = LIMIT_S if limit_s is None else limit_s
    return run_all_tied(place.target.reach, place.folders, commands, seconds, lambda: place.stop.requested)


def call(place: StepPlace, node: str, command: Sequence[str], limit_s: float | None = None) -> Said | None:
    """Run a command on one node as `call_all` does; None if it was stopped."""
    return call_some(place, {node: command}, limit_s).get(node)


def why_lost(node: str, said: Said, title: str, limit_s: float | None = None) -> str:
    """Return the sentence why a node is asked nothing more, or ""."""
    if isinstance(said, UnreachableError):
        return str(said)
    if said.exit_code in TIMED_OUT:
        seconds = LIMIT_S if limit_s is None else limit_s
        return f"node {node}: {title} hung there, and was ended after {seconds:.0f} s"
    return ""


def why_no_result(said: CommandResult) -> str:
    """Return why a program gave nothing: its last complaint, else its exit code."""
    return said.complaint or f"the program ended with code {said.exit_code} and no result"


def positive(text: str, most: float = MOST) -> float | None:
    """Return the number that a program printed; None where it is none above 0, or more than a node can do."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0.0 < value <= most else None
