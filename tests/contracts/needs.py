"""What tests need that a machine may lack, each with how it is had: the reasons of skipped tests, all of them here.

A reason names no path, version or number of the machine, so that CI can hold what is skipped against a list.
"""

import os
import shutil
from collections.abc import Sequence
from typing import NoReturn

import pytest

SETUP = "`hpltune setup` installs it"
HOW = {
    "a C compiler": SETUP,
    "mpirun": SETUP,
    "mpicc": SETUP,
    "Open MPI": SETUP,
    "OpenBLAS": SETUP,
    "a BLAS library": SETUP,
    "two BLAS libraries": SETUP,
    "SimGrid": "`hpltune setup --with simgrid` installs it",
    "the source of HPL": "`hpltune setup` fetches it",
    "the source of this program": "get it from where docs/programs.md says",
    "MPICH": "apt-get install mpich libmpich-dev",
    "Debian's Open MPI": "apt-get install openmpi-bin libopenmpi-dev",
    "Debian's OpenBLAS": "apt-get install libopenblas0-pthread",
    "Debian's reference BLAS": "apt-get install libblas3",
    "Intel MPI": "it comes from PyPI, for x86-64 only",
    "Grid Engine": "apt-get install gridengine-master gridengine-exec gridengine-client",
    "Slurm": "apt-get install slurmctld slurmd slurm-client",
    "programs of a laboratory": "apt-get install iproute2 ethtool util-linux openssh-server openssh-client",
    "PMIx in Slurm": "use a Slurm that was built with it",
    "Charliecloud": "apt-get install charliecloud-runtime, and allow user namespaces",
    "Chromium": "apt-get install chromium",
    "PostgreSQL": "apt-get install postgresql",
    "a module command": "apt-get install environment-modules",
    "openssl": "apt-get install openssl",
    "ip": "apt-get install iproute2",
    "nft": "apt-get install nftables",
    "visudo": "apt-get install sudo",
    "systemd-analyze": "apt-get install systemd",
    "util-linux": "apt-get install util-linux",
    "the package of this engine": "pip install it",
    "root": "run the tests as root, outside of a container",
    "a user without root": "run the tests as one",
    "the right to make namespaces": "run the tests as root, outside of a container",
    "the right to make a control group": "run the tests as root, outside of a container",
    "two CPUs": "run the tests on a machine that has them",
    "more open files": "raise the hard limit, `ulimit -Hn`",
    "IPv6": "use a kernel that has it switched on",
    "/dev/net/tun": "load the kernel's module tun",
    "huge pages for those who ask": "use glibc 2.35 or newer, with transparent huge pages as `madvise`",
}
"""How each thing is had."""


def needs(what: str) -> str:
    """The reason why a test is skipped where something is not there."""
    return f"needs {what}: {HOW[what]}"


def skip_without(what: str) -> NoReturn:
    """Skip a test because something is not there."""
    pytest.skip(needs(what))


def require(program: str) -> None:
    """Skip a test where a program is not there."""
    if shutil.which(program) is None:
        skip_without(program)


def require_root(programs: Sequence[str], what: str) -> None:
    """Skip a test that somebody runs who is not root, or where one of the programs of a thing is not there."""
    if os.geteuid() != 0:
        skip_without("root")
    if any(shutil.which(name) is None for name in programs):
        skip_without(what)
