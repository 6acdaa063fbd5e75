"""The live page of one campaign: its parts as HTML, made anew only where something has changed."""

import threading
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from hpl.params import Scalar
from results.metrics import rate_text
from results.record import Study, TrialRecord, TrialState
from results.report.html import parts_html
from results.report.model import Beside, Card, Figure, Part, Series
from results.stats.headline import HeadlineRates
from results.stats.intervals import half_95
from results.store.service.campaign_entry import GOES_ON, CampaignEntry, LiveState, QueueState
from results.store.store import Store

from ....budget import Budget
from ....messages.plain_paths import without_paths
from ....reports.answer_card import answer_card, failure_card
from ....reports.configurations import configuration_table, trials_by_value, varying_names
from ....reports.context import folded_cautions
from ....reports.figures.runs import runs_figure
from ....reports.lists import configuration
from ....reports.ranking import headline_rates
from ....reports.summary import StudySummary
from ....reports.trial_page import why
from ....study.cautions import cautions_of
from ....study.objective import StudyRanking, rank_stored
from ....units import duration
from ....words import all_with_options, counted
from ...campaigns.logs import last_lines
from ...live.running_runs import RunningRuns
from ..frames import links_of, trial_address
from ..queue import Buttons, Starts, begun_sentences, buttons_of
from ..rendering import rendered
from .digest import CampaignTotals
from .explanations import Explanations, ModelBelief, measured_here

NEWEST_TRIALS, MOST_RUNNING = 100, 8
"""Of the list of trials, and of running trials: rows that are shown; the list has as many of the fastest, too."""
FRESH_S = 0.5
"""Seconds for which what was read last is shown again, if nothing was written since or the page looks again soon."""
CLOCK_S = 5
"""Seconds after which words about time are said anew."""

STATES: Mapping[LiveState, str] = {
    "queued": "It waits for its turn.",
    "running": "It runs.",
    "paused": "It is paused.",
    "complete": "It is complete.",
    "interrupted": "It was interrupted: `hpltune tune ⟦resume⟧` goes on with it.",
    "killed": "It was killed: `hpltune tune ⟦resume⟧` goes on with it.",
    "failed": "It failed.",
    "cancelled": "It was cancelled.",
    "removed": "It was removed.",
}
ALL_FAILED = "It failed: no trial succeeded."
MOST_DIFFERENCES = 6
"""Parameters of a running trial that are compared with those of the best."""

TELLS = frozenset({QueueState.RUNNING, QueueState.FAILED})
"""Campaigns whose log is shown."""
LOG_LINES, LONGEST_LINE = 15, 300
"""Lines of a log that are shown, and characters of each."""
AT_WORK = frozenset({QueueState.QUEUED, QueueState.RUNNING})
"""Campaigns that change without anybody's doing."""


@dataclass(frozen=True)
class PageParts:
    """The parts of a page.

    Attributes:
        html: by name; none is empty, for a browser leaves a part as it was that is sent empty.
        marks: hashes of them, by name; no two parts have the same.
        goes_on: something of them may change: somebody can go on with all but a complete campaign.
    """

    study: Study
    state: LiveState
    html: Mapping[str, str]
    marks: Mapping[str, str]
    goes_on: bool


@dataclass
class CampaignAnswer:
    """What is known of the best of one campaign, and its trials that are shown."""

    store: Store
    name: str
    _ended: dict[int, TrialRecord] = field(default_factory=dict, init=False)
    _ranking: tuple[int, StudyRanking] | None = field(default=None, init=False)
    _summary: StudySummary | None = field(default=None, init=False)

    def ranked(self, study: Study, full_runs: int) -> StudyRanking:
        """Rank the configurations, anew where a run has ended since.

        Args:
            full_runs: how many there are now.
        """
        if self._ranking is None or self._ranking[0] != full_runs:
            self._ranking = (full_runs, rank_stored(self.store, study))
            self._summary = None
        return self._ranking[1]

    def summary(self, study: Study, full_runs: int) -> StudySummary | None:
        """What the study found; None while no run counts."""
        found = self.ranked(study, full_runs)
        if self._summary is None and found.ranking:
            self._summary = StudySummary.of(study, found.ranking, None, found.configurations, found.fastest)
        return self._summary

    def records(self, numbers: Collection[int]) -> dict[int, TrialRecord]:
        """Read trials; one that has ended is read once."""
        known = {number: record for number, record in self._ended.items() if number in numbers}
        missing = [number for number in numbers if number not in known]
        known |= {one.number: one for one in (self.store.lists.of_numbers(self.name, missing) if missing else ())}
        self._ended = {number: one for number, one in known.items() if one.state is not TrialState.RUNNING}
        return known


