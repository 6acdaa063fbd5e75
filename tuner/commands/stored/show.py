"""`hpltune show`: studies, their trials, and one trial in full."""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from results.record import Study, TrialRecord, TrialState
from results.report.model import Part, Report, Rows, Sentence
from results.stats.headline import HeadlineRates
from results.store.service.campaign_entry import LiveState
from results.store.store import Store
from results.store.study_list import Place, StudiesAsked, StudyExtent, Tally

from ...machine.equipment import MODULES
from ...reports.lists import (
    KILLED,
    NEWEST,
    Page,
    StudyLine,
    noted_sentences,
    studies_table,
    trial_json,
    trial_rows,
    trial_table,
    trials_table,
    varying_trials,
)
from ...reports.machine_did import machine_did_table
from ...reports.ranking import headline_rates
from ...reports.ranks_got import ranks_got, ranks_got_table
from ...settings.words import sentence
from ...study.names import is_shootout, made_by
from ...study.objective import rank_stored

UNSUCCESSFUL = (TrialState.FAILED, TrialState.CANCELLED)
STUDIES, TRIALS = 20, 100
"""Of a page, where the user does not say how many."""


@dataclass(frozen=True)
class StudiesResult:
    """Studies, oldest first.

    Attributes:
        place: the database.
        lines: those that were asked for.
        known: how many the database has.
        left_out: how many studies of another command than `tune` are not listed, by command.
        more: the line that says which others there are; None where all are listed.
        tag: that all of them have; None for whatever tags.
    """

    place: str
    lines: Sequence[StudyLine]
    known: int
    left_out: Mapping[str, int]
    more: str | None
    tag: str | None = None

    def report(self) -> Report:
        """Report a table of the studies, and which others there are."""
        facts: list[object] = [line.to_json() for line in self.lines]
        if not self.known:
            none = f"{self.place} holds no study yet: `hpltune tune` makes one."
            tagged = f"No study of {self.place} has the tag {self.tag}: `hpltune study tag` gives one to a study."
            return Report("Studies", (Sentence(none if self.tag is None else tagged),), facts)
        parts: list[Part] = [studies_table(self.lines)] if self.lines else []
        if self.more:
            parts.append(Sentence(self.more))
        if self.left_out:
            made = " and ".join(f"{number} of `hpltune {command}`" for command, number in sorted(self.left_out.items()))
            parts.append(Sentence(f"{'Also ' if self.lines else ''}{made}: ⟦all⟧ lists them too."))
        return Report("Studies", tuple(parts), facts)


def show_studies(
    store: Store, page: Page | None = NEWEST, *, everything: bool = False, tag: str | None = None
) -> StudiesResult:
    """List studies with their best.

    Args:
        page: None for all of them.
        everything: also those that another command than `tune` made, and no import.
        tag: only those that have it, of whatever command; None for all.
    """
    known, tallies = store.studies(), store.tallies()
    if tag is not None:
        known = [study for study in known if tag in study.notes.tags]
    every = everything or tag is not None
    listed = [study for study in known if every or made_by(study) is None]
    shown, more = listed, None
    if page is not None:
        count, before = page.window(STUDIES)
        last = len(listed) - before
        shown = listed[max(0, last - count) : max(0, last)]
        more = page.rest("Studies", len(shown), before, len(listed))
    others = Counter(filter(None, map(made_by, known)))
    counted = ((study, tallies.get(study.name, Tally())) for study in shown)
    lines = [StudyLine(study, state(study, store, tally), tally, rates_of(store, study)) for study, tally in counted]
    return StudiesResult(str(store.place), lines, len(known), {} if every else others, more, tag)


def rates_of(store: Store, study: Study) -> HeadlineRates | None:
    """What is told of the rates of a study; None where no run counts."""
    return headline_rates(study, rank_stored(store, study))


def state(study: Study, store: Store, tally: Tally | None = None) -> LiveState:
    """How a study stands; one that says it runs, though nobody works on it, was killed, and one may have failed.

    Args:
        tally: of its trials, where it is known already.
    """
    if study.state == "running":
        return study.state if store.others(study.name) else KILLED
    return "failed" if (tally or store.tallies(study.name).get(study.name, Tally())).all_failed else study.state


