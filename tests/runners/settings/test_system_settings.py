"""Settings of the system: what hosts must have for them, what ranks get, and values of the kernel in a folder."""

import os
import shutil
import signal
import subprocess
import sys
import uuid
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType

import pytest
from as_user import tree
from hypothesis import given
from hypothesis import strategies as st
from needs import skip_without
from setting_contract import HostSettingContract, LaunchSettingContract
from settings_builders import Notes
from waiting import PATIENCE_S, until

from runners.errors import RefusedError
from runners.hosts.system_facts import SystemFacts, this_system, told_system
from runners.hosts.transport import Local
from runners.settings import registry
from runners.settings.control import SettingsControl
from runners.settings.registry import HostsOffer, setting
from runners.settings.script import Timer, Told, change, converse, failure
from runners.settings.sys import TUNABLES, kernel_values, with_tunables

SERVER = SystemFacts(
    (2, 36), "madvise", 8, (0, 1), ((0, 2), (1, 3)), frozenset({0, 2}), frozenset({"numactl", "taskset"})
)
"""Two cores with two hardware threads each, the first a performance core, and two NUMA nodes."""
PLAIN = SystemFacts((2, 31), "always", 0, (0,), ((0,), (1,)))


class OfTheSystem(LaunchSettingContract):
    system = SERVER


class TestMallocHugePages(OfTheSystem):
    name, legal, illegal = "sys.malloc_huge_pages", (0, 1, 2), (3, -1, "yes", True)


class TestNumaPolicy(OfTheSystem):
    name, legal = "sys.numa_policy", ("local", "interleave", "bind:0-1", "prefer:0+1")
    illegal = ("bind", "bind:0,1", "bind:0;reboot", 1, True)


class TestCores(OfTheSystem):
    name, legal = "sys.cores", ("performance", "siblings", "no-siblings", "0-1+3")
    illegal = ("0,1", "efficiency", "0-", "0;reboot", True)


class TestOmpWait(OfTheSystem):
    name, legal, illegal = "sys.omp_wait", ("active", "passive"), ("spin", 1, True, "active\n")


class TestBlisPartition(OfTheSystem):
    name, legal, illegal = "sys.blis_partition", ("own", "1x2x1x1", "2x4x1x1"), ("2x2", "0x1x1x1", 4, True)


class OfTheKernel(HostSettingContract):
    """A value of the kernel, whose files lie in a folder."""

    files: Mapping[str, str]

    @pytest.fixture(autouse=True)
    def root(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        known = {one.name: one for one in kernel_values(tree(tmp_path, self.files))}
        monkeypatch.setattr(registry, "SETTINGS", {**registry.SETTINGS, **known})
        return tmp_path


@pytest.mark.xdist_group("settings of this machine")
class TestTransparentHugePages(OfTheKernel):
    name, legal, illegal = "sys.transparent_huge_pages", ("always", "never"), ("sometimes", "always; reboot", 1)
    files = MappingProxyType({"sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n"})


@pytest.mark.xdist_group("settings of this machine")
class TestGovernor(OfTheKernel):
    name, legal, illegal = "sys.governor", ("performance", "powersave"), ("Fast", "fast;reboot", 1)
    files = MappingProxyType(
        {f"sys/devices/system/cpu/cpu{number}/cpufreq/scaling_governor": "schedutil\n" for number in range(12)}
    )


@pytest.mark.xdist_group("settings of this machine")
class TestNumaBalancing(OfTheKernel):
    name, legal, illegal = "sys.numa_balancing", (1, 2), (-1, 4, "on", True)
    files = MappingProxyType({"proc/sys/kernel/numa_balancing": "0\n"})


def governors(root: Path, *values: str) -> None:
    for number, value in enumerate(values):
        tree(root, {f"sys/devices/system/cpu/cpu{number}/cpufreq/scaling_governor": f"{value}\n"})
    tree(root, {"sys/devices/system/cpu/cpu0/cpufreq/scaling_available_governors": "performance powersave\n"})


@pytest.mark.parametrize(
    ("values", "asked", "sentence"),
    [
        ((), "performance", "sys.governor cannot be set: its kernel shows no governor, as in most virtual machines"),
        (("powersave",) * 2, "schedutil", "sys.governor = schedutil: its kernel takes performance, powersave"),
        (("powersave", "performance"), "performance", "it has several values (performance, powersave), so the first"),
    ],
)
@pytest.mark.xdist_group("settings of this machine")
def test_what_a_kernel_does_not_take_is_refused_before_any_trial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, values: tuple[str, ...], asked: str, sentence: str
) -> None:
    if values:
        governors(tmp_path, *values)
    monkeypatch.setattr(registry, "SETTINGS", {one.name: one for one in kernel_values(tmp_path)})
    with SettingsControl(Local(), ["here"], [], Notes()) as control, pytest.raises(RefusedError) as refused:
        control.prepare({"sys.governor": [asked]})
    assert sentence in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.xdist_group("settings of this machine")
