import os
from pathlib import Path

import pytest

from hpl.errors import HplError
from hpl.rpeak import Rpeak, cpu_flags, detect

ZEN5_VM = """\
vendor_id	: AuthenticAMD
cpu family	: 26
model		: 2
model name	: AMD EPYC
cpu MHz		: 2596.100
bogomips	: 5192.20
flags		: fpu sse2 constant_tsc hypervisor avx fma avx2 avx512f avx512dq
"""
XEON_6130 = """\
vendor_id	: GenuineIntel
cpu family	: 6
model		: 85
model name	: Intel(R) Xeon(R) Gold 6130 CPU @ 2.10GHz
cpu MHz		: 2799.999
bogomips	: 4200.00
flags		: fpu sse2 constant_tsc avx fma avx2 avx512f
"""
EPYC_7502 = """\
vendor_id	: AuthenticAMD
cpu family	: 23
model		: 49
model name	: AMD EPYC 7502 32-Core Processor
cpu MHz		: 3345.120
bogomips	: 4990.72
flags		: fpu sse2 constant_tsc avx fma avx2
"""
PI_5 = """\
BogoMIPS	: 108.00
Features	: fp asimd evtstrm aes asimdrdm asimddp
CPU implementer	: 0x41
CPU architecture: 8
CPU variant	: 0x4
CPU part	: 0xd0b
CPU revision	: 1
"""
CORE_12900K = """\
vendor_id	: GenuineIntel
cpu family	: 6
model		: 151
model name	: 12th Gen Intel(R) Core(TM) i9-12900K
bogomips	: 6374.40
flags		: fpu sse2 constant_tsc avx fma avx2
"""
POWER9 = """\
cpu		: POWER9 (architected), altivec supported
clock		: 3800.000000MHz
revision	: 2.2 (pvr 004e 1202)
"""
JH7110 = """\
hart	: 1
isa	: rv64imafdc
mmu	: sv39
uarch	: sifive,u74-mc
"""
MASKED_SAPPHIRE_RAPIDS = """\
vendor_id	: GenuineIntel
cpu family	: 6
model		: 106
model name	: Intel(R) Xeon(R) Processor @ 2.60GHz
stepping	: 6
cpu MHz		: 2600.028
bogomips	: 5200.05
flags		: fpu sse2 ss ht syscall constant_tsc hypervisor avx fma f16c avx2 avx512f avx512dq avx512ifma avx512cd \
avx512bw avx512vl avx512vbmi avx512_vbmi2 gfni vaes avx512_vnni avx512_bf16 amx_bf16 avx512_fp16 amx_tile amx_int8
"""
UNHEARD_OF = """\
vendor_id	: GenuineIntel
cpu family	: 19
model		: 1
model name	: Future
cpu MHz		: 3000.000
flags		: sse2 avx avx2
"""


class Machine:
    """A folder with the files of /proc and /sys that Rpeak is read from."""

    def __init__(self, root: Path, *cpus: str, tail: str = "") -> None:
        self.root = root
        blocks = [f"processor\t: {number}\n{block}" for number, block in enumerate(cpus)]
        self.write("proc/cpuinfo", "\n".join([*blocks, tail]))

    def write(self, path: str, text: str) -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def hardware_threads(self, *cores: str) -> None:
        for listed in cores:
            for cpu in listed.split(","):
                self.write(f"sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list", f"{listed}\n")

    def rpeak(self, usable: set[int] | None = None) -> Rpeak:
        return detect(self.root, usable=usable, archspec_name="")


def said(rpeak: Rpeak) -> str:
    return "\n".join(rpeak.reasoning)


def test_a_xeon_gold_6130_takes_the_clock_of_its_name_and_two_fma_units(tmp_path: Path) -> None:
    rpeak = Machine(tmp_path, *[XEON_6130] * 16).rpeak()
    assert rpeak.gflops == pytest.approx(16 * 2.1 * 32)
    assert (rpeak.cores, rpeak.clock_ghz, rpeak.flop_per_cycle) == (16, 2.1, 32)
    assert "model name" in said(rpeak)


@pytest.mark.parametrize("name", ["Silver 4110", "Bronze 3106", "Gold 5118", "Gold 5218"])
def test_skylake_parts_with_one_avx512_unit_have_half(tmp_path: Path, name: str) -> None:
    assert Machine(tmp_path, XEON_6130.replace("Gold 6130", name)).rpeak().flop_per_cycle == 16


@pytest.mark.parametrize("name", ["Gold 5122", "Gold 5222", "Platinum 8180", "W-2195"])
def test_skylake_parts_with_two_avx512_units_are_known_by_their_names(tmp_path: Path, name: str) -> None:
    rpeak = Machine(tmp_path, XEON_6130.replace("Gold 6130", name)).rpeak()
    assert rpeak.flop_per_cycle == 32
    assert "does not tell" not in said(rpeak)


def test_a_skylake_that_hides_its_name_is_reported_with_caution(tmp_path: Path) -> None:
    hidden = XEON_6130.replace("Intel(R) Xeon(R) Gold 6130 CPU @ 2.10GHz", "Intel Xeon Processor (Skylake, IBRS)")
    rpeak = Machine(tmp_path, hidden).rpeak()
    assert rpeak.flop_per_cycle == 32
    assert "one AVX-512 FMA unit: then it is 16" in said(rpeak)


