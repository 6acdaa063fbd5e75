"""Hosts on one machine: network namespaces with names of their own, a bridge between them, and a real sshd in each.

Needs root. The addresses exist only inside the namespaces; the file system is shared by all hosts, as on a cluster,
except for folders that `hide` replaces by empty ones of a host's own.
"""

import copy
import json
import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Self

from as_user import program
from needs import require, require_root
from waiting import PATIENCE_S

NEEDED = ("ip", "tc", "unshare", "nsenter", "taskset", "ethtool", "ssh", "ssh-keygen")
SSHD = "/usr/sbin/sshd"
FAST_KEYS = "curve25519-sha256"
"""How ssh and sshd agree on a key: what OpenSSH takes by itself costs four times the processor time of all the rest."""
USUAL_MTU = 1500
UNLIMITED = ""
NEW_ONES = "iifname eth0 tcp dport 1024-65535 ct state new"
STATE = """
ip -o link; ip -o addr; ip route; tc qdisc
[ ! -e /sys/class/net/eth0 ] || ethtool -k eth0
sysctl net.ipv4.tcp_rmem net.ipv4.tcp_wmem net.ipv4.tcp_congestion_control
"""
"""What tests change on a host or at the switch."""
_numbers = count(1)


def _run(*argv: str) -> None:
    subprocess.run(argv, check=True, stdin=subprocess.DEVNULL, capture_output=True)


@dataclass
class _Wiring:
    """How the switch treats all hosts.

    Attributes:
        mtu: the largest packets that it takes, in bytes.
        rate: what it passes from and to each host.
    """

    mtu: int = USUAL_MTU
    rate: str = UNLIMITED