def test_what_a_user_may_not_write_is_refused_before_any_trial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    governors(tmp_path, "powersave")
    known = {one.name: one for one in kernel_values(tmp_path)}
    monkeypatch.setattr(registry, "SETTINGS", known)
    denied = ("sh", "-c", 'echo "Permission denied"; exit 1')
    monkeypatch.setattr(type(known["sys.governor"]), "write", lambda *_: denied)
    with (
        SettingsControl(Local(), ["here"], [], Notes()) as control,
        pytest.raises(RefusedError, match=r"sys\.governor cannot be set: (Permission denied|it needs root)"),
    ):
        control.prepare({"sys.governor": ["performance"]})


@pytest.mark.parametrize(
    ("name", "value", "system", "lack"),
    [
        ("sys.malloc_huge_pages", 1, PLAIN, "the GNU C library 2.35 or newer is needed, and it has 2.31"),
        ("sys.malloc_huge_pages", 1, SystemFacts(), "is needed, and it has another C library"),
        ("sys.malloc_huge_pages", 2, SystemFacts((2, 36)), "it has no free huge page"),
        ("sys.numa_policy", "interleave", PLAIN, "it has one NUMA node only"),
        ("sys.numa_policy", "bind:0-4", SERVER, "it has no memory on NUMA node 2-4 (it has 0-1)"),
        ("sys.numa_policy", "local", SystemFacts(numa_nodes=(0, 1)), "it has no numactl"),
        ("sys.cores", "performance", PLAIN, "its cores are all of one kind"),
        ("sys.cores", "no-siblings", PLAIN, "each of its cores has one hardware thread only"),
        ("sys.cores", "0-2", PLAIN, "it has no CPU 2 that ranks may use (they may use 0-1)"),
        ("sys.cores", "0-1", PLAIN, "it has no taskset"),
    ],
)
def test_what_a_host_has_not_is_one_sentence(name: str, value: str | int, system: SystemFacts, lack: str) -> None:
    here, there = (HostsOffer({host: system}).why_not(name, value) or "" for host in ("", "n7"))
    assert here.startswith(f"{name} = {value} cannot be had on this machine: ")
    assert there.startswith(f"{name} = {value} cannot be had on node n7: ")
    assert lack in here


@pytest.mark.parametrize("value", ["3-0", "0+5-4", "70000", "0-99999", "", "0,1", "0-", "-1"])
def test_a_list_of_cpus_or_nodes_that_means_nothing_is_refused(value: str) -> None:
    for name, text in (("sys.cores", value), ("sys.numa_policy", f"bind:{value}")):
        assert f"{name} = {text}: expected" in (HostsOffer({"": SERVER}).why_not(name, text) or "")
        assert not registry.setting(name).values.accepts(text)


def test_what_a_host_has_is_no_fault() -> None:
    offer = HostsOffer({"n1": SERVER, "n2": SERVER})
    for name, value in (
        ("sys.malloc_huge_pages", 2),
        ("sys.numa_policy", "bind:0-1"),
        ("sys.cores", "performance"),
        ("sys.omp_wait", "active"),
        ("env.FOO", 7),
    ):
        assert offer.why_not(name, value) is None


def test_cores_are_named_alike_on_all_nodes() -> None:
    other = SystemFacts(cores=((0, 1), (2, 3)), performance=frozenset({2, 3}), programs=frozenset({"taskset"}))
    offer = HostsOffer({"n1": SERVER, "n2": other})
    assert offer.why_not("sys.cores", "performance") == (
        "sys.cores = performance: node n2 has other numbers for its cores than the first node: name CPUs, as 0-3"
    )


def test_huge_pages_are_worth_trying_where_the_kernel_gives_them_to_those_who_ask() -> None:
    name, always = "sys.malloc_huge_pages", SystemFacts((2, 36), "always")
    assert HostsOffer({"": SERVER}).worth_trying(name) == (1, 0)
    assert HostsOffer({"n1": SERVER, "n2": always}).worth_trying(name) == ()
    assert HostsOffer({"": PLAIN}).worth_trying(name) == HostsOffer().worth_trying(name) == ()


