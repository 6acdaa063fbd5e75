"""Apptainer, and Singularity, of which it was a part: both take the same words. Options are those of their manuals."""

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from .contract import Container, ContainerRuntime

SOURCES = ("docker://", "oras://", "library://", "shub://")
"""Images that are fetched when they are started."""
FOR_GPUS: Mapping[str, tuple[str, ...]] = {"NVIDIA": ("--nv",), "AMD": ("--rocm",)}


class Apptainer(ContainerRuntime):
    """Starts ranks in a SIF file or a folder; it passes all variables, and shows /tmp and the user's home itself."""

    name: ClassVar[str] = "apptainer"
    program: ClassVar[str] = "apptainer"
    images: ClassVar[str] = "a .sif file, a folder, or docker://NAME"
    named: ClassVar[bool] = True

    def takes(self, image: str) -> bool:
        """Take SIF files, folders and addresses."""
        return image.endswith(".sif") or image.startswith(SOURCES) or Path(image).is_dir()

    def words(self, rank: Container) -> tuple[str, ...]:
        """Return the command `exec`."""
        binds = [f"--bind={folder}" for folder in rank.folders]
        return (self.started, "exec", *FOR_GPUS.get(rank.gpus, ()), *binds, f"--pwd={rank.work}", rank.image)

    def fault(self, image: str) -> str:
        """Say that an image is not there, unless it is fetched."""
        return "" if image.startswith(SOURCES) or Path(image).exists() else f"there is no image {image}"


class Singularity(Apptainer):
    """Apptainer under its older name, and SingularityCE."""

    name: ClassVar[str] = "singularity"
    program: ClassVar[str] = "singularity"
