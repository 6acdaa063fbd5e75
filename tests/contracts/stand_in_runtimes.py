"""Stand-ins for container runtimes that are not here: they take the words of the real ones, and start the program.

What they show of an image are the files of this machine.
"""

from pathlib import Path

from as_user import program

APPTAINER = """#!/bin/sh
case $1 in
    --version) echo "apptainer version 1.3.4"; exit 0 ;;
    exec) shift ;;
    *) echo "Error: unknown command \\"$1\\"" >&2; exit 1 ;;
esac
while :; do
    case $1 in
        --bind=*) [ -d "${1#--bind=}" ] || { echo "FATAL:   mount source ${1#--bind=} doesn't exist" >&2; exit 255; } ;;
        --pwd=*) cd "${1#--pwd=}" || exit 255 ;;
        --nv | --rocm) ;;
        -*) echo "Error for command \\"exec\\": unknown flag: $1" >&2; exit 1 ;;
        *) break ;;
    esac
    shift
done
[ -e "$1" ] || { echo "FATAL:   could not open image $1: no such file or directory" >&2; exit 255; }
shift
export APPTAINER_NAME=hpl
exec "$@"
"""
PODMAN = """#!/bin/sh
case "$1 $2" in
    "--version ") echo "podman version 4.3.1"; exit 0 ;;
    "image exists") [ "$3" = localhost/hpl:2.3 ]; exit ;;
    "image inspect") echo 0123456789abcdef; exit 0 ;;
    "run --rm") shift 2 ;;
    *) echo "Error: unrecognized command podman $1" >&2; exit 125 ;;
esac
while :; do
    case $1 in
        --network=host | --pid=host | --ipc=host | --env-host) ;;
        --security-opt=*=disable | --security-opt=*=unconfined) ;;
        --userns=keep-id | --device=* | --volume=/*:/* | --pull=never) ;;
        --workdir=*) cd "${1#--workdir=}" || exit 126 ;;
        --rootfs) ;;
        -*) echo "Error: unknown flag: $1" >&2; exit 125 ;;
        *) break ;;
    esac
    shift
done
shift
exec "$@"
"""
SRUN = """#!/bin/sh
echo "Options:"
echo "      --container-image=[USER@][REGISTRY#]IMAGE[:TAG]|PATH"
echo "                              [pyxis] the image to use for the container"
"""


def apptainer(folder: Path, name: str = "apptainer") -> Path:
    """Apptainer, or Singularity."""
    return program(folder / name, APPTAINER)


def podman(folder: Path) -> Path:
    """Podman, which has one image."""
    return program(folder / "podman", PODMAN)


def srun_with_pyxis(folder: Path) -> Path:
    """The help of an srun that starts images."""
    return program(folder / "srun", SRUN)
