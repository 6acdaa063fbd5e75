"""NVIDIA's NVBLAS: BLAS of the third level on GPUs, in front of a BLAS of this machine that does all else.

It is part of cuBLAS, as PyPI's nvidia-cublas-cu12 or a CUDA toolkit has it. The matrix stays in the memory of the node,
and tiles of it go to the GPU of each rank and back. Source: docs.nvidia.com, "NVBLAS" (its file of settings); names
and messages of libnvblas 12.9.
"""

import shutil
from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

from ..search_paths import SearchPaths
from .catalogue import BlasError, BlasLibrary, LibraryFile, library_folders, look
from .family import thread_variables
from .openblas import OpenBlas

NAME, VENDOR = "nvblas", "NVIDIA"
WHEEL = "nvidia-cublas-cu12"
FILES = ("libnvblas.so.13", "libnvblas.so.12", "libnvblas.so")
SETTINGS = "NVBLAS_CONFIG_FILE"
"""The variable that names its file of settings; it reads no other."""
TILES = {"tile1024": 1024, "tile4096": 4096, "tile8192": 8192}
"""Its kernels: the sizes of tiles (NVBLAS_TILE_DIM); its own choice is 2048."""
ON_GPU = "gpu"
"""What a process tells as its kernel that has loaded the driver of the GPUs."""
_ITS_OWN = """at=${OMPI_COMM_WORLD_LOCAL_RANK:-${MPI_LOCALRANKID:-${SLURM_LOCALID:-0}}}
export CUDA_VISIBLE_DEVICES=$(echo "${CUDA_VISIBLE_DEVICES:-$(seq -s, 0 63)}" | cut -d, -f$((at + 1)))
exec "$0" "$@"
"""
ONE_GPU = ("/bin/sh", "-c", _ITS_OWN.strip().replace("\n", "; "))
"""What stands before a program so that each rank of a node has a GPU of its own, among those that the user shows."""


class NvBlas:
    """NVBLAS, which takes dgemm and dtrsm of a program that is linked with it and with another BLAS behind it."""

    name = NAME
    copyable = False

    def candidates(self, search: SearchPaths) -> Sequence[LibraryFile]:
        """Look in folders of CUDA and PyPI's wheel, on a machine that has NVIDIA's driver."""
        if shutil.which("nvidia-smi") is None:
            return []
        wheel = search.wheel(WHEEL)
        files = sorted(wheel.rglob("libnvblas.so.*")) if wheel else []
        found = look(search, NAME, FILES, roots=("CUDA_HOME", "CUDA_PATH", "CUDA_ROOT", "EBROOTCUDA"))
        return [*found, *(LibraryFile(NAME, file.resolve(), f"PyPI wheel {WHEEL}") for file in files)]

    def kernels(self, flags: frozenset[str], library: BlasLibrary) -> Sequence[str]:  # noqa: ARG002
        """List the sizes of tiles that are worth trying."""
        return [*TILES]

    def environment(self, kernel: str, threads: int, library: BlasLibrary | None) -> dict[str, str]:
        """Set the threads of the BLAS behind it, and its file of settings."""
        settings = {} if library is None or library.settings is None else {SETTINGS: str(library.settings / kernel)}
        return thread_variables(threads) | settings

    def asked_matches(self, kernel: str, reported: str) -> bool:
        """Require that the process has loaded the driver of the GPUs: else all was computed by the BLAS behind it."""
        return kernel in {"auto", *TILES} and reported == ON_GPU


def is_nvblas(file: Path) -> bool:
    """Return whether a library is NVBLAS, by its name, which its program needs it to have."""
    return file.name.startswith("libnvblas.so")


def completed(found: LibraryFile, search: SearchPaths) -> LibraryFile:
    """Return NVBLAS with the BLAS behind it and its files of settings, which are written here.

    Raises:
        BlasError: there is no OpenBLAS to stand behind it, or the files cannot be written.
    """
    behind = _behind(search)
    if behind is None:
        raise BlasError(f"{found.path} needs OpenBLAS behind it, which is not here: `hpltune setup` installs it")
    folder = search.cache / NAME / sha256(f"{found.path} {behind}".encode()).hexdigest()[:16]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for kernel, tile in {"auto": None, **TILES}.items():
            lines = [f"NVBLAS_CPU_BLAS_LIB {behind}", "NVBLAS_GPU_LIST 0", "NVBLAS_LOGFILE /dev/null"]
            lines += [] if tile is None else [f"NVBLAS_TILE_DIM {tile}"]
            (folder / kernel).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    except OSError as error:
        raise BlasError(f"{error.filename} cannot be written: {error.strerror}") from error
    return replace(found, behind=behind, settings=folder)


def _behind(search: SearchPaths) -> Path | None:
    """Return the OpenBLAS behind it: one with threads, where there is one, because a rank has many cores."""
    files = [file.path for file in OpenBlas().candidates(search) if file.blas == OpenBlas.name]
    files = [file for file in files if file.parent not in library_folders(search)]
    return next((file for file in files if "serial" not in str(file.parent)), next(iter(files), None))
