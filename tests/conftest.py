import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from found_here import OWN, found_mpi, found_simgrid
from hypothesis import settings
from intel_mpi import installed_intel_mpi
from kinds import fixtures_of, forget_groups, mark_kinds, place_of, require_kinds
from net_lab import HostsLab, hosts_lab
from postgresql_server import Server, running_server
from skips import SkippedTests
from slurm_lab import SlurmLab, slurm_lab

from hpl.blas.family import inherited_choices
from hpl.build.simgrid import SimGrid
from hpl.build.toolchain import Mpi
from hpl.search_paths import SearchPaths

if TYPE_CHECKING:
    from playwright.sync_api import Browser

signal.signal(signal.SIGINT, signal.default_int_handler)
"""A shell's background job ignores Ctrl-C, and every program that the tests start would inherit that."""
signal.signal(signal.SIGHUP, signal.SIG_DFL)
"""The same for SIGHUP, which a program started by nohup ignores."""
os.environ.update(OMPI_MCA_mpi_yield_when_idle="1")
"""Tests that run HPL share the cores with others: ranks that wait for one without a core would take theirs from it."""
os.environ.update(HPLTUNE_WAIT_FOR_QUIET="0")
"""Other tests keep the machine busy: studies would wait for a tenth of their budget."""
settings.register_profile("hpltune", deadline=None)
settings.load_profile("hpltune")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let those who look for rare faults draw more at random."""
    parser.addoption("--kills", type=int, default=2, metavar="N", help="kill a campaign N times at random moments")
    parser.addoption("--requests", type=int, default=3, metavar="N", help="make up N requests of each kind and address")
    parser.addoption(
        "--update", action="store_true", help="write what was seen into the files that tests hold it against"
    )
    parser.addoption(
        "--skips", metavar="PLACE", help="fail where a test is skipped that tests/skips.json does not name for PLACE"
    )


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Refuse a kind that there is not, by which pytest would choose no test, or with "not" all; watch skipped tests."""
    require_kinds(config.option.markexpr, config.getini("markers"))
    place = config.getoption("--skips") or os.environ.get("HPLTUNE_SKIPS")
    if place and not hasattr(config, "workerinput"):
        config.pluginmanager.register(SkippedTests(place, update=config.getoption("--update")))


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark and group a test by what it needs, before pytest chooses by marks and xdist reads the groups."""
    mark_kinds(item)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes longest."""
    items.sort(key=place_of)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Let what failed be run once more."""
    forget_groups(session.config)


@pytest.fixture(scope="session")
def shared_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One cache for the tests of all workers, so that HPL is compiled once; with the user's own source and prefix."""
    folder = tmp_path_factory.getbasetemp()
    cache = (folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder) / "shared-cache"
    cache.mkdir(exist_ok=True)
    for own in filter(Path.is_dir, (OWN.cache / "source", OWN.private_prefix)):
        with suppress(FileExistsError):
            (cache / own.name).symlink_to(own)
    return cache


@pytest.fixture(scope="session")
def server_of_worker() -> Iterator[Server]:
    """PostgreSQL, or a skipped test where there is none."""
    with running_server() as server:
        yield server


@pytest.fixture
def server(server_of_worker: Server) -> Iterator[Server]:
    """PostgreSQL, whose databases go with the test that made them."""
    yield server_of_worker
    server_of_worker.drop_databases()


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A new database of each kind."""
    if request.param == "sqlite":
        return str(tmp_path / "hpltune.db")
    server: Server = request.getfixturevalue("server")
    return server.new_database()


@pytest.fixture
def search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SearchPaths:
    """An empty cache for what BLAS libraries answer, and no variable that chooses their kernels or threads."""
    for variable in inherited_choices(dict(os.environ)):
        monkeypatch.delenv(variable)
    return SearchPaths(prefix=None, cache=tmp_path / "cache")


@pytest.fixture
def mpirun(monkeypatch: pytest.MonkeyPatch) -> str:
    """What starts ranks here, or a skipped test where nothing does."""
    return str(found_mpi(monkeypatch, building=False).mpirun)


@pytest.fixture(scope="session")
def intel_mpi() -> Mpi:
    """Intel MPI, installed from PyPI where it is not here yet, or a skipped test where it cannot be had."""
    return installed_intel_mpi()


@pytest.fixture
def simgrid() -> SimGrid:
    """What simulates here, or a skipped test where nothing does."""
    return found_simgrid()


@pytest.fixture(scope="session")
def hosts_of_worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HostsLab]:
    """Four hosts for all modules, or a skipped test where there can be none."""
    with hosts_lab(tmp_path_factory.mktemp("lab"), 4) as lab:
        yield lab


@pytest.fixture(scope="module")
def hosts_of_module(hosts_of_worker: HostsLab) -> Iterator[HostsLab]:
    """These hosts, which the next module finds as this one did."""
    yield hosts_of_worker
    hosts_of_worker.mend()


@pytest.fixture
def hosts(hosts_of_module: HostsLab, request: pytest.FixtureRequest) -> Iterator[HostsLab]:
    """These hosts, made as they were after a test that failed or ended their sshd."""
    failed = request.session.testsfailed
    yield hosts_of_module
    if request.session.testsfailed > failed or not hosts_of_module.answers():
        hosts_of_module.mend()


@pytest.fixture
def lab(hosts: HostsLab) -> HostsLab:
    """The first two of these hosts."""
    return hosts.wired(2)


@pytest.fixture(scope="session")
def slurm_of_worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SlurmLab]:
    """Slurm with two nodes for all modules, or a skipped test where there can be none."""
    with slurm_lab(tmp_path_factory.mktemp("slurm")) as lab:
        yield lab


@pytest.fixture(scope="module")
def slurm_of_module(slurm_of_worker: SlurmLab) -> Iterator[SlurmLab]:
    """This Slurm, which the next module finds without jobs."""
    yield slurm_of_worker
    slurm_of_worker.mend()


@pytest.fixture
def slurm(slurm_of_module: SlurmLab, request: pytest.FixtureRequest) -> Iterator[SlurmLab]:
    """This Slurm, which its programs know; without jobs after a test that failed."""
    failed = request.session.testsfailed
    with pytest.MonkeyPatch.context() as patch:
        # Its nodes are one machine, of which Open MPI 5 thinks that it cannot reach itself over its network.
        patch.setenv("OMPI_MCA_reachable", "weighted")
        patch.setenv("SLURM_CONF", str(slurm_of_module.configuration))
        yield slurm_of_module
    if request.session.testsfailed > failed:
        slurm_of_module.mend()


class BrowserOfWorker:
    """A browser that the first test opens which needs one."""

    def __init__(self) -> None:
        self._end = ExitStack()
        self._opened: Browser | None = None

    def opened(self) -> "Browser":
        """The browser, or a skipped test where there is none."""
        from page_visit import running_browser

        if self._opened is None:
            self._opened = self._end.enter_context(running_browser())
        return self._opened

    def close(self) -> None:
        self._end.close()
        self._opened = None


_browser = BrowserOfWorker()


@pytest.fixture
def browser() -> "Browser":
    """A real browser, or a skipped test where there is none."""
    return _browser.opened()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> None:
    """Close the browser before a test that needs none: its loop of events would be in the way of asyncio."""
    if nextitem is None or "browser" not in fixtures_of(nextitem):
        _browser.close()
