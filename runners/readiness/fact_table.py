"""The facts that a check asks all nodes for. A new fact is one entry here."""

import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..hosts.system_facts import GLIBC, IN_BRACKETS, TRANSPARENT
from .fact import NearNumber, NodeFact, OfTheMoment, SameText, Within

SKEW = NodeFact(
    "clock_skew",
    "clock against this host",
    "",
    "date +%s.%N",
    Within(0.5, "s"),
)
"""It is measured around a call of its own."""
LOGIN = NodeFact(
    "login",
    "time until a command begins there",
    "",
    "time ssh NODE true",
    Within(3.0, "s"),
)
"""It is measured around calls of their own. Each start of MPI waits for the slowest login."""
FILE = "file "
"""How the names of facts about files begin; their paths follow."""

_CPU = "/sys/devices/system/cpu"
_CLOCK = "/sys/devices/system/clocksource/clocksource0/current_clocksource"
_DMI = "/sys/class/dmi/id"
_GIB = "1048576"
_UNIQUE = "sort | uniq -c | sed 's/^ *//; s/ / x /'"


def _read(path: str) -> str:
    return f"cat {path}"


def _limit(words: str, column: int) -> str:
    """Print a limit of a process; root is not held to that of processes."""
    return f"awk '/^Max {words}/ {{print ${column}}}' /proc/self/limits"


def _nics(shell: str) -> str:
    """Run commands for each NIC in $nic; interfaces that only software makes are left out."""
    skipped = "lo|docker*|br-*|veth*|virbr*|cni*|flannel*|cali*|bonding_masters|tun*|tap*|dummy*|ifb*|sit*|'*'"
    return (
        f"for path in /sys/class/net/*; do nic=${{path##*/}}; case $nic in {skipped}) continue;; esac; "
        f'value=$({shell}); [ -z "$value" ] || echo "$nic: $value"; done'
    )


_QUOTA = r"""
while IFS=: read -r _ names group; do
    case ,$names, in
    ,,) base=/sys/fs/cgroup;;
    *,cpu,*) base=/sys/fs/cgroup/$names; [ -d "$base" ] || base=/sys/fs/cgroup/cpu;;
    *) continue;;
    esac
    while :; do
        cat "$base$group/cpu.max"
        echo "$(cat "$base$group/cpu.cfs_quota_us") $(cat "$base$group/cpu.cfs_period_us")"
        [ -n "$group" ] || break
        group=${group%/*}
    done
done </proc/self/cgroup |
awk '$1 + 0 > 0 && $2 + 0 > 0 && (!least || $1 / $2 < least) {least = $1 / $2}
    END {if (least) printf "%.2f\n", least; else print "no limit"}'
""".strip()
"""Of versions 1 and 2, the least of a control group and of those around it."""


def _least_of_groups(controller: str, files: str, per_unit: int, form: str) -> str:
    """Print the least number that files of a control group and of those around it hold, versions 1 and 2.

    Args:
        files: names of the file in version 2 and in version 1.
        per_unit: of the number in the file, in one of what is printed.
        form: how printf prints it.
    """
    of_group = " ".join(f'"$base$group/{file}"' for file in files.split())
    return rf"""
while IFS=: read -r _ names group; do
    case ,$names, in
    ,,) base=/sys/fs/cgroup;;
    *,{controller},*) base=/sys/fs/cgroup/$names; [ -d "$base" ] || base=/sys/fs/cgroup/{controller};;
    *) continue;;
    esac
    while :; do cat {of_group}; [ -n "$group" ] || break; group=${{group%/*}}; done
done </proc/self/cgroup |
awk '/^[0-9]+$/ && $1 < 1e18 && (!found || $1 < least) {{found = 1; least = $1}}
    END {{if (found) printf "{form}\n", least / {per_unit}; else print "no limit"}}'
""".strip()


