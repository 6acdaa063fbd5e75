"""Looks into an image before the first run: one script in it, started as ranks will be."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..errors import UnreachableError
from ..hosts.hearing import CommandResult
from ..hosts.transport import Transport, raised, say_all
from .contract import Container
from .registry import ImageError

LIMIT_S = 120.0
"""For a runtime that unpacks its image first."""
_SCRIPT = r"""
echo "hpltune-image cpu $(uname -m)"
program=$1
shift
if [ -n "$program" ]; then
    if [ -f "$program" ] && [ -x "$program" ]; then echo hpltune-image program there; fi
    linked=$(LD_PRELOAD= ldd "$program" 2>/dev/null | sed -n 's/.*libmpi[^ ]* => \(\/[^ ]*\).*/\1/p' | head -n 1)
    [ -z "$linked" ] || echo "hpltune-image mpi $linked $(readlink -f "$linked")"
fi
for tool in ompi_info mpichversion; do
    version=$(LD_PRELOAD= $tool --version 2>/dev/null | head -n 2 | tr '\n' ' ')
    [ -z "$version" ] || echo "hpltune-image $tool $version"
done
while [ $# -gt 1 ]; do
    if [ -z "$1" ]; then
        if LD_PRELOAD=$2 /bin/sh -c : 2>&1 | grep -q .; then :; else echo "hpltune-image loads $2"; fi
    elif [ "$(cksum < "$2" 2>/dev/null)" = "$1" ]; then
        echo "hpltune-image same $2"
    fi
    shift 2
done
"""
_SAYS = "hpltune-image "


@dataclass(frozen=True)
class ImageFacts:
    """What a script found in an image.

    Attributes:
        cpu: architecture, as `uname -m` says it.
        program_there: the program is an executable file.
        mpi: the file of the MPI library that the program is linked with, and the file that it is a link to; "" unknown.
        mpi_tells: what programs of MPI libraries say of their versions, by program.
        same: files that are the same inside and outside.
        loads: a library of the host that can be preloaded inside.
    """

    cpu: str = ""
    program_there: bool = False
    mpi: str = ""
    mpi_tells: Mapping[str, str] = field(default_factory=dict)
    same: frozenset[Path] = frozenset()
    loads: bool = False


def look_into(
    container: Container, program: str = "", files: Sequence[Path] = (), preloaded: Path | None = None
) -> ImageFacts:
    """Look into an image.

    Args:
        program: a path in the image; "" for none.
        files: of the host, of which the image shall have the same at the same paths.
        preloaded: a library of the host that shall be loaded into programs of the image.

    Raises:
        ImageError: nothing can be started in it; the sentence says why.
    """
    sums = [word for file in files for word in (_sum(file), str(file))]
    sums += ["", str(preloaded)] if preloaded else []
    environment = {**os.environ, **container.runtime.variables}
    try:
        said = subprocess.run(
            _command(container, program, *sums),
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=LIMIT_S,
            stdin=subprocess.DEVNULL,
            env=environment,
        )
    except subprocess.TimeoutExpired as error:
        raise ImageError(f"{container.runtime.name} starts nothing in {container.image} in {LIMIT_S:.0f} s") from error
    except OSError as error:
        raise ImageError(f"{container.runtime.program} cannot be started ({error.strerror})") from error
    return _facts(container, CommandResult(said.returncode, said.stdout, said.stderr))


def starts_nothing(container: Container, reach: Transport, nodes: Sequence[str]) -> dict[str, str]:
    """Start the script in an image on nodes; return those where nothing starts, each with the sentence why."""
    words = (*map("=".join, container.runtime.variables.items()), *_command(container))
    failed, command = {}, ("sh", "-c", 'env "$@" || exit 1', "sh", *words)  # 255 would be taken for ssh's own
    for node, said in say_all(reach, nodes, command, timeout_s=LIMIT_S).items():
        try:
            _facts(container, raised(said))
        except (ImageError, UnreachableError) as error:
            failed[node] = f"node {node}: {str(error).removeprefix(f'node {node}: ')}"
    return failed


def _command(container: Container, program: str = "", *sums: str) -> list[str]:
    """Return the command that runs the script in an image."""
    work = container.folders[0] if container.folders else Path("/")
    return [
        *replace(container, inside={}, on_node=1).words(work),
        "/bin/sh",
        "-c",
        _SCRIPT,
        "hpltune-look",
        program,
        *sums,
    ]


def _facts(container: Container, said: CommandResult) -> ImageFacts:
    """Return what the script tells.

    Raises:
        ImageError: it was not started.
    """
    facts = parse_look(said.stdout)
    if not facts.cpu:
        lines = [line.strip() for line in said.stderr.splitlines() if line.strip()]
        why = lines[-1] if lines else f"it ended with code {said.exit_code}"
        if any("Exec format error" in line for line in lines):
            raise ImageError(f"the image {container.image} is for another CPU than {os.uname().machine} ({why})")
        raise ImageError(f"{container.runtime.name} starts nothing in the image {container.image} ({why})")
    return facts


def parse_look(text: str) -> ImageFacts:
    """Read what the script prints; lines of others are left out."""
    told = [line.removeprefix(_SAYS).partition(" ") for line in text.splitlines() if line.startswith(_SAYS)]
    found = {what: value.strip() for what, _, value in told}
    return ImageFacts(
        cpu=found.get("cpu", ""),
        program_there=found.get("program") == "there",
        mpi=found.get("mpi", ""),
        mpi_tells={tool: found[tool] for tool in ("ompi_info", "mpichversion") if tool in found},
        same=frozenset(Path(value.strip()) for what, _, value in told if what == "same"),
        loads="loads" in found,
    )


def _sum(file: Path) -> str:
    """Return what `cksum` prints of a file that it reads from its standard input; "-" where it cannot be read."""
    try:
        with file.open("rb") as opened:
            return subprocess.run(("cksum",), stdin=opened, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return "-"
