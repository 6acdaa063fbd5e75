"""Charliecloud: `ch-run`, which needs no rights and no daemon. Options are those of version 0.31 and later."""

import getpass
import os
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from .contract import Container, ContainerRuntime, folder_of

SHARED = Path("/tmp")  # noqa: S108 - ch-run shows the host's there, unless TMPDIR names another folder
OF_A_SYSTEM = ("dev", "proc", "sys", "tmp", "etc/passwd", "etc/group", "bin/sh")
"""Without these ch-run cannot start the script that looks into an image."""
SQUASHFS = (".sqfs", ".squashfs")


class Charliecloud(ContainerRuntime):
    """Starts ranks in a folder or a SquashFS file.

    All ranks of a node join one container: else each has a user namespace of its own, and none may read the memory of
    another, which Open MPI says and works around slowly (ch-run(1), "Multiple processes in the same container").
    """

    name: ClassVar[str] = "charliecloud"
    program: ClassVar[str] = "ch-run"
    images: ClassVar[str] = "a folder with the files of a system, or a .sqfs file"

    @property
    def variables(self) -> Mapping[str, str]:
        """USER, without which ch-run does not start."""
        return {} if os.environ.get("USER") else {"USER": getpass.getuser()}

    def takes(self, image: str) -> bool:
        """Take folders and SquashFS files."""
        return Path(image).is_dir() or image.endswith(SQUASHFS)

    def words(self, rank: Container) -> tuple[str, ...]:
        """Return ch-run's command, without TMPDIR, whose folder it would show in place of /tmp."""
        env = ("/usr/bin/env", "-u", "TMPDIR") if "TMPDIR" in os.environ else ()
        binds = [f"--bind={folder}" for folder in rank.folders if not folder.is_relative_to(SHARED)]
        joined = (f"--join-ct={rank.on_node}", f"--join-tag={rank.label}") if rank.on_node > 1 else ()
        return (*env, self.started, *joined, *binds, f"--cd={rank.work}", rank.image, "--")

    def fault(self, image: str) -> str:
        """Say that a folder holds no system, and what it lacks."""
        path = Path(image)
        if path.is_dir() and (lacks := [name for name in OF_A_SYSTEM if not os.path.lexists(path / name)]):
            return f"the folder {image} is no image, because it holds no system: it lacks {', '.join(lacks)}"
        if why := super().fault(image):
            named = not image.startswith(("/", ".", "~")) and not image.endswith(SQUASHFS)
            of_registry = f"; only podman and apptainer take names of a registry: {folder_of(image)}"
            return f"{why}{of_registry if named else ''}"
        return ""

    def prepare(self, image: str, folders: tuple[Path, ...]) -> str:
        """Make empty folders in an image that is a folder, as `ch-run --write` would."""
        if not Path(image).is_dir():
            return ""
        for folder in folders:
            place = Path(image) / folder.relative_to("/")
            if folder.is_relative_to(SHARED) or place.is_dir():
                continue
            try:
                place.mkdir(parents=True)
            except OSError as error:
                return f"the image {image} needs an empty folder {folder}, which cannot be made: {error.strerror}"
        return ""
