"""What repeats of a study tell of its machine, drift during the search and two speeds; kept with the study."""

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from results.record import Kind, StudyNotes, TrialRecord
from results.stats.noise import Array
from results.stats.unfit import FALSE_ALARM, MOVED
from results.store.store import Store

BUSY_NOISE = math.log(2) / math.sqrt(12)
"""Standard deviation of the logarithm of the rate where other programs keep a core busy: the rank that shares it gets
half of it and the others wait, so that a run loses between nothing and half, and any part of that is as likely."""


def note_noise(store: Store, study: str, sd: float) -> float:
    """Keep it where it is more than is known, and return what is known now."""
    return store.note(study, lambda notes: replace(notes, noise_at_first=max(sd, notes.noise_at_first))).noise_at_first


def noise_of_pilots(records: Sequence[TrialRecord]) -> float:
    """What the valid pilot runs among records show: HPL is faster with a larger N, so one that is slower shows noise.

    What other programs took from one is no noise of the machine, so that disturbed ones do not count. Two values differ
    by the root of two times their standard deviation; the two that show most are taken.
    """
    pilots = [record for record in records if record.kind is Kind.PILOT and record.ranked]
    runs = [record for record in pilots if record.hpl is not None and record.disturbed is None]
    found = [0.0]
    for one, other in combinations(runs, 2):
        small, large = sorted((one, other), key=lambda run: run.hpl.N if run.hpl else 0)
        if _program(small) != _program(large) or not (small.gflops and large.gflops and small.hpl and large.hpl):
            continue
        lost = math.log(small.gflops / large.gflops)
        found.append((abs(lost) if small.hpl.N == large.hpl.N else max(0.0, lost)) / math.sqrt(2))
    return max(found)


def _program(record: TrialRecord) -> tuple[object, ...]:
    return record.blas, record.kernel, record.ranks, record.threads


_ALARM = f"of a steady machine 1 study in {1 / FALSE_ALARM:.0f} does so, too"


LEAST_DRIFT_SD = 1e-3
"""Smallest standard deviation of runs, in logarithms: some programs repeat their rates exactly."""
FEWEST = 3
"""Runs of the reference from which it tells something: of two, one that was disturbed would look like a drift."""


def drift(runs: Sequence[tuple[float, float]], repeats: Sequence[Array] = ()) -> float:
    """Return the relative change of the machine from the first to the last of the runs; 0.0 where none is shown.

    Args:
        runs: of the reference, each a time and a rate.
        repeats: for each of some configurations the logarithms of rates that ran in one phase, as a confirmation.
    """
    from scipy.special import stdtrit  # noqa: PLC0415 - slow to import, and most commands do not need it

    times, logs = np.array([time for time, _ in runs]), np.log(np.array([rate for _, rate in runs]))
    squares = sum(float(((own - own.mean()) ** 2).sum()) for own in repeats)
    freedom = len(runs) - 2 + sum(len(own) - 1 for own in repeats)
    if len(runs) < FEWEST or np.ptp(times) == 0:
        return 0.0
    off = times - times.mean()
    spread = float((off**2).sum())
    slope = float((off * logs).sum()) / spread
    squares += float(((logs - logs.mean() - slope * off) ** 2).sum())
    sd = max(math.sqrt(squares / freedom), LEAST_DRIFT_SD)
    if abs(slope) * math.sqrt(spread) / sd < float(stdtrit(freedom, 1 - FALSE_ALARM / 2)):
        return 0.0
    return math.expm1(slope * float(np.ptp(times)))


def got_words(changed: float) -> str:
    """Say what a machine or a run got that changed by this part, after "got": as `levels.did_words`."""
    if changed >= 1:
        return f"{1 + changed:.3g} times as fast"
    return f"{100 * abs(changed):.0f} % {'faster' if changed > 0 else 'slower'}"


def with_changes(notes: StudyNotes, found: StudyNotes) -> StudyNotes:
    """Notes with changes that were found later: of each reference, and of two speeds, in place of those before."""
    changes = {**notes.machine_changes, **found.machine_changes}
    return replace(notes, machine_changes=changes, two_speeds_apart=found.two_speeds_apart)


def change_sentences(notes: StudyNotes) -> list[str]:
    """What a reader of the study's rates must know of changes of its machine; without full stops."""
    found = []
    if abs(notes.moved_during_search) > MOVED:
        found.append(
            f"a small run that was repeated during the search got up to {got_words(notes.moved_during_search)}, so "
            "runs at different times cannot be compared"
        )
    found += [
        f"the reference configuration, which ran {runs} times during the search (first as trial {trial}), got "
        f"{got_words(moved)} meanwhile, so runs at different times cannot be compared ({_ALARM})"
        for trial, (runs, moved) in notes.machine_changes.items()
        if abs(moved) > MOVED
    ]
    if notes.two_speeds_apart:
        found.append(
            f"runs of one configuration fall into two speeds, about {100 * notes.two_speeds_apart:.0f} % apart, and "
            f"which one a run had is not known ({_ALARM})"
        )
    return found


def moved_during_search(notes: StudyNotes) -> float:
    """The largest change of the machine, below 0 for slower; 0 for none."""
    return max([notes.moved_during_search, *(moved for _, moved in notes.machine_changes.values())], key=abs)
