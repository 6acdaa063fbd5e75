"""Copies of programs on nodes that share no folder with this host, and the record by which they are removed."""

import json
import re
import secrets
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from ..errors import InvalidJobError, SubmitError, UnreachableError
from ..job import Job
from .cluster import Cluster
from .staging import OF_RUNS, StagedFiles, stage, unstage
from .transport import Ssh, silent

PRELOAD = "LD_PRELOAD"
"""The loader takes these files before those of the same name that the program, or a node, names (ld.so(8))."""
_COPY = re.compile(rf"[^\s:'\"=]*/{OF_RUNS}\.[0-9a-f]{{8}}(?=/)")


@dataclass(frozen=True)
class CopiedTo:
    """The folder of copies, the same on all nodes.

    Attributes:
        ssh: the tokens of `Ssh` that reach the nodes.
    """

    ssh: tuple[str, ...]
    nodes: tuple[str, ...]
    folder: str

    def remove(self) -> Sequence[str]:
        """Remove the copies, and return the nodes that did not answer."""
        return unstage(Ssh(self.ssh), StagedFiles(dict.fromkeys(self.nodes, self.folder), {}))


class Copies:
    """Brings files to nodes once, below one folder and there at the path that they have here.

    A file on this host tells which nodes have copies, so that `hpltune clean` removes those that a killed process left.
    """

    def __init__(self, reach: Ssh, parent: str, records: Path) -> None:
        """Choose a folder; nothing is copied yet.

        Args:
            parent: a folder of each node below which copies may be.
            records: the folder of this host for records.
        """
        self._reach = reach
        self._folder = _new_folder(parent)
        self._record = records / f"{self._folder.rpartition('.')[2]}.json"
        self._arrived: dict[str, set[str]] = {}
        self._nodes: tuple[str, ...] = ()
        self._runs = 0

    def bring(self, job: Job) -> Job:
        """Copy the files of a job to its nodes, as far as they are not there, and return the job that uses the copies.

        Raises:
            InvalidJobError: a file cannot be read, or no loader takes its path.
            UnreachableError: a node does not answer.
            SubmitError: a node cannot take the files; the sentence says why.
        """
        self._runs += 1
        work = f"runs/{self._runs}"
        inputs = {f"{work}/{name}": job.directory / name for name in job.inputs}
        preloaded = [*filter(None, job.environment.get(PRELOAD, "").split(":")), *map(str, job.libraries)]
        for path in preloaded:
            if not path.startswith("/") or any(sign in path for sign in " :\n"):
                raise InvalidJobError(f'stage = "copy" cannot take {path}: its path has a space or a colon')
        self._copy(job.nodes, [job.program[0], *preloaded], inputs)
        environment = dict(job.environment)
        if preloaded:
            environment[PRELOAD] = ":".join(f"{self._folder}{path}" for path in preloaded)
        return replace(
            job,
            program=(f"{self._folder}{job.program[0]}", *job.program[1:]),
            environment=environment,
            copied_to=Path(self._folder, work) if inputs else Path(self._folder),
        )

    def doubt(self, nodes: Sequence[str]) -> None:
        """Copy everything to these nodes again before the next job: they may have been restarted."""
        for node in nodes:
            self._arrived.pop(node, None)

    def remove(self) -> None:
        """Remove all copies; the record stays for the nodes that do not answer."""
        self._nodes = tuple(CopiedTo(self._reach.program, self._nodes, self._folder).remove() if self._nodes else ())
        self._arrived.clear()
        with suppress(OSError):
            self._write()

    def _copy(self, nodes: Sequence[str], lasting: Sequence[str], inputs: Mapping[str, Path]) -> None:
        """Send each node what it lacks; nodes that lack the same are served at the same time."""
        self._note(nodes)
        failed: dict[str, str] = {}
        try:
            versions = {path: f"{path} {Path(path).stat().st_mtime_ns}" for path in lasting}
            wanted: dict[tuple[str, ...], list[str]] = {}
            for node in nodes:
                there = self._arrived.get(node, set())
                wanted.setdefault(tuple(path for path in lasting if versions[path] not in there), []).append(node)
            for lacking, alike in wanted.items():
                files = {**{path.lstrip("/"): Path(path) for path in lacking}, **inputs}
                failed |= stage(self._reach, alike, files, self._folder).failed
        except OSError as error:
            raise InvalidJobError(f"{error.filename} cannot be copied to nodes: {error.strerror}") from error
        for node in {*nodes} - failed.keys():
            self._arrived.setdefault(node, set()).update(versions.values())
        for node, why in failed.items():
            if silent(self._reach, [node]):
                raise UnreachableError(why, node)
            raise SubmitError(why, transient=False)

    def _note(self, nodes: Sequence[str]) -> None:
        """Record nodes before anything is copied to them."""
        try:
            if more := tuple(node for node in nodes if node not in self._nodes):
                self._nodes += more
                self._write()
        except OSError as error:
            raise SubmitError(f"{self._record} cannot be written: {error.strerror}", transient=False) from error

    def _write(self) -> None:
        if not self._nodes:
            self._record.unlink(missing_ok=True)
            return
        self._record.parent.mkdir(parents=True, exist_ok=True)
        facts = {"ssh": list(self._reach.program), "nodes": list(self._nodes), "folder": self._folder}
        self._record.write_text(json.dumps(facts), encoding="utf-8")


def copies_for(cluster: Cluster, records: Path) -> Copies | None:
    """Return what copies programs to the nodes of a cluster; None where they share hpltune's folders."""
    return Copies(cluster.reach, cluster.stage_folder, records) if cluster.copies else None


def named_as_here(text: str) -> str:
    """Return a text, as the output of a run, in which copies have the paths that the files have on this host."""
    return _COPY.sub("", text)


def recorded(records: Path) -> Mapping[Path, CopiedTo]:
    """Return the copies that are on nodes, by the file that records them; a damaged record is skipped."""
    found = {}
    for file in sorted(records.glob("*.json")):
        with suppress(OSError, ValueError, KeyError, TypeError):
            facts = json.loads(file.read_text(encoding="utf-8"))
            found[file] = CopiedTo(tuple(facts["ssh"]), tuple(facts["nodes"]), str(facts["folder"]))
    return found


def try_copy(cluster: Cluster, nodes: Sequence[str]) -> Mapping[str, str]:
    """Copy a small file to nodes and remove it again; return the nodes where that fails, with the sentence why.

    Nothing is tried where nodes share hpltune's folders.

    Raises:
        OSError: a file of this program cannot be read.
    """
    if not cluster.copies:
        return {}
    staged = stage(cluster.reach, nodes, {"test": Path(__file__)}, _new_folder(cluster.stage_folder))
    unstage(cluster.reach, staged)
    return staged.failed


def _new_folder(parent: str) -> str:
    """Return the path of a folder for copies that nothing else uses."""
    return f"{parent.rstrip('/')}/{OF_RUNS}.{secrets.token_hex(4)}"
