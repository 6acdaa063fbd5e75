"""Starts the processes of campaigns that are next, one on each machine at a time."""

import logging
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from os.path import samestat
from pathlib import Path
from time import monotonic

from hpl.private_files import private_folder
from results.store.lease import Lease
from results.store.service.campaign_entry import CampaignEntry, QueueState
from results.store.service.queue import BEAT_S
from results.store.store import Store
from runners.batch.registry import VARIABLES

from ...user_dirs import UserDirs
from ..background import Duty
from .fair_order import in_order
from .faults import SHORTAGES, faults_with, wait_s
from .logs import last_lines, log_file
from .offered import Offers

LOOK_S = 1.0
"""Seconds between two looks at the queue; a campaign that is handed in here is looked at immediately."""
SILENT_S = 20 * BEAT_S
"""Seconds of silence after which a process on another machine counts as dead; if it is not, it sees this, and ends."""
DEAF_S = 60.0
"""Seconds between two looks after which nothing is known of the time between them."""
FIRST_SIGNAL = 128
"""Added to the number of a signal, it is the code of a process that left in order for one (as shells tell it)."""
LOGGER = logging.getLogger("hpltune.campaigns")
KEPT = frozenset(
    (
        *("HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TERM", "TMPDIR", "CPATH", "CC"),
        *("SSH_AUTH_SOCK", "KRB5CCNAME", "SSL_CERT_FILE", "LOADEDMODULES", "_LMFILES_", "GLIBC_TUNABLES"),
        *("http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"),
    )
)
"""Variables that the process of a campaign has of its service: who and where it is, and how it reaches others."""
KEPT_BEGINNINGS = (
    *("HPLTUNE_", "LC_", "XDG_", "PG", "MODULE", "LMOD_", "SPACK_", "APPTAINER_", "SINGULARITY_", "CH_"),
    *("OMPI_", "OPAL_", "PMI", "PRTE_", "MPI", "HYDRA_", "I_MPI_", "UCX_", "FI_", "PSM", "CUDA_", "ROCR_", "HIP_"),
    *(*VARIABLES, "SGE_", "LSF_", "FLUX_", "PBS_"),
)
"""How variables of databases, modules, containers, MPI libraries, GPUs and batch systems begin."""
KEPT_ENDS = ("PATH", "ROOT", "_HOME", "_DIR")
"""How variables end that say where programs and libraries are."""


def environment_of(user_dirs: UserDirs) -> dict[str, str]:
    """The environment of a campaign's process: what is on the list, and nothing of who asks a service."""
    found = {
        name: value
        for name, value in os.environ.items()
        if name in KEPT or name.startswith(KEPT_BEGINNINGS) or name.endswith(KEPT_ENDS)
    }
    own = {"HPLTUNE_CACHE": str(user_dirs.cache), "HPLTUNE_DATA": str(user_dirs.data)}
    return {name: value for name, value in (found | own).items() if name not in {"HPLTUNE_TOKEN", "HPLTUNE_SERVER"}}


@dataclass
class Listening:
    """Tells which processes have been silent for too long.

    Only the time counts in which this machine listened, by its own clock: neither a clock that is wrong elsewhere nor
    a database that was away for a while makes a process dead.

    Attributes:
        now_s: a clock that never jumps.
    """

    now_s: Callable[[], float] = monotonic
    _heard: dict[tuple[str, Lease], tuple[datetime, float]] = field(default_factory=dict, init=False)
    _looked_s: float = field(default=0.0, init=False)

    def silent(self, running: Sequence[CampaignEntry]) -> set[Lease]:
        """Look at the campaigns that run, and return the processes that count as dead.

        One that never said that it runs, as older versions do not, is not among them.
        """
        now_s = self.now_s()
        known = self._heard if now_s - self._looked_s <= DEAF_S else {}
        self._looked_s, self._heard = now_s, {}
        for entry in running:
            if entry.owner is not None and entry.heard_at is not None:
                key = entry.name, entry.owner
                before = known.get(key)
                same = before is not None and before[0] == entry.heard_at
                self._heard[key] = before if before is not None and same else (entry.heard_at, now_s)
        return {lease for (_, lease), (_, since_s) in self._heard.items() if now_s - since_s > SILENT_S}


