"""Asks nodes for their facts with a POSIX shell script, because a node needs no software of ours."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from ..errors import ProcessError, UnreachableError
from ..job import DEVICE
from .hearing import CommandResult
from .identity import TELL_IDENTITY, Identity, told_identity
from .transport import Local, Transport, parsed, say, say_all

MOST_CPUS = 1 << 16
"""Linux can be built for 8,192 CPUs at most (NR_CPUS of x86-64)."""
_SAY = r"""
say() { printf '%s\t%s\n' "$1" "$2"; }
"""
_NETWORKS = r"""
PATH=$PATH:/usr/sbin:/sbin ip -o -4 addr show up 2>/dev/null | while read -r _ name _ address _; do
    [ "$(cat "/sys/class/net/$name/carrier" 2>/dev/null)" = 0 ] || say network "$name $address"
done
"""
"""Interfaces that are switched on and have a cable and an IPv4 address, with that address."""
_FACTS = r"""
say architecture "$(uname -m)"
model=
for field in 'model name' Model; do
    [ -n "$model" ] || model=$(sed -n "s/^$field[[:space:]]*: //p" /proc/cpuinfo | head -n 1)
done
say model "${model:-$(uname -m)}"
allowed=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status)
say allowed "$allowed"
for file in /sys/devices/system/cpu/cpu[0-9]*/topology/thread_siblings_list; do
    cpu=${file#/sys/devices/system/cpu/cpu}
    [ -r "$file" ] && say sibling "${cpu%%/*} $(cat "$file")"
done
say memory_kib "$(sed -n 's/^MemAvailable:[[:space:]]*\([0-9]*\) kB/\1/p' /proc/meminfo)"
for interface in /sys/class/net/*; do say interface "${interface##*/}"; done
for port in /sys/class/infiniband/*/ports/*; do
    [ -d "$port" ] || continue
    device=${port%/ports/*} number=${port##*/} own=
    for interface in "$device"/device/net/*; do
        [ "$(cat "$interface/dev_port" 2>/dev/null)" != $((number - 1)) ] || own=${interface##*/}
    done
    say rdma "${device##*/}:$number $own"
done
[ -n "$1" ] && [ -x "$1" ] && say mpi "$("$1" --version 2>/dev/null | head -n 2 | tr '\n' ' ')"
shift
for file in "$@"; do [ -r "$file" ] && say file "$(cksum <"$file" | tr ' ' -) $file"; done
exit 0
"""
SCRIPT = f"{_SAY}{TELL_IDENTITY}{_NETWORKS}{_FACTS}"
"""$1 is an MPI launcher; the other arguments are files."""


@dataclass(frozen=True)
class NodeSays:
    """The answer of a node.

    Attributes:
        cores: physical cores of the CPUs on which a process may run there, without quotas of control groups.
        memory_bytes: memory available without swapping.
        mpi: the version text of the MPI launcher; "" where it is missing.
        files: checksums by path of the requested files that exist.
        networks: by interface that is up, its IPv4 address and the bits of its network, as "10.0.0.1/24"; empty where
            the node has no `ip`.
        identity: what tells it from others.
        rdma: ports of InfiniBand and RoCE, as UCX names them ("mlx5_0:1"), and the interface that each has, or "".
    """

    node: str
    hostname: str
    architecture: str
    model: str
    cores: int
    memory_bytes: int
    interfaces: tuple[str, ...]
    mpi: str
    files: Mapping[str, str]
    networks: Mapping[str, str] = field(default_factory=dict)
    identity: Identity = field(default_factory=Identity)
    rdma: Mapping[str, str] = field(default_factory=dict)


def ask_nodes(
    reach: Transport, nodes: Sequence[str], files: Sequence[Path] = (), mpirun: Path | None = None
) -> Mapping[str, NodeSays | UnreachableError | ProcessError]:
    """Ask all nodes at the same time.

    Args:
        files: files that all nodes should have.
        mpirun: an MPI launcher that all nodes should have.

    Returns:
        Each node's answer, or the error why it has none.
    """
    command = ("sh", "-c", SCRIPT, "sh", str(mpirun or ""), *map(str, files))
    return {node: _heard(node, said) for node, said in say_all(reach, nodes, command).items()}


def parse_says(node: str, text: str) -> NodeSays:
    """Parse the script's output; a missing figure counts as 1 core or 0 bytes."""
    said: dict[str, list[str]] = {}
    for line in text.splitlines():
        name, tab, value = line.partition("\t")
        if tab:
            said.setdefault(name, []).append(value.strip())

    def one(name: str) -> str:
        return said.get(name, [""])[0]

    allowed = cpu_list(one("allowed"))
    siblings = dict(line.split(" ", 1) for line in said.get("sibling", []) if " " in line)
    cores = {siblings.get(str(cpu), str(cpu)) for cpu in allowed}
    memory = one("memory_kib")
    ports = [line.partition(" ") for line in said.get("rdma", [])]
    return NodeSays(
        node=node,
        hostname=one("hostname"),
        architecture=one("architecture"),
        model=one("model"),
        cores=max(1, len(cores)),
        memory_bytes=int(memory) * 1024 if memory.isdecimal() else 0,
        interfaces=tuple(name for name in said.get("interface", []) if name not in {"lo", "*"}),
        mpi=" ".join(one("mpi").partition("Report bugs")[0].split()),
        files={path: checksum for checksum, _, path in (line.partition(" ") for line in said.get("file", []))},
        networks=_networks(said.get("network", [])),
        identity=told_identity(text),
        rdma={port: own for port, _, own in ports if DEVICE.fullmatch(port)},
    )


def own_networks() -> Mapping[str, str]:
    """Return what `NodeSays.networks` is of this host."""
    try:
        said = say(Local(), "this host", ("sh", "-c", f"{_SAY}{_NETWORKS}"))
    except UnreachableError:
        return {}
    return _networks([line.partition("\t")[2] for line in said.stdout.splitlines()])


def _networks(lines: Sequence[str]) -> dict[str, str]:
    """Parse the script's lines; the first address of an interface counts, and the loopback leads nowhere."""
    found: dict[str, str] = {}
    for line in lines:
        name, _, address = line.partition(" ")
        if name != "lo" and "/" in address:
            found.setdefault(name.partition("@")[0], address)
    return found


def cpu_list(listed: str) -> list[int]:
    """Parse a list of CPUs of the kernel, such as "0-3,8".

    Raises:
        ValueError: a number is beyond what any kernel counts.
    """
    spans = [part.partition("-") for part in listed.split(",")]
    ends = [
        (int(first), int(last or first))
        for first, _, last in spans
        if first.isdecimal() and (last or first).isdecimal()
    ]
    if any(last >= MOST_CPUS for _, last in ends):
        raise ValueError(f"{listed[:40]}: no kernel has so many CPUs")
    return [cpu for first, last in ends for cpu in range(first, last + 1)]


def _heard(node: str, said: CommandResult | UnreachableError) -> NodeSays | UnreachableError | ProcessError:
    if isinstance(said, UnreachableError):
        return said
    if said.exit_code != 0:
        sentence = f"node {node}: it cannot be asked: {said.stderr.strip() or f'code {said.exit_code}'}"
        return ProcessError(sentence, ("sh",), said.exit_code, said.stdout, said.stderr)
    try:
        return parsed(node, partial(parse_says, node), said.stdout)
    except UnreachableError as error:
        return error
