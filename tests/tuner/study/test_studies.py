"""A new study is a new one, whoever else uses the store."""

import json
import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from as_user import Run
from record_builders import a_study

from results.errors import StudyExistsError
from results.record import Study
from results.store.store import Store
from tuner.options import TuneOptions
from tuner.study.lifecycle import MachineFacts, begin
from tuner.study.names import create_unnamed

NOTHING_KNOWN = MachineFacts(host={}, versions={})


class Crowded(Store):
    """A store where somebody else takes a name as soon as one has looked which are taken."""

    def studies(self) -> Sequence[Study]:
        found = super().studies()
        if not found:
            self.create_study(a_study("default-1"))
        return found


def test_a_study_that_nobody_named_takes_the_next_name_where_somebody_was_faster(place: str) -> None:
    with Crowded.open(place) as store:
        assert begin(store, None, TuneOptions(), NOTHING_KNOWN).name == "default-2"
        assert [study.name for study in store.studies()] == ["default-1", "default-2"]


def test_a_study_that_nobody_named_has_a_name_that_can_be_typed(tmp_path: Path) -> None:
    with Store.open(tmp_path / "hpltune.db") as store:
        assert create_unnamed(store, a_study("run-HPL#2\n/..")) == "run-HPL_2__..-1"
        assert create_unnamed(store, a_study("." + "x" * 300)) == "x" * 200 + "-1"


def test_a_named_study_is_never_somebody_elses(place: str) -> None:
    with Store.open(place) as store:
        store.create_study(a_study("mine"))
        with pytest.raises(StudyExistsError, match="study mine exists already"):
            begin(store, "mine", TuneOptions(), NOTHING_KNOWN)
        assert store.study("mine") == a_study("mine")


@pytest.mark.usefixtures("simgrid")
@pytest.mark.parametrize("named", [("--study", "same"), ()])
def test_studies_of_one_name_in_two_databases_keep_their_own_files(hpltune: Run, named: Sequence[str]) -> None:
    small = ("--cluster", "kronos", "--space", "quick", "--set", "N=2000", "--trials", "1", "--confirm", "0", *named)
    won = {}
    for NB in (64, 128):
        won[NB] = hpltune.told("tune", *small, "--set", f"NB={NB}", "--db", f"{NB}.db")
    for NB, best in won.items():
        (trial,) = json.loads(hpltune("show", best["study"], "--json", "--db", f"{NB}.db").stdout)
        for dat in (Path(best["hpl_dat"]), Path(trial["directory"]) / "HPL.dat"):
            assert re.search(rf"^{NB} +NBs", dat.read_text(), re.MULTILINE), dat