@pytest.mark.parametrize(
    ("value", "cpus"), [("siblings", [{0, 2}, {1, 3}]), ("no-siblings", [{0}, {1}]), ("0-3", [{0, 2}, {1, 3}])]
)
def test_each_rank_has_its_own_part_of_the_cores(value: str, cpus: list[set[int]]) -> None:
    command = setting("sys.cores").command(value, SERVER)  # type: ignore[attr-defined]
    assert [asked_of_taskset(command, rank) for rank in (0, 1)] == cpus
    assert asked_of_taskset(command, 0, threads=2) == cpus[0] | cpus[1]


def asked_of_taskset(command: tuple[str, ...], rank: int, threads: int = 1) -> set[int]:
    """The CPUs that taskset is asked for; a function of the shell stands in for it, as this host may lack the CPUs."""
    shell, option, script, *others = command
    own = {"OMP_NUM_THREADS": str(threads), "OMPI_COMM_WORLD_LOCAL_RANK": str(rank)}
    told = subprocess.run(
        [shell, option, script.replace("exec taskset -c", "echo"), *others, "true"],
        env={"PATH": os.environ["PATH"], **own},
        capture_output=True,
        text=True,
        check=True,
    )
    return set(map(int, told.stdout.split()[0].split(",")))


def test_taskset_binds_what_it_starts() -> None:
    system = this_system()
    if "taskset" not in system.programs or len(system.cores) < 2:
        skip_without("two CPUs")
    (last, *_), command = system.cores[-1], setting("sys.cores")
    line = command.command(f"{last}", system)  # type: ignore[attr-defined]
    show = [sys.executable, "-c", "import os; print(*os.sched_getaffinity(0))"]
    told = subprocess.run([*line, *show], capture_output=True, text=True, check=True)
    assert told.stdout.split() == [str(last)]


def test_performance_cores_are_one_kind_of_two() -> None:
    assert setting("sys.cores").command("performance", SERVER)[-1] == "0,2"  # type: ignore[attr-defined]
    with pytest.raises(RefusedError, match="the nodes are not known before the run: name the CPUs, as 0-3"):
        setting("sys.cores").command("performance", None)  # type: ignore[attr-defined]


HYBRID = {
    "proc/self/status": "Cpus_allowed_list:\t0-5\n",
    "sys/devices/cpu_core/cpus": "0-3\n",
    "sys/devices/cpu_atom/cpus": "4-5\n",
    **{
        f"sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list": f"{mates}\n"
        for cpu, mates in enumerate(("0-1", "0-1", "2-3", "2-3", "4", "5"))
    },
}
BIG_LITTLE = {
    "proc/self/status": "Cpus_allowed_list:\t0-3\n",
    **{
        f"sys/devices/system/cpu/cpu{cpu}/cpu_capacity": f"{capacity}\n"
        for cpu, capacity in enumerate((530, 530, 1024, 990))
    },
}


def test_the_kinds_of_cores_are_read_as_the_kernel_tells_them(tmp_path: Path) -> None:
    hybrid = this_system(tree(tmp_path / "hybrid", HYBRID))
    assert hybrid.cores == ((0, 1), (2, 3), (4,), (5,))
    assert hybrid.performance == {0, 1, 2, 3}
    arm = this_system(tree(tmp_path / "arm", BIG_LITTLE))
    assert arm.cores == ((0,), (1,), (2,), (3,))
    assert arm.performance == {2, 3}
    same = {name: text.replace("530", "1024") for name, text in BIG_LITTLE.items()}
    assert this_system(tree(tmp_path / "same", same)).performance == frozenset()


def test_memory_is_read_as_the_kernel_tells_it(tmp_path: Path) -> None:
    files = {
        "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
        "proc/meminfo": "MemTotal: 8 kB\nHugePages_Free:       16\n",
        "proc/sys/vm/nr_overcommit_hugepages": "4\n",
        "sys/devices/system/node/has_memory": "0-1,4\n",
    }
    found = this_system(tree(tmp_path, files))
    assert (found.transparent_huge_pages, found.huge_pages, found.numa_nodes) == ("madvise", 20, (0, 1, 4))
    empty = this_system(tree(tmp_path / "empty", {"proc/none": ""}))
    assert (empty.transparent_huge_pages, empty.huge_pages, empty.cores, empty.performance) == ("", 0, (), frozenset())


