"""A node tells its sockets, caches and GPUs with a shell alone."""

import os
import shlex
import subprocess
from pathlib import Path

from as_user import tree
from vendor_programs import fake_gpus

from runners.hosts.node_facts import SHAPE, HostShape, NodeGpu, told_shape
from runners.hosts.system_facts import SAY


def told(root: Path, path: str) -> HostShape:
    """What a node says of itself whose /sys is below a root."""
    script = f"root={shlex.quote(str(root))}\n{SAY}{SHAPE}"
    done = subprocess.run(
        ["sh", "-c", script], env={**os.environ, "PATH": path}, capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    said: dict[str, list[str]] = {}
    for line in done.stdout.splitlines():
        name, _, value = line.partition("\t")
        said.setdefault(name, []).append(value)
    return told_shape(said)


def test_sockets_caches_and_gpus_are_told(tmp_path: Path) -> None:
    cpu = "devices/system/cpu/cpu"
    files = {
        **{f"{cpu}{number}/topology/physical_package_id": str(number // 2) for number in range(4)},
        **{f"{cpu}{number}/cache/index3/shared_cpu_list": "0-3" for number in range(4)},
        "devices/system/node/node0/cpulist": "0-3",
        "bus/pci/devices/0000:11:00.0/numa_node": "0",
        "bus/pci/devices/0000:11:00.0/local_cpulist": "0-3",
        "class/drm/card0/device/vendor": "0x1002",
        "class/drm/card0/device/device": "0x74a1",
        "class/drm/card0/device/mem_info_vram_total": "206141652992",
        "class/drm/card0/device/numa_node": "-1",
        "class/drm/card1/device/vendor": "0x1a03",
    }
    tree(tmp_path / "sys", {name: f"{text}\n" for name, text in files.items()})
    path = f"{fake_gpus(tmp_path / 'bin').parent}:/usr/bin:/bin"
    h100 = NodeGpu("NVIDIA", "NVIDIA H100 80GB HBM3", 81559 * 2**20, 0, "0-3")
    others = (NodeGpu(h100.vendor, h100.model, h100.memory_bytes), NodeGpu("AMD", "GPU 0x74a1", 206141652992))
    assert told(tmp_path, path) == HostShape(2, 1, 1, (h100, *others))


def test_a_node_without_any_says_so(tmp_path: Path) -> None:
    assert told(tmp_path, "/usr/bin:/bin") == HostShape()


def test_damaged_lines_are_passed_over() -> None:
    lines = ["NVIDIA|H100", "NVIDIA|H100|many|0|0-3", "NVIDIA|H100|0||", "NVIDIA|H100|1024|x|0-3"]
    whole = NodeGpu("NVIDIA", "H100", 1024, None, "0-3")
    assert told_shape({"sockets": ["two"], "gpu": lines}) == HostShape(gpus=(whole,))
