"""The lease of a study: it identifies the process that works on it, also after a reboot."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from pathlib import Path

UNKNOWN_BOOT = "unknown"
OF_THE_HOST = "pid:[4026531836]"
"""The kernel's name for the process numbers of a host itself (PROC_PID_INIT_INO); a container has its own."""


def _boot_id() -> str:
    """Return which boot of which kernel this is, and in a container also whose process numbers hold there."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        numbers = str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        return UNKNOWN_BOOT
    return boot if numbers == OF_THE_HOST else f"{boot}/{numbers}"


def _started(pid: int) -> str | None:
    """Return the start time of a process in clock ticks since boot; None for no process or a zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] in "ZX" else fields[19]


@dataclass(frozen=True)
class Lease:
    """The identity of a process: host, boot, number and start time, because numbers are reused."""

    host: str
    boot_id: str
    pid: int
    started: str

    @classmethod
    def mine(cls) -> Lease:
        """Make the lease of this process."""
        return cls.of(os.getpid())

    @classmethod
    def of(cls, pid: int) -> Lease:
        """Make the lease of a process on this host."""
        return cls(platform.node(), _boot_id(), pid, _started(pid) or "")

    @classmethod
    def parse(cls, text: str) -> Lease | None:
        """Read a lease that `str` wrote; None for any other text."""
        parts = text.split("|")
        if len(parts) != 4 or not parts[2].isdecimal():
            return None
        return cls(parts[0], parts[1], int(parts[2]), parts[3])

    @classmethod
    def parse_all(cls, owners: str | None) -> list[Lease]:
        """Read the leases that a column holds, one a line; what is none is left out."""
        return [lease for text in (owners or "").splitlines() if (lease := cls.parse(text)) is not None]

    def __str__(self) -> str:
        return f"{self.host}|{self.boot_id}|{self.pid}|{self.started}"

    @property
    def of_this_boot(self) -> bool:
        """Whether its process began since this host was started, where it has a number; also under another name."""
        return self.boot_id == _boot_id() and self.boot_id != UNKNOWN_BOOT

    @property
    def of_this_host(self) -> bool:
        """Whether its process is or was on this host; a host that got another name is the same until it is rebooted."""
        return self.host == platform.node() or self.of_this_boot

    @property
    def alive(self) -> bool:
        """Whether another process holds it and still runs; processes on other hosts count as running."""
        if self == Lease.mine():
            return False
        if not self.of_this_host:
            return True
        return self.boot_id == _boot_id() and _started(self.pid) == self.started