class LivePage:
    """What is known of one campaign, for all who look at it.

    Args:
        starts: tells whether this service can start a campaign.
        log: where the process of the campaign writes what it says; None where no service starts campaigns.
    """

    def __init__(
        self,
        store: Store,
        runs: Path,
        name: str,
        explanations: Explanations,
        starts: Starts = lambda _: True,
        log: Path | None = None,
    ) -> None:
        self._log = log
        self._starts = starts
        self._store = store
        self._name = name
        self._explanations = explanations
        self._runs = RunningRuns(runs, name)
        self._digest = CampaignTotals()
        self._lock = threading.Lock()
        self._shown: PageParts | None = None
        self._key: object = None
        self._answer = CampaignAnswer(store, name)
        self._read_at = "", 0.0

    def parts(self, *, looks_again: bool = False) -> PageParts:
        """Read what is new, and make the parts of the page.

        Args:
            looks_again: whoever asks does so again in a moment, so that it may miss what was written just now.

        Raises:
            UnknownStudyError: there is no such campaign.
        """
        with self._lock:
            version = self._store.lists.version()
            if self._shown is None or not self._is_fresh(self._shown, version, looks_again=looks_again):
                self._shown = self._read(self._shown)
                self._read_at = version, time.monotonic()
            return self._shown

    def _is_fresh(self, shown: PageParts, version: str, *, looks_again: bool) -> bool:
        """Whether nothing can have changed, or it was looked a moment ago."""
        read, read_s = self._read_at
        same = version == read
        if not shown.goes_on:
            return same
        return time.monotonic() - read_s < FRESH_S and (same or looks_again)

    def _read(self, shown: PageParts | None) -> PageParts:
        study = self._store.study(self._name)
        news = self._digest.read(self._store.lists, self._name)
        state = self._store.outbox.state(self._name)
        entry = self._store.queue.find(self._name)
        queued = self._of_queue(entry)
        disturbed = self._ask(state)
        self._runs.look(self._digest.running if state == "running" else ())
        belief = self._explanations.of(self._name)
        tick = time.monotonic() // CLOCK_S if state == "running" else 0
        key = (
            state,
            study.state,
            (study.notes.note, study.notes.tags),
            belief,
            disturbed,
            self._explanations.is_asked(self._name),
            self._runs.now,
            tick,
            queued,
        )
        log = rendered("campaign/log.html.j2", lines=self._said(entry))
        if shown is not None and not news and key == self._key:
            said = part("log", log)
            if shown.html["log"] == said:
                return shown
            return replace(shown, html={**shown.html, "log": said}, marks={**shown.marks, "log": _mark(said)})
        self._key = key
        made = {**self._made(study, state, belief, disturbed), **queued, "log": log}
        html = {name: part(name, text) for name, text in made.items()}
        marks = {name: _mark(text) for name, text in html.items()}
        at_work = entry is not None and entry.state in AT_WORK  # its study ends a moment before it
        goes_on = state != "complete" or at_work or self._explanations.is_asked(self._name)
        return PageParts(study, state, html, marks, goes_on)

    def _of_queue(self, entry: CampaignEntry | None) -> dict[str, str]:
        """What is only there for a campaign that was handed in."""
        said = [] if entry is None else begun_sentences(self._store, entry, self._starts)
        buttons = Buttons() if entry is None else buttons_of(entry)
        return {
            "queue": rendered("campaign/queue.html.j2", said=said),
            "buttons": rendered("queue/buttons.html.j2", buttons=buttons),
        }

    def _said(self, entry: CampaignEntry | None) -> Sequence[str]:
        """What the process of a campaign said last, while it runs and where it failed."""
        if self._log is None or entry is None or entry.state not in TELLS:
            return ()
        return [without_paths(line[:LONGEST_LINE]) for line in last_lines(self._log, LOG_LINES)]

    def _ask(self, state: LiveState) -> str | None:
        """Ask the model, unless that would take time from a run; the name of the campaign whose run that is."""
        disturbed = measured_here(self._store)
        if disturbed is None and self._digest.ended:
            ask = self._explanations.ask if state in GOES_ON else self._explanations.ask_at_end
            ask(self._name, self._digest.ended)
        return disturbed

    def _made(
        self, study: Study, state: LiveState, belief: ModelBelief | None, disturbed: str | None
    ) -> dict[str, str]:
        digest, summary = self._digest, self._answer.summary(study, self._digest.full)
        rates = headline_rates(study, self._answer.ranked(study, digest.full))
        textbook = summary.predicted.textbook if summary and summary.predicted else None
        ends = [rates.trial] if rates else []
        ends += [textbook.trial] if textbook else []
        listed = digest.listed(NEWEST_TRIALS)
        points = digest.points
        running = sorted(digest.running)[:MOST_RUNNING] if state == "running" else []
        known = self._answer.records({*listed, *points, *ends, *running})
        best = known.get(rates.trial) if rates else None
        full = [known[number] for number in sorted(points) if number in known]
        against = known.get(textbook.trial) if textbook else None
        newest = known.get(digest.begun)
        left, _ = time_left(study, digest, datetime.now(UTC), newest.session if newest else 0)
        trials = [known[number] for number in listed if number in known]
        if state not in GOES_ON:
            trials.sort(key=lambda one: (one.number in points, one.gflops or 0.0), reverse=True)
        killed = frozenset(digest.running) if state == "killed" else frozenset()
        links = [self._address_of(record) for record in trials]
        all_failed = digest.all_failed and state == "failed"
        values: dict[str, dict[str, object]] = {
            "headline": {
                "text": ALL_FAILED if all_failed else headline(state, rates),
                "state": state,
                "digest": digest,
                "study": study,
                "machine_time": duration(digest.machine_s),
            },
            "links": {"links": links_of(study.name, best)},
            "running": {
                "trials": [self._running(study, known[one], best, belief) for one in running if one in known],
                "hidden": len(digest.running) - len(running) if running else 0,
                "state": state,
                "left": left if state == "running" else None,
            },
            "trials": {
                "table": trials_by_value(trials, best, links, killed) if trials else None,
                "more": digest.begun - len(trials),
            },
            "model": {
                "belief": belief,
                "half_95": half_95,
                "asked": self._explanations.is_asked(self._name),
                "disturbed": disturbed,
                "ended": digest.ended,
            },
        }
        found: list[Part] = []
        if best and (drawn := runs_figure(study, full, self._address_of, points, digest.full)):
            varying = varying_names(full)
            beside = configuration_table(best, _textbook(against, belief), belief.percents if belief else {}, varying)
            found = [Beside((drawn, beside))]
        return {
            **{name: rendered(f"campaign/{name}.html.j2", **values[name]) for name in values},
            "answer": parts_html(self._card(study, state, summary, trials)),
            "cautions": parts_html(folded_cautions([without_paths(caution) for caution in cautions_of(study)])),
            "found": parts_html(found, drawn=False),
        }

    def _address_of(self, record: TrialRecord) -> str:
        return trial_address(self._name, record.number)

    def _card(
        self, study: Study, state: LiveState, summary: StudySummary | None, trials: Sequence[TrialRecord]
    ) -> list[Card]:
        """The answer at a glance, whose next step is a button of the page; none while there is none."""
        if summary is not None:
            return [replace(all_with_options(answer_card(summary, state)), following="")]
        failed = [replace(one, reason=without_paths(one.reason)) for one in trials if one.reason]
        return [failure_card(study, failed, self._digest.failed)] if failed and self._digest.all_failed else []

    def _running(
        self, study: Study, record: TrialRecord, best: TrialRecord | None, belief: ModelBelief | None
    ) -> dict[str, object]:
        """What is shown of a running trial."""
        run = next((one for one in self._runs.now if one.number == record.number), None)
        drawn = panels(run.points, record.number) if run else None
        return {
            "number": record.number,
            "configuration": configuration(record),
            "why": why(study, record, best),
            "differences": differences(record, best, belief),
            "percent": None if run is None else round(100 * run.panel.fraction),
            "rate": rate_text(run.gflops) if run and run.gflops else None,
            "left": duration(run.left_s) if run and run.left_s is not None else None,
            "panels": parts_html([drawn], record.number, drawn=False) if drawn else "",
        }


