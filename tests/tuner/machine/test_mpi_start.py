"""What prevents every run is found by one start of two ranks, before the first run, and told in one sentence."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from as_user import HPLTUNE, Run, program
from found_here import OWN
from needs import skip_without
from waiting import PATIENCE_S

from hpl.blas.registry import discover
from hpl.build.link import linked_mpi, mpi_library
from hpl.build.programs import Recipe, build
from hpl.build.toolchain import Mpi
from hpl.programs.registry import obtain, program_at
from hpl.search_paths import SearchPaths
from tuner.errors import TunerError
from tuner.machine import mpi_start
from tuner.machine.mpi_start import require_start, try_start
from tuner.machine.survey import Instruments, usable_mpis

pytestmark = [pytest.mark.real, pytest.mark.usefixtures("real_hpl")]


@pytest.fixture(autouse=True)
def no_variables_of_mpi(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of MPI is set, also what the tests set for themselves."""
    for name in [name for name in os.environ if name.startswith(("OMPI_MCA_", "OPAL_", "PMIX_"))]:
        monkeypatch.delenv(name)


@pytest.fixture
def here(shared_cache: Path) -> SearchPaths:
    return SearchPaths(OWN.prefix, shared_cache)


@pytest.fixture
def open_mpi(here: SearchPaths) -> Mpi:
    """The Open MPI of this machine, or a skipped test."""
    return next((mpi for mpi in usable_mpis(here) if mpi.name == "openmpi"), None) or skip_without("Open MPI")


@pytest.fixture
def mpich(here: SearchPaths) -> Mpi:
    """The MPICH of this machine, or a skipped test."""
    return next((mpi for mpi in usable_mpis(here) if mpi.name == "mpich"), None) or skip_without("MPICH")


