"""One real start of two ranks with an MPI library, so that what prevents every run is known before the first one."""

import fcntl
import os
import platform
import resource
import socket
import struct
import time
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from hpl.build.programs import build_start
from hpl.build.toolchain import Mpi, digest
from hpl.errors import HplError
from hpl.private_files import private_folder
from hpl.search_paths import SearchPaths
from runners.base import JobState, Runner
from runners.containers.contract import Container
from runners.errors import RunnerError
from runners.job import Job
from runners.launchers.base import INHERITED, TOO_FEW_FILES, Launcher, assignments, inherited_mpi
from runners.paths import RunPaths
from runners.registry import InstalledMpi

from ..errors import TunerError

LIMIT_S = 60.0
"""For a start that takes a third of a second."""
HOPELESS_S = 5.0
"""After which a launcher is ended that has said why it hangs."""
RANKS = 2
SAYS = "hpltune-ranks"
"""What rank 0 of native/start.c prints before the number of ranks."""
MOST_BLAMED = 4
"""Variables that are tried one by one; of more, all are named."""
_LOOK_S = 0.02
_SIOCGIFFLAGS = 0x8913
_IFF_UP = 1


@dataclass(frozen=True)
class Start:
    """How a start of two ranks ended.

    Attributes:
        why_not: why they did not start; "" where they did.
        took_s: seconds from the launcher's start to its end.
        layer: what Open MPI sends messages through, as "ob1" or "ucx"; "" where nobody asked.
    """

    why_not: str
    took_s: float
    layer: str = ""


@dataclass(frozen=True)
class _Without:
    """A launcher that starts without some variables of this process."""

    launcher: Launcher
    names: Collection[str]

    def command(self, job: Job) -> list[str]:
        """Return the launcher's own command line, behind `env`."""
        return ["/usr/bin/env", *(f"-u{name}" for name in self.names), *self.launcher.command(job)]

    def explain(self, job: Job, exit_code: int, said: str) -> str:
        """Return what the launcher explains."""
        return self.launcher.explain(job, exit_code, said)


def require_start(mpi: Mpi, search: SearchPaths) -> None:
    """Make sure that an MPI library starts ranks here. A start that succeeded is remembered, and not repeated.

    It is made again after a boot, and where limits, variables of MPI or the network of this process are others.

    Raises:
        TunerError: it starts none; the sentence says why, and which variable is to blame.
    """
    kept = search.cache / "starts" / _circumstances(mpi)
    if kept.exists():
        return
    start = try_start(mpi, search)
    if start.why_not:
        raise TunerError(refused(mpi, start))
    with suppress(OSError):
        private_folder(kept.parent)
        kept.write_text(f"{start.took_s:.2f} s\n", encoding="ascii")


def require_start_in(mpi: Mpi, search: SearchPaths, container: Container) -> None:
    """Make sure that an MPI library of this host starts ranks in an image, where they load the library of the image.

    Raises:
        TunerError: it starts none; the sentence says why.
    """
    start = _start(mpi, search, (), container)
    if start.why_not:
        raise TunerError(
            f"{mpi.name} {mpi.version} of this host does not start {RANKS} ranks in the image {container.image}: "
            f"{start.why_not}; the image needs the same MPI library"
        )


def refused(mpi: Mpi, start: Start) -> str:
    """The sentence that an MPI library starts no ranks here."""
    return f"{mpi.name} {mpi.version} does not start {RANKS} ranks here: {start.why_not}"


def try_start(mpi: Mpi, search: SearchPaths) -> Start:
    """Start two ranks of the smallest program, and find out which variables of this process prevent it."""
    start = _start(mpi, search, ())
    inherited = inherited_mpi(dict(mpi.environment))
    if not start.why_not or not inherited or _start(mpi, search, inherited).why_not:
        return start
    blamed = dict(inherited)
    if 1 < len(inherited) <= MOST_BLAMED:
        alone = {name: value for name, value in inherited.items() if not _start(mpi, search, (name,)).why_not}
        blamed = alone or blamed
    verb, them = ("is", "it") if len(blamed) == 1 else ("are", "them")
    why = f"{assignments(blamed)} {verb} set in this environment, and without {them} ranks start: unset {them}"
    return Start(f"{why} (it said: {start.why_not.partition(INHERITED)[0]})", start.took_s)