def _mark(html: str) -> str:
    return sha256(html.encode()).hexdigest()[:8]


def part(name: str, html: str) -> str:
    """A part as browsers take it: never empty, for they leave one as it was that is sent empty."""
    return f'<div id="part-{name}">{html}</div>'


def _textbook(run: TrialRecord | None, belief: ModelBelief | None) -> Mapping[str, Scalar]:
    """The configuration of the textbook, as it ran or as the model has it; nothing where it is not known."""
    return run.params if run else belief.textbook if belief else {}


def panels(points: Sequence[tuple[float, float]], number: int) -> Figure | None:
    """Draw the rate of a running trial over its operations; None before there are two points."""
    if len(points) < 2:
        return None
    done, rates = zip(*((100 * part, rate) for part, rate in points), strict=True)
    line = Series(f"trial {number}", done, rates, line=True, bare=True)
    return Figure(f"Rate of the panels of trial {number}", "% of its operations", "GFLOPS", (line,))


def headline(state: LiveState, rates: HeadlineRates | None) -> str:
    """Say what a screen reader tells by itself: how the campaign stands, its fastest run, and what is expected."""
    if rates is None:
        return f"{STATES[state]} No full run counts yet."
    goes_on = state in GOES_ON
    what = "Fastest full run so far" if goes_on else "Fastest full run"
    called = "" if goes_on else f" ({rates.called})"
    said = f"{STATES[state]} {what}: {rates.fastest_text} GFLOPS{called}, in trial {rates.fastest_trial}."
    expected = rates.expected_text()
    return f"{said} Expected of one more run of no. 1: {expected} GFLOPS." if expected else said


