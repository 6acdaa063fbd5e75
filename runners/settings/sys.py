"""Settings of the system: memory, cores and waiting of ranks, which need no root, and values of the kernel."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..errors import RefusedError
from ..hosts.system_facts import MOST_CPUS, TRANSPARENT, SystemFacts, cores_of, cpu_list
from .net import last_words
from .setting import Command, HostSetting, LaunchSetting, Reading, SettingValue, Values, whole

TUNABLES = "GLIBC_TUNABLES"
"""The variable with settings of the GNU C library, as "glibc.malloc.hugetlb=1:glibc.malloc.check=0"."""
HUGE_PAGES = "glibc.malloc.hugetlb"
FIRST_WITH_HUGE_PAGES = (2, 35)
"""The first version of the GNU C library that knows HUGE_PAGES (its NEWS of 2022-02-03)."""

_LIST = r"\d{1,5}(-\d{1,5})?(\+\d{1,5}(-\d{1,5})?)*"


@dataclass(frozen=True)
class NumberedValues(Values):
    """Values with a list of CPUs or NUMA nodes in them, as 0-3+8; none of 3-0, nor of more than any kernel counts."""

    def text(self, value: SettingValue) -> str | None:
        """Return the value as it was given."""
        written = super().text(value)
        backwards = any(int(first) > int(last) for first, last in re.findall(r"(\d+)-(\d+)", written or ""))
        too_many = any(int(number) >= MOST_CPUS for number in re.findall(r"\d+", written or ""))
        return None if backwards or too_many else written


def with_tunables(variables: Mapping[str, str], more: Mapping[str, str]) -> dict[str, str]:
    """Return variables with more; of tunables of the C library both are kept, and of one in both the later."""
    found = {**variables, **more}
    if TUNABLES in variables and TUNABLES in more:
        parts = [part for each in (variables, more) for part in each[TUNABLES].split(":") if part]
        found[TUNABLES] = ":".join({part.partition("=")[0]: part for part in parts}.values())
    return found


class MallocHugePages(LaunchSetting):
    """Whether the C library asks for huge pages for large blocks of memory, as HPL's matrix is one."""

    def environment(self, value: str) -> Mapping[str, str]:
        """Set the C library's own switch."""
        return {TUNABLES: f"{HUGE_PAGES}={value}"}

    def lacks(self, value: str, system: SystemFacts) -> str:
        """Want a C library that knows the switch, and for 2 a huge page."""
        if system.glibc < FIRST_WITH_HUGE_PAGES:
            has = ".".join(map(str, system.glibc)) if any(system.glibc) else "another C library"
            return f"the GNU C library 2.35 or newer is needed, and it has {has}"
        if value == "2" and not system.huge_pages:
            return "it has no free huge page: root sets some aside with `sysctl vm.nr_hugepages=COUNT`"
        return ""

    def worth_trying(self, system: SystemFacts) -> tuple[SettingValue, ...]:
        """Try both where the kernel gives transparent huge pages only to programs that ask for them."""
        return (1, 0) if system.transparent_huge_pages == "madvise" and not self.lacks("1", system) else ()


class NumaPolicy(LaunchSetting):
    """On which NUMA nodes the memory of ranks lies."""

    def command(self, value: str, system: SystemFacts | None) -> Command:  # noqa: ARG002 - the contract's
        """Start the program through numactl."""
        policy, _, nodes = value.partition(":")
        listed = nodes.replace("+", ",")
        words = {"local": "--localalloc", "interleave": "--interleave=all", "bind": f"--membind={listed}"}
        return ("numactl", words.get(policy, f"--preferred-many={listed}"))

    def lacks(self, value: str, system: SystemFacts) -> str:
        """Want numactl, and several NUMA nodes, those that are named among them."""
        if len(system.numa_nodes) < 2:
            return "it has one NUMA node only" if system.numa_nodes else "its kernel tells of no NUMA nodes"
        missing = sorted(set(_numbers(value.partition(":")[2])).difference(system.numa_nodes))
        if missing:
            return f"it has no memory on NUMA node {_listed(missing)} (it has {_listed(system.numa_nodes)})"
        return "" if "numactl" in system.programs else "it has no numactl: install that"


