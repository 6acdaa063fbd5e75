"""Derives the events of one campaign from the store: whoever knows a position can be told the rest."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from results.errors import UnknownStudyError
from results.record import TrialRecord, TrialState
from results.store.service.campaign_entry import QueueState
from results.store.store import Store
from results.store.watching import Totals

from ...messages.live import CampaignEvent, LiveState, ProgressEvent, amount, begun, ended
from .position import GOES_ON, Position
from .running_runs import RunningRuns, RunNow
from .told import LiveTold

WAITING: dict[QueueState, LiveState] = {
    QueueState.QUEUED: "queued",
    QueueState.RUNNING: "running",
    QueueState.PAUSED: "paused",
    QueueState.FAILED: "failed",
    QueueState.CANCELLED: "cancelled",
}
"""States that a campaign that was handed in has, whatever its study says."""


@dataclass(frozen=True)
class Moment:
    """Where a campaign stands."""

    position: Position
    totals: Totals

    @property
    def id(self) -> str:
        """The id of an event that led here."""
        return str(self.position)

    def before(self, other: "Moment") -> bool:
        """Whether somebody who was told this can be told the rest up to another moment."""
        return self.position.before(other.position)

    @property
    def ended(self) -> bool:
        """Whether no event follows by itself."""
        return self.position.ended


CampaignTold = LiveTold[Moment]


class CampaignStory:
    """The events of one campaign.

    Args:
        runs: the folder of all runs.
    """

    def __init__(self, store: Store, runs: Path, name: str) -> None:
        self._store = store
        self._runs = RunningRuns(runs, name)
        self.name = name

    def now(self) -> Moment:
        """Read where the campaign stands.

        Raises:
            UnknownStudyError: there is no such campaign.
        """
        found = self._store.watched.now(self.name)
        state = self.state(found.state)
        if state == "removed":
            raise UnknownStudyError(f"there is no campaign {self.name}")
        position = Position(found.last, found.running, state)
        return Moment(position, self.totals(position))

    def totals(self, position: Position) -> Totals:
        """Add up what had ended at a position."""
        if position.begun == 0:
            return Totals()
        return self._store.watched.totals(self.name, position.begun, position.running)

    def state(self, stored: str | None) -> LiveState:
        """Tell how the campaign stands, by what the study says of itself."""
        entry = self._store.queue.find(self.name)
        if entry is not None and entry.state in WAITING:
            return WAITING[entry.state]
        if stored is None:
            return "removed"
        if stored == "running" and self._abandoned():
            return "killed"
        return "interrupted" if stored == "interrupted" else "complete" if stored == "complete" else "running"

    def _abandoned(self) -> bool:
        """Whether nobody works on a study that says it runs; one that ended between two looks says so at the second."""
        try:
            return not self._store.others(self.name) and self._store.study(self.name).state == "running"
        except UnknownStudyError:
            return False

    def parse(self, text: str) -> Moment | None:
        """Read the id of an event; None for any other text."""
        position = Position.parse(text)
        return None if position is None else Moment(position, Totals())

    def first(self, moment: Moment) -> list[CampaignTold]:
        """Tell how the campaign stands to somebody who knows nothing."""
        return [self._of_campaign("campaign-ended" if moment.ended else "campaign", moment)]

    def progress(self, moment: Moment) -> list[ProgressEvent]:
        """Tell how far the running trials are, where that is new."""
        running = moment.position.running if moment.position.state == "running" else frozenset()
        return [_progress(self.name, one) for one in self._runs.look(running)]

    def news(self, moment: Moment, *, look: bool) -> tuple[list[CampaignTold], bool]:
        """Tell what happened since a moment, and whether there is more to read.

        Args:
            look: also find out whether those who work on the campaign still live.
        """
        position = moment.position
        found = self._store.watched.news(self.name, position.begun, position.running)
        state = position.state
        if look or found.state != "running" or position.state != "running":
            state = self.state(found.state)
        new = bool(found.records)
        told = list(self._opening(moment, state, new=new))
        told += self._trials(told[-1].moment if told else moment, found.records)
        if state is not None and not found.more:
            last = told[-1].moment if told else moment
            told += self._ending(last, state)
        return told, found.more

    def between(self, old_moment: Moment, new_moment: Moment) -> Iterator[CampaignTold]:
        """Tell what happened between two moments, reading a few trials at a time; totals of the first are not used."""
        old, new = old_moment.position, new_moment.position
        last = Moment(old, self.totals(old))
        for told in self._opening(last, new.state, new=replace(old, state=new.state) != new):
            yield told
            last = told.moment
        after, more = old.begun, True
        while more:
            found = self._store.watched.news(self.name, after, last.position.running - new.running, last=new.begun)
            after, more = max((after, *found.numbers)), found.more
            records = [_as_of(record, new) for record in found.records]
            for told in self._trials(last, records):
                yield told
                last = told.moment
        yield from self._ending(last, new.state)

    def _opening(self, last: Moment, state: LiveState | None, *, new: bool) -> Iterator[CampaignTold]:
        """Tell that the campaign began or goes on, before what is new of it.

        Args:
            state: that it has now.
            new: there is something new of its trials.
        """
        old = last.position
        goes_on: LiveState | None = state if state in GOES_ON else "running" if old.state is None or new else None
        if goes_on is not None and old.state != goes_on and (old.state is None or old.ended or state == goes_on):
            kind = "campaign-began" if old.state is None else "campaign-changed"
            yield self._of_campaign(kind, Moment(replace(old, state=goes_on), last.totals))

    def _ending(self, last: Moment, state: LiveState | None) -> Iterator[CampaignTold]:
        """Tell that the campaign has ended, after all else."""
        if state not in GOES_ON and state != last.position.state:
            yield self._of_campaign("campaign-ended", Moment(replace(last.position, state=state), last.totals))

    def _of_campaign(self, kind: str, moment: Moment) -> CampaignTold:
        position = moment.position
        running = sorted(position.running) if kind in {"campaign", "campaign-ended"} else []
        told = {"event": kind, "campaign": self.name, "state": position.state, "running": running}
        event = CampaignEvent.model_validate({**told, **amount(moment.totals)})
        return LiveTold(event, moment)

    def _trials(self, last: Moment, records: Sequence[TrialRecord]) -> list[CampaignTold]:
        """Tell of trials: the ends of those that ran, in the order of time, and then of those that began since."""
        position, totals, told = last.position, last.totals, list[CampaignTold]()
        known = [record for record in records if record.number in position.running]
        for record in sorted(known, key=lambda one: (one.ended_at is None, one.ended_at or one.started_at, one.number)):
            position = replace(position, running=position.running - {record.number})
            totals = totals.plus(record)
            told.append(LiveTold(ended(self.name, record, totals), Moment(position, totals)))
        for record in records:
            if record.number <= last.position.begun:
                continue
            position = Position(record.number, position.running | {record.number}, position.state)
            told.append(LiveTold(begun(self.name, record), Moment(position, totals)))
            if record.state is not TrialState.RUNNING:
                position = replace(position, running=position.running - {record.number})
                totals = totals.plus(record)
                told.append(LiveTold(ended(self.name, record, totals), Moment(position, totals)))
        return told


def _progress(campaign: str, run: RunNow) -> ProgressEvent:
    return ProgressEvent(
        campaign=campaign,
        number=run.number,
        fraction=round(run.panel.fraction, 5),
        elapsed_s=round(run.panel.time_s, 3),
        left_s=None if run.left_s is None else round(run.left_s, 3),
        gflops=None if run.gflops is None else round(run.gflops, 6),
        panel_gflops=None if run.panel_gflops is None else round(run.panel_gflops, 6),
    )


def _as_of(record: TrialRecord, position: Position) -> TrialRecord:
    """The trial as it was at a position."""
    running = record.number in position.running
    return replace(record, state=TrialState.RUNNING) if running else record
