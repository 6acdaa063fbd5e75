"""`hpltune show`: studies, their trials, and one trial in full."""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from results.record import Study, TrialRecord, TrialState
from results.report.model import Part, Report, Rows, Sentence
from results.stats.headline import HeadlineRates
from results.store.networks import NetworkProbe
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
from ...reports.story import convergence
from ...settings.words import sentence
from ...study.names import is_shootout, made_by
from ...study.objective import rank_stored

UNSUCCESSFUL = (TrialState.FAILED, TrialState.CANCELLED)
STUDIES, TRIALS = 20, 100
"""Of a page, where the user does not say how many."""


@dataclass(frozen=True)
class StudiesRequest:
    """Which studies to list.

    Attributes:
        page: None for all of them.
        everything: also those that another command than `tune` made, and no import.
        tag: only those that have it, of whatever command; None for all.
    """

    page: Page | None = NEWEST
    everything: bool = False
    tag: str | None = None


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


def show_studies(store: Store, request: StudiesRequest) -> StudiesResult:
    """List studies with their best."""
    known, tallies = store.studies(), store.tallies()
    if request.tag is not None:
        known = [study for study in known if request.tag in study.notes.tags]
    every = request.everything or request.tag is not None
    listed = [study for study in known if every or made_by(study) is None]
    shown, more = listed, None
    if request.page is not None:
        count, before = request.page.window(STUDIES)
        last = len(listed) - before
        shown = listed[max(0, last - count) : max(0, last)]
        more = request.page.rest("Studies", len(shown), before, len(listed))
    others = Counter(filter(None, map(made_by, known)))
    counted = ((study, tallies.get(study.name, Tally())) for study in shown)
    lines = [StudyLine(study, state(study, store, tally), tally, rates_of(store, study)) for study, tally in counted]
    return StudiesResult(str(store.place), lines, len(known), {} if every else others, more, request.tag)


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


@dataclass(frozen=True)
class TrialsRequest:
    """Which trials to list.

    Attributes:
        failed: only those that failed or were cancelled.
        whole: with all columns.
    """

    study: str
    failed: bool = False
    page: Page = NEWEST
    whole: bool = False


@dataclass(frozen=True)
class TrialsResult:
    """Trials of a study in the order they were run.

    Attributes:
        state: how the study stands.
        asked: which trials, and how much of each.
        whole: how many were asked for.
        records: a page of them.
        killed: numbers of those that nobody works on any more.
        more: the line that says which others there are; None where all are listed.
        probes: of the network.
        rows: the facts of all, page or not, read one after the other while the store is open.
    """

    study: Study
    state: str
    asked: TrialsRequest
    whole: int
    records: Sequence[TrialRecord]
    killed: Collection[int]
    more: str | None
    probes: Sequence[NetworkProbe]
    rows: Rows = field(compare=False)

    def report(self) -> Report:
        """Report a table of the trials, which others there are, and what was measured of the network."""
        study = self.study
        how = f", {study.how}" if study.simulated else ""
        title = f"Study {study.name} ({self.state}{how}), space {study.space_name}, engine {study.engine}"
        if self.asked.failed and not self.whole:
            none = f"No trial of study {study.name} failed or was cancelled."
            return Report(title, (Sentence(none),), self.rows)
        more = [self.more] if self.more else []
        below = [*more, *map(sentence, self.probes)]
        short = not (self.asked.whole or self.asked.failed)
        told = varying_trials(self.records, self.killed) if short else [trials_table(title, self.records, self.killed)]
        drawn = len(self.records) == self.whole and not self.asked.failed and not is_shootout(self.study)
        grown = convergence(self.records) if drawn else None
        modules = [f"Modules: {loaded}."] if (loaded := study.host.get(MODULES)) else []
        noted = map(Sentence, [*noted_sentences(study), *modules])
        head = [Sentence(title)] if short else []
        return Report(title, (*head, *noted, *told, *([grown] if grown else []), *map(Sentence, below)), self.rows)


def show_trials(store: Store, request: TrialsRequest) -> TrialsResult:
    """List trials of a study, by default the last of them.

    Raises:
        ResultsError: there is no such study.
    """
    name, states = request.study, UNSUCCESSFUL if request.failed else None
    study, killed = store.study(name), frozenset(store.left_behind(name, frozenset()))
    whole = store.count(name, states)
    count, before = request.page.window(TRIALS)
    return TrialsResult(
        study=study,
        state=state(study, store),
        asked=request,
        whole=whole,
        records=store.newest_records(name, count, before, states),
        killed=killed,
        more=request.page.rest("Trials", min(count, max(0, whole - before)), before, whole),
        probes=store.network.probes(name),
        rows=Rows(lambda: trial_rows(store.each_flat(name)[1], killed, states)),
    )


@dataclass(frozen=True)
class TrialRequest:
    """Which trial to show.

    Attributes:
        output: its facts have HPL's output too.
    """

    study: str
    number: int
    output: bool = False


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


def show_trial(store: Store, request: TrialRequest) -> TrialResult:
    """Show one trial in full.

    Raises:
        ResultsError: there is no such study or trial.
    """
    record = store.get(request.study, request.number)
    killed = store.left_behind(request.study, frozenset())
    others = store.of_the_launch(record)
    return TrialResult(store.study(request.study), record, killed, others, request.output)


LineOf = Callable[[Study, StudyExtent], StudyLine]
"""What a list says of a study, from it and how far it has come."""


@dataclass(frozen=True)
class CampaignsRequest:
    """Which studies to list, newest first.

    Attributes:
        count: how many at most.
        asked: what they must fulfil.
    """

    count: int
    asked: StudiesAsked = field(default_factory=StudiesAsked)


@dataclass(frozen=True)
class CampaignsResult:
    """Studies, newest first.

    Attributes:
        older: the place of the last one, where there are older ones.
    """

    lines: Sequence[StudyLine]
    older: Place | None


def list_campaigns(store: Store, request: CampaignsRequest, line_of: LineOf) -> CampaignsResult:
    """List studies of every command with their best; only those of this page are looked at in detail."""
    found = list(islice(_asked(store, request), request.count + 1))
    shown = found[: request.count]
    lines = [line_of(study, extent) for study, extent in shown]
    last_shown = shown[-1][0] if shown else None
    older = (last_shown.created_at, last_shown.name) if last_shown and len(found) > len(shown) else None
    return CampaignsResult(lines, older)


def _asked(store: Store, request: CampaignsRequest) -> Iterator[tuple[Study, StudyExtent]]:
    """Yield what a request asks for; of the stored states only "running" may mean another one."""
    stands = request.asked.stands
    for study, extent in store.lists.newest_first(request.asked, request.count + 1):
        if stands not in {"running", KILLED} or store.outbox.state(study.name) == stands:
            yield study, extent