@dataclass
class StartPause:
    """The time in which nothing is started, because this machine was short of something; each is longer."""

    _shortages: int = field(default=0, init=False)
    _until_s: float = field(default=0.0, init=False)

    @property
    def goes_on(self) -> bool:
        """Whether nothing may be started now."""
        return monotonic() < self._until_s

    def begin(self) -> float:
        """Begin after a shortage, and return the seconds that it takes."""
        self._shortages += 1
        pause_s = wait_s(self._shortages)
        self._until_s = monotonic() + pause_s
        return pause_s

    def forget(self) -> None:
        """Take the next shortage for the first one."""
        self._shortages = 0


@dataclass
class WaitingAndRunning:
    """The campaigns that wait or run; a long queue is read again only after the database has changed."""

    store: Store
    _known: tuple[str, Sequence[CampaignEntry]] | None = field(default=None, init=False)
    _beaten_s: float = field(default=0.0, init=False)

    def beat(self, starting: Collection[str]) -> None:
        """Say now and then that campaigns run whose processes are starting: they do not say so themselves yet."""
        if starting and monotonic() - self._beaten_s >= BEAT_S:
            self.store.queue.beat(*starting)
            self._beaten_s = monotonic()

    def entries(self) -> Sequence[CampaignEntry]:
        """Return them as they are now, oldest first."""
        version = self.store.lists.version()
        if self._known is None or self._known[0] != version:
            self._known = version, self.store.queue.entries([QueueState.QUEUED, QueueState.RUNNING])
        return self._known[1]


