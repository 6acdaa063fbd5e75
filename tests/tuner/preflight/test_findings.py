"""What would spoil runs: found in files of /proc and /sys, and not found where all is well."""

import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from as_user import tree
from hypothesis import given
from hypothesis import strategies as st

from runners.readiness.fact_table import FACTS
from tuner.preflight.contract import NodeView, RunPlan, SpoilerWeight
from tuner.preflight.looking import HERE, Preflight, found_in, look, sentence_of
from tuner.preflight.memory import channels_gb_s, filled_channels
from tuner.preflight.registry import CHECKS

CPU = "sys/devices/system/cpu"
LIMITS = (
    "Limit                     Soft Limit           Hard Limit           Units\n"
    "Max processes             {processes}          {processes}          processes\n"
    "Max open files            1024                 {files}              files\n"
    "Max address space         {memory}             {memory}             bytes\n"
)
MEMORY = "MemTotal: 8388608 kB\nMemAvailable: 8000000 kB\nSwapTotal: 2097152 kB\nSwapFree: {free} kB\n"
CLOCK = f"{CPU}/cpu0/cpufreq"


def limits(processes: str = "60000", files: str = "20000", memory: str = "unlimited") -> dict[str, str]:
    """Limits of a user that is not root."""
    text = LIMITS.format(processes=processes, files=files, memory=memory)
    return {"proc/self/limits": text, "proc/self/status": "Name:\tsh\nUid:\t1000\t1000\t1000\t1000\n"}


def seen(
    root: Path, files: Mapping[str, str], monkeypatch: pytest.MonkeyPatch, plan: RunPlan | None = None
) -> Preflight:
    """What is found where these files are in place of the machine's own."""
    (root / "proc").mkdir(exist_ok=True, parents=True)
    tree(root, files)
    monkeypatch.setenv("HPLTUNE_SYSTEM_ROOT", str(root))
    return look(plan or RunPlan(2), root)


CASES = [
    (
        "other_programs",
        {"proc/loadavg": "640.00 1.0 1.0 1/9 9\n"},
        {"proc/loadavg": "0.00 9.0 9.0 1/9 9\n"},
        "in the last minute",
    ),
    (
        "hardware_threads",
        {f"{CPU}/cpu{at}/topology/thread_siblings_list": "0-1\n" for at in (0, 1)},
        {f"{CPU}/cpu{at}/topology/thread_siblings_list": f"{at}\n" for at in (0, 1)},
        "2 threads will compute on 1 core",
    ),
    (
        "governor",
        {f"{CLOCK}/scaling_governor": "powersave\n", f"{CLOCK}/scaling_driver": "acpi-cpufreq\n"},
        {f"{CLOCK}/scaling_governor": "performance\n", f"{CLOCK}/scaling_driver": "acpi-cpufreq\n"},
        "powersave, which keeps the lowest clock",
    ),
    (
        "clock_limit",
        {f"{CLOCK}/cpuinfo_max_freq": "3600000\n", f"{CLOCK}/scaling_max_freq": "1200000\n"},
        {f"{CLOCK}/cpuinfo_max_freq": "3600000\n", f"{CLOCK}/scaling_max_freq": "3599000\n"},
        "1,200 MHz at most, of 3,600 MHz",
    ),
    ("boost", {f"{CPU}/cpufreq/boost": "0\n"}, {f"{CPU}/cpufreq/boost": "1\n"}, "switched off"),
    ("boost", {f"{CPU}/intel_pstate/no_turbo": "1\n"}, {f"{CPU}/intel_pstate/no_turbo": "0\n"}, "switched off"),
    (
        "processor_quota",
        {"proc/self/cgroup": "0::/me\n", "sys/fs/cgroup/me/cpu.max": "150000 100000\n"},
        {"proc/self/cgroup": "0::/me\n", "sys/fs/cgroup/me/cpu.max": "max 100000\n"},
        "allows 1.5 CPUs, and 2 threads",
    ),
    (
        "processor_quota",
        {
            "proc/self/cgroup": "1:cpu:/me\n",
            "sys/fs/cgroup/cpu/me/cpu.cfs_quota_us": "50000\n",
            "sys/fs/cgroup/cpu/me/cpu.cfs_period_us": "100000\n",
        },
        {"proc/self/cgroup": "1:cpu:/me\n", "sys/fs/cgroup/cpu/me/cpu.cfs_quota_us": "-1\n"},
        "allows 0.5 CPUs",
    ),
    (
        "swap",
        {"proc/meminfo": MEMORY.format(free=1048576)},
        {"proc/meminfo": MEMORY.format(free=2097152)},
        "1 GiB of swap space are used",
    ),
    (
        "huge_pages",
        {"sys/kernel/mm/transparent_hugepage/enabled": "always madvise [never]\n"},
        {"sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n"},
        "off (never)",
    ),
    (
        "clock_source",
        {"sys/devices/system/clocksource/clocksource0/current_clocksource": "hpet\n"},
        {"sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc\n"},
        "clock source is hpet",
    ),
    ("open_files", limits(files="39"), limits(files="40"), "may open 39 files, and MPI's launcher needs about 40"),
    ("tasks", limits(processes="40"), limits(processes="unlimited"), "a user may have 40 processes"),
    (
        "tasks",
        {"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/pids.max": "30\n"},
        {"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/pids.max": "max\n"},
        "the control group may have 30 processes",
    ),
    (
        "process_memory",
        {**limits(memory="1073741824"), "proc/meminfo": MEMORY.format(free=2097152)},
        {**limits(), "proc/meminfo": MEMORY.format(free=2097152)},
        "a process may have 1.0 GiB of memory",
    ),
]


