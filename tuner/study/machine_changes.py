"""What repeats of a study tell of its machine, drift during the search and two speeds; kept with the study."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from results.record import Kind, TrialRecord
from results.stats.levels import got_words
from results.stats.unfit import FALSE_ALARM
from results.stats.unfit import MOVED as LEAST_MOVED
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


MOVED = "moved_during_search"
"""The fact of a machine's largest relative change, which older studies have of a small run that they repeated."""
REFERENCE = "reference trial "
"""Begins the name of the fact of a reference configuration, whose first run has that number."""
APART = "two_speeds_apart"
"""The fact of how far two speeds are apart, in logarithms; 0 for one."""
_ALARM = f"of a steady machine 1 study in {1 / FALSE_ALARM:.0f} does so, too"


@dataclass(frozen=True)
class MachineChanges:
    """What was found of a machine.

    Attributes:
        trial: number of the first run of the reference configuration; 0 where there is none.
        runs: of that configuration in the search, the first included.
        moved: relative change that these showed, below 0 for slower; 0 for none.
        apart: how far two speeds are apart, in logarithms; 0 for one speed.
    """

    trial: int = 0
    runs: int = 0
    moved: float = 0.0
    apart: float = 0.0

    @property
    def facts(self) -> dict[str, object]:
        """What is kept of it with the study, in place of what was found before."""
        told = {f"{REFERENCE}{self.trial}": {"runs": self.runs, "moved": self.moved}} if self.trial else {}
        return {**told, APART: self.apart}

    @property
    def sentences(self) -> list[str]:
        """What a reader of the study's rates must know of it; without full stops."""
        found = []
        if abs(self.moved) > LEAST_MOVED:
            found.append(
                f"the reference configuration, which ran {self.runs} times during the search (first as trial "
                f"{self.trial}), got {got_words(self.moved)} meanwhile, so runs at different times cannot be compared "
                f"({_ALARM})"
            )
        if self.apart:
            found.append(
                f"runs of one configuration fall into two speeds, about {100 * self.apart:.0f} % apart, and which one "
                f"a run had is not known ({_ALARM})"
            )
        return found


def change_sentences(facts: Mapping[str, object]) -> list[str]:
    """What a reader of a study's rates must know of changes of its machine; without full stops."""
    anchor = facts.get(MOVED)
    told = [sentence for one in changes_in(facts) for sentence in one.sentences]
    if isinstance(anchor, float) and abs(anchor) > LEAST_MOVED:
        told.insert(
            0,
            f"a small run that was repeated during the search got up to {got_words(anchor)}, so runs at different "
            "times cannot be compared",
        )
    return told


def moved_during_search(facts: Mapping[str, object]) -> float:
    """The largest change among the facts of a study's machine, below 0 for slower; 0 for none."""
    anchor = facts.get(MOVED)
    found = [one.moved for one in changes_in(facts)]
    return max([anchor if isinstance(anchor, float) else 0.0, *found], key=abs)


def changes_in(facts: Mapping[str, object]) -> list[MachineChanges]:
    """What is kept among the facts of a study's machine: of each reference, and of two speeds."""
    found = []
    for name, value in facts.items():
        trial = name.removeprefix(REFERENCE)
        if not name.startswith(REFERENCE) or not trial.isdecimal() or not isinstance(value, Mapping):
            continue
        runs, moved = value.get("runs"), value.get("moved")
        if isinstance(runs, int) and isinstance(moved, float):
            found.append(MachineChanges(int(trial), runs, moved))
    apart = facts.get(APART)
    return [*found, MachineChanges(apart=apart)] if isinstance(apart, float) and apart else found
