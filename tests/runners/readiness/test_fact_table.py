"""What nodes tell of themselves, from files of /sys and /proc as machines of several kinds have them."""

import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from as_user import tree

from runners.readiness.asking import below_root
from runners.readiness.fact_table import FACTS

CPU = "sys/devices/system/cpu"
NFS = "10.0.0.9:/home /home nfs4 rw,vers=4.2,rsize=1048576,clientaddr=10.0.0.2,addr=10.0.0.9 0 0\n"
MOUNTS = f"{NFS}/dev/sda1 / ext4 rw 0 0\n"
CLOCKS_KHZ = (2400000, 2400000, 800000)


def told(name: str, root: Path, files: Mapping[str, str]) -> str:
    """What the shell of a fact prints where these files are in place of the machine's own."""
    tree(root, files)
    shell = below_root(FACTS[name].shell)
    variables = {"root": str(root), "PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "HOME": "/home/me", "work": "/scratch"}
    done = subprocess.run(("sh", "-c", shell), env=variables, capture_output=True, text=True, check=False)
    return "; ".join(done.stdout.splitlines())


@pytest.mark.parametrize(
    ("fact", "files", "value"),
    [
        ("boost", {f"{CPU}/cpufreq/boost": "0\n"}, "off"),
        ("boost", {f"{CPU}/cpufreq/boost": "1\n"}, "on"),
        ("boost", {f"{CPU}/intel_pstate/no_turbo": "1\n"}, "off"),
        ("boost", {f"{CPU}/intel_pstate/no_turbo": "0\n"}, "on"),
        ("boost", {}, ""),
        (
            "allowed_mhz",
            {f"{CPU}/cpu{at}/cpufreq/scaling_max_freq": f"{khz}\n" for at, khz in enumerate(CLOCKS_KHZ)},
            "2 x 2400; 1 x 800",
        ),
        (
            "energy_preference",
            {f"{CPU}/cpu{at}/cpufreq/energy_performance_preference": "power\n" for at in range(2)},
            "2 x power",
        ),
        ("mitigations", {f"{CPU}/vulnerabilities/{name}": text for name, text in (
            ("l1tf", "Not affected\n"), ("mds", "Vulnerable; SMT off\n"), ("srbds", "Mitigation: Microcode\n"),
        )}, "1 mitigated, open: mds"),
        ("swap_gib", {"proc/meminfo": "MemTotal: 8388608 kB\nSwapTotal: 2097152 kB\n"}, "2.0"),
        ("kernel.numa_balancing", {"proc/sys/kernel/numa_balancing": "1\n"}, "1"),
        ("network_folders", {"proc/mounts": MOUNTS}, "/home nfs4 rw,vers=4.2,rsize=1048576"),
        ("infiniband_rate", {"sys/class/infiniband/mlx5_0/ports/1/rate": "100 Gb/sec (4X EDR)\n"},
         "mlx5_0/1: 100 Gb/sec (4X EDR)"),
        ("infiniband_state", {"sys/class/infiniband/mlx5_0/ports/1/state": "4: ACTIVE\n"}, "mlx5_0/1: 4: ACTIVE"),
        ("infiniband_state", {}, ""),
        ("infiniband_firmware", {"sys/class/infiniband/mlx5_0/fw_ver": "20.31.1014\n"}, "mlx5_0: 20.31.1014"),
        ("gpus", {f"sys/bus/pci/devices/{at}/{name}": f"{text}\n" for at, row in enumerate((
            {"class": "0x030200", "vendor": "0x10de", "device": "0x2330"},
            {"class": "0x030200", "vendor": "0x10de", "device": "0x2330"},
            {"class": "0x030000", "vendor": "0x1a03", "device": "0x2000"},
        )) for name, text in row.items()}, "2 x 0x10de:0x2330"),
    ],
)  # fmt: skip
def test_a_machine_tells_what_a_builder_looks_at(
    tmp_path: Path, fact: str, files: Mapping[str, str], value: str
) -> None:
    assert told(fact, tmp_path, files) == value


@pytest.mark.parametrize(
    ("groups", "files", "value"),
    [
        ("0::/user.slice/me\n", {"sys/fs/cgroup/user.slice/cpu.max": "186000 100000\n"}, "1.86"),
        (
            "0::/job/step\n",
            {"sys/fs/cgroup/job/step/cpu.max": "max 100000\n", "sys/fs/cgroup/job/cpu.max": "93000 100000\n"},
            "0.93",
        ),
        ("0::/\n", {"sys/fs/cgroup/cpu.max": "max 100000\n"}, "no limit"),
        (
            "4:cpu,cpuacct:/docker/1\n0::/\n",
            {
                "sys/fs/cgroup/cpu,cpuacct/docker/1/cpu.cfs_quota_us": "400000\n",
                "sys/fs/cgroup/cpu,cpuacct/docker/1/cpu.cfs_period_us": "100000\n",
                "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "-1\n",
                "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000\n",
            },
            "4.00",
        ),
        ("5:memory:/x\n", {}, "no limit"),
    ],
)
def test_a_quota_of_a_control_group_is_told_as_processors(
    tmp_path: Path, groups: str, files: Mapping[str, str], value: str
) -> None:
    assert told("cpu_quota", tmp_path, {"proc/self/cgroup": groups, **files}) == value
