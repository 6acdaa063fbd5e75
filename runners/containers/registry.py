"""All container runtimes. A new one is one file and one line here."""

from pathlib import Path

from ..errors import RunnerError
from .apptainer import Apptainer, Singularity
from .charliecloud import Charliecloud
from .contract import ContainerRuntime, folder_of
from .podman import Podman
from .slurm import SlurmImage

RUNTIMES: tuple[ContainerRuntime, ...] = (
    Charliecloud(),
    Apptainer(),
    Singularity(),
    Podman(),
    SlurmImage(),
)
"""In the order in which they are asked whether an image is theirs."""


class ImageError(RunnerError):
    """No runtime can start ranks in an image; the sentence says why."""


def runtime_for(text: str, *, asked_here: bool = True) -> tuple[ContainerRuntime, str]:
    """Return the runtime and the image of `IMAGE` or `NAME=IMAGE`; of several that take it, one that is installed.

    Args:
        asked_here: the runtime must be installed on this machine, because ranks or questions start here.

    Raises:
        ImageError: there is no such runtime, it is not installed, or the image is not there.
    """
    name, equals, image = text.partition("=")
    known = {runtime.name: runtime for runtime in RUNTIMES}
    if equals and name in known:
        choices = [known[name]]
    elif equals and name.isidentifier():
        raise ImageError(f"there is no container runtime {name} (there are: {', '.join(known)})")
    else:
        image = text
        choices = [runtime for runtime in RUNTIMES if runtime.takes(_whole(text))]
    if not image:
        raise ImageError(f"write an image, or NAME=IMAGE with one of {', '.join(known)}")
    if not choices:
        takes = "; ".join(f"{runtime.name} takes {runtime.images}" for runtime in RUNTIMES)
        there = "" if Path(image).exists() or not image.startswith(("/", ".", "~")) else "there is no such image; "
        raise ImageError(f"{there}no container runtime takes this ({takes}): name one with NAME=IMAGE")
    runtime = next((runtime for runtime in choices if runtime.installed), choices[0])
    image = _whole(image)
    if why := runtime.fault(image):
        raise ImageError(why)
    if (asked_here or runtime.launcher) and (why := runtime.lacking()):
        raise ImageError(
            f"{why}; install it, or {folder_of(image.rpartition('://')[2])}"
            if runtime.named and not Path(image).exists()
            else why
        )
    return runtime, image


def _whole(image: str) -> str:
    """Return the whole path of an image that is a file or a folder; a name stays."""
    path = Path(image).expanduser()
    return str(path.absolute()) if path.exists() or image.startswith(("/", ".", "~")) else image
