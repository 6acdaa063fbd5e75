"""Whole checks of nodes whose kernels tell what a test wants: each has a tree of /proc and /sys of its own."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from as_user import program, tree

from results.node_check import Severity
from results.report.text_forms import to_markdown
from results.store.node_checks import KeptCheck, NodeCheckState
from results.store.store import Store
from tuner.nodes.measuring import MeasuringPlan, measure
from tuner.nodes.report import readiness_report
from tuner.nodes.statistics.verdict import ReadinessVerdict, verdict_of
from tuner.nodes.steps.node_bench import Dgemm, Stream
from tuner.nodes.steps.step import NodesTarget
from tuner.stopping import StopRequest

NODES = tuple(f"n{number}" for number in range(1, 8))
HOT, BUSY, NARROW = "n3", "n5", "n6"
BENCH = f"""#!/bin/sh
cd "$HPLTUNE_SYSTEM_ROOT" || exit 9
node=${{PWD##*/}}
case $1 in
stream) for kernel in copy scale add triad; do printf 'run\\tstream-%s-all\\t60000\\tok\\t\\n' $kernel; done; exit ;;
esac
[ "$2" = 0 ] || {{ printf 'run\\tdgemm-1\\t50\\tok\\t\\n'; exit; }}
rate=$((1000 + ${{#node}} + $(cat place)))
case $node in
{HOT})
    echo 2000000 >sys/devices/system/cpu/cpu1/cpufreq/scaling_cur_freq
    echo 98000 >sys/class/hwmon/hwmon1/temp1_input
    echo 40 >sys/devices/system/cpu/cpu1/thermal_throttle/core_throttle_count ;;
{BUSY})
    rate=800
    read -r _ busy rest <proc/stat
    echo "cpu $((busy + 90000)) $rest" >proc/stat
    printf 'cpu0 1 0 0 1\\ncpu1 1 0 0 1\\n' >>proc/stat ;;
esac
while [ "$(grep -c '^sample' "$OLDPWD/readings")" -lt 2 ]; do sleep 0.1; done
printf 'run\\tdgemm-all\\t%s\\tok\\t\\n' "$rate"
"""
"""The benchmark, which does to its node what a test wants of it, and waits until the sensors were read meanwhile."""


@dataclass(frozen=True)
class Trees:
    """Runs commands here, for each node in a tree of its own."""

    root: Path

    def argv(self, node: str, command: Sequence[str]) -> list[str]:
        return ["env", f"HPLTUNE_SYSTEM_ROOT={self.root / node}", *command]


def planted(root: Path) -> Trees:
    """Nodes of two processors and four memory channels that are alike, but for one of a single channel."""
    for place, node in enumerate(NODES):
        filled = 1 if node == NARROW else 4
        files = {
            "place": f"{place}\n",
            "proc/stat": "cpu 10 0 0 500 0 0 0 0\ncpu0 1 0 0 1\ncpu1 1 0 0 1\n",
            "proc/loadavg": "0.10 0.10 0.10 1/99 999\n",
            **{f"sys/devices/system/cpu/cpu{cpu}/topology/physical_package_id": f"{cpu}\n" for cpu in range(2)},
            **{f"sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_cur_freq": "2500000\n" for cpu in range(2)},
            **{f"sys/devices/system/cpu/cpu{cpu}/thermal_throttle/core_throttle_count": "3\n" for cpu in range(2)},
            **{f"sys/class/hwmon/hwmon{chip}/name": "coretemp\n" for chip in range(2)},
            **{f"sys/class/hwmon/hwmon{chip}/temp1_label": f"Package id {chip}\n" for chip in range(2)},
            **{f"sys/class/hwmon/hwmon{chip}/temp1_input": f"{62 + 6 * chip}000\n" for chip in range(2)},
            "sys/devices/system/edac/mc/mc0/max_location": "channel 3 slot 1 \n",
            **{
                f"sys/devices/system/edac/mc/mc0/dimm{slot}/{name}": text
                for slot in range(filled)
                for name, text in (("size", "16384\n"), ("dimm_location", f"channel {slot} slot 0 \n"))
            },
        }
        tree(root / node, files)
    return Trees(root)


@pytest.fixture(scope="module")
def verdict(tmp_path_factory: pytest.TempPathFactory) -> ReadinessVerdict:
    folder = tmp_path_factory.mktemp("watched")
    bench = program(folder / "bench", BENCH)
    plan = MeasuringPlan((Stream(bench, repeats=1), Dgemm(bench, Path("libblas.so"), repeats=2)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", str(folder))
        target = NodesTarget("lab", NODES, planted(folder / "trees"))
        return verdict_of(measure(target, plan, lambda _: None, StopRequest()).check)


@pytest.mark.heavy
def test_what_is_wrong_is_told_of_the_node_that_has_it_and_of_no_other(verdict: ReadinessVerdict) -> None:
    found = {(one.what, one.names) for one in verdict.findings if one.severity is Severity.ODD}
    assert found == {
        ("throttled", (HOT,)),
        ("low-clock", (HOT,)),
        ("hot", (HOT,)),
        ("disturbed-node", (BUSY,)),
        ("memory-channels", (NARROW,)),
    }
    assert verdict.ready, "a node that others disturbed is not called slow"
    said = {one.what: one.sentence for one in verdict.findings}
    assert said["low-clock"].startswith(f"{HOT}, socket 1: clocked 20.0 % lower than the others of its class")
    assert said["disturbed-node"].startswith(f"{BUSY} is 20.")
    assert "but others took 2 of 2 cores" in said["disturbed-node"]


@pytest.mark.heavy
def test_the_readings_are_in_the_report_and_are_kept(verdict: ReadinessVerdict, tmp_path: Path) -> None:
    text = to_markdown(readiness_report(verdict))
    assert f"{HOT}, socket 1" in text
    with Store.open(str(tmp_path / "kept.db")) as store:
        number = store.node_checks.add(KeptCheck(verdict.check, NodeCheckState.COMPLETE, True, False))
        assert store.node_checks.read(number).check == verdict.check
