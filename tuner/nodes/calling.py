"""Runs a program on all nodes at the same time, each in the folder of its copied files."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from runners.errors import UnreachableError
from runners.hosts.transport import CommandResult, Transport, say_all

LIMIT_S = 600.0
"""Seconds that one call of a benchmark may take on a node; it hangs then."""
SPARE_S = 20.0
"""Seconds more after which a node that does not end it is given up."""
TIMED_OUT = frozenset({124, 137})
"""Exit codes of `timeout`, where the program ended and where it had to be killed."""
ONE_THREAD = tuple(f"{name}_NUM_THREADS=1" for name in ("OPENBLAS", "OMP", "MKL", "BLIS"))
"""Variables for a program that has a process for each core already."""

Said = CommandResult | UnreachableError


def call_all(
    reach: Transport, folders: Mapping[str, str], command: Sequence[str], limit_s: float | None = None
) -> Mapping[str, Said]:
    """Run a command on all nodes at the same time, each in its own folder; a node itself ends it after the time limit.

    Args:
        command: its first word is a file in the folder, as "./node_bench".
        limit_s: None takes LIMIT_S.
    """
    seconds = LIMIT_S if limit_s is None else limit_s
    script = f'cd "$1" && shift && exec timeout -k 5 {seconds:.0f} env "$@"'

    def one(node: str) -> Said:
        argv = ("sh", "-c", script, "sh", folders[node], *ONE_THREAD, *command)
        return say_all(reach, [node], argv, timeout_s=seconds + SPARE_S)[node]

    with ThreadPoolExecutor(max(1, len(folders))) as pool:
        return dict(zip(folders, pool.map(one, folders), strict=True))


def why_lost(node: str, said: Said, title: str, limit_s: float | None = None) -> str:
    """Return the sentence why a node is asked nothing more, or ""."""
    if isinstance(said, UnreachableError):
        return str(said)
    if said.exit_code in TIMED_OUT:
        seconds = LIMIT_S if limit_s is None else limit_s
        return f"node {node}: {title} hung there, and was ended after {seconds:.0f} s"
    return ""
