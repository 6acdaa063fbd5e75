"""Slurm's own energy: a scontrol that answers as Slurm 22 and 23 do, and what its late counters are worth."""

from pathlib import Path

import pytest
from as_user import program

from runners.hosts.cluster import Cluster
from runners.toml_file import validated
from tuner.trial.observers.energy.contract import Places, PowerPart, PowerSource, PowerSourceError
from tuner.trial.observers.energy.pm_counters import PmCounters
from tuner.trial.observers.energy.registry import SOURCES
from tuner.trial.observers.energy.slurm import SlurmEnergy
from tuner.trial.observers.energy.trace import Trace

CONFIG = """Configuration data as of 2026-11-27T12:00:00
AccountingStorageBackupHost = (null)
AcctGatherEnergyType    = {kind}
AcctGatherFilesystemType = (null)
AcctGatherNodeFreq      = {period} sec
"""
NODE = (
    "NodeName={host} Arch=x86_64 CoresPerSocket=8  CPUAlloc=0 CPUTot=8 State=IDLE CurrentWatts=210 AveWatts=208 "
    "ConsumedJoules={joules} ExtSensorsJoules=n/s ExtSensorsWatts=0 Comment=(null)"
)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with a scontrol that prints two files."""
    script = f'#!/bin/sh\\nif [ "$2" = config ]; then cat {tmp_path}/config; else cat {tmp_path}/nodes; fi\\n'
    (tmp_path / "bin").mkdir()
    program(tmp_path / "bin/scontrol", script.replace("\\n", "\n"))
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    gathers(tmp_path)
    counted(tmp_path, n1=1000, n2=2000)
    return tmp_path


def gathers(folder: Path, kind: str = "acct_gather_energy/ipmi", period: int = 30) -> None:
    (folder / "config").write_text(CONFIG.format(kind=kind, period=period))


def counted(folder: Path, **joules: object) -> None:
    lines = [NODE.format(host=host, joules=value) for host, value in joules.items()]
    (folder / "nodes").write_text("\n".join(lines) + "\n")


def found() -> PowerSource | None:
    table = {"name": "lab", "backend": "slurm", "slurm": {"nodes": 2}}
    return SlurmEnergy.find(Places(Path("/"), validated(Cluster, "lab.toml", table)))


def test_each_node_has_a_counter_that_is_as_old_as_slurm_gathers_it() -> None:
    source = found()
    assert source is not None
    assert source.parts == (PowerPart("n1", counts=True), PowerPart("n2", counts=True))
    assert (source.period_s, source.read()) == (30.0, [1000.0, 2000.0])
    assert source.tells_all_of(["n2", "n1"])
    assert SOURCES.index(SlurmEnergy) > SOURCES.index(PmCounters), "the counters of a board are nearer to the wall"


def test_a_node_that_is_not_counted_has_no_part(folder: Path) -> None:
    counted(folder, n1=1000, n2="n/s")
    source = found()
    assert source is not None
    assert not source.tells_all_of(["n1", "n2"])


@pytest.mark.parametrize("kind", ["(null)", "acct_gather_energy/none"])
def test_a_slurm_that_gathers_no_energy_is_no_source(folder: Path, kind: str) -> None:
    gathers(folder, kind)
    assert found() is None


def test_without_slurm_it_is_not_asked() -> None:
    assert SlurmEnergy.find(Places(Path("/"))) is None


def test_a_slurm_that_does_not_sample_says_what_to_change(folder: Path) -> None:
    gathers(folder, period=0)
    with pytest.raises(PowerSourceError, match="AcctGatherNodeFreq is 0"):
        found()


def test_a_node_that_vanishes_gives_nothing(folder: Path) -> None:
    source = found()
    assert source is not None
    counted(folder, n1=1000)
    with pytest.raises(PowerSourceError, match="stopped telling of n2"):
        source.read()


def test_a_solve_of_few_periods_is_too_short_and_a_longer_one_is_told_within_one_period() -> None:
    trace = Trace([PowerPart("n1", counts=True)], period_s=30.0)
    for second in range(0, 1500, 30):  # 100 W; each reading is up to 30 s old
        trace.add(float(second), (100.0 * max(0, second - second % 29),))
    assert trace.energy_j(60.0, 600.0, ["n1"]) is None
    energy_j = trace.energy_j(60.0, 1260.0, ["n1"])
    assert energy_j == pytest.approx(100.0 * 1200.0, abs=100.0 * 30.0)
