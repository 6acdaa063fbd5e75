"""Copies files to nodes that share no file system with this host: one tar stream for each node, checked on arrival."""

import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import file_digest
from pathlib import Path
from tempfile import NamedTemporaryFile

from ..errors import UnreachableError
from .hearing import CommandResult
from .transport import Transport, say_all, say_each

LIMIT_S = 300.0
"""Seconds that a node has to take all files."""
OF_CHECKS, OF_RUNS = "hpltune-nodes", "hpltune-copy"
"""How the names of folders on nodes begin: those of a check of nodes, and those that runs keep for a whole study."""
_TAKE = rf"""
folder=$1; shift
old() {{ find "$1" -maxdepth 1 -name "$2.*" -user "$(id -un)" -mmin "+$3" -exec rm -rf {{}} + 2>/dev/null; }}
if [ -n "$folder" ]; then
    old "${{folder%/*}}" {OF_RUNS} 10080
    mkdir -m 700 "$folder" 2>/dev/null || [ -d "$folder" ] || mkdir "$folder" || exit 3
    [ -O "$folder" ] && [ ! -L "$folder" ] || {{ echo "$folder belongs to somebody else" >&2; exit 3; }}
else
    old "${{TMPDIR:-/tmp}}" {OF_CHECKS} 1440
    folder=$(mktemp -d "${{TMPDIR:-/tmp}}/{OF_CHECKS}.XXXXXX") || exit 3
fi
new=$(mktemp -d "$folder/new.XXXXXX") || exit 3
fail() {{ rm -rf "$new"; rmdir "$folder" 2>/dev/null; exit 4; }}
tar xf - -C "$new" || fail
for name in "$@"; do
    case $name in */*) mkdir -p "$folder/${{name%/*}}" || fail ;; esac
    mv -f "$new/$name" "$folder/$name" || fail
done
rm -rf "$new"
cd "$folder" || exit 5
touch .
printf 'folder\t%s\n' "$folder"
for name in "$@"; do
    [ -x "$name" ] || printf 'noexec\n'
    printf 'sum\t%s\t%s\n' "$name" "$(sha256sum <"$name" | cut -d' ' -f1)"
done
"""
"""What a node does. Each file gets into its place whole, because nodes may share the folder, and a program may run from
it. What a killed hpltune left a day ago, or a week ago after runs, is removed."""
_REMOVE = rf'case $1 in */{OF_CHECKS}.??????|*/{OF_RUNS}.????????) rm -rf "$1" ;; esac'


@dataclass(frozen=True)
class StagedFiles:
    """What was copied.

    Attributes:
        folders: by node the folder that holds the files.
        failed: by node why it does not.
    """

    folders: Mapping[str, str]
    failed: Mapping[str, str]


def stage(reach: Transport, nodes: Sequence[str], files: Mapping[str, Path], folder: str = "") -> StagedFiles:
    """Copy files to all nodes at the same time.

    Args:
        files: by the name, or the path in the folder, that each gets on the nodes.
        folder: the same on all nodes, and made where it is missing; its name begins with OF_RUNS. "" makes a new one on
            each node below TMPDIR.

    Raises:
        OSError: a file cannot be read here.
    """
    sums = {name: _sum_of(path) for name, path in files.items()}
    with NamedTemporaryFile(prefix="hpltune-", suffix=".tar") as packed:
        with tarfile.open(packed.name, mode="w") as tar:
            for name, path in files.items():  # each is read in pieces, so that a large library needs no memory
                with path.open("rb") as file:
                    entry = tarfile.TarInfo(name)
                    entry.size, entry.mode = path.stat().st_size, 0o700
                    tar.addfile(entry, file)
        said = say_all(
            reach, nodes, ("sh", "-c", _TAKE, "sh", folder, *files), timeout_s=LIMIT_S, stdin=Path(packed.name)
        )
    found = {node: _arrived(node, answer, sums, folder) for node, answer in said.items()}
    return StagedFiles(
        folders={node: folder for node, (folder, _) in found.items() if folder},
        failed={node: why for node, (folder, why) in found.items() if not folder},
    )


def unstage(reach: Transport, staged: StagedFiles) -> Sequence[str]:
    """Remove what was copied, and return the nodes that did not answer; those keep it for a day, or a week after runs.

    Raises:
        InvalidJobError: a node is no host name.
    """
    commands = {node: ("sh", "-c", _REMOVE, "sh", folder) for node, folder in staged.folders.items()}
    return [
        node
        for node, own in say_each(reach, commands, timeout_s=30.0).items()
        if isinstance(own, UnreachableError) or own.exit_code != 0
    ]


def _sum_of(path: Path) -> str:
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


def _arrived(
    node: str, said: CommandResult | UnreachableError, sums: Mapping[str, str], wanted: str
) -> tuple[str, str]:
    """Return the folder on a node, or "" and why there is none."""
    if isinstance(said, UnreachableError):
        return "", str(said)
    lines = [line.split("\t") for line in said.stdout.splitlines()]
    advice = "name another folder with stage_folder in the cluster file" if wanted else "set TMPDIR there"
    folder = next((line[1] for line in lines if line[0] == "folder" and len(line) == 2), "")
    if said.exit_code != 0 or not folder:
        why = next(iter(said.stderr.strip().splitlines()), f"code {said.exit_code}")
        return "", f"node {node}: files cannot be copied to {wanted or 'its /tmp'} ({why}): make room or {advice}"
    if ["noexec"] in lines:
        return "", f"node {node}: programs in {folder} may not be started (a noexec file system): {advice}"
    came = {line[1]: line[2] for line in lines if line[0] == "sum" and len(line) == 3}
    wrong = [name for name, checksum in sums.items() if came.get(name) != checksum]
    return ("", f"node {node}: {', '.join(wrong)} did not arrive as it was sent") if wrong else (folder, "")
