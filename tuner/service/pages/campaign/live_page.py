"""The live page of one campaign: its parts as HTML, made anew only where something has changed."""

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

from results.metrics import rate_text
from results.record import Study, TrialRecord
from results.stats.ranking import hosts_of
from results.store.store import Store

from ....machine.equipment import Equipment
from ....messages.live import LiveState
from ....reports.ranking import figures
from ....reports.story import story_table
from ....reports.trials import configuration, trials_table
from ....study.objective import UNITS
from ....units import duration
from ...live.campaign_story import CampaignStory
from ...live.position import GOES_ON
from ...live.running_runs import RunningRuns
from ..filled import rendered
from ..queue.actions import Buttons, buttons_of
from ..queue.standing import begun_sentences
from .beliefs import Beliefs, ModelBelief, measured_here
from .curves import best_curve, panel_curve
from .digest import Digest
from .heat import heat_map
from .words import differences, headline, time_left, why

NEWEST_TRIALS, STORY_ROWS, MOST_RUNNING = 20, 30, 8
"""Of the list of trials, of the table in the Kronos form, and of running trials: rows that are shown."""
FRESH_S = 0.5
"""Seconds for which what was read last is shown again, if nothing was written since or the page looks again soon."""
CLOCK_S = 5
"""Seconds after which words about time are said anew."""


@dataclass(frozen=True)
class PageParts:
    """The parts of a page.

    Attributes:
        html: by name.
        marks: hashes of them, by name.
        goes_on: something of them will change by itself.
    """

    study: Study
    state: LiveState
    html: Mapping[str, str]
    marks: Mapping[str, str]
    goes_on: bool


class LivePage:
    """What is known of one campaign, for all who look at it."""

    def __init__(self, store: Store, runs: Path, name: str, beliefs: Beliefs) -> None:
        self._store = store
        self._name = name
        self._beliefs = beliefs
        self._story = CampaignStory(store, runs, name)
        self._runs = RunningRuns(runs, name)
        self._digest = Digest()
        self._lock = threading.Lock()
        self._shown: PageParts | None = None
        self._key: object = None
        self._read_s = 0.0
        self._version = ""

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
                self._version, self._read_s = version, time.monotonic()
            return self._shown

    def _is_fresh(self, shown: PageParts, version: str, *, looks_again: bool) -> bool:
        """Whether nothing can have changed, or it was looked a moment ago."""
        same = version == self._version
        if not shown.goes_on:
            return same
        return time.monotonic() - self._read_s < FRESH_S and (same or looks_again)

    def _read(self, shown: PageParts | None) -> PageParts:
        study = self._store.study(self._name)
        news = self._digest.read(self._store.watched, self._name)
        state = self._story.state(study.state)
        queued = self._of_queue()
        disturbed = self._ask(state)
        self._runs.look(self._digest.running if state == "running" else ())
        belief = self._beliefs.of(self._name)
        tick = time.monotonic() // CLOCK_S if state == "running" else 0
        key = (state, study.state, belief, disturbed, self._beliefs.is_asked(self._name), self._runs.now, tick, queued)
        if shown is not None and not news and key == self._key:
            return shown
        self._key = key
        html = {**self._made(study, state, belief, disturbed), **queued}
        marks = {name: sha256(text.encode()).hexdigest()[:8] for name, text in html.items()}
        return PageParts(study, state, html, marks, state in GOES_ON or self._beliefs.is_asked(self._name))

    def _of_queue(self) -> dict[str, str]:
        """What is only there for a campaign that was handed in."""
        entry = self._store.queue.find(self._name)
        said = [] if entry is None else begun_sentences(self._store, entry)
        buttons = Buttons() if entry is None else buttons_of(entry)
        return {
            "queue": rendered("campaign/queue.html.j2", said=said),
            "buttons": rendered("queue/buttons.html.j2", buttons=buttons),
        }

    def _ask(self, state: LiveState) -> str | None:
        """Ask the model, unless that would take time from a run; the name of the campaign whose run that is."""
        disturbed = measured_here(self._store)
        if disturbed is None and self._digest.ended:
            ask = self._beliefs.ask if state in GOES_ON else self._beliefs.ask_at_end
            ask(self._name, self._digest.ended)
        return disturbed

    def _made(
        self, study: Study, state: LiveState, belief: ModelBelief | None, disturbed: str | None
    ) -> dict[str, str]:
        digest, watched = self._digest, self._store.watched
        steps = digest.improvements[-STORY_ROWS:]
        running = sorted(digest.running)[:MOST_RUNNING] if state == "running" else []
        known = {one.number: one for one in watched.of_numbers(self._name, [*running, *(one.number for one in steps)])}
        best = known.get(steps[-1].number) if steps else None
        newest = self._store.newest_records(self._name, NEWEST_TRIALS)[::-1]
        left = time_left(study, digest, datetime.now(UTC), newest[0].session if newest else 0)
        killed = frozenset(digest.running) if state == "killed" else frozenset()
        told = story_table(study, [known[one.number] for one in steps if one.number in known])
        values: dict[str, dict[str, object]] = {
            "headline": {"text": headline(state, digest)},
            "standing": {
                "left": left if state == "running" else None,
                "digest": digest,
                "study": study,
                "machine_time": duration(digest.machine_s),
            },
            "running": {
                "trials": [self._running(study, known[one], best, belief) for one in running if one in known],
                "hidden": len(digest.running) - len(running) if running else 0,
                "state": state,
            },
            "best": {"best": best, "figures": _figures(study, best), "curve": best_curve(digest)},
            "model": {
                "belief": belief,
                "asked": self._beliefs.is_asked(self._name),
                "disturbed": disturbed,
                "ended": digest.ended,
                "engine": study.engine,
            },
            "heat": {"map": heat_map(digest)},
            "trials": {"table": trials_table("", newest, killed), "more": digest.begun - len(newest)},
            "story": {"table": told if told.rows else None, "more": len(digest.improvements) - len(steps)},
        }
        return {name: rendered(f"campaign/{name}.html.j2", **values[name]) for name in values}

    def _running(
        self, study: Study, record: TrialRecord, best: TrialRecord | None, belief: ModelBelief | None
    ) -> dict[str, object]:
        """What is shown of a running trial."""
        run = next((one for one in self._runs.now if one.number == record.number), None)
        return {
            "number": record.number,
            "configuration": configuration(record),
            "why": why(study, record, best),
            "differences": differences(record, best, belief),
            "percent": None if run is None else round(100 * run.panel.fraction),
            "rate": rate_text(run.gflops) if run and run.gflops else None,
            "left": duration(run.left_s) if run and run.left_s is not None else None,
            "curve": panel_curve(run.points, record.number) if run else None,
        }


def _figures(study: Study, best: TrialRecord | None) -> Sequence[tuple[str, str]]:
    """The figures of merit of the best, with their units."""
    if best is None or best.gflops is None:
        return ()
    merits = figures(Equipment.of(study), best.gflops, best.params, hosts_of(best))
    return [(UNITS[name][0], UNITS[name][1].format(value)) for name, value in merits.items()]