def _start(mpi: Mpi, search: SearchPaths, without: Collection[str], container: Container | None = None) -> Start:
    """Start two ranks once.

    Args:
        container: the image in which they run.
        without: variables of this process that the launcher shall not inherit.
    """
    began_s = time.monotonic()
    try:
        launcher: Launcher = InstalledMpi(mpi.name, mpi.mpirun, mpi.version).launcher()
        launcher = _Without(launcher, without) if without else launcher
        with TemporaryDirectory(prefix="hpltune-start-") as folder:
            why_not = _ended(mpi, launcher, start_program(mpi, search), Path(folder), container)
    except (HplError, RunnerError) as error:
        why_not = str(error)
    except OSError as error:
        why_not = f"no program can be started ({error.strerror or error})"
    return Start(why_not, time.monotonic() - began_s)


def start_program(mpi: Mpi, search: SearchPaths, ranks: int = RANKS) -> tuple[str, ...]:
    """The smallest MPI program, or a program that says the same where the library builds none."""
    try:
        return (str(build_start(mpi, search)),)
    except HplError:
        if mpi.mpicc.exists():
            raise
        return ("/bin/echo", SAYS, str(ranks))


def _ended(mpi: Mpi, launcher: Launcher, program: tuple[str, ...], folder: Path, container: Container | None) -> str:
    """Start a program and wait for its end; return why it was not as it should be, or ""."""
    job = Job(
        program=program,
        ranks=RANKS,
        directory=folder,
        walltime_s=LIMIT_S,
        oversubscribe=True,
        launcher_environment=dict(mpi.environment),
        mpi=mpi.name,
        container=container and container.of_ranks({}, RANKS),
        environment=container.variables_of({}) if container else {},
    )
    from runners.local import LocalRunner  # noqa: PLC0415 - who only looks around starts nothing

    with LocalRunner(launcher) as runner:
        return why_not_started(runner, launcher, job, mpi)


def why_not_started(runner: Runner, launcher: Launcher, job: Job, mpi: Mpi) -> str:
    """Run a job that `start_program` made and wait for its end; return why it was not as it should be, or ""."""
    paths = RunPaths(job.directory)
    job_id, began_s = runner.submit(job), time.monotonic()
    while not (status := runner.poll([job_id])[job_id]).state.final:
        if time.monotonic() - began_s > HOPELESS_S and _hopeless(launcher, job, paths):
            break
        time.sleep(_LOOK_S)
    if _hopeless(launcher, job, paths):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        return f"{TOO_FEW_FILES}; now {soft} are allowed{f', and at most {hard}' if hard != soft else ''}"
    if status.state is JobState.TIMEOUT:
        said = launcher.explain(job, 0, paths.last_words()).partition("ended with code 0: ")[2]
        return f"they did not begin within {job.walltime_s:.0f} s{f'; {mpi.mpirun.name} said: {said}' if said else ''}"
    if status.state is not JobState.COMPLETED:
        return status.message
    counted = [line.split()[-1] for line in paths.read_stdout().splitlines() if line.startswith(SAYS)]
    if counted and set(counted) == {str(job.ranks)}:
        return ""
    if "1" in counted:
        return (
            f"{mpi.mpirun} starts each rank alone, as the launcher of one MPI library does with programs of another: "
            f"{mpi.mpicc} belongs to another, so choose both from one"
        )
    return f"{mpi.mpirun} ended well, but started nothing"


def _hopeless(launcher: Launcher, job: Job, paths: RunPaths) -> bool:
    """Whether the launcher has said that it may not open enough files, after which Open MPI waits for ever."""
    return launcher.explain(job, 1, paths.last_words()) == TOO_FEW_FILES


def _circumstances(mpi: Mpi) -> str:
    """What a start depends on, as a name of a file: library, host, boot, limits, variables and network."""
    boot = network = ""
    with suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        network = str(Path("/proc/self/ns/net").stat().st_ino)
    limits = [str(min(limit, 1024)) for limit in resource.getrlimit(resource.RLIMIT_NOFILE) if limit >= 0]
    variables = [f"{name}={value}" for name, value in {**inherited_mpi(), **dict(mpi.environment)}.items()]
    library = [mpi.name, mpi.version, str(mpi.mpirun), str(mpi.mpicc)]
    place = [platform.node(), boot, network, str(_loopback_is_up()), os.environ.get("TMPDIR", ""), str(os.geteuid())]
    return digest([*library, *place, *limits, *variables])


def _loopback_is_up() -> bool:
    """Whether this process has a loopback interface that is up."""
    asked = struct.pack("16sH14x", b"lo", 0)
    with suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        flags: int = struct.unpack("16sH14x", fcntl.ioctl(asking, _SIOCGIFFLAGS, asked))[1]
        return bool(flags & _IFF_UP)
    return False