PERFORMANCE, SIBLINGS, NO_SIBLINGS = "performance", "siblings", "no-siblings"
_BIND = (
    "rank=${OMPI_COMM_WORLD_LOCAL_RANK:-${MPI_LOCALRANKID:-${SLURM_LOCALID:-0}}} threads=${OMP_NUM_THREADS:-1}; "
    'mine=$(echo "$1" | tr + "\\n" | sed -n "$((rank * threads + 1)),$(((rank + 1) * threads))p" | tr "\\n" ,); '
    'shift; exec taskset -c "${mine%,}" "$@"'
)
"""Binds a rank to its own part of the cores in $1, as many as it has threads, and starts the program."""


class Cores(LaunchSetting):
    """The cores that ranks use, of which each rank has its own part."""

    def command(self, value: str, system: SystemFacts | None) -> Command:
        """Bind each rank to as many of the cores as it has threads, whatever MPI's own binding is."""
        return ("sh", "-c", _BIND, "cores", "+".join(",".join(map(str, core)) for core in self.chosen(value, system)))

    def chosen(self, value: str, system: SystemFacts | None) -> tuple[tuple[int, ...], ...]:
        """Return the hardware threads of each core.

        Raises:
            RefusedError: the value names a kind of cores, and the host is not known.
        """
        if value[0].isdecimal():
            siblings = [f"{cpu} {_listed(core)}" for core in (system.cores if system else ()) for cpu in core]
            return cores_of(_numbers(value), siblings)
        if system is None:
            raise RefusedError(f"{self.name} = {value}: the nodes are not known before the run: name the CPUs, as 0-3")
        if value == PERFORMANCE:
            return tuple(core for core in system.cores if system.performance.issuperset(core))
        return tuple(core if value == SIBLINGS else core[:1] for core in system.cores)

    def lacks(self, value: str, system: SystemFacts) -> str:
        """Want taskset, and cores of that kind or CPUs of these numbers."""
        if value == PERFORMANCE and not system.performance:
            return "its cores are all of one kind"
        if value in {SIBLINGS, NO_SIBLINGS} and all(len(core) == 1 for core in system.cores):
            return "each of its cores has one hardware thread only"
        usable = sorted(cpu for core in system.cores for cpu in core)
        missing = sorted(set(_numbers(value)).difference(usable))
        if missing:
            return f"it has no CPU {_listed(missing)} that ranks may use (they may use {_listed(usable)})"
        return "" if "taskset" in system.programs else "it has no taskset: install util-linux"


def _numbers(value: str) -> list[int]:
    """Read the numbers of a value, as [0, 1, 2, 8] of "0-2+8"; none of a word."""
    return cpu_list(value.replace("+", ","))


def _listed(numbers: Sequence[int]) -> str:
    """Write numbers as the kernel does, "0-2,8"; they ascend."""
    spans: list[list[int]] = []
    for number in numbers:
        if spans and number == spans[-1][1] + 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in spans)


@dataclass(frozen=True)
class ThreadVariables(LaunchSetting):
    """What variables say to the threads of a rank.

    Attributes:
        variables: that each value sets.
        words: of a value for each of the variables; by itself they are its parts between x.
    """

    variables: tuple[str, ...]
    words: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def environment(self, value: str) -> Mapping[str, str]:
        """Set the variables."""
        return dict(zip(self.variables, self.words.get(value, value.split("x")), strict=False))