def time_left(study: Study, digest: CampaignTotals, now: datetime, session: int) -> tuple[str | None, float | None]:
    """Say what is left of the budget, also in seconds until its first limit; None where nothing limits or tells it.

    Args:
        session: number of the session, from 0; the time of earlier ones is not known here.
    """
    asked = study.options.get("budget")
    budget = Budget(**asked) if isinstance(asked, dict) else Budget()
    parts, left_s = [], list[float]()
    if budget.trials is not None:
        trials = max(0, budget.trials - digest.counted)
        parts.append(
            f"{min(digest.counted, budget.trials)} of {counted(budget.trials, 'trial')} of its budget are done"
        )
        left_s += [trials * digest.machine_s / digest.ended] if digest.ended else []
    if budget.run_s is not None:
        left_s.append(budget.run_s - digest.machine_s)
    if budget.wall_s is not None and study.simulated:
        left_s.append(budget.wall_s - digest.machine_s)
    elif budget.wall_s is not None and session == 0:
        left_s.append(budget.wall_s - (now - study.created_at).total_seconds())
    if left_s:
        virtual = " of its table's time" if study.replayed else " of its virtual time" if study.simulated else ""
        parts.append(
            f"about {duration(max(0.0, min(left_s)))}{virtual} are left" if min(left_s) > 0 else "its time is up"
        )
    text = ", ".join(parts)
    return f"{text[:1].upper()}{text[1:]}." if text else None, min(left_s, default=None)


def differences(record: TrialRecord, best: TrialRecord | None, belief: ModelBelief | None) -> list[str]:
    """Say in which parameters a trial differs from the best, and what the model believes of its values."""
    if best is None or best.key == record.key:
        return []
    names = [name for name, value in record.params.items() if best.params.get(name) != value and name != "threshold"]
    said = [
        f"{name} {record.params[name]} instead of {best.params.get(name, 'none')}"
        f"{_believed(belief, name, record.params[name])}"
        for name in names[:MOST_DIFFERENCES]
    ]
    more = len(names) - len(said)
    return [*said, *([f"and {more} more"] if more > 0 else [])]


def _believed(belief: ModelBelief | None, name: str, value: object) -> str:
    found: Mapping[str, Any] | None = belief.of_value(name, value) if belief else None
    if found is None:
        return ""
    tried = "" if found["runs"] else ", not run yet"
    return f" (the model: {found['percent']:+.1f} ± {found['sd']:.1f} %{tried})"
