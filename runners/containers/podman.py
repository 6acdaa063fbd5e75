"""Podman, with the options of its page on HPC: the host's network, processes and shared memory."""

import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from .contract import Container, ContainerRuntime, folder_of

NAME = re.compile(r"(?!.*//)[A-Za-z0-9][\w./:@-]{0,254}")
"""Of an image, with registry, tag or digest: localhost/hpl:2.3."""
HOST = ("--network=host", "--pid=host", "--ipc=host", "--env-host")
OPEN = ("--security-opt=label=disable", "--security-opt=seccomp=unconfined")
"""Ranks may read each other's memory and the files of the host."""
FOR_GPUS: Mapping[str, tuple[str, ...]] = {
    "NVIDIA": ("--device=nvidia.com/gpu=all",),
    "AMD": ("--device=/dev/kfd", "--device=/dev/dri"),
}
ASKS_S = 60.0


class Podman(ContainerRuntime):
    """Starts ranks in an image of Podman's storage, or in a folder."""

    name: ClassVar[str] = "podman"
    program: ClassVar[str] = "podman"
    images: ClassVar[str] = "the name of an image that it has, or a folder"
    named: ClassVar[bool] = True

    def takes(self, image: str) -> bool:
        """Take names and folders."""
        return Path(image).is_dir() or NAME.fullmatch(image) is not None

    @property
    def variables(self) -> Mapping[str, str]:
        """Tell Open MPI 4 that ranks of another user namespace, as without root, cannot read each other's memory."""
        return {} if os.geteuid() == 0 else {"OMPI_MCA_btl_vader_single_copy_mechanism": "none"}

    def words(self, rank: Container) -> tuple[str, ...]:
        """Return the command `run`, with Open MPI's session folder; files get the user's own number."""
        user = () if os.geteuid() == 0 else ("--userns=keep-id",)
        volumes = [f"--volume={folder}:{folder}" for folder in dict.fromkeys((*rank.folders, Path("/tmp")))]  # noqa: S108 - Open MPI's sessions are there
        where = ("--rootfs", rank.image) if Path(rank.image).is_dir() else ("--pull=never", rank.image)
        gpus = FOR_GPUS.get(rank.gpus, ())
        return (self.started, "run", "--rm", *HOST, *OPEN, *user, *gpus, *volumes, f"--workdir={rank.work}", *where)

    def fault(self, image: str) -> str:
        """Ask Podman whether it has an image of this name."""
        if Path(image).is_dir():
            return ""
        if image.startswith(("/", ".")):
            return f"there is no image {image}"
        if not self.installed:
            return (
                f"there is no such file or folder, and podman, which knows images by name, is not installed: "
                f"install it, or {folder_of(image)}"
            )
        return (
            ""
            if self._ask("image", "exists", image) is not None
            else (f"podman has no image {image}: `podman pull {image}` gets it where it is in a registry")
        )

    def digest(self, image: str) -> str:
        """Return the digest that Podman tells of an image."""
        return "" if Path(image).is_dir() else (self._ask("image", "inspect", "--format={{.Id}}", image) or "")

    def _ask(self, *arguments: str) -> str | None:
        """Return what Podman prints; None where it ends with an error."""
        try:
            said = subprocess.run(
                (self.program, *arguments), capture_output=True, text=True, check=True, timeout=ASKS_S
            )
        except (OSError, subprocess.SubprocessError):
            return None
        return said.stdout.strip()
