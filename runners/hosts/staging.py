"""Copies files to nodes that share no file system with this host: one tar stream for each node, checked on arrival."""

import base64
import io
import tarfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from ..errors import UnreachableError
from .transport import AT_ONCE, CommandResult, Transport, say, say_all

LIMIT_S = 300.0
"""Seconds that a node has to take all files."""
_PLACE = "hpltune-nodes"
_TAKE = rf"""
base=${{TMPDIR:-/tmp}}
find "$base" -maxdepth 1 -name '{_PLACE}.*' -user "$(id -un)" -mmin +1440 -exec rm -rf {{}} + 2>/dev/null
folder=$(mktemp -d "$base/{_PLACE}.XXXXXX") || exit 3
base64 -d | tar xf - -C "$folder" || {{ rm -rf "$folder"; exit 4; }}
cd "$folder" || exit 5
printf 'folder\t%s\n' "$folder"
for name in "$@"; do printf 'sum\t%s\t%s\n' "$name" "$(sha256sum <"$name" | cut -d' ' -f1)"; done
"""
"""What a node does: it also removes what a killed hpltune left there a day ago."""
_REMOVE = rf'case $1 in */{_PLACE}.??????) rm -rf "$1" ;; esac'


@dataclass(frozen=True)
class StagedFiles:
    """What was copied.

    Attributes:
        folders: by node the folder that holds the files.
        failed: by node why it does not.
    """

    folders: Mapping[str, str]
    failed: Mapping[str, str]


def stage(reach: Transport, nodes: Sequence[str], files: Mapping[str, Path]) -> StagedFiles:
    """Copy files to all nodes at the same time.

    Args:
        files: by the name that each has on the nodes.

    Raises:
        OSError: a file cannot be read here.
    """
    text = _packed(files)
    sums = {name: sha256(path.read_bytes()).hexdigest() for name, path in files.items()}

    def one(node: str) -> tuple[str, str]:
        try:
            said = say(reach, node, ("sh", "-c", _TAKE, "sh", *files), timeout_s=LIMIT_S, stdin=text)
        except UnreachableError as error:
            return "", str(error)
        return _arrived(node, said, sums)

    with ThreadPoolExecutor(min(AT_ONCE, max(1, len(nodes)))) as pool:
        found = dict(zip(nodes, pool.map(one, nodes), strict=True))
    return StagedFiles(
        folders={node: folder for node, (folder, _) in found.items() if folder},
        failed={node: why for node, (folder, why) in found.items() if not folder},
    )


def unstage(reach: Transport, staged: StagedFiles) -> None:
    """Remove what was copied; a node that does not answer keeps it for a day."""

    def one(node: str) -> None:
        say_all(reach, [node], ("sh", "-c", _REMOVE, "sh", staged.folders[node]), timeout_s=30.0)

    with ThreadPoolExecutor(min(AT_ONCE, max(1, len(staged.folders)))) as pool:
        list(pool.map(one, staged.folders))


def _packed(files: Mapping[str, Path]) -> str:
    """Return a tar of the files as text that every shell passes on."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for name, path in files.items():
            data = path.read_bytes()
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(data), 0o700
            tar.addfile(entry, io.BytesIO(data))
    return base64.encodebytes(packed.getvalue()).decode("ascii")


def _arrived(node: str, said: CommandResult, sums: Mapping[str, str]) -> tuple[str, str]:
    """Return the folder on a node, or "" and why there is none."""
    lines = [line.split("\t") for line in said.stdout.splitlines()]
    folder = next((line[1] for line in lines if line[0] == "folder" and len(line) == 2), "")
    if said.exit_code != 0 or not folder:
        why = said.complaint or f"code {said.exit_code}"
        return "", f"node {node}: files cannot be copied to its /tmp ({why}): make room or set TMPDIR there"
    came = {line[1]: line[2] for line in lines if line[0] == "sum" and len(line) == 3}
    wrong = [name for name, checksum in sums.items() if came.get(name) != checksum]
    return ("", f"node {node}: {', '.join(wrong)} did not arrive as it was sent") if wrong else (folder, "")
