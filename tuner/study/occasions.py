"""What a database tells of how much a machine differs between occasions: the same configuration at several times."""

import math
from bisect import bisect
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from results.record import MEASURED, Study, TrialRecord
from results.stats.disturbed_runs import undisturbed
from results.stats.occasions import APART, USUAL_FREEDOM, USUAL_SD, Occasions
from results.store.store import Store
from results.store.study_list import AT_A_TIME, StudiesAsked

MOST_STUDIES = 50
"""Only so many studies are read, the newest: each is a query."""
MACHINE = {"hostname": "host name", "cpu_model": "CPU"}
"""Facts of one machine that tell it from others, and their words."""
IDENTITY = (*MACHINE, "node_names")
"""Facts of a host of which one that differs shows that it is another machine."""


@dataclass(frozen=True)
class TimedRate:
    """The rate of a run of a configuration, and when the run began."""

    began: datetime
    gflops: float


def occasions_of(histories: Sequence[Sequence[TimedRate]]) -> Occasions:
    """Learn how occasions differ; the usual where nothing ran on two.

    The variance is that of the mean logarithms of a configuration's occasions around their own mean, pooled over
    configurations, and weighed with the usual one by the degrees of freedom of both. What is usual of machines makes
    that of this one no better known: with the sum of both "faster" was wrong in 5.7 of 100 (1500 comparisons of five
    occasions that differ by 3 %). The noise of the few runs of an occasion is in it too, so it is rather too large.

    Args:
        histories: for each configuration its runs.
    """
    begins = _begins(run.began for history in histories for run in history)
    squares, seen, told = 0.0, 0, set[int]()
    for history in histories:
        logs = defaultdict[int, list[float]](list)
        for run in history:
            logs[bisect(begins, run.began)].append(math.log(run.gflops))
        if len(logs) > 1:
            means = np.array([np.mean(own) for own in logs.values()])
            squares += float(((means - means.mean()) ** 2).sum())
            seen += len(means) - 1
            told |= logs.keys()
    sd = math.sqrt((USUAL_FREEDOM * USUAL_SD**2 + squares) / (USUAL_FREEDOM + seen))
    return Occasions(sd, max(USUAL_FREEDOM, seen), seen, len(told))


def _begins(times: Iterable[datetime]) -> list[datetime]:
    """Return when each occasion began, in order."""
    begins = list[datetime]()
    for time in sorted(times):
        if not begins or time - begins[-1] >= APART:
            begins.append(time)
    return begins


def known_occasions(store: Store, trials: Sequence[tuple[Study, TrialRecord]]) -> Occasions:
    """How the machine of some trials differs between occasions.

    Another study tells of occasions of a configuration if it ran it on the same machine: it was run like the trial, as
    a check is, or searches the same space. Runs within some hours are of one occasion, in whatever studies they are. Of
    the studies that are compared only the first of each configuration counts, as one occasion: how far they are apart
    is the question. An imported one does not count: when and where it ran is what somebody says.

    Args:
        trials: that are compared, each with its study.
    """
    compared, found, studies = {study.name for study, _ in trials}, list[list[TimedRate]](), store.studies()
    taken = set[str]()
    for study, trial in trials:
        if study.name in taken:
            continue
        own = [TimedRate(trial.started_at, run.gflops) for run in _runs(store, study, study, trial)]
        histories = [] if study.imported else [(study.name, own)]
        histories += [(one.name, _runs(store, one, study, trial)) for one in _others(study, studies, compared)]
        taken |= {study.name, *(name for name, runs in histories if runs)}
        found.append([run for _, runs in histories for run in runs])
    return occasions_of(found)


def _others(study: Study, studies: Sequence[Study], compared: Collection[str]) -> list[Study]:
    """The newest studies that may have run the same configuration on the same machine, beside those compared."""
    found = [
        one
        for one in studies
        if one.name not in compared
        and one.how == MEASURED
        and not _elsewhere(one, study)
        and (_base(one) == _base(study) or (study.space_text and one.space_text == study.space_text))
    ]
    return sorted(found, key=lambda one: one.created_at)[-MOST_STUDIES:]


def _base(study: Study) -> str:
    """The study whose trial this one was run like, or its own name."""
    return study.notes.like.rpartition("#")[0] or study.name


def _elsewhere(one: Study, other: Study) -> bool:
    """Whether two studies are of different machines, as far as that is known."""
    known = ((one.host.get(name), other.host.get(name)) for name in IDENTITY)
    return any(ours is not None and theirs is not None and ours != theirs for ours, theirs in known)


def _runs(store: Store, study: Study, of: Study, trial: TrialRecord) -> list[TimedRate]:
    """The runs in a study of the configuration of a trial of another."""
    if _base(study) == _base(of):
        runs = [one for one in store.records(study.name) if _alike(one, trial)]
    else:
        runs = [one for one in store.contenders(study.name).records if one.key == trial.key]
    return [TimedRate(run.started_at, run.gflops) for run in undisturbed(runs) if run.ranked and run.gflops]


def _alike(one: TrialRecord, other: TrialRecord) -> bool:
    """Whether two trials make HPL run the same instructions, in studies that name their configurations differently."""
    if one.hpl is None or one.hpl != other.hpl:
        return one.key == other.key
    return (one.blas, one.kernel, one.ranks, one.threads) == (other.blas, other.kernel, other.ranks, other.threads)


def followers(store: Store, name: str) -> dict[str, int]:
    """Name the studies that ran a file like a trial of this one, each with that trial's number."""
    studies = [study for study, _ in store.lists.newest_first(StudiesAsked(like=name), AT_A_TIME)]
    return {study.name: int(study.notes.like.rpartition("#")[2]) for study in reversed(studies)}
