"""What a database tells of how much a machine differs between occasions: the same configuration at several times."""

from collections.abc import Collection, Sequence

from results.record import MEASURED, Study, TrialRecord
from results.stats.disturbed_runs import undisturbed
from results.stats.occasions import Occasions, TimedRate, occasions_of
from results.store.store import Store
from results.store.study_list import AT_A_TIME, StudiesAsked

MOST_STUDIES = 50
"""Only so many studies are read, the newest: each is a query."""
MACHINE = {"hostname": "host name", "cpu_model": "CPU"}
"""Facts of one machine that tell it from others, and their words."""
IDENTITY = (*MACHINE, "node_names")
"""Facts of a host of which one that differs shows that it is another machine."""


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