@pytest.fixture
def counting(open_mpi: Mpi, home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file to which the mpirun that is first on PATH adds a line for each start; its mpicc is the real one."""
    folder, starts = home / "bin", home / "starts"
    folder.mkdir()
    program(
        folder / "mpirun", f'#!/bin/sh\n[ "$1" = --version ] || echo "$@" >> {starts}\nexec {open_mpi.mpirun} "$@"\n'
    )
    program(folder / "mpicc", f'#!/bin/sh\nexec {open_mpi.mpicc} "$@"\n')
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    starts.touch()
    return starts


def dat_of(home: Path, hpltune: Run) -> Path:
    assert hpltune("dat", "HPL.dat", "--N", "600", "--ranks", "2").returncode == 0
    return home / "HPL.dat"


def first_starts(counting: Path) -> list[str]:
    return [line for line in counting.read_text().splitlines() if line.endswith("/start")]


@pytest.mark.usefixtures("prints_hpl")
def test_two_ranks_are_started_once_and_not_for_each_command(hpltune: Run, home: Path, counting: Path) -> None:
    dat_of(home, hpltune)
    assert first_starts(counting) == []
    for _ in range(3):
        assert hpltune("run", "HPL.dat", "--xhpl", "xhpl").returncode == 0
    assert len(first_starts(counting)) == 1
    assert "-np 2" in first_starts(counting)[0]
    assert len(counting.read_text().splitlines()) == 4


@pytest.mark.usefixtures("prints_hpl")
def test_another_variable_of_mpi_is_another_start(
    hpltune: Run, home: Path, counting: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dat_of(home, hpltune)
    for _ in range(2):
        hpltune("run", "HPL.dat", "--xhpl", "xhpl")
    monkeypatch.setenv("OMPI_MCA_mpi_yield_when_idle", "1")
    hpltune("run", "HPL.dat", "--xhpl", "xhpl")
    assert len(first_starts(counting)) == 2


@pytest.mark.usefixtures("counting", "prints_hpl")
@pytest.mark.parametrize("command", ["run", "tune", "doctor"])
def test_the_variable_that_prevents_a_start_is_named(
    hpltune: Run, home: Path, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    dat_of(home, hpltune)
    arguments = {"run": ("HPL.dat", "--xhpl", "xhpl"), "tune": ("--xhpl", "xhpl", "--trials", "1")}
    monkeypatch.setenv("OMPI_MCA_mpi_yield_when_idle", "1")
    monkeypatch.setenv("OMPI_MCA_btl", "^usnic")
    monkeypatch.setenv("OMPI_MCA_pml", "nosuch")
    done = hpltune(command, *arguments.get(command, ()))
    said = " ".join((done.stdout + done.stderr).split())
    assert done.returncode == 1
    assert "does not start 2 ranks here: " in said
    assert "OMPI_MCA_pml=nosuch" in said
    assert "ranks start: unset" in said
    assert "Everything that" not in said


@pytest.mark.usefixtures("open_mpi")
def test_of_several_variables_only_the_one_to_blame_is_named(
    here: SearchPaths, open_mpi: Mpi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMPI_MCA_mpi_yield_when_idle", "1")
    monkeypatch.setenv("OMPI_MCA_pml", "nosuch")
    why_not = try_start(open_mpi, here).why_not
    assert why_not.startswith("OMPI_MCA_pml=nosuch is set in this environment, and without it ranks start: unset it (")
    assert "no component nosuch" in why_not
    assert "yield" not in why_not


LIMITED = ("prlimit", "--nofile=28:28")
SOFT = ("prlimit", "--nofile=28:4096")


def under(limit: tuple[str, ...], *arguments: str) -> subprocess.CompletedProcess[str]:
    """A command as a user starts it under a limit, or a skipped test where this may not be set."""
    if shutil.which(limit[0]) is None or subprocess.run([*limit, "true"], capture_output=True, check=False).returncode:
        skip_without("the right to make namespaces")
    line = [*limit, str(HPLTUNE), *arguments]
    return subprocess.run(line, capture_output=True, text=True, timeout=PATIENCE_S, check=False)


@pytest.mark.process
@pytest.mark.usefixtures("counting", "prints_hpl")
@pytest.mark.parametrize(
    ("limit", "words"),
    [
        (LIMITED, "MPI may not open enough files at once: raise the limit (`ulimit -n`"),
        (("unshare", "-n"), "no network interface that is up, not even the loopback"),
    ],
    ids=["files", "loopback"],
)
def test_what_this_shell_or_container_lacks_is_said_before_the_first_run(
    hpltune: Run, home: Path, limit: tuple[str, ...], words: str
) -> None:
    dat_of(home, hpltune)
    done = under(limit, "run", "HPL.dat", "--xhpl", "xhpl")
    assert done.returncode == 1
    assert done.stderr.startswith("hpltune: openmpi ")
    assert words in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (home / "data/runs").exists() or not list((home / "data/runs").glob("*/*"))


@pytest.mark.process
@pytest.mark.usefixtures("counting")
def test_doctor_finds_a_loopback_that_is_down(home: Path) -> None:
    del home
    done = under(("unshare", "-n"), "doctor")
    assert "no network interface that is up" in " ".join(done.stdout.split())
    assert "Everything that" not in done.stdout
    assert done.returncode == 1


@pytest.mark.process
@pytest.mark.usefixtures("counting", "prints_hpl")
def test_a_soft_limit_of_open_files_is_raised_to_what_the_hard_one_allows(hpltune: Run, home: Path) -> None:
    dat_of(home, hpltune)
    done = under(SOFT, "run", "HPL.dat", "--xhpl", "xhpl")
    assert done.returncode == 0, done.stderr


@pytest.fixture
def noexec(home: Path) -> Iterator[Path]:
    """A folder from which no program is started, or a skipped test where none can be mounted."""
    folder = home / "noexec"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "noexec", "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        skip_without("root")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_cache_from_which_no_program_starts_is_named(noexec: Path, open_mpi: Mpi) -> None:
    with pytest.raises(TunerError, match=r"mounted noexec: put the program elsewhere \(HPLTUNE_CACHE says"):
        require_start(open_mpi, SearchPaths(None, noexec))
    assert not (noexec / "starts").exists()


def test_a_cache_without_room_is_named(home: Path, open_mpi: Mpi) -> None:
    full = home / "full"
    full.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4k", "tmpfs", str(full)]
    if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        skip_without("root")
    try:
        with pytest.raises(TunerError, match=r"does not start 2 ranks here: .*No space left"):
            require_start(open_mpi, SearchPaths(None, full))
    finally:
        subprocess.run(["umount", str(full)], check=True)


def test_a_launcher_that_never_begins_is_ended_by_a_deadline_of_its_own(
    here: SearchPaths, home: Path, open_mpi: Mpi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mpi_start, "LIMIT_S", 1.0)
    hangs = program(
        home / "mpirun",
        "#!/bin/sh\necho '[vm:1] cannot reach the printer' >&2\ntrap '' TERM\nwhile :; do sleep 1; done\n",
    )
    mpi = Mpi("openmpi", "4.1.4", open_mpi.mpicc, hangs, (), "test")
    why_not = try_start(mpi, here).why_not
    assert why_not == "they did not begin within 1 s; mpirun said: cannot reach the printer"
    left = subprocess.run(["pgrep", "-f", str(hangs)], capture_output=True, text=True, check=False).stdout
    assert left == ""


def test_a_compiler_of_one_library_and_a_launcher_of_another_are_told_apart(
    here: SearchPaths, open_mpi: Mpi, mpich: Mpi
) -> None:
    mixed = Mpi("openmpi", open_mpi.version, mpich.mpicc, open_mpi.mpirun, (), "test")
    with pytest.raises(TunerError, match="starts each rank alone, as the launcher of one MPI library does"):
        require_start(mixed, here)


def linked(mpi: Mpi, folder: Path) -> Path:
    source = folder / "p.c"
    source.write_text("#include <mpi.h>\nint main(int c, char **v) { MPI_Init(&c, &v); return MPI_Finalize(); }\n")
    subprocess.run([str(mpi.mpicc), str(source), "-o", str(folder / "p")], check=True, env=mpi.variables())
    return folder / "p"


def test_the_launcher_of_the_library_that_a_users_program_is_linked_with_is_chosen(
    here: SearchPaths, tmp_path: Path, open_mpi: Mpi, mpich: Mpi
) -> None:
    for mpi in (open_mpi, mpich):
        program = linked(mpi, tmp_path)
        assert linked_mpi(program) == mpi.name
        library = mpi_library(program)
        assert library is not None
        assert library.name.startswith("libmpi")
        assert library.exists()
        assert {found.name for found in usable_mpis(here, program_at(tmp_path / "p"))} == {mpi.name}


def test_a_program_of_a_library_whose_launcher_is_missing_is_refused(
    here: SearchPaths, tmp_path: Path, open_mpi: Mpi, mpich: Mpi
) -> None:
    one = Instruments(mpis=lambda _search, _building: (open_mpi,))
    xhpl = linked(mpich, tmp_path)
    with pytest.raises(TunerError, match=r"/p is linked with mpich, but the only launcher here is of openmpi, which"):
        usable_mpis(here, program_at(xhpl), instruments=one)
    kin = Instruments(mpis=lambda _search, _building: (open_mpi, Mpi("intelmpi", "2021", xhpl, xhpl, (), "")))
    assert [mpi.name for mpi in usable_mpis(here, program_at(xhpl), instruments=kin)] == ["intelmpi"]


def test_a_program_that_does_not_tell_its_library_runs_with_the_preferred_one(here: SearchPaths, home: Path) -> None:
    script = program(home / "xhpl", "#!/bin/sh\n")
    for xhpl in (script, Path(sys.executable), home / "none"):
        assert linked_mpi(xhpl) is None
        assert mpi_library(xhpl) is None
    assert usable_mpis(here, program_at(home / "none")) == usable_mpis(here, program_at(script))


def test_a_users_xhpl_of_mpich_runs_with_the_launcher_of_mpich_where_open_mpis_is_the_preferred_one(
    hpltune: Run, home: Path, here: SearchPaths, mpich: Mpi
) -> None:
    libraries = [entry for entry in discover(here, {}) if entry.name == "openblas"]
    if not libraries:
        skip_without("OpenBLAS")
    xhpl = build(Recipe(obtain(here), mpich, libraries[0].library(1)), here).path
    shutil.copy(xhpl, home / "xhpl")
    dat_of(home, hpltune)
    hpltune.well("run", "HPL.dat", "--xhpl", "xhpl")
    (command,) = (home / "data/runs").glob("*/*/command")
    assert command.read_text().startswith(f"{mpich.mpirun} -n 2 ")