LOOK_S = 0.1
"""Seconds between two looks at the time that programs took; the kernel counts it in hundredths of a second."""
BUSY = 0.3
"""Cores from which on a program is named: two looks may miss the tenth of a core, and counting itself takes some."""
NO_PROGRAMS = "none"
_PROGRAMS = rf"""
taken() {{ cut -d ' ' -f 1 /proc/uptime; cat /proc/[0-9]*/stat; }}
before=$(taken); sleep {LOOK_S}
{{ printf '%s\n' "$before"; taken; }} | awk -v own="$$" -v parent="$PPID" -v hertz="$(getconf CLK_TCK)" '
    NF == 1 {{looks++; took_s = $1 - began_s; if (looks == 1) began_s = $1; next}}
    /^[0-9]+ \(.*\) / && $1 != own && $1 != parent {{
        match($0, /.*\)/); name = substr($0, index($0, "(") + 1, RLENGTH - index($0, "(") - 1)
        split(substr($0, RLENGTH + 2), words, " "); ticks = words[12] + words[13]
        if (looks == 1) first[$1] = ticks
        else if ($1 in first) {{gsub(/[^A-Za-z0-9_.+-]/, "?", name); cores[name] += ticks - first[$1]}}
    }}
    END {{for (name in cores) if (took_s > 0 && cores[name] / hertz / took_s >= {BUSY})
        printf "%.1f %s\n", cores[name] / hertz / took_s, name}}' | sort -rn | head -n 3 | grep . || echo {NO_PROGRAMS}
""".strip()
_EDAC = r"""
for dimm in /sys/devices/system/edac/mc/mc*/dimm*; do
    size=$(cat $dimm/size); [ "${size:-0}" -gt 0 ] || continue
    controller=${dimm%/*}
    echo "${controller##*/} $(cat $dimm/dimm_location) of $(cat $controller/max_location)"
done
""".strip()
"""Where the kernel drives the memory's error correction: each filled place, of all that its controller has."""
_FAULTS = r"""
awk -F: '/Vulnerable/ {open = open " " $1} /Mitigation/ {count++}
    END {print count + 0 " mitigated" (open ? ", open:" open : "")}'
""".strip()
_IB = "/sys/class/infiniband"


def _ib_ports(file: str) -> str:
    """Print a file of each port of InfiniBand."""
    return (
        f"for port in {_IB}/*/ports/*; do [ -r $port/{file} ] || continue; hca=${{port#{_IB}/}}; "
        f'echo "${{hca%%/*}}/${{port##*/}}: $(cat $port/{file})"; done'
    )


