"""Runs one configuration in full again every so often during a search, the reference, and tells what that shows.

A search runs each configuration at a time of its own, so a change of the machine looks like a difference between
configurations. The reference is the first configuration that ran in full, so that no luck chose it, unless it is far
slower than others: then its runs would cost too much. Its runs are trials of a kind of their own: they count as trials
of `--trials` and as repeats of their configuration, and no engine hears of them, so that a search asks the same with
and without them.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from results.record import Kind, StudyNotes, TrialRecord
from results.stats.noise import Array
from results.stats.ranking import Ranked, rank
from results.stats.unfit import two_speeds

from ...units import duration
from ...words import counted
from ..machine_changes import FEWEST, change_sentences, drift, with_changes
from ..names import RANKED
from ..session import StudySession
from .trials import StudyTrials

EVERY = 10
"""Full runs of the search between two runs of the reference."""
SHARE = 0.1
"""Most of the budget that they may take, in trials and in time."""
FEWEST_TRIALS = 20
"""A search of fewer trials has none."""
FAST_ENOUGH = 0.5
"""The reference reaches so much of the best rate when it is chosen."""
_LOOKED_AT = (Kind.SEARCH, Kind.REFERENCE)


@dataclass(frozen=True)
class ReferenceRuns:
    """The runs of the reference of one search.

    Attributes:
        trials: runs them, on the only part of the nodes.
    """

    session: StudySession
    trials: StudyTrials[Any]

    def run_if_due(self) -> bool:
        """Run the reference where it is time and the budget allows it, and say whether it ran."""
        records = self.session.records(_LOOKED_AT)
        before = [record for record in records if record.kind is Kind.REFERENCE]
        last = max((record.number for record in before), default=0)
        if sum(record.number > last and _searched(record) for record in records) < EVERY:
            return False
        chosen = self._chosen(records)
        if chosen is None or not self._allowed(before, chosen.cost_s or 0.0):
            return False
        self.trials.trial(chosen.params, Kind.REFERENCE)
        return True

    def _chosen(self, records: Sequence[TrialRecord]) -> TrialRecord | None:
        """The first run of the reference: of the configuration that was it before, or of a new one."""
        runs = self.session.runnable([record for record in records if _searched(record)])
        key = next((record.key for record in records if record.kind is Kind.REFERENCE), None)
        known = next((record for record in runs if record.key == key), None)
        most = max((record.gflops or 0.0 for record in runs), default=0.0)
        return known or next((record for record in runs if (record.gflops or 0.0) >= FAST_ENOUGH * most), None)

    def _allowed(self, before: Sequence[TrialRecord], cost_s: float) -> bool:
        """Whether one more run of so many seconds stays within the reference's share of the budget."""
        budget = self.session.meter.budget
        if budget.trials is not None and not FEWEST_TRIALS <= budget.trials >= (len(before) + 1) / SHARE:
            return False
        spent_s = sum(record.cost_s or 0.0 for record in before)
        return budget.whole_s is None or spent_s + cost_s <= SHARE * budget.whole_s


def _searched(record: TrialRecord) -> bool:
    return record.kind is Kind.SEARCH and record.ranked


def tell_changes(session: StudySession) -> None:
    """Keep with a study, and say, what repeats tell of its machine: drift during the search, and two speeds."""
    records = session.records(RANKED)
    everything = records if session.blas is None else session.context.store.records(session.study, kinds=RANKED)
    apart = two_speeds([np.log(np.array(entry.repeats)) for entry in rank(everything) if entry.repeats])
    found = StudyNotes(machine_changes=changes_of(records), two_speeds_apart=apart)
    session.context.store.note(session.study, lambda notes: with_changes(notes, found))
    sentences = change_sentences(found)
    for trial, (count, _) in found.machine_changes.items():
        session.say(_what_ran(records, trial, count, session.meter.budget.whole_s, seen=bool(sentences)))
    for sentence in sentences:
        session.say(f"{sentence[:1].upper()}{sentence[1:]}.")


def changes_of(records: Sequence[TrialRecord]) -> dict[str, tuple[int, float]]:
    """What the reference tells of the machine, runs that were disturbed left out; nothing where none was repeated."""
    records = [record for record in records if record.disturbed is None]
    again = [record for record in records if record.kind is Kind.REFERENCE and record.ranked]
    if not again:
        return {}
    key, hosts = again[-1].key, _hosts(again[-1])
    runs = [record for record in records if record.key == key and record.ranked and _hosts(record) == hosts]
    runs = [record for record in runs if record.kind is not Kind.CONFIRMATION]
    times = [(record.started_at.timestamp(), record.gflops or 0.0) for record in runs]
    return {str(runs[0].number): (len(runs), drift(times, _confirmed(rank(records))))}


def _confirmed(entries: Sequence[Ranked]) -> list[Array]:
    """The logarithms of the rates of each configuration in the rounds of one confirmation."""
    found: dict[tuple[str, int], list[float]] = defaultdict(list)
    for entry in entries:
        for rate, time in zip(entry.gflops, entry.times, strict=True):
            if time.turn:
                found[entry.key, time.sitting].append(rate)
    return [np.log(np.array(rates)) for rates in found.values() if len(rates) > 1]


def _hosts(record: TrialRecord) -> tuple[str, ...]:
    return record.observed.hosts if record.observed else ()


def _what_ran(records: Sequence[TrialRecord], trial: str, count: int, whole_s: float | None, *, seen: bool) -> str:
    spent_s = sum(record.cost_s or 0.0 for record in records if record.kind is Kind.REFERENCE)
    part = f", {100 * spent_s / whole_s:.0f} % of the budget" if whole_s else ""
    why = "; no drift and no second speed of the machine was seen"
    if count < FEWEST:
        why = f"; it takes {counted(FEWEST, 'run')} of it to tell a drift"
    if seen:
        why = ""
    return (
        f"Reference: trial {trial} ran again {counted(count - 1, 'time')} during the search "
        f"({duration(spent_s)}{part}){why}."
    )