@given(
    st.dictionaries(
        st.sampled_from(sorted({*SystemFacts.__annotations__, "glibc", "sibling", "capacity"})),
        st.lists(st.text(), min_size=1),
    )
)
def test_no_answer_of_a_host_breaks_the_reader(said: dict[str, list[str]]) -> None:
    with suppress(ValueError):
        assert isinstance(told_system(said), SystemFacts)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("env.LD_PRELOAD", "hpltune chooses what ranks load: vary `blas`"),
        ("env.OMP_NUM_THREADS", "hpltune sets the threads of a rank itself: vary `layout`"),
        ("env.OPENBLAS_CORETYPE", "hpltune chooses the kernel of the BLAS itself: vary `kernel`"),
        ("env.BLIS_JC_NT", "vary `sys.blis_partition`"),
        ("env.OMP_WAIT_POLICY", "vary `sys.omp_wait`"),
        ("env.OMPI_MCA_btl", "it belongs to MPI: vary `mpi.NAME`"),
        ("env.HPLTUNE_STOP_AT", "it is hpltune's own"),
        ("env.2FAST", "a variable has a name of letters, digits and _, which begins with no digit"),
        ("env.A-B", "a variable has a name of letters, digits and _, which begins with no digit"),
    ],
)
def test_variables_that_hpltune_sets_are_refused_with_what_to_vary(name: str, sentence: str) -> None:
    with pytest.raises(RefusedError) as refused:
        setting(name)
    assert str(refused.value) == f"{name}: {sentence}"


def test_any_other_variable_reaches_ranks_as_it_is_written() -> None:
    one = setting("env.MALLOC_ARENA_MAX")
    assert one.environment(one.text(7)) == {"MALLOC_ARENA_MAX": "7"}  # type: ignore[attr-defined]
    for value in ("", "two\nlines"):
        with pytest.raises(RefusedError, match=r"env\.MALLOC_ARENA_MAX"):
            one.text(value)


def test_tunables_of_the_user_are_kept_beside_ours() -> None:
    theirs = {TUNABLES: "glibc.malloc.check=3:glibc.malloc.hugetlb=2", "A": "1"}
    assert with_tunables(theirs, {TUNABLES: "glibc.malloc.hugetlb=1"}) == {
        TUNABLES: "glibc.malloc.check=3:glibc.malloc.hugetlb=1",
        "A": "1",
    }
    assert with_tunables({}, {TUNABLES: "glibc.malloc.hugetlb=1"}) == {TUNABLES: "glibc.malloc.hugetlb=1"}


@pytest.mark.parametrize(
    "said", ["sudo: a password is required", "sh: 4: sudo: not found", "sh: sudo: command not found"]
)
def test_who_is_not_root_and_may_not_use_sudo_is_told_what_helps(said: str) -> None:
    assert failure(Told(1, f"{said}\n")).startswith("it needs root, or sudo with a rule for it: `hpltune net sudoers`")


def test_a_timer_that_starts_late_is_found_by_the_next_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    late = tmp_path / "setsid"
    late.write_text(f'#!/bin/sh\nsleep 1\nexec {shutil.which("setsid")} "$@"\n')
    late.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    timer = Timer("late", uuid.uuid4().hex, 600.0)
    (made,) = change(Local(), "late", [("true",)], [("true",)], timer, PATIENCE_S)
    (stopped,) = converse(Local(), "late", [timer.stop()])
    assert (made.exit_code, stopped.exit_code) == (0, 0)


def test_a_timer_is_stopped_where_procps_is_not_installed(tmp_path: Path) -> None:
    for name in ("sh", "setsid", "sleep", "grep", "tr", "readlink"):
        found = shutil.which(name)
        assert found is not None
        (tmp_path / name).symlink_to(found)
    bare = {"PATH": str(tmp_path)}
    timer, other = Timer("here", uuid.uuid4().hex, 600.0), Timer("here", uuid.uuid4().hex, 600.0)
    running = subprocess.Popen(timer.start(":"), env=bare)
    until(lambda: Path(f"/proc/{running.pid}/cmdline").read_bytes().startswith(b"sh\0-c\0echo"))
    assert subprocess.run(other.stop(), env=bare, check=False).returncode == 1
    assert subprocess.run(timer.stop(), env=bare, check=False).returncode == 0
    assert running.wait(PATIENCE_S) == -signal.SIGTERM
    assert subprocess.run(timer.stop(), env=bare, check=False).returncode == 1
