"""Intel MPI from PyPI, as `hpltune setup --with intelmpi` installs it, once into a folder of a cache that stays."""

import fcntl
import os
import platform
from pathlib import Path

from needs import skip_without

from hpl.build.toolchain import Mpi, find_mpis
from hpl.search_paths import SearchPaths
from tuner.provision.actions import SetupError, Steps

CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "hpltune-tests/intelmpi"
WHEEL = CACHE / "prefix/wheels/impi-devel"


def installed_intel_mpi() -> Mpi:
    """Find it, and install it first where it is not here; one process at a time."""
    if platform.machine() != "x86_64":
        skip_without("Intel MPI")
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not WHEEL.is_dir():
            try:
                Steps(CACHE / "setup.log").wheel("impi-devel", WHEEL)
            except SetupError:
                skip_without("Intel MPI")
    found = find_mpis(SearchPaths(CACHE / "prefix", CACHE))
    return next(mpi for mpi in found if mpi.name == "intelmpi" and mpi.mpirun.is_relative_to(WHEEL))
