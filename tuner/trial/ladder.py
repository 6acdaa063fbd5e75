"""The rungs between a cheap hint and the run that counts: which are worth having, and which a stored trial was."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from hpl.params import Scalar
from results.metrics import prefix_gflops
from results.record import Kind, TrialRecord

from ..engines.outcomes import FULL, GIVEN_UP, Fidelity, Ladder, Outcome, Rung
from ..machine.problem_size import SMALLEST_N, STEP

SMALL_PART = 0.35
"""Of N: such runs ranked block sizes of nine kinds of boards with a Spearman correlation of 0.94 (sbcc data), and with
a prefix they predicted a TOP500 run within 0.4 % (CLAIX-2023)."""
PREFIX_PARTS = (0.1,)
"""Of the columns: 27 % of the operations. With 5 % the search took half as long again (pi5, two-cores); 30 % were never
asked for."""
STOPS = (0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 0.7)
"""Parts of the columns at which a full run may be given up."""
WORTH = 0.5
"""A rung must cost no more than this part of a full run, launch included, or it is left out."""
SLOWER = 1.5
"""How much slower small runs are taken to be at first, per operation."""


def ladder(N: int, full_s: float, launch_s: float, *, prefixes: bool) -> Ladder:
    """The rungs worth having, cheapest first, the full run last.

    Args:
        full_s: seconds HPL takes at N, `launch_s` seconds of a launch beside it.
        prefixes: runs can be stopped at a column.
    """
    rungs = [Rung(Fidelity.SMALL, SMALL_PART)] if small_n(N, SMALL_PART) >= SMALLEST_N else []
    rungs += [Rung(Fidelity.PREFIX, part) for part in PREFIX_PARTS] if prefixes else []
    most_s = WORTH * (full_s + launch_s)
    return (*(rung for rung in rungs if takes_s(rung, full_s, launch_s) <= most_s), FULL)


def takes_s(rung: Rung, full_s: float, launch_s: float) -> float:
    """Seconds that a launch of one run should take.

    Args:
        full_s: seconds HPL takes for a full run, `launch_s` seconds of a launch beside it.
    """
    return launch_s + (SLOWER if rung.fidelity is Fidelity.SMALL else 1.0) * rung.operations * full_s


def small_n(N: int, part: float) -> int:
    """N of a small run, a multiple of 64."""
    return max(STEP, round(N * part / STEP) * STEP)


def at_rung(params: Mapping[str, Scalar], rung: Rung) -> Mapping[str, Scalar]:
    """A complete point with the N that it runs at."""
    if rung.fidelity is not Fidelity.SMALL:
        return params
    return {**params, "N": small_n(int(params["N"]), rung.part)}


def part_at(params: Mapping[str, Scalar], rung: Rung) -> float:
    """How much of a complete point a run on a rung is, as its record keeps it: a part of N or of the columns."""
    if rung.fidelity is Fidelity.SMALL:
        return int(at_rung(params, rung)["N"]) / int(params["N"])
    return rung.part if rung.fidelity is Fidelity.PREFIX else 1.0


def rung_of(record: TrialRecord) -> Rung:
    """How much of a full run a stored trial was, in the steps that are told apart."""
    if record.kind is Kind.SMALL:
        return Rung(Fidelity.SMALL, SMALL_PART)
    if record.kind in {Kind.PREFIX, Kind.GIVEN_UP}:
        return Rung(Fidelity.PREFIX, min(STOPS, key=lambda stop: abs(stop - record.part)))
    return FULL


def outcomes_of(records: Sequence[TrialRecord]) -> list[Outcome]:
    """What an engine learns of records; those of one launch have its folder in common."""
    sharing = Counter(record.directory for record in records if record.directory and record.cost_s)
    return [replace(outcome_of(record), sharing=max(1, sharing[record.directory])) for record in records]


def outcome_of(record: TrialRecord) -> Outcome:
    """What an engine learns of a record that had a launch of its own."""
    rung = rung_of(record)
    rate = prefix_gflops(record) if rung.fidelity is Fidelity.PREFIX else record.gflops if record.ranked else None
    state = GIVEN_UP if record.kind is Kind.GIVEN_UP else str(record.state)
    lost = record.disturbed.lost if record.disturbed else 0.0
    return Outcome(rate, record.time_s, state, rung, record.cost_s, record.session, lost=lost)
