"""The rungs a study has, what a stored trial was, and the runs that watch the machine."""

from dataclasses import replace
from typing import Any

import pytest
from record_builders import finished

from hpl.params import HplParams
from results.metrics import prefix_gflops
from results.record import Kind, TrialRecord, TrialState
from tuner.engines.outcomes import FULL, GIVEN_UP, Fidelity, Rung
from tuner.trial.ladder import SMALL_PART, ladder, outcome_of, rung_of, small_n

SMALL = Rung(Fidelity.SMALL, SMALL_PART)


def trial(kind: Kind, **changes: Any) -> TrialRecord:
    return finished(1, kind=kind, **changes)


def test_a_long_run_has_all_rungs_and_one_that_hardly_computes_none() -> None:
    assert [rung.fidelity for rung in ladder(40_000, 600.0, 2.0, prefixes=True)] == [
        "small",
        "prefix",
        "full",
    ]
    assert ladder(40_000, 600.0, 2.0, prefixes=False) == (SMALL, FULL)
    assert ladder(3_000, 0.2, 1.5, prefixes=True) == (FULL,)
    assert ladder(1_000, 600.0, 0.0, prefixes=False) == (FULL,)


def test_operations_of_the_rungs() -> None:
    assert Rung(Fidelity.SMALL, 0.5).operations == pytest.approx(0.125)
    assert Rung(Fidelity.PREFIX, 0.5).operations == pytest.approx(0.875)
    assert FULL.operations == 1.0
    assert small_n(10_000, 0.35) % 64 == 0


def test_a_small_run_and_a_prefix_are_told_as_such() -> None:
    small = outcome_of(trial(Kind.SMALL, part=0.349, session=2))
    assert (small.rung, small.gflops, small.session) == (SMALL, 75.5, 2)
    asked = HplParams(6000, 96, 1, 2, DEPTH=1)
    prefix = trial(Kind.PREFIX, hpl=asked, part=0.0493, time_s=0.3, gflops=None, passed=None, residual=None)
    told = outcome_of(prefix)
    assert told.rung == Rung(Fidelity.PREFIX, 0.05)
    assert told.gflops == prefix_gflops(prefix)
    updated = 1 - (1 - 200 / 6000) ** 3
    assert told.gflops == pytest.approx(updated * 2 / 3 * 6000**3 / 0.3 / 1e9, rel=0.01), "less the panel of look-ahead"


def test_a_run_that_was_given_up_is_told_as_that() -> None:
    record = trial(Kind.GIVEN_UP, part=0.29, time_s=1.0, gflops=None, passed=None, reason="whatever words say so")
    told = outcome_of(record)
    assert (told.state, told.rung) == (GIVEN_UP, Rung(Fidelity.PREFIX, 0.3))
    assert told.gflops == prefix_gflops(record)
    assert outcome_of(replace(record, kind=Kind.PREFIX)).state == "complete"


def test_a_prefix_that_failed_has_no_rate() -> None:
    record = trial(Kind.PREFIX, part=0.05, time_s=None, gflops=None, state=TrialState.FAILED, hpl=None)
    assert outcome_of(record).gflops is None
    assert rung_of(record).fidelity is Fidelity.PREFIX


def test_a_small_run_whose_residual_failed_tells_nothing() -> None:
    record = trial(Kind.SMALL, part=0.35, passed=False, state=TrialState.FAILED, hpl=HplParams(2048, 64, 1, 2))
    assert outcome_of(record).gflops is None