class HostsLab:
    """Hosts h1, h2, … up while the block runs, each with NICs eth0, eth1, … at 10.77.NIC.HOST.

    A worker has one for many modules: each takes the first few of its hosts, wired as it wants (`wired`), and `mend`
    makes it what it was where a test has left it otherwise.

    Attributes:
        names: the hosts.
        ssh: ssh with the options that let any host of the lab into any other without a password.
        home: of who logs in: what this machine's own user starts in each shell is neither waited for nor disturbed.
        programs: a folder whose executables all hosts find before their own, for drivers that misbehave on demand.
    """

    def __init__(self, folder: Path, hosts: int, nics: int = 1) -> None:
        self.folder = folder
        self.names = tuple(f"h{number}" for number in range(1, hosts + 1))
        self._all = self.names
        self._wiring = _Wiring()
        self._first_state = ""
        self.nics = nics
        self.ssh = ("ssh", "-F", str(folder / "ssh_config"))
        self.programs = folder / "bin"
        self.home = folder / "home"
        self._tag = f"hpltest{os.getpid()}-{next(_numbers)}"
        self._sshd: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Self:
        self.programs.mkdir(parents=True, exist_ok=True)
        self.home.mkdir(exist_ok=True)
        try:
            self._up()
        except BaseException:
            self._down()
            raise
        self._first_state = self._state()
        return self

    def __exit__(self, *_error: object) -> None:
        self._down()

    def wired(self, hosts: int, *, mtu: int = USUAL_MTU, rate: str = UNLIMITED) -> Self:
        """The first hosts, behind a switch with these limits."""
        if mtu != self._wiring.mtu:
            self.switch_mtu(mtu)
        if rate != self._wiring.rate:
            self.shape(rate)
        some = copy.copy(self)
        some.names = self._all[:hosts]
        return some

    def answers(self) -> bool:
        """Whether every host still has its sshd."""
        return all(daemon.poll() is None for daemon in self._sshd)

    def mend(self) -> None:
        """End what runs on hosts; where something else is not as it was at first, make all of it anew."""
        if self.answers():
            self.wired(len(self._all))
            self._end_strangers()
            if self._state() == self._first_state:
                return
        self._down()
        self._up()
        self._first_state = self._state()

    def namespace(self, host: str) -> str:
        """The network namespace of a host, or of the "switch"."""
        return f"{self._tag}-{host}"

    def enter(self, host: str) -> list[str]:
        """The tokens that run what follows them on a host."""
        core = (int(host[1:]) - 1) % (os.cpu_count() or 1)
        return [
            *("ip", "netns", "exec", self.namespace(host)),
            *("nsenter", f"--uts={self.folder / f'uts-{host}'}", "--", "taskset", "-c", str(core)),
        ]

    def run(self, host: str, *command: str, timeout_s: float = PATIENCE_S) -> str:
        """What a command prints on a host."""
        done = subprocess.run(
            [*self.enter(host), *command], capture_output=True, text=True, check=True, timeout=timeout_s
        )
        return done.stdout

    def processes(self, host: str) -> list[str]:
        """The command lines of all processes on a host."""
        listed = subprocess.run(
            ("ip", "netns", "pids", self.namespace(host)), capture_output=True, text=True, check=True
        )
        found = []
        for pid in listed.stdout.split():
            with suppress(FileNotFoundError, ProcessLookupError):  # it may have ended since it was listed
                found.append((Path("/proc") / pid / "cmdline").read_text().replace("\0", " "))
        return found

    def shape(self, rate: str) -> None:
        """Limit every NIC and every port of the switch to a rate, as "1gbit"."""
        for host in self._all:
            for nic in range(self.nics):
                self._limit(host, nic, rate)
        self._wiring.rate = rate

    @contextmanager
    def weakened(self, host: str, rate: str, nic: int = 0) -> Iterator[None]:
        """Limit what one host sends and receives while the block runs, as a bad cable does."""
        self._limit(host, nic, rate)
        try:
            yield
        finally:
            self._limit(host, nic, self._wiring.rate)

    def _limit(self, host: str, nic: int, rate: str) -> None:
        ends = ((self.namespace(host), f"eth{nic}"), (self.namespace("switch"), f"p{host[1:]}-{nic}"))
        for space, device in ends:
            if rate == UNLIMITED:
                _run("tc", "-n", space, "qdisc", "del", "dev", device, "root")
            else:
                _run("tc", "-n", space, "qdisc", "replace", "dev", device, *_limited_to(rate))

    @contextmanager
    def behind_new_switch(self, hosts: Sequence[str], rate: str, name: str = "sx") -> Iterator[None]:
        """Put hosts behind a switch of their own while the block runs, whose uplink to the first one has a rate."""
        space = self.namespace("switch")
        _run("ip", "-n", space, "link", "add", name, "type", "bridge", "stp_state", "0", "forward_delay", "0")
        _run("ip", "-n", space, "link", "set", name, "up")
        _run("ip", "-n", space, "link", "add", f"{name}-a", "type", "veth", "peer", "name", f"{name}-b")
        for end, bridge in ((f"{name}-a", name), (f"{name}-b", "sw0")):
            _run("ip", "-n", space, "link", "set", end, "master", bridge, "up")
            _run("tc", "-n", space, "qdisc", "replace", "dev", end, *_limited_to(rate))
        try:
            self._move(hosts, name)
            self._wait_for_sshd()
            yield
        finally:
            self._move(hosts, "sw0")
            _run("ip", "-n", space, "link", "del", f"{name}-a")  # now sw0 forgets that the hosts are behind it
            _run("ip", "-n", space, "link", "del", name)
            self._wait_for_sshd()

    def _move(self, hosts: Sequence[str], switch: str) -> None:
        for host in hosts:
            _run("ip", "-n", self.namespace("switch"), "link", "set", f"p{host[1:]}-0", "master", switch)

    def cluster(self, **further: object) -> str:
        """The keys of a cluster file whose nodes are the hosts.

        Args:
            further: keys that are added, or that have other values.
        """
        keys: dict[str, object] = {
            "name": "lab",
            "backend": "ssh",
            "hosts": self.names,
            "ssh": [*self.ssh, "-o", "ConnectTimeout=2"],
            "interfaces": ["eth0"],
            **further,
        }
        return "".join(f"{name} = {json.dumps(value)}\n" for name, value in keys.items())

    @contextmanager
    def planted(self, name: str, text: str) -> Iterator[None]:
        """Let all hosts find a program before their own while the block runs."""
        file = program(self.programs / name, text)
        try:
            yield
        finally:
            file.unlink()

    @contextmanager
    def firewall(self, host: str, answer: str, to: str = NEW_ONES) -> Iterator[None]:
        """Let a host answer such packets as a firewall does while the block runs, or skip the test."""
        require("nft")
        rule = f"{to} {answer}"
        self.run(host, "nft", f"table inet shut {{ chain in {{ type filter hook input priority 0; {rule}; }}; }}")
        try:
            yield
        finally:
            self.run(host, "nft", "delete table inet shut")

    @contextmanager
    def cut_off(self, host: str, when: Path) -> Iterator[None]:
        """Pull a host's plug as soon as a file is there, and put it back in at the end."""
        over = threading.Event()

        def cut() -> None:
            while not when.exists():
                if over.wait(0.05):
                    return
            self.link(host, "down")

        watching = threading.Thread(target=cut, daemon=True)
        watching.start()
        try:
            yield
        finally:
            over.set()
            watching.join()
            self.link(host, "up")

    @contextmanager
    def hidden(self, host: str, *folders: Path) -> Iterator[None]:
        """Give a host, but not h1, empty folders of its own in place of those that all hosts share."""
        inside = ("nsenter", f"--mount=/proc/{self._sshd[self._all.index(host)].pid}/ns/mnt")
        for folder in folders:
            _run(*inside, "mount", "-t", "tmpfs", "none", str(folder))
        try:
            yield
        finally:
            for folder in reversed(folders):
                _run(*inside, "umount", "--lazy", str(folder))

    def files(self, host: str, folder: Path) -> list[str]:
        """The paths of all files in a folder as a host sees it through ssh."""
        listed = self.run("h1", *self.ssh, host, f"find {folder} -type f")
        return listed.splitlines()

    def link(self, host: str, state: str, nic: int = 0) -> None:
        """Cut a host off at the switch ("down"), or plug it in again ("up")."""
        _run("ip", "-n", self.namespace("switch"), "link", "set", f"p{host[1:]}-{nic}", state)

    def switch_mtu(self, mtu: int) -> None:
        """Largest packets, in bytes, that the ports of the switches take; larger ones are dropped silently."""
        for number, _ in enumerate(self._all, start=1):
            for nic in range(self.nics):
                _run("ip", "-n", self.namespace("switch"), "link", "set", f"p{number}-{nic}", "mtu", str(mtu))
        for nic in range(self.nics):
            _run("ip", "-n", self.namespace("switch"), "link", "set", f"sw{nic}", "mtu", str(mtu))
        self._wiring.mtu = mtu

    def _state(self) -> str:
        """All that tests change, as text."""
        states = [self._state_of(space) for space in map(self.namespace, (*self._all, "switch"))]
        mounts = [Path(f"/proc/{daemon.pid}/mountinfo").read_text().splitlines() for daemon in self._sshd]
        hidden = [line.split()[4] for lines in mounts for line in lines if " - tmpfs none " in line]
        return "\n".join([*states, *hidden, *sorted(map(str, self.programs.iterdir())), self._known_hosts()])

    def _state_of(self, space: str) -> str:
        inside = ("ip", "netns", "exec", space, "sh", "-c", STATE)
        return subprocess.run(inside, capture_output=True, text=True, check=True).stdout

    def _known_hosts(self) -> str:
        return (self.folder / "known_hosts").read_text()

    def _end_strangers(self) -> None:
        """End all processes on hosts but their sshd, and a hpltune that waits for its next command line."""
        ours = {str(daemon.pid) for daemon in self._sshd}
        for host in self._all:
            listed = subprocess.run(
                ("ip", "netns", "pids", self.namespace(host)), capture_output=True, text=True, check=True
            )
            for pid in set(listed.stdout.split()) - ours:
                command = Path("/proc") / pid / "cmdline"
                with suppress(OSError):
                    if b"waiting_hpltune" not in command.read_bytes():
                        os.kill(int(pid), signal.SIGKILL)

    def _up(self) -> None:
        switch = self.namespace("switch")
        self._wiring.mtu, self._wiring.rate = USUAL_MTU, UNLIMITED
        _run("ip", "netns", "add", switch)
        for nic in range(self.nics):
            bridge = ("type", "bridge", "stp_state", "0", "forward_delay", "0")
            _run("ip", "-n", switch, "link", "add", f"sw{nic}", *bridge)
            _run("ip", "-n", switch, "link", "set", f"sw{nic}", "up")
        self._keys()
        for number, host in enumerate(self.names, start=1):
            self._host(number, host, switch)
        self._wait_for_sshd()

    def _keys(self) -> None:
        for name in ("host_key", "user_key"):
            if not (self.folder / name).exists():
                _run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(self.folder / name))
        public = (self.folder / "host_key.pub").read_text().rsplit(" ", maxsplit=1)[0]
        (self.folder / "known_hosts").write_text("".join(f"{host} {public}\n" for host in self.names))
        shutil.copy(self.folder / "user_key.pub", self.folder / "authorized_keys")
        (self.folder / "ssh_config").write_text(
            f"IdentityFile {self.folder}/user_key\nIdentitiesOnly yes\nUserKnownHostsFile {self.folder}/known_hosts\n"
            "GlobalKnownHostsFile /dev/null\nStrictHostKeyChecking yes\nCheckHostIP no\nLogLevel ERROR\nUser root\n"
            f"KexAlgorithms {FAST_KEYS}\n"
        )
        (self.folder / "sshd_config").write_text(
            f"HostKey {self.folder}/host_key\nAuthorizedKeysFile {self.folder}/authorized_keys\nPort 22\nUsePAM no\n"
            "PidFile none\nStrictModes no\nPermitRootLogin prohibit-password\nPasswordAuthentication no\n"
            "MaxStartups 100\nSubsystem sftp internal-sftp\n"
            f"SetEnv HOME={self.home} PATH={self.programs}:/usr/local/sbin:/usr/local/bin"
            ":/usr/sbin:/usr/bin:/sbin:/bin\n"
        )

    def _host(self, number: int, host: str, switch: str) -> None:
        space, uts = self.namespace(host), self.folder / f"uts-{host}"
        _run("ip", "netns", "add", space)
        uts.touch()
        _run("unshare", f"--uts={uts}", "hostname", host)
        _run("ip", "-n", space, "link", "set", "lo", "up")
        for nic in range(self.nics):
            port = f"p{number}-{nic}"
            _run(
                "ip", "link", "add", f"eth{nic}", "netns", space, "type", "veth", "peer", "name", port, "netns", switch
            )
            _run("ip", "-n", switch, "link", "set", port, "master", f"sw{nic}", "up")
            _run("ip", "-n", space, "addr", "add", f"10.77.{nic}.{number}/24", "brd", "+", "dev", f"eth{nic}")
            _run("ip", "-n", space, "link", "set", f"eth{nic}", "up")
        names = Path("/etc/netns") / space
        names.mkdir(parents=True, exist_ok=True)
        lines = ["127.0.0.1 localhost", *(f"10.77.0.{other[1:]} {other}" for other in self.names)]
        (names / "hosts").write_text("\n".join(lines) + "\n")
        Path("/run/sshd").mkdir(exist_ok=True)
        mounts = () if number == 1 else ("unshare", "--mount", "--propagation", "private")
        self._sshd.append(
            subprocess.Popen(
                [*self.enter(host), *mounts, SSHD, "-D", "-f", str(self.folder / "sshd_config")],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        )

    def _wait_for_sshd(self) -> None:
        deadline = time.monotonic() + PATIENCE_S
        for host in self._all:
            while subprocess.run([*self.enter("h1"), *self.ssh, host, "true"], check=False).returncode != 0:
                assert time.monotonic() < deadline, f"sshd of {host} does not answer"
                time.sleep(0.1)

    def _down(self) -> None:
        for daemon in self._sshd:
            daemon.terminate()
        for daemon in self._sshd:
            daemon.wait(timeout=PATIENCE_S)
        self._sshd.clear()
        for host in (*self._all, "switch"):
            space = self.namespace(host)
            for note in notes_of(space):
                note.unlink(missing_ok=True)
            left = subprocess.run(("ip", "netns", "pids", space), capture_output=True, text=True, check=False).stdout
            for pid in left.split():
                subprocess.run(("kill", "-9", pid), check=False, capture_output=True)
            subprocess.run(("ip", "netns", "del", space), check=False, capture_output=True)
            subprocess.run(("umount", str(self.folder / f"uts-{host}")), check=False, capture_output=True)
            shutil.rmtree(Path("/etc/netns") / space, ignore_errors=True)

    def notes(self, host: str) -> list[Path]:
        """The files in which hpltunes say that they have a host's network."""
        return notes_of(self.namespace(host))


def _limited_to(rate: str) -> tuple[str, ...]:
    """The words of `tc` for a rate."""
    return ("root", "tbf", "rate", rate, "burst", "10k", "limit", "512k")


def notes_of(space: str) -> list[Path]:
    """The same of a network namespace; its number may come again in another one."""
    try:
        number = (Path("/run/netns") / space).stat().st_ino
    except OSError:
        return []
    folders = (Path("/run/lock"), Path("/tmp"))  # noqa: S108 - where the notes are
    return [file for folder in folders for file in folder.glob(f"hpltune-net-{number}.*")]


def other_cpu(model: str, flags: str) -> str:
    """A `head` that tells on h2 of another CPU than the one there is."""
    told = f"processor\\t: 0\\nmodel name\\t: {model}\\nflags\\t\\t: {flags}\\n"
    return (
        '#!/bin/sh\ncase "$(uname -n) $*" in\n'
        f'"h2 "*/proc/cpuinfo) printf \'{told}\' ;;\n*) exec /usr/bin/head "$@" ;;\nesac\n'
    )


@contextmanager
def hosts_lab(folder: Path, hosts: int = 2, nics: int = 1) -> Iterator[HostsLab]:
    """A laboratory, or a skipped test where there can be none."""
    require_root([*NEEDED, SSHD], "programs of a laboratory")
    with HostsLab(folder, hosts, nics) as lab:
        yield lab
