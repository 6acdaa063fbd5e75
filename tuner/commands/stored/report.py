"""`hpltune report`: studies as one HTML page that anyone can open."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from results.record import Study, TrialRecord
from results.report.model import Report
from results.store.store import Store
from search_spaces.errors import SpaceError

from ...errors import TunerError
from ...explain.stored_space import telling
from ...explain.taught_study import TaughtStudy
from ...reports.figures.conditions import most_disturbed
from ...reports.figures.registry import FigureSource
from ...reports.study_page import StudyPage
from ...reports.summary import StudySummary
from ...study.objective import rank_stored
from ...study.occasions import followers
from ...study.sizing.prediction import prediction_of
from ...user_files import require_folder
from ..report_files import write_page
from .explain import taught_study
from .show import state
from .timeline import lanes_for_page


def report_studies(store: Store, names: Sequence[str], out: Path, *, interactive: bool = True) -> list[Report]:
    """Write the page of some studies into a file, and return their reports.

    Args:
        names: none takes the newest.
        interactive: figures can be enlarged and read off, by a small script.

    Raises:
        ResultsError: there is no such study.
        TunerError: the file cannot be written.
    """
    reports = [page_of(store, study).report() for study in map(store.study, names or [store.newest().name])]
    require_folder(out)
    write_page(out, reports, interactive=interactive)
    return reports


def page_of(store: Store, study: Study) -> StudyPage:
    """The page of one study."""
    return StudyPage(study, figure_source(store, study), state(study, store))


def figure_source(store: Store, study: Study) -> FigureSource:
    """What a study has for its figures."""
    records, stored = store.records(study.name), rank_stored(store, study)
    probes = store.network.probes(study.name)
    taught = cache(lambda: _taught(store, study, records))
    best = store.get(study.name, stored.ranking[0].best_record_number) if stored.ranking else None
    disturbed = cache(lambda: [store.get(study.name, run.number) for run in most_disturbed(records, best)])
    if best is None:
        return FigureSource(study, records, None, None, taught, probes=probes, disturbed=disturbed)
    lanes = cache(lambda: lanes_for_page(store, study, best))
    summary = StudySummary.of(study, stored.ranking, None, stored.configurations, stored.fastest)
    predicted = prediction_of(study)
    first = store.get(study.name, predicted.trial) if predicted else best
    alike = {record.number for record in records if {**record.params, "N": None} == {**first.params, "N": None}}
    confirmed = _confirmed(store, first, alike)
    return FigureSource(study, records, best, summary, taught, predicted, confirmed, probes, disturbed, lanes, first)


def _confirmed(store: Store, best: TrialRecord, alike: Collection[int]) -> list[TrialRecord]:
    """Read the runs at a larger N of files that were launched like one of these trials of a configuration."""
    if best.hpl is None:
        return []
    names = [name for name, number in followers(store, best.study).items() if number in alike]
    found = [record for name in names for record in store.records(name)]
    expected = [(run, replace(best.hpl, N=run.hpl.N)) for run in found if run.ranked and run.hpl]
    return [run for run, same in expected if run.hpl == same and same.N > best.hpl.N]


def _taught(store: Store, study: Study, records: Sequence[TrialRecord]) -> TaughtStudy | None:
    """Teach the engine a study; None where nothing can be explained, as of a file that was only measured."""
    try:
        taught = taught_study(store, study, telling(study, records))
        _ = taught.explanation
    except (TunerError, SpaceError):  # a space of an older hpltune may no longer load
        return None
    return taught
