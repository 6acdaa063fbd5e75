"""The real programs that tests use: those that hpltune itself finds, also in the private prefix of `hpltune setup`."""

import re
import subprocess
from pathlib import Path

import pytest
from needs import skip_without

from hpl.build.simgrid import SimGrid, find_simgrid
from hpl.build.toolchain import Mpi, c_compiler, find_mpis
from hpl.errors import HplError
from hpl.search_paths import SearchPaths
from runners.launchers.openmpi import OpenMpi
from tuner.user_dirs import UserDirs

OWN = UserDirs.of_user(to_read=True)
"""The folders of whoever runs the tests."""


def found_mpi(patch: pytest.MonkeyPatch | None = None, *, building: bool) -> Mpi:
    """Find what starts ranks, or skip the test.

    Args:
        patch: gives this process the variables that the MPI needs in the private prefix, its folder on PATH among them.
        building: it must compile, too.
    """
    try:
        found = find_mpis(SearchPaths(OWN.prefix, OWN.cache), building=building)[0]
    except HplError:
        skip_without("mpicc" if building else "mpirun")
    if patch:
        for name, value in found.environment:
            patch.setenv(name, value)
    return found


def found_compiler() -> str:
    """Find what compiles C, or skip the test."""
    try:
        return c_compiler(SearchPaths(OWN.prefix, OWN.cache))
    except HplError:
        skip_without("a C compiler")


def shared_library(file: Path, source: str, *options: str) -> Path:
    """Compile C into a shared library, or skip the test.

    Args:
        options: of the compiler, libraries to link among them.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    command = [found_compiler(), "-O2", "-w", "-shared", "-fPIC", "-x", "c", "-", "-o", str(file), "-x", "none"]
    subprocess.run([*command, *options], input=source, text=True, check=True, capture_output=True)
    return file


def found_simgrid() -> SimGrid:
    """Find what simulates, or skip the test."""
    try:
        return find_simgrid(SearchPaths(OWN.prefix, OWN.cache))
    except HplError:
        skip_without("SimGrid")


def open_mpi(mpirun: str, start: Path | None = None) -> OpenMpi:
    """An Open MPI that is here, of whatever version, as its launcher.

    Args:
        start: a script that starts it; None: itself.
    """
    said = subprocess.run([mpirun, "--version"], check=True, capture_output=True, text=True).stdout
    version = re.search(r"\d+(\.\d+)+", said)
    assert version, said
    return OpenMpi.installed(start or Path(mpirun), version[0])