_GPUS = rf"""
for device in /sys/bus/pci/devices/*; do
    case $(cat $device/class)$(cat $device/vendor) in 0x030[02]??0x10de|0x030[02]??0x1002|0x0380??0x1002) ;;
    *) continue;; esac
    echo "$(cat $device/vendor):$(cat $device/device)"
done | {_UNIQUE}
""".strip()
"""Processors of graphics of NVIDIA and AMD; a board's own is of neither."""
_NETWORK_FOLDERS = r"""
for folder in "$HOME" "$work"; do
    awk -v folder="$folder/" '{
        place = $2 == "/" ? "/" : $2 "/"
        if (index(folder, place) == 1 && length(place) >= best) {
            best = length(place); kind = $3; found = $2 " " $3 " " $4
        }
    } END {if (kind ~ /^(nfs4?|lustre|beegfs|gpfs|cifs|ceph|fuse[.].*)$/) print found}' /proc/mounts
done | sed -E 's/,?(client|mount)?addr=[^, ]*//g' | sort -u
""".strip()
"""Without the addresses, which differ from node to node."""
_SYSCTLS = (
    *("kernel.numa_balancing", "kernel.nmi_watchdog", "kernel.sched_autogroup_enabled"),
    *("vm.compaction_proactiveness", "vm.dirty_background_ratio", "vm.dirty_ratio", "vm.max_map_count"),
    *("vm.nr_overcommit_hugepages", "vm.overcommit_memory", "vm.overcommit_ratio", "vm.swappiness"),
    *("vm.zone_reclaim_mode", "net.core.rmem_max", "net.core.wmem_max", "net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"),
)
_OFFLOADS = "tcp-segmentation-offload|generic-segmentation-offload|generic-receive-offload|large-receive-offload"
_DIMM = "dmidecode -t 17 | awk -F': ' '"
_PROCESSOR: tuple[NodeFact, ...] = (
    NodeFact(
        "cpu_model", "CPU model",
        "model=$(sed -n 's/^\\(model name\\|Model\\)[[:space:]]*: //p' /proc/cpuinfo | head -n 1); "
        'echo "${model:-$(uname -m)}"',
        "lscpu | grep 'Model name'",
    ),
    NodeFact("cpus", "CPUs", "grep -c '^processor' /proc/cpuinfo", "nproc --all"),
    NodeFact("cpus_allowed", "CPUs that a process may use", "nproc", "nproc"),
    NodeFact(
        "sockets", "sockets",
        f"cat {_CPU}/cpu[0-9]*/topology/physical_package_id | sort -u | grep -c .",
        "lscpu | grep Socket",
    ),
    NodeFact(
        "cores", "cores (hardware threads of a core count once)",
        f"cat {_CPU}/cpu[0-9]*/topology/thread_siblings_list | sort -u | grep -c .", "lscpu | grep 'Core(s)'",
    ),
    NodeFact(
        "smt", "SMT (hardware threads of a core)", _read(f"{_CPU}/smt/control"), _read(f"{_CPU}/smt/control"),
    ),
    NodeFact("numa_nodes", "NUMA nodes", "ls -d /sys/devices/system/node/node[0-9]* | grep -c .", "lscpu | grep NUMA"),
    NodeFact(
        "max_mhz", "largest clock, MHz",
        f"khz=$(cat {_CPU}/cpu0/cpufreq/cpuinfo_max_freq) && echo $((khz / 1000))",
        _read(f"{_CPU}/cpu0/cpufreq/cpuinfo_max_freq"), NearNumber(1.0),
    ),
    NodeFact(
        "governor", "frequency governor",
        f"cat {_CPU}/cpu[0-9]*/cpufreq/scaling_governor | {_UNIQUE}",
        _read(f"{_CPU}/cpu0/cpufreq/scaling_governor"),
    ),
    NodeFact(
        "clock_driver", "driver of the clock", _read(f"{_CPU}/cpu0/cpufreq/scaling_driver"),
        _read(f"{_CPU}/cpu0/cpufreq/scaling_driver"),
    ),
    NodeFact(
        "allowed_mhz", "largest clock that is allowed, MHz",
        f"cat {_CPU}/cpu[0-9]*/cpufreq/scaling_max_freq | awk '{{print int($1 / 1000)}}' | {_UNIQUE}",
        _read(f"{_CPU}/cpu0/cpufreq/scaling_max_freq"),
    ),
    NodeFact(
        "boost", "boost of the clock (turbo)",
        f"case $(cat {_CPU}/cpufreq/boost)$(cat {_CPU}/intel_pstate/no_turbo | tr 01 10) in "
        "1*) echo on;; 0*) echo off;; esac",
        f"grep . {_CPU}/cpufreq/boost {_CPU}/intel_pstate/no_turbo",
    ),
    NodeFact(
        "energy_preference", "energy preference of the processor (EPP)",
        f"cat {_CPU}/cpu[0-9]*/cpufreq/energy_performance_preference | {_UNIQUE}",
        _read(f"{_CPU}/cpu0/cpufreq/energy_performance_preference"),
    ),
    NodeFact("cpu_quota", "CPUs that the control group allows (quota)", _QUOTA, "cat /sys/fs/cgroup/cpu.max"),
    NodeFact(
        "mitigations", "mitigations of faults of the processor",
        f"cd {_CPU}/vulnerabilities && grep . * | {_FAULTS}", f"grep . {_CPU}/vulnerabilities/*",
    ),
    NodeFact("clock_source", "clock source", _read(_CLOCK), _read(_CLOCK)),
    NodeFact(
        "throttled", "times that heat slowed a core down since the start",
        f"cat {_CPU}/cpu[0-9]*/thermal_throttle/core_throttle_count | awk '{{sum += $1}} END {{if (NR) print sum}}'",
        f"grep . {_CPU}/cpu*/thermal_throttle/core_throttle_count", Within(0),
    ),
    NodeFact(
        "microcode", "microcode",
        "sed -n 's/^microcode[[:space:]]*: //p' /proc/cpuinfo | sort -u", "grep -m1 microcode /proc/cpuinfo",
    ),
)  # fmt: skip
_MEMORY: tuple[NodeFact, ...] = (
    NodeFact(
        "memory_gib", "memory, GiB",
        f"awk '/^MemTotal:/ {{printf \"%.1f\\n\", $2 / {_GIB}}}' /proc/meminfo", "free -h", NearNumber(2.0),
    ),
    NodeFact(
        "memory_free_gib", "available memory, GiB",
        f"awk '/^MemAvailable:/ {{printf \"%.1f\\n\", $2 / {_GIB}}}' /proc/meminfo", "free -h", NearNumber(20.0),
    ),
    NodeFact(
        "swap_gib", "swap space, GiB",
        f"awk '/^SwapTotal:/ {{printf \"%.1f\\n\", $2 / {_GIB}}}' /proc/meminfo", "cat /proc/swaps", NearNumber(2.0),
    ),
    NodeFact(
        "swap_used_gib", "used swap space, GiB",
        "awk '/^SwapTotal:/ {total = $2} /^SwapFree:/ {free = $2} "
        f"END {{printf \"%.2f\\n\", (total - free) / {_GIB}}}' /proc/meminfo", "free -h", Within(0.25, "GiB"),
    ),
    NodeFact(
        "memory_limit_gib", "memory that the control group allows, GiB",
        _least_of_groups("memory", "memory.max memory.limit_in_bytes", 1073741824, "%.2f"),
        "cat /sys/fs/cgroup/memory.max",
    ),
    NodeFact(
        "memory_places", "filled places of the memory controllers", _EDAC,
        "grep . /sys/devices/system/edac/mc/*/dimm*/*",
    ),
    NodeFact(
        "dimms", "DIMMs", f"{_DIMM}/^\\tSize: [0-9]/ {{print $2}}' | {_UNIQUE}", "dmidecode -t 17 | grep Size:",
    ),
    NodeFact(
        "dimm_speed", "speed of DIMMs",
        f"{_DIMM}/^\\tConfigured (Memory|Clock) Speed: [0-9]/ {{print $2}}' | sort -u",
        "dmidecode -t 17 | grep Speed:",
    ),
    NodeFact(
        "memory_channels", "filled memory slots",
        f"{_DIMM}/^\\tSize: / {{full = $2 ~ /^[0-9]/}} /^\\tLocator: / {{if (full) print $2}}' | sort | tr '\\n' ' '",
        "dmidecode -t 17 | grep -E 'Size|Locator'",
    ),
    NodeFact(
        "memory_slots", "memory slots and their banks, filled or not",
        f"{_DIMM}/^\\tSize: / {{full = $2 ~ /^[0-9]/ ? \"filled\" : \"empty\"}} /^\\tLocator: / {{place = $2}} "
        "/^\\tBank Locator: / {print full \" \" place \" / \" $2}'",
        "dmidecode -t 17 | grep -E 'Size|Locator'",
    ),
    NodeFact(
        "transparent_huge_pages", "transparent huge pages",
        f"{IN_BRACKETS} {TRANSPARENT}", _read(TRANSPARENT),
    ),
    NodeFact(
        "huge_pages", "reserved huge pages", "sed -n 's/^HugePages_Total: *//p' /proc/meminfo",
        "grep HugePages_Total /proc/meminfo",
    ),
)  # fmt: skip
_SYSTEM: tuple[NodeFact, ...] = (
    NodeFact(
        "board", "board",
        f"echo $(cat {_DMI}/board_vendor {_DMI}/board_name {_DMI}/board_version || tr -d '\\0' "
        "</proc/device-tree/model)",
        f"cat {_DMI}/board_name",
    ),
    NodeFact("bios_version", "BIOS version", _read(f"{_DMI}/bios_version"), _read(f"{_DMI}/bios_version")),
    NodeFact("bios_date", "BIOS date", _read(f"{_DMI}/bios_date"), _read(f"{_DMI}/bios_date")),
    NodeFact("kernel", "kernel", "uname -r", "uname -r"),
    NodeFact(
        "kernel_options", "command line of the kernel",
        "tr ' ' '\\n' </proc/cmdline | grep -v -E '^(root|BOOT_IMAGE|initrd|resume|ip|rd[.][a-z.]*)=|[0-9a-fA-F]{8}-' "
        "| tr '\\n' ' '",
        _read("/proc/cmdline"),
    ),
    NodeFact(
        "os", "operating system", "sed -n 's/^PRETTY_NAME=\"*\\([^\"]*\\)\"*/\\1/p' /etc/os-release",
        _read("/etc/os-release"),
    ),
    NodeFact("libc", "C library", f"{GLIBC} || ldd --version 2>&1 | head -n 1", "ldd --version"),
    NodeFact(
        "mpi", "MPI", 'if [ -x "$mpirun" ]; then "$mpirun" --version </dev/null | head -n 1; '
        'elif [ -n "$mpirun" ]; then echo missing; fi',
        "mpirun --version",
    ),
    *(NodeFact(name, name, f"cat /proc/sys/{name.replace('.', '/')}", f"sysctl {name}") for name in _SYSCTLS),
    NodeFact("gpus", "GPUs, vendor and device", _GPUS, "lspci | grep -E '3D|VGA|Display'"),
    NodeFact(
        "network_folders", "network file systems of the home and the work folder", _NETWORK_FOLDERS,
        "grep nfs /proc/mounts",
    ),
    NodeFact("limit_memlock", "limit of locked memory, KiB", "ulimit -l", "ulimit -l"),
    NodeFact("limit_nofile", "limit of open files", "ulimit -n", "ulimit -n"),
    NodeFact(
        "limit_nofile_hard", "largest limit of open files", _limit("open files", 5), "ulimit -Hn",
    ),
    NodeFact(
        "limit_processes", "limit of processes and threads of the user",
        f"if grep -q '^Uid:[[:space:]]*0[[:space:]]' /proc/self/status; then echo unlimited; "
        f"else {_limit('processes', 3)}; fi",
        "ulimit -u",
    ),
    NodeFact(
        "limit_tasks", "processes and threads that the control group allows",
        _least_of_groups("pids", "pids.max", 1, "%d"), "cat /sys/fs/cgroup/pids.max",
    ),
    NodeFact("limit_memory", "limit of the memory of a process, bytes", _limit("address space", 4), "ulimit -v"),
    NodeFact("limit_stack", "limit of the stack, KiB", "ulimit -s", "ulimit -s"),
    NodeFact(
        "load", "load for each CPU",
        "cpus=$(nproc); awk -v cpus=\"$cpus\" '{printf \"%.2f\\n\", $1 / cpus}' /proc/loadavg", "uptime", Within(0.5),
    ),
    NodeFact(
        "work_free_gib", "free disk space of the work folder, GiB",
        f"df -Pk \"$work\" | awk 'NR == 2 {{printf \"%.1f\\n\", $4 / {_GIB}}}'", "df -h", Within(unit="GiB", least=0.5),
    ),
    NodeFact(
        "work_free_files", "files that the disk of the work folder can still take",
        "df -Pi \"$work\" | awk 'NR == 2 && $2 > 0 {print $4}'", "df -i", Within(least=1000),
    ),
    NodeFact(
        "work_mb_s", "rate at which files are written below the work folder, MB/s",
        'probe=$(mktemp "$work/.hpltune-rate-XXXXXX") || exit; trap \'rm -f "$probe"\' EXIT; trap exit HUP INT TERM; '
        '{ timeout -s INT -k 1 2 dd if=/dev/zero of="$probe" bs=256k count=32 oflag=dsync; echo "code $?"; } 2>&1 | '
        "sed -n 's/^code 137$/0 1/p; s/^\\([0-9]*\\) bytes.* copied, \\([0-9.e-]*\\) s.*/\\1 \\2/p' | "
        "awk '{printf \"%.1f\\n\", $1 / ($2 + 1e-6) / 1e6}'",
        "dd if=/dev/zero of=FOLDER/x bs=256k count=32 oflag=dsync", OfTheMoment(),
    ),
    NodeFact(
        "programs", "cores that programs take now", _PROGRAMS, "top", OfTheMoment(),
    ),
    NodeFact(
        "work_folder", "work folder",
        'probe=$work/.hpltune-probe-$$; if : >"$probe"; then rm -f "$probe"; echo writable; '
        'else echo "cannot be written"; fi',
        "touch FOLDER/x", SameText(must="writable"),
    ),
)  # fmt: skip
_NETWORK: tuple[NodeFact, ...] = (
    NodeFact(
        "nic_driver", "driver of NICs", _nics("ethtool -i $nic | sed -n 's/^driver: //p'"), "ethtool -i NIC",
    ),
    NodeFact(
        "nic_firmware", "firmware of NICs",
        _nics("ethtool -i $nic | sed -n 's/^firmware-version: \\(..*\\)/\\1/p'"), "ethtool -i NIC",
    ),
    NodeFact(
        "nic_speed", "speed of NICs, Mbit/s",
        _nics("cat $path/speed | grep -v '^-'"), "cat /sys/class/net/NIC/speed",
    ),
    NodeFact("infiniband_rate", "rate of InfiniBand", _ib_ports("rate"), "ibstat"),
    NodeFact("infiniband_state", "state of InfiniBand", _ib_ports("state"), "ibstat"),
    NodeFact(
        "infiniband_firmware", "firmware of InfiniBand",
        f"for hca in {_IB}/*; do [ -r $hca/fw_ver ] && echo \"${{hca##*/}}: $(cat $hca/fw_ver)\"; done", "ibstat",
    ),
    NodeFact("nic_mtu", "MTU of NICs", _nics("cat $path/mtu"), "ip link show"),
    NodeFact(
        "nic_offloads", "offloads of NICs",
        _nics(f"ethtool -k $nic | sed -n -E 's/^({_OFFLOADS}): (on|off).*/\\1 \\2/p' | tr '\\n' ' '"),
        "ethtool -k NIC",
    ),
    NodeFact(
        "nic_coalescing", "interrupt coalescing of NICs, µs",
        _nics("ethtool -c $nic | sed -n 's/^\\([rt]x-usecs\\): *\\([0-9]\\)/\\1 \\2/p' | tr '\\n' ' '"),
        "ethtool -c NIC",
    ),
)  # fmt: skip