@dataclass(frozen=True)
class KernelValue(HostSetting):
    """A value in files below /proc or /sys.

    Attributes:
        files: their path below /, which may be a pattern of the shell; all have one value.
        available: a file with the values that the kernel takes; "" if there is none.
        missing: why a host may lack the files.
        root: a folder in place of /.
    """

    files: str
    available: str = ""
    missing: str = "its kernel has none"
    root: Path = Path("/")

    def show(self, interface: str) -> Command:  # noqa: ARG002 - the contract's
        """Show what the files hold, each different text once, and then what the kernel takes."""
        script = f'for file in {self._files}; do [ -r "$file" ] || {{ echo "{self.missing}"; exit 1; }}; done'
        script += f"; cat {self._files} | sort -u"
        if self.available:
            script += f'; echo "available: $(cat {self.root / self.available} 2>/dev/null)"'
        return ("sh", "-c", script)

    def read(self, printed: str) -> Reading:
        """Read the value: the word in brackets of several, or the only word."""
        lines = [line.strip() for line in printed.splitlines() if line.strip()]
        told = [line.partition(":")[2] for line in lines if line.startswith("available:")]
        lines = [line for line in lines if not line.startswith("available:")]
        if len(lines) == 1:
            words = lines[0].split()
            chosen = [word[1:-1] for word in words if word.startswith("[") and word.endswith("]")]
            value = self.values.text(chosen[0] if len(chosen) == 1 else lines[0])
            choices = [word.strip("[]") for word in words] if chosen else "".join(told).split()
            if value is not None:
                return Reading(value, choices=tuple(choices))
        if len(lines) > 1 and all(self.values.text(line) for line in lines):
            raise RefusedError(f"it has several values ({', '.join(lines)}), so the first one could not be put back")
        raise RefusedError(last_words(printed))

    def write(self, interface: str, value: str) -> Command:  # noqa: ARG002 - the contract's
        """Write all files."""
        return ("sh", "-c", f"echo {value} | tee {self._files} >/dev/null")

    def rule(self, interface: str) -> tuple[str, str]:
        """Allow exactly this script, with legal values; sudoers gives backslashes a meaning of its own, so [*] is *."""
        program, *arguments = self.write(interface, "VALUE")
        exact = re.sub(r"[.*|]", r"[\g<0>]", " ".join(arguments))
        return program, exact.replace("VALUE", f"({self.values.rule or self.values.pattern})")

    @property
    def _files(self) -> str:
        return str(self.root / self.files)


def kernel_values(root: Path = Path("/")) -> tuple[KernelValue, ...]:
    """Make the settings of the kernel; a test gives a folder in place of /."""
    return (
        KernelValue(
            "sys.transparent_huge_pages",
            Values("always, madvise or never", "always|madvise|never"),
            TRANSPARENT.removeprefix("/"),
            meaning="Whether the kernel gives large blocks of memory huge pages by itself: always, only if a program "
            "asks (madvise), never. Root changes it for all programs; `sys.malloc_huge_pages` needs no root.",
            root=root,
        ),
        KernelValue(
            "sys.governor",
            Values("a governor, as performance or powersave", r"[a-z][a-z_]{0,15}"),
            "sys/devices/system/cpu/cpu*/cpufreq/scaling_governor",
            meaning="Who chooses the clock of the cores: performance keeps it high, others save power. It needs root, "
            "and matters where cores are slow to raise their clock.",
            available="sys/devices/system/cpu/cpu0/cpufreq/scaling_available_governors",
            missing="its kernel shows no governor, as in most virtual machines",
            root=root,
        ),
        KernelValue(
            "sys.numa_balancing",
            whole(0, 3),
            "proc/sys/kernel/numa_balancing",
            meaning="Whether the kernel moves memory to the NUMA node whose cores use it: 0 no, 1 yes. It needs root. "
            "Ranks that are bound have their memory beside them, so that moving only costs time.",
            root=root,
        ),
    )


_THREADS = "hpltune sets the threads of a rank itself: vary `layout`"
_KERNEL = "hpltune chooses the kernel of the BLAS itself: vary `kernel`"
_MPI = "it belongs to MPI: vary `mpi.NAME`"
_STARTED = "the launcher tells ranks by it who they are"
_OWNED: tuple[tuple[str, str], ...] = (
    (r"(OMP|OPENBLAS|GOTO|BLIS|MKL|VECLIB)_(NUM|MAXIMUM)_THREADS|(OMP|MKL)_DYNAMIC", _THREADS),
    (r"OPENBLAS_CORETYPE|BLIS_ARCH_TYPE|MKL_(ENABLE_INSTRUCTIONS|CBWR|DEBUG_CPU_TYPE)", _KERNEL),
    (r"MKL_(THREADING|INTERFACE)_LAYER|LD_.*", "hpltune chooses what ranks load: vary `blas`"),
    (r"BLIS_(JC|PC|IC|JR|IR)_NT", "vary `sys.blis_partition`"),
    (r"OMP_WAIT_POLICY|KMP_BLOCKTIME|OPENBLAS_THREAD_TIMEOUT|GOMP_SPINCOUNT", "vary `sys.omp_wait`"),
    (r"(OMPI_MCA|MPIR_CVAR|UCX|I_MPI|PSM2?|FI)_.*", _MPI),
    (r"(OMPI|PMIX?|PRTE|MPI|HYDRA|SLURM|PALS)_.*", _STARTED),
    (r"HPLTUNE_.*", "it is hpltune's own"),
)
"""Variables that hpltune itself sets, and what is varied in their place."""
ENVIRONMENT = "env."