def test_an_epyc_without_a_clock_in_its_name_takes_the_time_stamp_counter_not_the_turbo_of_the_moment(
    tmp_path: Path,
) -> None:
    rpeak = Machine(tmp_path, *[EPYC_7502] * 32).rpeak()
    assert rpeak.clock_ghz == pytest.approx(2.5, abs=0.01)
    assert rpeak.gflops == pytest.approx(32 * 2.5 * 16, rel=0.01)


def test_the_firmware_s_nominal_frequency_counts_before_the_time_stamp_counter(tmp_path: Path) -> None:
    machine = Machine(tmp_path, EPYC_7502)
    machine.write("sys/devices/system/cpu/cpu0/acpi_cppc/nominal_freq", "2500\n")
    assert machine.rpeak().clock_ghz == 2.5


def test_a_raspberry_pi_5_is_known_by_its_part_and_the_kernel_s_highest_frequency(tmp_path: Path) -> None:
    machine = Machine(tmp_path, *[PI_5] * 4, tail="Model\t\t: Raspberry Pi 5 Model B Rev 1.0\n")
    for cpu in range(4):
        machine.write(f"sys/devices/system/cpu/cpu{cpu}/cpufreq/cpuinfo_max_freq", "2400000\n")
    assert machine.rpeak().gflops == pytest.approx(4 * 2.4 * 8)


@pytest.mark.parametrize("model", ["85", "106", "125", "140", "158", "199"])
@pytest.mark.parametrize("archspec_name", ["", "icelake"])
def test_instruction_sets_of_a_sapphire_rapids_overrule_the_model_that_a_virtual_machine_shows(
    tmp_path: Path, model: str, archspec_name: str
) -> None:
    masked = MASKED_SAPPHIRE_RAPIDS.replace("model\t\t: 106", f"model\t\t: {model}")
    rpeak = detect(Machine(tmp_path, masked, masked).root, archspec_name=archspec_name)
    assert rpeak.flop_per_cycle == 32
    assert rpeak.gflops == pytest.approx(2 * 2.6 * 32)


def test_a_masked_model_is_told_with_the_flag_that_shows_it(tmp_path: Path) -> None:
    masked = MASKED_SAPPHIRE_RAPIDS.replace("model\t\t: 106", "model\t\t: 125")
    told = said(Machine(tmp_path, masked).rpeak())
    assert "because the CPU has amx_tile, which Cannon Lake to Rocket Lake (client) has not" in told


def test_an_alder_lake_with_avx512_is_no_xeon(tmp_path: Path) -> None:
    assert Machine(tmp_path, CORE_12900K.replace("avx2\n", "avx2 avx512f avx512_fp16\n")).rpeak().flop_per_cycle == 16


def test_a_virtual_machine_on_zen_5_says_that_its_clock_is_the_host_s_word(tmp_path: Path) -> None:
    rpeak = Machine(tmp_path, ZEN5_VM, ZEN5_VM).rpeak()
    assert rpeak.gflops == pytest.approx(2 * 2.5961 * 32)
    assert rpeak.microarchitecture.startswith("Zen 5")
    assert "virtual machine" in said(rpeak)


def test_a_mobile_zen_5_has_half_of_a_server_s(tmp_path: Path) -> None:
    assert Machine(tmp_path, ZEN5_VM.replace("model\t\t: 2\n", "model\t\t: 36\n")).rpeak().flop_per_cycle == 16


def test_hardware_threads_of_one_core_count_once(tmp_path: Path) -> None:
    machine = Machine(tmp_path, *[XEON_6130] * 4)
    machine.hardware_threads("0,2", "1,3")
    rpeak = machine.rpeak()
    assert rpeak.cores == 2
    assert "hardware threads of one core count once" in said(rpeak)
    assert machine.rpeak(usable={0, 2}).cores == 1
    assert machine.rpeak(usable={7, 8}).cores == 2


def test_without_sysfs_the_core_ids_tell_hardware_threads(tmp_path: Path) -> None:
    ids = [f"{XEON_6130}physical id\t: 0\ncore id\t\t: {core}\n" for core in (0, 1, 0, 1)]
    assert Machine(tmp_path, *ids).rpeak().cores == 2


def test_only_the_cores_of_the_affinity_count(tmp_path: Path) -> None:
    rpeak = Machine(tmp_path, *[XEON_6130] * 16).rpeak(usable={3, 4, 5})
    assert rpeak.cores == 3
    assert "3 of 16 logical CPUs" in said(rpeak)


def test_the_quota_of_a_control_group_limits_the_cores(tmp_path: Path) -> None:
    machine = Machine(tmp_path, *[XEON_6130] * 16)
    machine.write("proc/self/cgroup", "0::/job/step\n")
    machine.write("sys/fs/cgroup/job/cpu.max", "250000 100000\n")
    machine.write("sys/fs/cgroup/job/step/cpu.max", "max 100000\n")
    rpeak = machine.rpeak()
    assert rpeak.cores == 2
    assert rpeak.quota_cpus == 2.5
    assert "quota of 2.5 CPUs" in said(rpeak)