FACTS: Mapping[str, NodeFact] = {fact.name: fact for fact in (*_PROCESSOR, *_MEMORY, *_SYSTEM, *_NETWORK, SKEW, LOGIN)}
"""By name, in the order in which a report has them."""


def is_fact(name: str) -> bool:
    """Return whether there is a fact of this name, or of a file."""
    return name in FACTS or name.startswith(FILE)


def fact_named(name: str) -> NodeFact:
    """Return the fact of a name, also that of a file.

    Raises:
        KeyError: there is none.
    """
    if not name.startswith(FILE):
        return FACTS[name]
    path = name.removeprefix(FILE)
    return NodeFact(name, f"checksum of {path}", "", shlex.join(("cksum", path)))


Facts = Mapping[str, Mapping[str, str]]
"""By node the values of its facts."""
ALIKE = 3
"""Nodes of one CPU model beside which a single node of another model is odd."""


@dataclass(frozen=True)
class OddFact:
    """A value that is not as usual.

    Attributes:
        usual: of the majority of the class, or what every node must have; "" where no value has a majority, and then
            all nodes of the class are named.
        show: the command that shows it on the node.
    """

    node: str
    fact: str
    value: str
    usual: str
    show: str


def classes_of(facts: Facts) -> dict[str, str]:
    """Return the class of each node, named by its CPU model.

    A single node of a model beside ALIKE or more of another is odd in their class: it may be the wrong board.
    """
    models = {node: own.get("cpu_model", "") for node, own in facts.items()}
    counts = Counter(models.values())
    largest = max(counts, key=lambda model: (counts[model], model), default="")
    alone = {model for model, count in counts.items() if count == 1 and counts[largest] >= ALIKE}
    return {node: largest if model in alone else model for node, model in models.items()}


def odd_facts(facts: Facts, classes: Mapping[str, str]) -> list[OddFact]:
    """List the values that are not as usual in their class, in the order of the facts and of the nodes."""
    names = [*FACTS, *sorted({name for own in facts.values() for name in own if name.startswith(FILE)})]
    members: dict[str, list[str]] = {}
    for node in facts:
        members.setdefault(classes.get(node, ""), []).append(node)
    return [odd for name in names for nodes in members.values() for odd in _odd(fact_named(name), facts, nodes)]


def _odd(fact: NodeFact, facts: Facts, nodes: Sequence[str]) -> Iterator[OddFact]:
    values = {node: facts[node][fact.name] for node in nodes if fact.name in facts[node]}
    if not values:
        return
    usual = fact.kind.usual(list(values.values()))
    yield from (
        OddFact(node, fact.name, value, usual or "", fact.show)
        for node, value in values.items()
        if usual is None or not fact.kind.fits(value, usual)
    )
