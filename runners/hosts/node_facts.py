"""Asks nodes for their facts with a POSIX shell script, because a node needs no software of ours."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from ..errors import ProcessError, UnreachableError
from ..job import DEVICE
from .hearing import CommandResult
from .system_facts import SAY, SYSTEM, SystemFacts, first_of, said_in, told_system
from .transport import Local, Transport, parsed, say, say_all

TELL_IDENTITY = r"""
say hostname "$(uname -n)"
say boot "$(cat /proc/sys/kernel/random/boot_id 2>/dev/null)"
say network_space "$(readlink /proc/self/ns/net 2>/dev/null)"
image=$(grep -xE '[0-9a-f]{32}' /etc/machine-id 2>/dev/null)
[ -z "$image" ] || say image "$(printf '%s' "$image" | sha256sum | cut -c-16)"
"""
"""Lines of a script; `say` prints a name and a value. Of the id of a machine, which systemd keeps secret, only a hash
is told."""


@dataclass(frozen=True)
class Identity:
    """What tells a node from others; "" where it does not say.

    Attributes:
        boot: drawn by the kernel at each start.
        network_space: the network namespace: containers of one machine have one each.
        image: of /etc/machine-id, which is made when a system is installed.
    """

    hostname: str = ""
    boot: str = ""
    network_space: str = ""
    image: str = ""

    @property
    def place(self) -> tuple[str, ...]:
        """What only names of one host have in common; nothing where the node does not tell its boot."""
        return (self.boot, self.network_space, self.hostname) if self.boot else ()


def told_identity(text: str) -> Identity:
    """Read the lines of TELL_IDENTITY, and of the name of the host."""
    said = dict(line.split("\t", 1) for line in text.splitlines() if "\t" in line)
    return Identity(*(said.get(name, "").strip() for name in ("hostname", "boot", "network_space", "image")))


def same_host(identities: Mapping[str, Identity]) -> list[tuple[str, ...]]:
    """Return the names that lead to one and the same host, in groups of two or more."""
    return _groups({name: own.place for name, own in identities.items()})


def same_kernel(identities: Mapping[str, Identity]) -> list[tuple[str, ...]]:
    """Return the hosts that one machine runs as containers, in groups of two or more."""
    others = {name for names in same_host(identities) for name in names[1:]}
    return _groups({name: (own.boot,) * bool(own.boot) for name, own in identities.items() if name not in others})


def same_image(identities: Mapping[str, Identity]) -> list[tuple[str, ...]]:
    """Return the machines whose systems are copies of one that was already installed, in groups of two or more."""
    machines: dict[str, str] = {}
    for name, own in identities.items():
        if own.boot:
            machines.setdefault(own.boot, name)
    return _groups({name: (identities[name].image,) * bool(identities[name].image) for name in machines.values()})


def same_hostname(identities: Mapping[str, Identity]) -> list[tuple[str, ...]]:
    """Return the hosts that call themselves by one name and may be different ones, in groups of two or more."""
    others = {name for names in same_host(identities) for name in names[1:]}
    called = {name: own.hostname for name, own in identities.items() if name not in others}
    return _groups({name: (hostname,) * bool(hostname) for name, hostname in called.items()})


def _groups(keys: Mapping[str, tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Group names by a key; those with an empty one are in no group."""
    found: dict[tuple[str, ...], list[str]] = {}
    for name, key in keys.items():
        if key:
            found.setdefault(key, []).append(name)
    return [tuple(names) for names in found.values() if len(names) > 1]


CLONES = (
    "have one /etc/machine-id, as copies of one installed system have: DHCP may give them one address, and their ssh "
    "keys may be one, too"
)
NEW_ID = "rm /etc/machine-id; systemd-machine-id-setup"
"""What gives a machine an id of its own."""


MOST_GPUS = 64
"""Of one node, that are read."""
SHAPE = r"""
different() { cat "$root"/sys/devices/system/cpu/cpu[0-9]*/"$1" 2>/dev/null | sort -u | wc -l; }
say sockets "$(different topology/physical_package_id)"
say numa_count "$(ls -d "$root"/sys/devices/system/node/node[0-9]* 2>/dev/null | wc -l)"
say l3_caches "$(different cache/index3/shared_cpu_list)"
near() { echo "$(cat "$1/numa_node" 2>/dev/null)|$(cat "$1/local_cpulist" 2>/dev/null)"; }
command -v nvidia-smi >/dev/null 2>&1 &&
    timeout 30 nvidia-smi --query-gpu=name,memory.total,pci.bus_id --format=csv,noheader,nounits 2>/dev/null |
    while IFS=, read -r model mib bus; do
        bus=$(printf '%s' "${bus#"${bus%????????????}"}" | tr A-F a-f)
        say gpu "NVIDIA|$model|$((${mib:-0} * 1048576))|$(near "$root/sys/bus/pci/devices/$bus")"
    done
for device in "$root"/sys/class/drm/card*/device; do
    [ "$(cat "$device/vendor" 2>/dev/null)" = 0x1002 ] || continue
    bytes=$(cat "$device/mem_info_vram_total" 2>/dev/null) model=$(cat "$device/product_name" 2>/dev/null)
    [ -z "$bytes" ] || say gpu "AMD|${model:-GPU $(cat "$device/device" 2>/dev/null)}|$bytes|$(near "$device")"
done
"""
"""Says it with SAY; $root is the folder with /sys, "" for the node's own."""