class RankVariable(LaunchSetting):
    """A variable of the ranks' environment."""

    def environment(self, value: str) -> Mapping[str, str]:
        """Set the variable."""
        return {self.name.removeprefix(ENVIRONMENT): value}


ANY_VARIABLE = RankVariable(
    "env.NAME",
    Values("a printable text or a number", r"[^\x00-\x1f\x7f]{1,4096}"),
    meaning="A variable of the environment of ranks. It matters if a library that they load reads it; those that "
    "hpltune sets itself are refused with the parameter to vary.",
)


def rank_variable(name: str) -> RankVariable:
    """Return the setting of a variable.

    Raises:
        RefusedError: that is no name of a variable, or hpltune sets it itself.
    """
    variable = name.removeprefix(ENVIRONMENT)
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,255}", variable):
        raise RefusedError(f"{name}: a variable has a name of letters, digits and _, which begins with no digit")
    for pattern, instead in _OWNED:
        if re.fullmatch(pattern, variable):
            raise RefusedError(f"{name}: {instead}")
    return replace(ANY_VARIABLE, name=name)


OF_RANKS: tuple[LaunchSetting, ...] = (
    MallocHugePages(
        "sys.malloc_huge_pages",
        whole(0, 2),
        meaning="Huge pages for the matrix: 0 no, 1 transparent ones, 2 those that root has set aside. They spare the "
        "CPU work with addresses. 1 needs no root, and matters where the kernel gives them only to those who ask "
        "(madvise).",
    ),
    ThreadVariables(
        "sys.omp_wait",
        Values("active or passive", "active|passive"),
        ("OMP_WAIT_POLICY", "KMP_BLOCKTIME", "OPENBLAS_THREAD_TIMEOUT"),
        {"active": ("active", "infinite", "30"), "passive": ("passive", "0", "4")},
        meaning="How threads of a rank wait for each other: active ones keep their core busy and go on at once, "
        "passive ones sleep. It matters with several threads a rank.",
    ),
    ThreadVariables(
        "sys.blis_partition",
        Values("own, or threads of the loops JC x IC x JR x IR as 2x4x1x1", r"own|[1-9]\d{0,3}(x[1-9]\d{0,3}){3}"),
        ("BLIS_JC_NT", "BLIS_IC_NT", "BLIS_JR_NT", "BLIS_IR_NT"),
        {"own": ()},
        meaning="How BLIS shares dgemm among the threads of a rank: threads of its loops JC x IC x JR x IR, whose "
        "product is all threads; own is BLIS' own choice. It matters with BLIS and many threads, which share caches.",
    ),
    Cores(
        "sys.cores",
        NumberedValues(
            "performance, siblings, no-siblings, or CPUs as 0-3+8", f"performance|siblings|no-siblings|{_LIST}"
        ),
        meaning="The cores that ranks use: performance ones only, where the CPU has two kinds, as HPL waits for the "
        "slowest; with SMT, a core's two hardware threads (siblings) or the first of them; or CPUs by their numbers, "
        "0-3+8.",
    ),
    NumaPolicy(
        "sys.numa_policy",
        NumberedValues(
            "local, interleave, or bind: and prefer: with NUMA nodes, as bind:0-1",
            f"local|interleave|(bind|prefer):{_LIST}",
        ),
        meaning="Where the memory of ranks lies: local beside the cores of each rank, interleave over all NUMA nodes "
        "in turn, bind:0-1 on these only. It matters where a rank's threads run on several NUMA nodes.",
    ),
    ANY_VARIABLE,
)
"""Of threads there are the variables of OpenMP, of Intel's and LLVM's OpenMP, and of OpenBLAS with threads of its own,
which look for work for 2^N cycles before they sleep, with N from 4 to 30 (its USAGE.md); and those of BLIS
(docs/Multithreading.md)."""