@dataclass
class Dispatcher:
    """Starts campaigns by its duty; what it has started runs on without it.

    Attributes:
        db: the database as the service was given it.
        config: the file of the service's configuration, which campaigns read too; None for none.
        offered: what this service offers, and thus which campaigns it starts.
        opened: the file of the database as it was opened; None for a database on a server.
        duty: looks at the queue again and again, once it is started.
    """

    store: Store
    user_dirs: UserDirs
    db: str | None
    config: Path | None = None
    offered: Offers = field(default_factory=Offers)
    opened: os.stat_result | None = None
    duty: Duty = field(init=False)
    _started: "dict[str, tuple[subprocess.Popen[bytes], int]]" = field(default_factory=dict, init=False)
    _pause: StartPause = field(default_factory=StartPause, init=False)
    _queue: WaitingAndRunning = field(init=False)
    _listening: Listening = field(default_factory=Listening, init=False)

    def __post_init__(self) -> None:
        """Make what reads the queue, and the duty that looks at it."""
        self._queue = WaitingAndRunning(self.store)
        self.duty = Duty("the dispatcher of campaigns", self.look, LOOK_S)

    def starts(self, entry: CampaignEntry) -> bool:
        """Whether this service can start a campaign, as its configuration was read last."""
        return self.offered.starts(entry)

    def wake(self) -> None:
        """Look at the queue now."""
        self.duty.wake()

    def declare_dead(self, name: str) -> CampaignEntry:
        """Queue a campaign again of whose process somebody knows that it is dead.

        Raises:
            UnknownStudyError, CampaignStateError: as `CampaignQueue.declare_dead`.
        """
        entry = self.store.queue.declare_dead(name)
        self.wake()
        return entry

    @property
    def has_its_database(self) -> bool:
        """Whether the file of the database is the one that was opened; what is stored in another is lost."""
        with suppress(FileNotFoundError):
            return self.opened is None or samestat(Path(self.store.place).stat(), self.opened)
        return False

    def look(self) -> bool:
        """Queue what was lost again, and start what is next and whose machines are free; there is no more then."""
        if not self.has_its_database:
            return False
        deaths = self._reap()
        self._queue.beat(self._started)
        silent = self._listening.silent([one for one in self._queue.entries() if one.state is QueueState.RUNNING])
        for entry in self.store.queue.recover(silent, self._started, deaths):
            LOGGER.warning("campaign %s: %s", entry.name, entry.reason or entry.state)
        entries = self._queue.entries()
        busy = {place for entry in entries if entry.state is QueueState.RUNNING for place in self._places(entry)}
        if not any(entry.state is QueueState.QUEUED for entry in entries) or self._pause.goes_on:
            return False
        busy |= self._busy_by_others(entries)
        for entry in in_order(self.store, entries):
            if self._pause.goes_on:
                break
            if entry.not_before is not None and entry.not_before > datetime.now(UTC):
                continue
            places = self._places(entry)
            if busy.isdisjoint(places) and self.starts(entry) and self.store.queue.claim(entry.name):
                self._begin(entry)
            busy.update(places)  # who is behind waits, too: a small campaign overtakes no large one
        return False

    def _busy_by_others(self, entries: Sequence[CampaignEntry]) -> set[str]:
        """This machine, where a study of the command line works on it."""
        known = {entry.name for entry in entries if entry.state is QueueState.RUNNING}
        return {platform.node()} & {host for name, host in self.store.queue.hosts_at_work() if name not in known}

    def _places(self, entry: CampaignEntry) -> frozenset[str]:
        """What it works on; this machine also by the name that it has now."""
        machine = entry.order.machine
        return entry.order.places | ({platform.node()} if machine and machine == self.offered.machine else set())

    def _begin(self, entry: CampaignEntry) -> None:
        """Start the process of a campaign, which survives this one."""
        file = log_file(self.store, self.user_dirs, entry.name)
        command = [
            sys.executable,
            "-P",
            "-m",
            "tuner.cli",
            "campaign-process",
            entry.name,
            "--starter",
            str(Lease.mine()),
        ]
        command += [] if self.db is None else ["--db", self.db]
        command += [] if self.config is None else ["--config", str(self.config)]
        try:
            private_folder(file.parent)
            with file.open("ab") as log:
                begins_at = log.tell()  # the process moves it
                self._started[entry.name] = (
                    subprocess.Popen(
                        command,
                        stdin=subprocess.DEVNULL,
                        stdout=log,
                        stderr=subprocess.STDOUT,
                        start_new_session=True,
                        env=environment_of(self.user_dirs),
                    ),
                    begins_at,
                )
        except OSError as error:
            self._not_begun(entry, error)
            return
        self._pause.forget()
        LOGGER.info("campaign %s of %s has begun", entry.name, entry.order.handed_in_by)

    def _not_begun(self, entry: CampaignEntry, error: OSError) -> None:
        """Queue a campaign again where this machine is short of something, and wait before the next start."""
        if error.errno not in SHORTAGES:
            self._fail(entry.name, f"its process cannot be started: {error.strerror}")
            return
        pause_s = self._pause.begin()
        reason = f"its process cannot be started now: {error.strerror}"
        self.store.queue.put_off(entry.name, reason, entry.faults, pause_s)
        LOGGER.warning("campaign %s: %s; it is tried again in %.0f s", entry.name, reason, pause_s)

    def _reap(self) -> Mapping[str, str]:
        """Forget processes that have ended, and tell how; a campaign that its process could not take has failed.

        One whose process a signal ended is lost, and goes on as those do whose process died later.
        """
        deaths = {}
        for name, (process, begins_at) in list(self._started.items()):
            code = process.poll()
            if code is None:
                continue
            if 0 < code < FIRST_SIGNAL:
                said = "".join(last_lines(log_file(self.store, self.user_dirs, name), 1, begins_at))
                if code == os.EX_TEMPFAIL:
                    self._put_off(name, said or "the database was away")
                else:
                    self._fail(name, said or "its process could not begin")
                deaths[name] = f"its process died and said last: {said}" if said else "its process died without a word"
            elif code:
                deaths[name] = f"signal {-code if code < 0 else code - FIRST_SIGNAL} ended its process"
            del self._started[name]
        return deaths

    def _put_off(self, name: str, reason: str) -> None:
        """Queue a campaign again that its process did not take, because the database was away."""
        entry = self.store.queue.find(name)
        if entry is not None:
            faults = faults_with(entry)
            self.store.queue.put_off(name, reason, faults, wait_s(faults))

    def _fail(self, name: str, reason: str) -> None:
        self.store.queue.end(name, QueueState.FAILED, reason)