@dataclass(frozen=True)
class NodeGpu:
    """A GPU of a node.

    Attributes:
        vendor: "NVIDIA" or "AMD".
        numa_node, cpus: near it, as its kernel lists them; None and "" where that does not tell.
    """

    vendor: str
    model: str
    memory_bytes: int
    numa_node: int | None = None
    cpus: str = ""


@dataclass(frozen=True)
class HostShape:
    """What of a node ranks may be spread over; 0 where it does not tell."""

    sockets: int = 0
    numa_nodes: int = 0
    l3_caches: int = 0
    gpus: tuple[NodeGpu, ...] = ()


def told_shape(said: Mapping[str, Sequence[str]]) -> HostShape:
    """Make the shape of what SHAPE said, by name."""
    found = [gpu for line in said.get("gpu", [])[:MOST_GPUS] if (gpu := _gpu(line)) is not None]
    return HostShape(_count(said, "sockets"), _count(said, "numa_count"), _count(said, "l3_caches"), tuple(found))


def _count(said: Mapping[str, Sequence[str]], name: str) -> int:
    text = first_of(said, name).strip()
    return int(text) if text.isdecimal() and len(text) < 6 else 0


def _gpu(line: str) -> NodeGpu | None:
    parts = [part.strip() for part in line.split("|")]
    if len(parts) != 5 or not parts[2].isdecimal() or len(parts[2]) > 15 or parts[2] == "0":
        return None
    vendor, model, memory, numa_node, cpus = parts
    printable = "".join(letter for letter in model if letter.isprintable())[:80]
    return NodeGpu(vendor, printable, int(memory), int(numa_node) if numa_node.isdecimal() else None, cpus[:200])


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
for file in "$@"; do
    [ -d "$file" ] && say file "folder $file"
    [ -f "$file" ] && [ -r "$file" ] && say file "$(cksum <"$file" | tr ' ' -) $file"
done
exit 0
"""
SCRIPT = f"root=\n{SAY}{TELL_IDENTITY}{SYSTEM}{SHAPE}{_NETWORKS}{_FACTS}"
"""$1 is an MPI launcher; the other arguments are files, or folders, whose content nobody looks at."""


MOST_KIB = 10**13
"""KiB of memory that no node has."""


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
        system: what it has for settings of the system.
        shape: what ranks may be spread over, with its GPUs.
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
    system: SystemFacts = field(default_factory=SystemFacts)
    shape: HostShape = field(default_factory=HostShape)


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
    said = said_in(text)
    system = told_system(said)
    memory = first_of(said, "memory_kib")
    ports = [line.partition(" ") for line in said.get("rdma", [])]
    return NodeSays(
        node=node,
        hostname=first_of(said, "hostname"),
        architecture=first_of(said, "architecture"),
        model=first_of(said, "model"),
        cores=max(1, len(system.cores)),
        memory_bytes=range(MOST_KIB).index(int(memory)) * 1024 if memory.isdecimal() else 0,  # raises beyond it
        interfaces=tuple(name for name in said.get("interface", []) if name not in {"lo", "*"}),
        mpi=" ".join(first_of(said, "mpi").partition("Report bugs")[0].split()),
        files={path: checksum for checksum, _, path in (line.partition(" ") for line in said.get("file", []))},
        networks=_networks(said.get("network", [])),
        identity=told_identity(text),
        rdma={port: own for port, _, own in ports if DEVICE.fullmatch(port)},
        system=system,
        shape=told_shape(said),
    )


def own_networks() -> Mapping[str, str]:
    """Return what `NodeSays.networks` is of this host."""
    try:
        said = say(Local(), "this host", ("sh", "-c", f"{SAY}{_NETWORKS}"))
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


def _heard(node: str, said: CommandResult | UnreachableError) -> NodeSays | UnreachableError | ProcessError:
    if isinstance(said, UnreachableError):
        return said
    if said.exit_code != 0:
        return ProcessError(f"node {node}: it cannot be asked: {said.stderr.strip() or f'code {said.exit_code}'}")
    try:
        return parsed(node, partial(parse_says, node), said.stdout)
    except UnreachableError as error:
        return error
