"""Asks BLAS libraries on a node, with the program that asks those of this host (hpl/blas/probe_child.py)."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from hpl.blas.probe import CHILD, NO_ANSWER, TIMEOUT_S, child_answer, child_argument, file_identity
from runners.hosts.staging import StagedFiles, stage, unstage
from runners.hosts.transport import Transport, ask
from runners.launchers.base import FIRST_SIGNAL
from runners.readiness.tied import TIMED_OUT, run_tied

from ...errors import TunerError

SUMS_S = 60.0
"""Seconds that a node has to read all BLAS files."""
NO_PYTHON = 87
"""Exit code that says so; no child ends with it."""
_SUMS = (
    'for file in "$@"; do [ -r "$file" ] && printf "%s %s\n" "$(sha256sum <"$file" | cut -d " " -f 1)" "$file"; done; :'
)
_CHILD = rf"""
for python in "$1" python3 /usr/libexec/platform-python; do
    "$python" -c 'import sys; sys.exit(sys.version_info < (3, 9))' 2>/dev/null || continue
    exec "$python" -I -S {CHILD.name} "$2"
done
exit {NO_PYTHON}
"""
"""$1 is the Python of this host, which nodes that share its folders have, too."""


class NodeCpuError(TunerError):
    """No library can be asked on a node; the sentence says why."""


@dataclass
class NodeCpu:
    """The CPU of a node; what it needs is copied there before the first library is asked.

    Attributes:
        cpu: identity of its CPU.
        copied: BLAS files that it lacks, by the name of the copy.
        changed: checksums of its files that are not those of this host, by path.
    """

    reach: Transport
    node: str
    cpu: str
    copied: Mapping[str, Path]
    changed: Mapping[Path, str]
    _staged: StagedFiles | None = field(default=None, init=False)

    def identity(self, path: Path) -> Sequence[object]:
        """Return the same as for this host if the node has the same file and CPU, so that both share answers."""
        return [*file_identity(path), self.cpu, *([self.changed[path]] if path in self.changed else [])]

    def run_child(self, path: Path, variables: Mapping[str, str], seconds: float) -> dict[str, Any]:
        """Run the child on the node.

        Raises:
            NodeCpuError: it takes no files, or has no Python.
            UnreachableError: it does not answer.
        """
        file = next((f"./{name}" for name, copy in self.copied.items() if copy == path), str(path))
        argument = child_argument(file, seconds)
        words = [f"{name}={value}" for name, value in variables.items()]
        command = (*words, "sh", "-c", _CHILD, "sh", sys.executable, argument)
        said = run_tied(self.reach, self.node, self._folder(), command, TIMEOUT_S, lambda: False)
        if said is None or said.exit_code in TIMED_OUT:
            return {"error": NO_ANSWER}
        if said.exit_code == NO_PYTHON:
            raise NodeCpuError(f"node {self.node}: it has no python3 of version 3.9 or newer")
        signalled = said.exit_code > FIRST_SIGNAL
        code = FIRST_SIGNAL - said.exit_code if signalled else said.exit_code
        return child_answer(code, said.stdout, said.stderr)

    def close(self) -> None:
        """Remove what was copied."""
        if self._staged is not None:
            unstage(self.reach, self._staged)

    def _folder(self) -> str:
        if self._staged is None:
            self._staged = stage(self.reach, [self.node], {CHILD.name: CHILD, **self.copied})
        for why in self._staged.failed.values():
            raise NodeCpuError(why)
        return self._staged.folders[self.node]


@contextmanager
def node_cpu(reach: Transport, node: str, cpu: str, files: Sequence[Path]) -> Iterator[NodeCpu]:
    """Ask libraries on a node while the block runs.

    Args:
        cpu: identity of its CPU.
        files: the libraries.

    Raises:
        UnreachableError, ProcessError: the node cannot be asked.
    """
    printed = ask(reach, node, ("sh", "-c", _SUMS, "sh", *map(str, files)), timeout_s=SUMS_S)
    lines = (line.partition(" ") for line in printed.splitlines())
    sums = {Path(path): checksum for checksum, _, path in lines if path}
    changed = {path: checksum for path, checksum in sums.items() if checksum != _sum(path)}
    copied = {f"{number}-{path.name}": path for number, path in enumerate(files) if path not in sums}
    opened = NodeCpu(reach, node, cpu, copied, changed)
    try:
        yield opened
    finally:
        opened.close()


def _sum(path: Path) -> str:
    """Return the SHA-256 of a file of this host; "" if it cannot be read."""
    try:
        return sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""
