"""Slurm's own containers: `srun --container-image` of the plugin pyxis, which starts enroot."""

import shutil
import subprocess
from typing import ClassVar

from .contract import Container, ContainerRuntime

OPTION = "--container-image"
ASKS_S = 30.0


class SlurmImage(ContainerRuntime):
    """Puts ranks into the image by options of srun, so that all of their command runs inside, wrappers included."""

    name: ClassVar[str] = "slurm"
    program: ClassVar[str] = ""
    launcher: ClassVar[str] = "srun"
    images: ClassVar[str] = "what pyxis takes: a .sqfs file, or REGISTRY#NAME:TAG"
    named: ClassVar[bool] = True

    def takes(self, image: str) -> bool:  # noqa: ARG002 - it is named
        """Take none by itself: nodes of Slurm may have other runtimes, too."""
        return False

    def words(self, rank: Container) -> tuple[str, ...]:  # noqa: ARG002 - the launcher has them
        """Return nothing: srun starts the program inside."""
        return ()

    def of_launcher(self, rank: Container) -> tuple[str, ...]:
        """Return the options of pyxis."""
        mounts = ",".join(f"{folder}:{folder}" for folder in rank.folders)
        return (f"{OPTION}={rank.image}", f"--container-mounts={mounts}", f"--container-workdir={rank.work}")

    def lacking(self) -> str:
        """Say that this srun knows no images: with pyxis its help lists the option."""
        if shutil.which(self.launcher) is None:
            return "slurm=IMAGE needs srun, which is not on PATH"
        try:
            said = subprocess.run(
                (self.launcher, "--help"), capture_output=True, text=True, check=False, timeout=ASKS_S
            )
        except (OSError, subprocess.SubprocessError):
            return "srun does not say whether it knows images"
        if OPTION in said.stdout + said.stderr:
            return ""
        return "this srun starts no images: Slurm needs the plugin pyxis for that"