@pytest.mark.parametrize(("check", "bad", "good", "words"), CASES)
def test_each_spoiler_is_told_with_a_remedy_and_only_where_it_is(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    check: str,
    bad: Mapping[str, str],
    good: Mapping[str, str],
    words: str,
) -> None:
    (one,) = [one for one in seen(tmp_path / "bad", bad, monkeypatch).findings if one.check == check]
    assert one.severity is SpoilerWeight.WARNING
    assert words in one.sentence
    assert one.remedy
    assert one.nodes == (), "this machine needs no name"
    assert check not in [one.check for one in seen(tmp_path / "good", good, monkeypatch).findings]


def test_a_machine_that_tells_nothing_is_neither_good_nor_bad(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = seen(tmp_path, {}, monkeypatch)
    verdicts = {check.name: found.verdict(check) for check in found.looked}
    assert verdicts["governor"] == verdicts["clock_source"] == verdicts["swap"] == "unknown"
    assert ("frequency governor", "not told here", "") in found.table(everything=True).rows


def test_a_processor_that_chooses_its_clock_itself_gets_a_note_for_powersave(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {f"{CLOCK}/scaling_governor": "powersave\n", f"{CLOCK}/scaling_driver": "intel_pstate\n"}
    found = seen(tmp_path, files, monkeypatch)
    assert [one.severity for one in found.findings if one.check == "governor"] == [SpoilerWeight.NOTE]
    assert not any("governor" in told for told in found.warnings), "a study says only what matters now"


def test_memory_of_the_control_group_is_held_against_what_runs_take(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {
        "proc/self/cgroup": "4:memory:/me\n",
        "sys/fs/cgroup/memory/me/memory.limit_in_bytes": str(2 << 30),
        "proc/meminfo": MEMORY.format(free=2097152),
    }
    few, many = (seen(tmp_path, files, monkeypatch, RunPlan(2, memory_bytes=gib << 30)) for gib in (1, 3))
    assert [one.severity for one in few.findings if one.check == "memory_quota"] == [SpoilerWeight.NOTE]
    assert any("allows 2 GiB of memory, and runs take 3 GiB" in told for told in many.warnings)


def findings(plan: RunPlan, **facts: str) -> list[str]:
    return [sentence_of(one) for one in found_in({"n1": facts, "n2": facts}, plan, CHECKS)]


def test_several_nodes_alike_are_named_once() -> None:
    (told,) = findings(RunPlan(1, nodes=2, here=False), boost="off")
    assert told.startswith("nodes n1, n2: the boost of the clock (turbo) is switched off; what helps: ")


def test_programs_of_others_are_named_and_warned_of_only_where_the_last_minute_was_busy() -> None:
    programs = {"programs": "1.9 python3;0.5 stress", "cpus_allowed": "2"}
    seen_of_load = {
        load: list(found_in({HERE: {**programs, "load": load}}, RunPlan(1), CHECKS)) for load in ("0.1", "0.9")
    }
    (moment,), (minute,) = seen_of_load.values()
    assert moment.severity is SpoilerWeight.NOTE
    assert moment.sentence == "other programs take cores at this moment (python3 takes 1.9, stress takes 0.5 of 2 CPUs)"
    assert minute.severity is SpoilerWeight.WARNING
    assert "(load 0.9 for each CPU; now python3 takes 1.9, stress takes 0.5 of 2 CPUs)" in minute.sentence


def test_what_waits_for_a_quiet_machine_is_not_told_of_other_programs_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/loadavg").write_text("640.00 1.0 1.0 1/9 9\n")
    monkeypatch.setenv("HPLTUNE_SYSTEM_ROOT", str(tmp_path))
    assert "other_programs" in {one.check for one in look(RunPlan(1), tmp_path).findings}
    assert "other_programs" not in {one.check for one in look(RunPlan(1), tmp_path, waits=True).findings}


def test_the_network_that_mpi_uses_is_told_where_a_faster_one_is_up() -> None:
    speeds = {"nic_speed": "eth0: 1000;eth1: 25000"}
    (slow,) = findings(RunPlan(1, nodes=2, interfaces=("eth0",), here=False), **speeds)
    assert "MPI sends over eth0 with 1,000 Mbit/s, and eth1 has 25,000 Mbit/s" in slow
    (any_of,) = findings(RunPlan(1, nodes=2, here=False), **speeds)
    assert "MPI may send over any of eth0 with 1,000 Mbit/s, eth1 with 25,000 Mbit/s" in any_of
    assert not findings(RunPlan(1), **speeds), "one machine sends nothing"


def test_locked_memory_matters_with_infiniband_between_nodes_only() -> None:
    facts = {"limit_memlock": "64", "infiniband_state": "mlx5_0/1: 4: ACTIVE"}
    (told,) = findings(RunPlan(1, nodes=2, here=False), **facts)
    assert "may lock 64 KiB" in told
    assert not findings(RunPlan(1), **facts)


@pytest.mark.parametrize(
    ("facts", "filled"),
    [
        ({"memory_places": "mc0 channel 0 slot 0 of channel 1 slot 1"}, (1, 2)),
        (
            {"memory_places": "mc0 channel 0 slot 0 of channel 1 slot 1;mc0 channel 1 slot 0 of channel 1 slot 1"},
            (2, 2),
        ),
        ({"memory_slots": "filled DIMM 0 / P0 CHANNEL A;empty DIMM 1 / P0 CHANNEL B"}, (1, 2)),
        ({"memory_slots": "filled ChannelA-DIMM0 / BANK 0;filled ChannelB-DIMM0 / BANK 2"}, (2, 2)),
        ({"memory_slots": "filled Slot X / unknown;empty Slot Y / unknown"}, (1, 2)),
        ({"memory_slots": "filled Slot X / unknown;filled Slot Y / unknown"}, None),
        ({}, None),
    ],
)
def test_channels_are_told_only_where_kernel_or_firmware_name_them(
    facts: dict[str, str], filled: tuple[int, int] | None
) -> None:
    assert filled_channels(facts) == filled


def test_a_slow_memory_is_held_against_its_channels() -> None:
    facts = {"memory_places": "mc0 channel 0 slot 0 of channel 0 slot 1", "dimm_speed": "3200 MT/s"}
    assert channels_gb_s(facts) == pytest.approx(25.6)
    check = next(check for check in CHECKS if check.name == "bandwidth")
    (told,) = check.look(NodeView(facts, RunPlan(1), memory_gb_s=6.4))
    assert "6.4 GB/s, 25 % of the 25.6 GB/s" in told.sentence
    assert not list(check.look(NodeView(facts, RunPlan(1), memory_gb_s=20.0)))
    assert not list(check.look(NodeView({}, RunPlan(1), memory_gb_s=1.0))), "nothing is known of the channels"


def test_a_slow_disk_is_named_with_its_node_and_what_helps() -> None:
    (told,) = found_in({"n1": {"work_mb_s": "900.0"}, "n2": {"work_mb_s": "0.1"}}, RunPlan(1), CHECKS)
    assert sentence_of(told).startswith("node n2: files in the folder of the runs are written at 0.1 MB/s; what helps:")


@given(
    st.dictionaries(st.sampled_from(sorted(FACTS)), st.text(max_size=80)),
    st.builds(RunPlan, st.integers(1, 10**6), st.integers(1, 512), st.integers(0, 1 << 50), st.integers(1, 9)),
)
def test_a_node_that_lies_steers_no_terminal_and_stops_no_check(facts: dict[str, str], plan: RunPlan) -> None:
    for one in found_in({HERE: facts}, plan, CHECKS, 1.0):
        assert one.sentence.isprintable()
        assert len(one.sentence) < 400


@given(st.floats(0, 1e9), st.integers(0, 10**9))
def test_numbers_of_facts_are_read_and_words_are_no_limit(value: float, count: int) -> None:
    view = NodeView({"a": f"{value:.2f}", "b": str(count), "c": "unlimited", "d": "1e999", "e": "-1"}, RunPlan(1))
    assert view.number("a") == pytest.approx(value, abs=0.00501)
    assert view.limit("b") == count
    assert {view.limit(name) for name in "cde"} == {float("inf")}


def test_every_check_reads_facts_of_the_table_and_has_a_name_of_its_own() -> None:
    assert all(name in FACTS for check in CHECKS for name in check.facts)
    assert len({check.name for check in CHECKS}) == len(CHECKS)


def test_the_page_of_checks_has_each_with_its_remedy() -> None:
    page = (Path(__file__).parents[3] / "docs/preflight.md").read_text(encoding="utf-8")
    for check in CHECKS:
        assert f"| {check.title} | {check.when} | {check.remedy} |" in page, check.name
    assert len(re.findall(r"^\| (?!-|looked)", page, re.MULTILINE)) == len(CHECKS)
