"""`hpltune blas` as a user runs it: real HPL with real libraries, small."""

from pathlib import Path

import pytest
from as_user import Run
from found_here import shared_library
from needs import skip_without
from record_builders import a_study

from results.record import Kind
from results.store.store import Store
from tuner.budget import Budget
from tuner.commands.campaigns.blas import blas
from tuner.commands.campaigns.tune import TuneRequest, tune
from tuner.errors import TunerError, UsageError
from tuner.events import Event, TrialEnded
from tuner.options import TuneOptions
from tuner.stopping import StopRequest

TWO = ("--blas", "openblas", "--blas", "blis", "--set", "N=400", "--set", "NB=64,128", "--set", "kernel=auto")
ASKED = TuneOptions(
    space="blas",
    budget=Budget(trials=2, wall_s=40.0),
    blas_only=("openblas", "blis"),
    overrides={"N": ["400"], "NB": ["64"], "kernel": ["auto"]},
    shootout=True,
)
real = [pytest.mark.real, pytest.mark.usefixtures("real_hpl")]


def unheard(_: Event) -> None:
    """Listens to nothing."""


class TestOnThisMachine:
    """With the libraries that are here."""

    pytestmark = real

    def test_each_library_is_searched_by_itself_and_then_all_run_in_rounds(self, hpltune: Run, home: Path) -> None:
        found = hpltune.told("blas", *TWO, "--trials", "2", "--budget", "45s")
        assert {entry["blas"] for entry in found["ranking"]} | set(found["without_rounds"]) == {"openblas", "blis"}
        with Store.open(home / "data/hpltune.db") as store:
            records = store.records("blas-1")
        searched = [str(record.params["blas"]) for record in records if record.kind is not Kind.CONFIRMATION]
        first = searched[0]
        assert searched == sorted(searched, key=lambda name: name != first), "a library is searched at a time"
        assert {record.params["N"] for record in records if record.kind is Kind.SEARCH} == {400}
        assert len({record.key for record in records if record.kind is Kind.CONFIRMATION}) in {0, 2}

    def test_what_was_stopped_goes_on_and_what_is_complete_is_told_again(self, home: Path) -> None:
        db, stop = str(home / "blas.db"), StopRequest()

        def stopping(event: Event) -> None:
            if isinstance(event, TrialEnded) and event.record.kind is Kind.SEARCH:
                stop.ask()

        first = blas(ASKED, stopping, stop, db=db)
        assert "`hpltune blas ⟦resume⟧ ⟦study⟧ blas-1" in first.on
        second = blas(TuneOptions(), unheard, StopRequest(), db=db, resume=True)
        assert not second.on
        assert set(second.ranking.best) == {"openblas", "blis"}
        third = blas(TuneOptions(), unheard, StopRequest(), "blas-1", db, resume=True)
        assert third.ranking.order == second.ranking.order
        assert not third.ended

    def test_a_library_that_crashes_is_left_out_with_the_reason(self, hpltune: Run, home: Path) -> None:
        broken = self.crashing(home)
        mine = f"broken={broken}"
        assert "only openblas gave a result, so there is nothing to compare (broken: " in hpltune.refused(
            "blas", "--blas", "openblas", "--blas", mine, "--set", "N=600", "--trials", "1", code=1
        )

    def test_a_budget_that_no_run_fits_into_is_refused_with_one_that_is_enough(self, hpltune: Run, home: Path) -> None:
        assert "their comparison needs --budget " in hpltune.refused(
            "blas", *TWO, "--set", "N=20000", "--budget", "8s", code=1
        )
        with Store.open(home / "data/hpltune.db") as store:
            assert not store.studies()

    def crashing(self, home: Path) -> Path:
        """A library that multiplies, but whose dtrsm ends the program."""
        rest = next(Path("/usr/lib").glob("*/blas/libblas.so.3"), None)
        if rest is None:
            skip_without("Debian's reference BLAS")
        aborts = "#include <stdlib.h>\nvoid dtrsm_(void) { abort(); }\n"
        return shared_library(home / "libbroken.so", aborts, "-Wl,--no-as-needed", str(rest))


def test_a_study_of_tune_is_no_comparison_and_a_comparison_no_search(home: Path) -> None:
    db = str(home / "x.db")
    with Store.open(home / "x.db") as store:
        store.create_study(a_study("default-1", options=TuneOptions().to_json()))
        store.create_study(a_study("blas-1", options=ASKED.to_json()))
    with pytest.raises(UsageError, match="default-1 is no comparison"):
        blas(ASKED, unheard, StopRequest(), "default-1", db, resume=True)
    with pytest.raises(UsageError, match="hpltune blas ⟦resume⟧ ⟦study⟧ blas-1"):
        tune(TuneRequest(TuneOptions(), "blas-1", resume=True, db=db), unheard, StopRequest())
    with pytest.raises(UsageError, match="hpltune blas ⟦resume⟧ ⟦study⟧ blas-1"):
        tune(TuneRequest(TuneOptions(), join="blas-1", db=db), unheard, StopRequest())


def test_a_library_that_is_not_here_cannot_be_compared(home: Path) -> None:
    asked = TuneOptions(space="blas", blas_only=("nonsense", "openblas"), shootout=True)
    with pytest.raises(TunerError, match="BLAS nonsense is not on this machine"):
        blas(asked, unheard, StopRequest(), db=str(home / "x.db"))
