"""A family of programs is one file and one line: a made-up one is tuned from the survey to the winner's HPL.dat."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from as_user import Run
from made_up_family import MadeUp, made_up_program

from hpl.dat import HplDat, render
from hpl.params import HplParams
from hpl.programs import registry
from results.record import Kind, TrialRecord, TrialState
from results.store.store import Store

pytestmark = pytest.mark.real
TUNE = ("tune", "--xhpl", "madeup-hpl", "--set", "N=1200", "--set", "NB=64,128")


@pytest.fixture(autouse=True)
def one_line(monkeypatch: pytest.MonkeyPatch, home: Path, mpirun: str) -> None:
    del mpirun
    known = registry.families()
    monkeypatch.setattr(registry, "families", lambda: (MadeUp, *known))
    made_up_program(home)


def records(home: Path, kind: Kind) -> Sequence[TrialRecord]:
    with Store.open(home / "data/hpltune.db") as store:
        return [record for record in store.records("made") if record.kind is kind]


def test_a_new_family_is_tuned_with_its_own_parameters(hpltune: Run, home: Path) -> None:
    hpltune.well(*TUNE, "--trials", "16", "--confirm", "1", "--study", "made")
    searched = records(home, Kind.SEARCH)
    assert {record.state for record in searched} == {TrialState.COMPLETE}

    best = max(searched, key=lambda record: record.gflops or 0.0)
    assert (best.gflops, best.params["program.split"], best.params["program.panel"]) == (50.0, 0.5, "device")
    assert best.command.endswith("madeup-hpl --split 0.5")
    assert "MADEUP_PANEL=device" in best.command
    assert "-np 1 " in best.command
    assert f"MADEUP_THREADS={best.threads} " in best.command

    assert {record.params["blas"] for record in searched} == {"madeup"}
    assert {(record.params["SWAP"], record.params["EQUIL"]) for record in searched} == {("long", "no")}
    ran = {record.key: record.params for record in searched}.values()
    heeded = [{name: value for name, value in params.items() if name != "BCAST"} for params in ran]
    assert all(heeded.count(params) == 1 for params in heeded), "BCAST is not heeded, so no two differ in it alone"

    shown = hpltune("show", "made")
    assert "program.split" in shown.stdout, shown.stderr
    assert hpltune("explain", "made").returncode == 0
    hpltune.well("tune", "--resume", "--study", "made", "--trials", "18")


def test_its_own_parameters_may_be_given_values(hpltune: Run, home: Path) -> None:
    values = ("--set", "program.split=0.25,0.5", "--set", "program.panel=device")
    hpltune.well(*TUNE, *values, "--trials", "6", "--confirm", "1", "--study", "made")
    assert {record.params["program.split"] for record in records(home, Kind.SEARCH)} == {0.25, 0.5}


@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        ("program.split=2", "program.split = 2: expected a number from 0 to 1"),
        ("program.panel=gpu", "program.panel = gpu: expected one of host, device"),
        ("program.spilt=0.5", "the program has no such parameter of its own (it has: program.split, program.panel)"),
        ("SWAP=mix", "SWAP = mix is refused by the program: it takes long"),
        ("layout=2x1", "the layout 2x1 is refused by the program: it takes 1 ranks a node"),
    ],
)
def test_what_it_does_not_take_is_one_sentence(hpltune: Run, setting: str, sentence: str) -> None:
    assert sentence in " ".join(hpltune.refused(*TUNE, "--set", setting, "--trials", "1").split())


def test_an_hpl_dat_that_it_refuses_is_not_run(hpltune: Run, home: Path) -> None:
    (home / "HPL.dat").write_text(render(HplDat.of(HplParams(1200, 64, 1, 1, EQUIL=False, DEPTH=0))))
    done = hpltune("run", "HPL.dat", "--xhpl", "madeup-hpl")
    assert done.returncode != 0
    assert "is refused by the program: it takes long" in done.stderr


def test_another_program_has_no_such_parameter(hpltune: Run, home: Path) -> None:
    made_up_program(home).with_name("other").write_bytes(b"#!/bin/sh\n# HPL\nexit 3\n")
    (home / "other").chmod(0o755)
    done = hpltune("tune", "--xhpl", "other", "--set", "program.split=0.5", "--trials", "1")
    assert "the program has no such parameter of its own (it has: none)" in done.stderr