def show_trials(store: Store, name: str, *, failed: bool = False, page: Page = NEWEST, whole: bool = False) -> Report:
    """List trials of a study in the order they were run, by default the last of them, and what else is known of it.

    The facts are of all trials, page or not, and are read one after the other while the store is open.

    Args:
        failed: only those that failed or were cancelled.
        whole: with all columns.

    Raises:
        ResultsError: there is no such study.
    """
    from ...reports.figures.runs import growth_of_study  # noqa: PLC0415 - only the list of trials draws

    states = UNSUCCESSFUL if failed else None
    study, killed = store.study(name), frozenset(store.left_behind(name, frozenset()))
    how = f", {study.how}" if study.simulated else ""
    title = f"Study {name} ({state(study, store)}{how}), space {study.space_name}, engine {study.engine}"
    rows = Rows(lambda: trial_rows(store.each_flat(name)[1], killed, states))
    known = store.count(name, states)
    if failed and not known:
        return Report(title, (Sentence(f"No trial of study {name} failed or was cancelled."),), rows)
    count, before = page.window(TRIALS)
    records = store.newest_records(name, count, before, states)
    drawn = len(records) == known and not failed and not is_shootout(study)
    grown = growth_of_study(study, records) if drawn else None
    modules = [f"Modules: {loaded}."] if (loaded := study.host.get(MODULES)) else []
    noted = map(Sentence, [*noted_sentences(study), *modules])
    more = page.rest("Trials", min(count, max(0, known - before)), before, known)
    below = map(Sentence, [*([more] if more else []), *map(sentence, store.network.probes(name))])
    short = bool(records) and not (whole or failed)
    told = varying_trials(records, killed) if short else [trials_table(title, records, killed)]
    head = [Sentence(title)] if short else []
    return Report(title, (*head, *noted, *told, *([grown] if grown else []), *below), rows)


@dataclass(frozen=True)
class TrialResult:
    """One trial.

    Attributes:
        killed: numbers of the study's trials that nobody works on any more.
        others: trials of the same launch.
        with_output: as asked.
    """

    study: Study
    record: TrialRecord
    killed: Collection[int]
    others: Sequence[int]
    with_output: bool = False

    @property
    def output(self) -> str:
        """What HPL printed, or what was said on standard error where it printed nothing."""
        return self.record.output or self.record.errors_text

    def report(self) -> Report:
        """Report its configuration, its figures, what really ran, and where its files are."""
        table = trial_table(self.study, self.record, self.killed, self.others)
        more = (machine_did_table(self.record), ranks_got_table(self.record))
        facts = {**trial_json(self.record, self.killed), "hpl_dat": self.record.hpl_dat}
        facts["reached"] = ranks_got(self.record)
        parts = (table, *(part for part in more if part is not None))
        return Report(table.title, parts, {**facts, "output": self.output} if self.with_output else facts)

    def page(self, store: Store) -> Report:
        """The page of the trial, beside the best of its study, for which all its configurations are ranked."""
        from ...reports.trial_page import TrialReport  # noqa: PLC0415 - only a page draws
        from .timeline import lanes_for_page  # noqa: PLC0415

        ranking = rank_stored(store, self.study).ranking
        best = store.get(self.study.name, ranking[0].best_record_number) if ranking else None
        lanes = lanes_for_page(store, self.study, self.record)
        return TrialReport(self.study, self.record, self.killed, self.others, best, lanes).report()


def show_trial(store: Store, study: str, number: int, *, output: bool = False) -> TrialResult:
    """Show one trial in full.

    Args:
        output: its facts have HPL's output too.

    Raises:
        ResultsError: there is no such study or trial.
    """
    record = store.get(study, number)
    killed = store.left_behind(study, frozenset())
    others = store.of_the_launch(record)
    return TrialResult(store.study(study), record, killed, others, output)


LineOf = Callable[[Study, StudyExtent], StudyLine]
"""What a list says of a study, from it and how far it has come."""


@dataclass(frozen=True)
class CampaignsResult:
    """Studies, newest first.

    Attributes:
        older: the place of the last one, where there are older ones.
    """

    lines: Sequence[StudyLine]
    older: Place | None


def list_campaigns(store: Store, line_of: LineOf, count: int, asked: StudiesAsked) -> CampaignsResult:
    """List studies of every command with their best; only those of this page are looked at in detail.

    Args:
        count: how many at most.
        asked: what they must fulfil.
    """
    found = list(islice(_asked(store, count + 1, asked), count + 1))
    shown = found[:count]
    lines = [line_of(study, extent) for study, extent in shown]
    last_shown = shown[-1][0] if shown else None
    older = (last_shown.created_at, last_shown.name) if last_shown and len(found) > len(shown) else None
    return CampaignsResult(lines, older)


def _asked(store: Store, most: int, asked: StudiesAsked) -> Iterator[tuple[Study, StudyExtent]]:
    """Yield what is asked for; of the stored states only "running" may mean another one."""
    stands = asked.stands
    for study, extent in store.lists.newest_first(asked, most):
        if stands not in {"running", KILLED} or store.outbox.state(study.name) == stands:
            yield study, extent
