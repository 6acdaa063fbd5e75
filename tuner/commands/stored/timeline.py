"""What the ranks of simulated trials did: each is simulated again for its figure, and takes as long as it did then."""

from collections.abc import Sequence

from hpl.errors import HplError
from results.record import Kind, Study, TrialRecord, TrialState
from results.report.model import Gantt
from results.store.store import Store
from runners.errors import RunnerError

from ...errors import TunerError, UsageError
from ...options import TuneOptions
from ...reports.figures.rank_timeline import NEEDS, DrawnRun, rank_lanes
from ...reports.virtual_cluster import virtual_cluster_of
from ...simulation.cluster import SimulatedCluster
from ...simulation.plan import virtual_plan
from ...simulation.session import PANEL_RANK_S
from ...simulation.timeline import BINS, PAGE_BINS, run_timeline
from ...stopping import StopRequest
from ...study.names import RANKED
from ...trial.ladder import at_rung, rung_of
from ...user_dirs import UserDirs

QUICK_S = 3.0
"""Real seconds that the simulation of a trial may take on one core which a page simulates again."""


def drawn_runs(
    store: Store, study: Study, records: Sequence[TrialRecord], steps: tuple[int, int] | None
) -> list[DrawnRun]:
    """Simulate trials of a study again, and show the same time of each.

    Args:
        steps: the first and the last step of HPL that are shown; None for whole runs.

    Raises:
        TunerError, HplError, RunnerError: a sentence says why one cannot be simulated.
    """
    cluster = virtual_cluster_of(study)
    for record in records:
        if cluster is None or not record.simulated or record.state is not TrialState.COMPLETE:
            raise TunerError(
                f"trial {record.number} of study {study.name} has nothing to draw a timeline from: it needs {NEEDS}"
            )
    if cluster is None:
        return []
    options = TuneOptions.from_json(dict(study.options))
    site = SimulatedCluster.open(cluster, UserDirs.of_user(), options.hpl_source, None)
    whole = [_drawn(store, site, record) for record in records]
    if steps is None:
        return whole
    for run in whole:
        if steps[0] > len(run.did.steps_s):
            said = f"trial {run.record.number} has {len(run.did.steps_s)} steps"
            raise UsageError(said, field="steps", given="-".join(map(str, steps)))
    windows_s = [run.did.when(steps) for run in whole]
    window_s = min(begin_s for begin_s, _ in windows_s), max(end_s for _, end_s in windows_s)
    return [_drawn(store, site, record, window_s) for record in records]


def _drawn(
    store: Store,
    site: SimulatedCluster,
    record: TrialRecord,
    window_s: tuple[float, float] | None = None,
    bins: int = BINS,
) -> DrawnRun:
    """Simulate a trial again; where runs differ, as the one of so many that it was."""
    repeat = _earlier(store, record) if site.cluster.noise.between_runs else 0
    plan = virtual_plan(at_rung(record.params, rung_of(record)), site.cluster, record.key, repeat)
    return DrawnRun(record, run_timeline(site, plan, window_s or (0.0, record.time_s or 1.0), StopRequest(), bins))


def _earlier(store: Store, record: TrialRecord) -> int:
    """How often the configuration of a trial ran before it, as it was counted when it ran."""
    kinds = RANKED if record.kind is Kind.CONFIRMATION else (record.kind,)
    alike = (one for one in store.records(record.study) if one.key == record.key and one.kind in kinds)
    return sum(one.number < record.number for one in alike)


def lanes_for_page(store: Store, study: Study, record: TrialRecord | None) -> Gantt | None:
    """Draw a trial for a page; None where that would take longer than a page may, or cannot be."""
    if record is None or not _is_quick(record):
        return None
    cluster = virtual_cluster_of(study)
    site = None if cluster is None else SimulatedCluster.ready(cluster, UserDirs.of_user())
    if site is None:
        return None
    try:
        return rank_lanes([_drawn(store, site, record, bins=PAGE_BINS)])
    except (TunerError, HplError, RunnerError):  # the page tells all else
        return None


def _is_quick(record: TrialRecord) -> bool:
    """Whether a trial can be simulated again in a page's time, by its panels and ranks: the machine may be busy."""
    if not record.simulated or record.state is not TrialState.COMPLETE or record.hpl is None:
        return False
    return record.hpl.N / record.hpl.NB * record.hpl.ranks * PANEL_RANK_S <= QUICK_S
