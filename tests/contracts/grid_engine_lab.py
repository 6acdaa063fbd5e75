"""A cluster of one node on this machine: a real qmaster and execution daemon of Grid Engine, with a root of their own.

Needs root. Its queue all.q has a parallel environment `mpi` that gives a job its slots on one host.
"""

import os
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Self

import psutil
from needs import require_root
from waiting import PATIENCE_S, until

SHARED, PROGRAMS = Path("/usr/share/gridengine"), Path("/usr/lib/gridengine")
NEEDED = ("qsub", "qstat", "qdel", "qacct", "qhost", "qconf", "sge_qmaster", "sge_execd", str(PROGRAMS / "spoolinit"))
SLOTS = 2
BOOTSTRAP = """
admin_user              root
default_domain          none
ignore_fqdn             false
spooling_method         classic
spooling_lib            libspoolc
spooling_params         {spool}
binary_path             /usr/sbin
qmaster_spool_dir       {folder}/qmaster
security_mode           none
listener_threads        2
worker_threads          2
scheduler_threads       1
"""
CHANGES = {
    "min_uid": "0",
    "min_gid": "0",
    "execd_spool_dir": "{folder}/execd",
    "load_report_time": "00:00:05",
    "reporting_params": "accounting=true reporting=false flush_time=00:00:01 accounting_flush_time=00:00:00",
}
"""What its configuration has other than Debian's."""
ENVIRONMENT = """
pe_name            mpi
slots              999
user_lists         NONE
xuser_lists        NONE
start_proc_args    NONE
stop_proc_args     NONE
allocation_rule    $pe_slots
control_slaves     TRUE
job_is_first_task  FALSE
urgency_slots      min
accounting_summary FALSE
qsort_args         NONE
"""


class GridEngineLab:
    """A node, whose name is this machine's.

    Attributes:
        variables: with which programs find it.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        ports = _free_ports(2)
        self.variables = {
            "SGE_ROOT": str(folder / "root"),
            "SGE_CELL": "default",
            "SGE_QMASTER_PORT": str(ports[0]),
            "SGE_EXECD_PORT": str(ports[1]),
        }
        self.node = socket.gethostname()
        self._daemons: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Self:
        common = self.folder / "root/default/common"
        for name in (common, self.folder / "qmaster", self.folder / "execd"):
            name.mkdir(parents=True)
        for shared in SHARED.iterdir():
            if shared.name != "default":
                (self.folder / "root" / shared.name).symlink_to(shared)
        (self.folder / "root/utilbin").mkdir()
        (self.folder / "root/utilbin/lx-amd64").symlink_to(PROGRAMS)
        spool = f"{common};{self.folder / 'qmaster'}"
        (common / "bootstrap").write_text(BOOTSTRAP.format(spool=spool, folder=self.folder))
        (common / "act_qmaster").write_text(f"{self.node}\n")
        (common / "host_aliases").write_text(f"{' '.join(_names(self.node))}\n")
        try:
            self._up(spool)
        except BaseException:
            self._down()
            raise
        return self

    def __exit__(self, *_error: object) -> None:
        self._down()

    def ask(self, *command: str) -> str:
        """What one of its programs prints."""
        variables = {**os.environ, **self.variables}
        return subprocess.run(command, capture_output=True, text=True, check=True, env=variables).stdout

    def jobs(self) -> list[str]:
        """Jobs in the queue."""
        return [line.split()[0] for line in self.ask("qstat").splitlines()[2:]]

    def mend(self) -> None:
        """End all jobs."""
        for job in self.jobs():
            with suppress(subprocess.CalledProcessError):
                self.ask("qdel", job)
        until(lambda: not self.jobs())

    def cluster(self, **further: object) -> str:
        """A cluster file.

        Args:
            further: keys of its table.
        """
        keys = {"nodes": 1, "parallel_environment": '"mpi"', **further}
        table = "".join(f"{name} = {value}\n" for name, value in keys.items())
        return f'name = "lab"\nbackend = "gridengine"\n[node]\ncores = {SLOTS}\n[gridengine]\n{table}'

    def _up(self, spool: str) -> None:
        plain = (SHARED / "default-configuration").read_text().splitlines()
        changed = [
            f"{name} {CHANGES[name].format(folder=self.folder)}"
            if (name := line.partition(" ")[0]) in CHANGES
            else line
            for line in plain
        ]
        (self.folder / "configuration").write_text("\n".join(changed) + "\n")
        self.ask(str(PROGRAMS / "spoolinit"), "classic", "libspoolc", spool, "init")
        for what, where in (
            ("configuration", str(self.folder / "configuration")),
            ("complexes", str(SHARED / "util/resources/centry")),
            ("usersets", str(SHARED / "util/resources/usersets")),
            ("managers", "root"),
        ):
            self.ask(str(PROGRAMS / "spooldefaults"), what, where)
        self._start("sge_qmaster")
        until(self._answers)
        self.ask("qconf", "-as", self.node)
        (self.folder / "environment").write_text(ENVIRONMENT.lstrip())
        self.ask("qconf", "-Ap", str(self.folder / "environment"))
        self._change(
            "-sq",
            "-Aq",
            {"qname": "all.q", "hostlist": self.node, "slots": str(SLOTS), "pe_list": "mpi", "load_thresholds": "NONE"},
        )
        self._change(
            "-ssconf",
            "-Msconf",
            dict.fromkeys(("schedule_interval",), "0:0:1") | {"flush_submit_sec": "1", "flush_finish_sec": "1"},
        )
        self._start("sge_execd")
        until(lambda: f"all.q@{self.node}" in self.ask("qstat", "-f") and " -NA- " not in self.ask("qstat", "-f"))

    def _change(self, show: str, take: str, changes: dict[str, str]) -> None:
        """Change keys of one of its tables."""
        lines = self.ask("qconf", show).splitlines()
        kept = [line for line in lines if line.partition(" ")[0] not in changes]
        file = self.folder / f"table{show}"
        file.write_text("\n".join([*(f"{name} {value}" for name, value in changes.items()), *kept]) + "\n")
        self.ask("qconf", take, str(file))

    def _answers(self) -> bool:
        try:
            self.ask("qconf", "-sh")
        except subprocess.CalledProcessError:
            return False
        return True

    def _start(self, daemon: str) -> None:
        self._daemons.append(
            subprocess.Popen(
                (daemon,),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={**os.environ, **self.variables, "SGE_ND": "1"},
            )
        )

    def _down(self) -> None:
        with suppress(subprocess.CalledProcessError, AssertionError):
            self.mend()
        for daemon in reversed(self._daemons):
            with suppress(psutil.NoSuchProcess):
                for process in psutil.Process(daemon.pid).children(recursive=True):
                    process.kill()
            daemon.kill()
            daemon.wait(PATIENCE_S)


@contextmanager
def grid_engine_lab(folder: Path) -> Iterator[GridEngineLab]:
    """A laboratory, or a skipped test where there can be none."""
    require_root(NEEDED, "Grid Engine")
    with GridEngineLab(folder) as lab:
        yield lab


def _names(host: str) -> list[str]:
    """The names of a host, its own first: Grid Engine refuses a host whose address has another one."""
    names = [host]
    for line in Path("/etc/hosts").read_text().splitlines():
        address, *others = line.partition("#")[0].split() or [""]
        names += others if address.startswith("127.") else []
    return list(dict.fromkeys(names))


def _free_ports(count: int) -> list[int]:
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [server.getsockname()[1] for server in held]
    for server in held:
        server.close()
    return ports
