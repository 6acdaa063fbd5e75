"""Starts the processes of campaigns that are next, one on each machine at a time."""

import errno
import logging
import os
import platform
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic

from results.errors import ResultsError
from results.store.lease import Lease
from results.store.service.campaign_entry import CampaignEntry, QueueState
from results.store.service.deliveries import OutgoingMessage
from results.store.store import Store

from ...user_dirs import UserDirs
from ..webhooks.announcer import Announcer
from .fair_order import in_order
from .logs import last_lines, log_file

LOOK_S = 1.0
"""Seconds between two looks at the queue; a campaign that is handed in here is looked at immediately."""
SHORTAGES = frozenset({errno.EMFILE, errno.ENFILE, errno.EAGAIN, errno.ENOMEM, errno.ENOSPC, errno.EDQUOT})
"""Errors of the machine that pass; no campaign is to blame for them."""
FIRST_PAUSE_S, LONGEST_PAUSE_S = 5.0, 300.0
"""Seconds without a start after such an error; each further pause is twice as long."""
LOGGER = logging.getLogger("hpltune.campaigns")


@dataclass
class Dispatcher:
    """Starts campaigns in a thread of its own until it is closed; closing it leaves the campaigns running.

    Attributes:
        db: the database as the service was given it.
        config: the file of the service's configuration, which campaigns read too; None for none.
        clusters: names of the clusters that this service offers.
        announcer: makes messages about campaigns whose processes cannot do so.
    """

    store: Store
    user_dirs: UserDirs
    db: str | None
    config: Path | None = None
    clusters: frozenset[str] = frozenset()
    announcer: Announcer = field(default_factory=Announcer)
    _wake: threading.Event = field(default_factory=threading.Event, init=False)
    _closed: threading.Event = field(default_factory=threading.Event, init=False)
    _started: "dict[str, subprocess.Popen[bytes]]" = field(default_factory=dict, init=False)
    _thread: threading.Thread | None = field(default=None, init=False)
    _pause_s: float = field(default=0.0, init=False)
    _starts_at_s: float = field(default=0.0, init=False)

    def start(self) -> None:
        """Begin to look at the queue."""
        self._thread = threading.Thread(target=self._work, name="dispatcher", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Look at the queue now."""
        self._wake.set()

    def close(self) -> None:
        """Start no more campaigns."""
        self._closed.set()
        self._wake.set()
        if self._thread is not None:
            self._thread.join()

    def _work(self) -> None:
        failing = ""
        while not self._closed.is_set():
            try:
                self.look()
                failing = ""
            except (ResultsError, OSError) as error:
                if str(error) != failing:
                    failing = str(error)
                    LOGGER.warning("the queue cannot be looked at: %s", failing)
            self._wake.wait(LOOK_S)
            self._wake.clear()

    def look(self) -> None:
        """Queue what was lost again, and start what is next and whose machines are free."""
        self._reap()
        for entry in self.store.queue.recover(self._tell):
            LOGGER.warning("campaign %s: %s", entry.name, entry.reason or entry.state)
        entries = self.store.queue.entries([QueueState.QUEUED, QueueState.RUNNING])
        busy = {node for entry in entries if entry.state is QueueState.RUNNING for node in entry.order.node_set}
        if not any(entry.state is QueueState.QUEUED for entry in entries) or monotonic() < self._starts_at_s:
            return
        busy |= self._busy_by_others(entries)
        for entry in in_order(self.store, entries):
            if monotonic() < self._starts_at_s:
                return
            if busy.isdisjoint(entry.order.node_set) and self._is_ours(entry) and self.store.queue.claim(entry.name):
                self._begin(entry)
            busy.update(entry.order.node_set)  # who is behind waits, too: a small campaign overtakes no large one

    def _busy_by_others(self, entries: Sequence[CampaignEntry]) -> set[str]:
        """This machine, where a study of the command line works on it."""
        known = {entry.name for entry in entries if entry.state is QueueState.RUNNING}
        here = platform.node()
        return {here} & {host for name, host in self.store.queue.hosts_at_work() if name not in known}

    def _is_ours(self, entry: CampaignEntry) -> bool:
        """Whether this service can start it: it is for this machine, or for a cluster that it offers."""
        cluster = entry.order.document.get("cluster")
        return platform.node() in entry.order.node_set or cluster in self.clusters or entry.order.kind == "check"

    def _begin(self, entry: CampaignEntry) -> None:
        """Start the process of a campaign, which survives this one."""
        file = log_file(self.store, self.user_dirs, entry.name)
        command = [sys.executable, "-m", "tuner.cli", "campaign-process", entry.name, "--starter", str(Lease.mine())]
        command += [] if self.db is None else ["--db", self.db]
        command += [] if self.config is None else ["--config", str(self.config)]
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            with file.open("ab") as log:
                self._started[entry.name] = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                    env={
                        **os.environ,
                        "HPLTUNE_CACHE": str(self.user_dirs.cache),
                        "HPLTUNE_DATA": str(self.user_dirs.data),
                    },
                )
        except OSError as error:
            self._not_begun(entry.name, error)
            return
        self._pause_s = 0.0
        LOGGER.info("campaign %s of %s has begun", entry.name, entry.order.handed_in_by)

    def _not_begun(self, name: str, error: OSError) -> None:
        """Queue a campaign again where this machine is short of something, and wait before the next start."""
        if error.errno not in SHORTAGES:
            self._fail(name, f"its process cannot be started: {error.strerror}")
            return
        self._pause_s = min(LONGEST_PAUSE_S, max(FIRST_PAUSE_S, 2.0 * self._pause_s))
        self._starts_at_s = monotonic() + self._pause_s
        reason = f"its process cannot be started now: {error.strerror}"
        self.store.queue.give_back(name, f"{reason}; it is tried again")
        LOGGER.warning("campaign %s: %s; it is tried again in %.0f s", name, reason, self._pause_s)

    def _reap(self) -> None:
        """Forget processes that have ended; a campaign that its process never took has failed."""
        for name, process in list(self._started.items()):
            if process.poll() is None:
                continue
            if process.returncode != 0:
                said = last_lines(log_file(self.store, self.user_dirs, name), 1)
                with suppress(ResultsError):
                    self._fail(name, said[0] if said else "its process could not begin")
            del self._started[name]

    def _fail(self, name: str, reason: str) -> None:
        self.store.queue.end(name, QueueState.FAILED, reason, tell=self._tell)

    def _tell(self, entry: CampaignEntry) -> Sequence[OutgoingMessage]:
        return self.announcer.ended(self.store, entry)
