"""The contract of a container runtime. A new one is one file with a class, and one line in `registry.py`.

MPI stays outside: its launcher starts the runtime once for each rank, and the runtime becomes the program in the image.
So the network, the processes and the memory of ranks are those of the host, and only files come from the image.
"""

import os
import secrets
import shutil
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from hashlib import file_digest
from pathlib import Path
from typing import ClassVar

INSIDE_ONLY = frozenset({"LD_PRELOAD"})
"""Variables that would change the runtime, too."""
FOLDER_DIGEST = ""
"""The digest of an image that is a folder: nobody knows whether its files were changed."""


def folder_of(name: str) -> str:
    """Return the clause how an image of a registry becomes a folder, which most runtimes take."""
    return f"make a folder of it (`ch-image pull {name}`, `ch-convert {name} FOLDER`) and name that"


class ContainerRuntime(ABC):
    """A program that starts another one inside an image.

    Attributes:
        name: in `NAME=IMAGE`.
        program: that is started for each rank, found on PATH; "" where the launcher does it.
        launcher: that does it; "" for any.
        asks: arguments by which it tells its version.
        images: what it takes, in words.
        named: its images may be names, not only files of this machine.
    """

    name: ClassVar[str]
    program: ClassVar[str]
    launcher: ClassVar[str] = ""
    asks: ClassVar[tuple[str, ...]] = ("--version",)
    images: ClassVar[str]
    named: ClassVar[bool] = False

    @abstractmethod
    def takes(self, image: str) -> bool:
        """Whether an image looks like one of its own."""

    @abstractmethod
    def words(self, rank: "Container") -> tuple[str, ...]:
        """Return what stands before the program in the command of each rank."""

    def of_launcher(self, rank: "Container") -> tuple[str, ...]:  # noqa: ARG002 - for runtimes that a launcher calls
        """Return options of the launcher, where that puts ranks into the image."""
        return ()

    @property
    def variables(self) -> Mapping[str, str]:
        """Variables of ranks that it needs."""
        return {}

    @property
    def installed(self) -> bool:
        """Whether its program is here."""
        return bool(self.program) and shutil.which(self.program) is not None

    @property
    def started(self) -> str:
        """The whole path of its program, where it is here: a launcher may have another PATH, as Open MPI's."""
        return shutil.which(self.program) or self.program

    def lacking(self) -> str:
        """Return the sentence why it cannot be used on this machine; "" where it can."""
        return "" if self.installed else f"{self.name} is not installed: its program {self.program} is not on PATH"

    def version(self) -> str:
        """Return what its program says of its version; "" where it is not here or does not run."""
        if not self.installed:
            return ""
        command, environment = (self.program, *self.asks), {**os.environ, **self.variables}
        try:
            said = subprocess.run(command, capture_output=True, text=True, check=True, timeout=30, env=environment)
        except (OSError, subprocess.SubprocessError):
            return ""
        return (said.stdout or said.stderr).strip().partition("\n")[0] or self.program

    def fault(self, image: str) -> str:
        """Return the sentence why an image cannot be one of its own; "" where it may be."""
        if self.named and not image.startswith(("/", ".")):
            return ""
        return "" if Path(image).exists() else f"there is no image {image}"

    def prepare(self, image: str, folders: tuple[Path, ...]) -> str:  # noqa: ARG002 - most make such places themselves
        """Make places in an image for folders; return the sentence why that is not possible, or ""."""
        return ""

    def digest(self, image: str) -> str:
        """Return the SHA-256 of an image that is a file; FOLDER_DIGEST for others."""
        try:
            with Path(image).open("rb") as file:
                return file_digest(file, "sha256").hexdigest()
        except OSError:
            return FOLDER_DIGEST


@dataclass(frozen=True)
class Container:
    """An image in which ranks run.

    Attributes:
        image: a file, a folder, or a name of the runtime's own.
        folders: of the host, which ranks see at the same paths.
        sha256: of an image that is a file; "" for others.
        preloads: libraries of the host can be preloaded inside.
        gpus: the vendor of the GPUs that ranks compute on; "" where they compute on cores.
        inside: variables that only the program gets, as libraries to preload, which the runtime could not load.
        on_node: ranks of a launch on each node.
        label: of a launch, which no other has: what an earlier one left behind shall not be found.
        work: the working folder of ranks, one of these folders or below one; `rank` sets it.
    """

    runtime: ContainerRuntime
    image: str
    folders: tuple[Path, ...] = ()
    sha256: str = ""
    preloads: bool = True
    gpus: str = ""
    inside: Mapping[str, str] = field(default_factory=dict)
    on_node: int = 1
    label: str = ""
    work: Path = Path("/")

    def __str__(self) -> str:
        return f"{self.runtime.name}={self.image}"

    def of_ranks(self, environment: Mapping[str, str], on_node: int) -> "Container":
        """Return the same for ranks with these variables, of which those of INSIDE_ONLY go to the program alone."""
        inside = {name: value for name, value in environment.items() if name in INSIDE_ONLY and self.preloads}
        return replace(self, inside=inside, on_node=on_node, label=f"hpltune-{secrets.token_hex(4)}")

    def variables_of(self, environment: Mapping[str, str]) -> dict[str, str]:
        """Return the variables that a launcher gives ranks, with those that the runtime needs."""
        outside = {name: value for name, value in environment.items() if name not in INSIDE_ONLY}
        return {**self.runtime.variables, **outside}

    def rank(self, work: Path) -> "Container":
        """Return the same for a rank with this working folder, which it sees too."""
        seen = any(work.is_relative_to(folder) for folder in self.folders)
        return replace(self, folders=self.folders if seen else (*self.folders, work), work=work)

    def words(self, work: Path) -> tuple[str, ...]:
        """Return what stands before the program in the command of each rank."""
        inside = [f"{name}={value}" for name, value in sorted(self.inside.items())]
        return (*self.runtime.words(self.rank(work)), *(("/usr/bin/env", *inside) if inside else ()))