def test_the_quota_of_a_version_1_control_group_counts_as_well(tmp_path: Path) -> None:
    machine = Machine(tmp_path, *[XEON_6130] * 16)
    machine.write("proc/self/cgroup", "4:cpu,cpuacct:/job\n3:memory:/job\n")
    machine.write("sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "400000\n")
    machine.write("sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us", "100000\n")
    assert machine.rpeak().cores == 4


def test_the_kinds_of_cores_of_a_hybrid_cpu_are_added_up(tmp_path: Path) -> None:
    machine = Machine(tmp_path, *[CORE_12900K] * 6)
    machine.hardware_threads("0,1", "2,3", "4", "5")
    machine.write("sys/devices/cpu_core/cpus", "0-3\n")
    machine.write("sys/devices/cpu_atom/cpus", "4-5\n")
    for cpu in range(6):
        machine.write(
            f"sys/devices/system/cpu/cpu{cpu}/cpufreq/base_frequency", "3200000\n" if cpu < 4 else "2400000\n"
        )
    rpeak = machine.rpeak()
    assert rpeak.gflops == pytest.approx(2 * 3.2 * 16 + 2 * 2.4 * 8)
    assert (rpeak.cores, rpeak.flop_per_cycle) == (4, 16)
    assert "2 of the cores: 8 FLOP/cycle (Gracemont" in said(rpeak)


def test_big_and_little_cores_of_arm_are_told_apart_by_their_parts(tmp_path: Path) -> None:
    little = PI_5.replace("0xd0b", "0xd05")
    machine = Machine(tmp_path, little, PI_5)
    for cpu in range(2):
        machine.write(f"sys/devices/system/cpu/cpu{cpu}/cpufreq/cpuinfo_max_freq", "2000000\n")
    assert machine.rpeak().gflops == pytest.approx(2.0 * 4 + 2.0 * 8)


def test_power_9_and_its_clock_are_read_from_cpuinfo(tmp_path: Path) -> None:
    rpeak = Machine(tmp_path, POWER9, tail="timebase\t: 512000000\nplatform\t: pSeries\n").rpeak()
    assert rpeak.gflops == pytest.approx(3.8 * 8)


def test_a_risc_v_board_without_any_clock_asks_for_the_peak(tmp_path: Path) -> None:
    rpeak = Machine(tmp_path, JH7110).rpeak()
    assert rpeak.flop_per_cycle == 2
    assert "placeholder, give the peak with ⟦rpeak⟧" in said(rpeak)


def test_archspec_s_name_decides_where_the_numbers_are_not_in_the_table(tmp_path: Path) -> None:
    machine = Machine(tmp_path, UNHEARD_OF)
    rpeak = detect(machine.root, archspec_name="sapphirerapids")
    assert rpeak.flop_per_cycle == 32
    assert "archspec says sapphirerapids" in said(rpeak)


def test_an_unknown_cpu_is_guessed_by_its_instruction_sets_and_this_is_said(tmp_path: Path) -> None:
    rpeak = Machine(tmp_path, UNHEARD_OF).rpeak()
    assert (rpeak.flop_per_cycle, rpeak.microarchitecture) == (16, "")
    assert "a guess" in said(rpeak)


@pytest.mark.parametrize("cpuinfo", ["", "rubbish\n\x00\n: :\n", "processor\t: x\nmodel : y\n"])
def test_a_cpuinfo_that_says_nothing_still_gives_one_core_and_a_word_of_warning(tmp_path: Path, cpuinfo: str) -> None:
    machine = Machine(tmp_path)
    machine.write("proc/cpuinfo", cpuinfo)
    rpeak = machine.rpeak()
    assert rpeak.cores == 1
    assert "⟦rpeak⟧" in said(rpeak)


def test_the_user_s_peak_overrules_and_names_what_was_detected(tmp_path: Path) -> None:
    rpeak = Machine(tmp_path, XEON_6130).rpeak().overruled(100.0)
    assert rpeak.gflops == 100.0
    assert rpeak.reasoning == ("100 GFLOPS were given with ⟦rpeak⟧ (detected: 67.2).",)


@pytest.mark.parametrize("nonsense", [0.0, -1.0, float("nan"), float("inf")])
def test_a_peak_that_cannot_be_is_refused(tmp_path: Path, nonsense: float) -> None:
    with pytest.raises(HplError, match="above zero"):
        Machine(tmp_path, XEON_6130).rpeak().overruled(nonsense)


def test_flags_are_those_every_cpu_has(tmp_path: Path) -> None:
    Machine(tmp_path, XEON_6130, XEON_6130.replace(" avx512f", ""))
    assert {"avx2", "fma"} <= cpu_flags(tmp_path)
    assert "avx512f" not in cpu_flags(tmp_path)


def test_this_machine_has_a_peak() -> None:
    rpeak = detect()
    assert rpeak.gflops > 0
    assert 1 <= rpeak.cores <= len(os.sched_getaffinity(0))
