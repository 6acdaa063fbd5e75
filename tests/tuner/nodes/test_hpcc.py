"""FFT and RandomAccess by hpcc: what it prints, and nodes that have it not."""

import shutil
from pathlib import Path

import pytest
from as_user import program
from hypothesis import given
from hypothesis import strategies as st

from runners.hosts.hearing import CommandResult
from runners.hosts.transport import Local
from tuner.nodes.measuring import MeasuredNodes, MeasuringPlan, measure
from tuner.nodes.statistics.verdict import verdict_of
from tuner.nodes.steps.hpcc import Hpcc, hpcc_runs
from tuner.nodes.steps.step import NodesTarget
from tuner.stopping import StopRequest

PRINTED = (Path(__file__).parent / "data/hpccoutf.txt").read_text(encoding="utf-8")


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))


def here() -> MeasuredNodes:
    target = NodesTarget("here", ("here",), Local())
    return measure(target, MeasuringPlan((Hpcc(1),)), lambda _: None, StopRequest())


def test_the_rates_of_one_core_are_read_with_their_checks() -> None:
    runs = hpcc_runs("n1", CommandResult(0, PRINTED, ""))
    assert [(run.benchmark, run.value, run.counts) for run in runs] == [
        ("random-access-1", 0.026008, True),
        ("fft-1", 1.371133, True),
    ]


def test_a_table_with_errors_is_a_wrong_result() -> None:
    wrong = PRINTED.replace("Node(s) with error 0", "Node(s) with error 1", 1)
    first, second = hpcc_runs("n1", CommandResult(0, wrong, ""))
    assert (first.counts, first.reason) == (False, "hpcc found errors in SingleRandomAccess")
    assert second.counts


@given(end=st.integers(0, len(PRINTED)))
def test_output_that_ends_in_the_middle_gives_no_rate_that_it_does_not_have(end: int) -> None:
    for run in hpcc_runs("n1", CommandResult(1, PRINTED[:end], "killed")):
        assert run.value in {None, 0.026008, 1.371133}
        assert run.counts is (run.value is not None)


def test_a_node_without_hpcc_is_told_and_is_not_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for tool in (
        "sh",
        "timeout",
        "env",
        "mktemp",
        "tar",
        "tr",
        "uname",
        "sha256sum",
        "find",
        "id",
        "rm",
        "cut",
        "cat",
        "date",
    ):
        (tmp_path / "bin").mkdir(exist_ok=True)
        (tmp_path / "bin" / tool).symlink_to(shutil.which(tool) or "/bin/false")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    measured = here()
    assert measured.notes == (
        "FFT and RandomAccess were not measured on here: hpcc is missing there; Debian's package hpcc has it.",
    )
    assert verdict_of(measured.check).out == ()


def test_an_hpcc_that_dies_is_a_run_without_a_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "fakes").mkdir()
    program(tmp_path / "fakes/hpcc", "#!/bin/sh\necho 'no room' >&2\nexit 7\n")
    monkeypatch.setenv("PATH", f"{tmp_path / 'fakes'}:/usr/bin:/bin")
    assert {run.reason for run in here().check.runs} == {"no room"}
