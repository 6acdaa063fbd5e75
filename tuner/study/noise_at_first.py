"""By how much runs differ on this machine as far as that shows before anything ran twice; kept with the study.

Nothing that is judged by a run's noise takes a smaller one before repeats tell: when a run is stopped early, how sure
the best is, whether the machine has changed.
"""

import math
from collections.abc import Mapping, Sequence
from itertools import combinations

from results.record import Kind, TrialRecord
from results.store.store import Store

FACT = "noise_at_first"
BUSY_NOISE = math.log(2) / math.sqrt(12)
"""Standard deviation of the logarithm of the rate where other programs keep a core busy: the rank that shares it gets
half of it and the others wait, so that a run loses between nothing and half, and any part of that is as likely."""


def noise_at_first(facts: Mapping[str, object]) -> float:
    """What is kept of it among the facts of a study's machine, as a standard deviation in logarithms; 0 for nothing."""
    known = facts.get(FACT)
    return known if isinstance(known, float) else 0.0


def note_noise(store: Store, study: str, sd: float) -> float:
    """Keep it where it is more than is known, and return what is known now."""
    known = noise_at_first(store.study(study).host)
    if sd > known:
        store.note_host(study, {FACT: sd})
    return max(sd, known)


def noise_of_pilots(records: Sequence[TrialRecord]) -> float:
    """What the valid pilot runs among records show: HPL is faster with a larger N, so one that is slower shows noise.

    Two values differ by the root of two times their standard deviation; the two that show most are taken.
    """
    runs = [record for record in records if record.kind is Kind.PILOT and record.ranked and record.hpl]
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
