"""Runs of repeated configurations over time: noise is their height, drift a common rise or fall."""

from collections.abc import Sequence
from statistics import median

from results.record import TrialRecord
from results.report.model import Figure, Series

from ...words import counted
from ..story import full_runs

MOST = 6
"""Configurations that are drawn: those with the most runs."""


def repeats(records: Sequence[TrialRecord]) -> Figure | None:
    """Draw how far each repeated run was from the median of its configuration; None where none was repeated."""
    groups: dict[str, list[TrialRecord]] = {}
    for record in full_runs(records):
        groups.setdefault(record.key, []).append(record)
    repeated = sorted((runs for runs in groups.values() if len(runs) > 1), key=len, reverse=True)[:MOST]
    if not repeated:
        return None
    total = sum(map(len, repeated))
    began = min(record.started_at for record in records)
    series = []
    for runs in repeated:
        middle = median(run.gflops or 0.0 for run in runs)
        minutes = tuple((run.started_at - began).total_seconds() / 60 for run in runs)
        percent = tuple(100 * ((run.gflops or 0.0) / middle - 1) for run in runs)
        hollow = tuple(run.disturbed is not None for run in runs)
        series.append(Series(f"trial {runs[0].number} and its repeats", minutes, percent, hollow=hollow))
    title, across, up = "Repeated runs", "minutes since the study began", "% above or below their median"
    caption = f"Each point is a run; the configurations with the most runs, {counted(total, 'run')} in all."
    return Figure(title, across, up, tuple(series), caption=caption)
