"""The events of all campaigns, one story made of those of each."""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from results.errors import UnknownStudyError
from results.store.store import Store
from results.store.study_list import Place, StudiesAsked
from results.store.watching import Totals

from ...messages.live import ProgressEvent
from .campaign_story import CampaignStory, CampaignTold, Moment
from .position import Position
from .told import LiveTold

NOTHING = Moment(Position(), Totals())
AT_A_TIME = 100
"""Studies that are read at a time."""


@dataclass(frozen=True)
class AllMoment:
    """Where all campaigns stand.

    Attributes:
        newest: the place of the newest study that was told of; None before the first.
        open: where those stand of which more is to be told, by name.
    """

    newest: Place | None = None
    open: Mapping[str, Moment] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """The id of an event that led here."""
        if self.newest is None and not self.open:
            return "0"
        newest = None if self.newest is None else [self.newest[0].isoformat(), self.newest[1]]
        told = {name: moment.id for name, moment in self.open.items()}
        return urlsafe_b64encode(json.dumps([newest, told], separators=(",", ":")).encode()).decode().rstrip("=")

    @property
    def ended(self) -> bool:
        """Further campaigns may always begin."""
        return False

    def before(self, other: "AllMoment") -> bool:
        """Whether somebody who was told this can be told the rest up to another moment."""
        known = all(moment.before(other.open[name]) for name, moment in self.open.items() if name in other.open)
        return known and (self.newest is None or (other.newest is not None and self.newest <= other.newest))

    def after(self, name: str, place: Place | None, moment: Moment) -> "AllMoment":
        """Where all stand once something of one campaign was told.

        Args:
            place: of a new campaign.
        """
        others = {other: one for other, one in self.open.items() if other != name}
        newest = self.newest if place is None else max(place, self.newest or place)
        return AllMoment(newest, others if moment.ended else {**others, name: moment})


AllTold = LiveTold[AllMoment]


class AllStory:
    """The events of all campaigns that have a study.

    Args:
        runs: the folder of all runs.
    """

    def __init__(self, store: Store, runs: Path) -> None:
        self._store = store
        self._runs = runs
        self._stories: dict[str, CampaignStory] = {}

    def now(self) -> AllMoment:
        """Read where all campaigns stand."""
        newest = next(iter(self._store.lists.newest_first(StudiesAsked(), 1)), None)
        place = None if newest is None else (newest[0].created_at, newest[0].name)
        known = (
            study for study, _ in self._store.watched.at_work() if place and (study.created_at, study.name) <= place
        )
        stand = {study.name: self._now(study.name) for study in known}
        return AllMoment(place, {name: moment for name, moment in stand.items() if not moment.ended})

    def parse(self, text: str) -> AllMoment | None:
        """Read the id of an event; None for any other text."""
        if text == "0":
            return AllMoment()
        try:
            newest, told = json.loads(urlsafe_b64decode(text + "=" * (-len(text) % 4)))
            place = None if newest is None else (datetime.fromisoformat(newest[0]), str(newest[1]))
            found = {str(name): Position.parse(one) for name, one in told.items()}
        except (ValueError, TypeError, AttributeError, LookupError, RecursionError):
            return None
        moments = {name: Moment(one, Totals()) for name, one in found.items() if one is not None and not one.ended}
        moment = AllMoment(place, moments)
        return moment if moment.id == text else None

    def first(self, moment: AllMoment) -> list[AllTold]:
        """Tell how the campaigns stand that go on."""
        each = ((name, self._story(name).first(one)) for name, one in moment.open.items())
        return [LiveTold(told.event, moment) for _, some in each for told in some]

    def news(self, moment: AllMoment, *, look: bool) -> tuple[list[AllTold], bool]:
        """Tell what happened since a moment, and whether there is more to read."""
        told, more = list[AllTold](), False
        at_work = {study.name for study, _ in self._store.watched.at_work()}
        new = dict(self._newer(moment.newest))
        for name in dict.fromkeys([*moment.open, *new, *sorted(at_work)]):
            known = moment.open.get(name) or (NOTHING if name in new else self._resumed(name))
            some, further = self._story(name).news(known, look=look)
            moment, more = self._add(told, moment, (name, new.get(name)), some), more or further
        self._forget(moment)
        return told, more

    def between(self, old_moment: AllMoment, new_moment: AllMoment) -> Iterator[AllTold]:
        """Tell what happened between two moments."""
        new = dict(one for one in self._newer(old_moment.newest) if new_moment.newest and one[1] <= new_moment.newest)
        moment = old_moment
        for name in dict.fromkeys([*old_moment.open, *new, *new_moment.open]):
            known = moment.open.get(name) or (NOTHING if name in new else self._resumed(name))
            target = new_moment.open.get(name) or self._now(name, known)
            for told in CampaignStory(self._store, self._runs, name).between(known, target):
                moment = moment.after(name, new.get(name), told.moment)
                yield LiveTold(told.event, moment)

    def progress(self, moment: AllMoment) -> list[ProgressEvent]:
        """Tell how far the running trials are, where that is new."""
        return [event for name, one in moment.open.items() for event in self._story(name).progress(one)]

    @staticmethod
    def _add(
        told: list[AllTold], moment: AllMoment, which: tuple[str, Place | None], some: Iterable[CampaignTold]
    ) -> AllMoment:
        for one in some:
            moment = moment.after(*which, one.moment)
            told.append(LiveTold(one.event, moment))
        return moment

    def _newer(self, after: Place | None) -> list[tuple[str, Place]]:
        """Names and places of the studies that were created after a place, oldest first."""
        asked = StudiesAsked(since=after[0] if after else None)
        studies = self._store.lists.newest_first(asked, AT_A_TIME)
        places = [(study.created_at, study.name) for study, _ in studies]
        found = [place for place in places if after is None or place > after]
        return [(place[1], place) for place in reversed(found)]

    def _now(self, name: str, known: Moment = NOTHING) -> Moment:
        try:
            return self._story(name).now()
        except UnknownStudyError:
            return replace(known, position=replace(known.position, state="removed"))

    def _resumed(self, name: str) -> Moment:
        """Where a campaign stood that goes on after its end was told: what it did since then is not told again."""
        now = self._now(name)
        return replace(now, position=replace(now.position, state="interrupted"))

    def _story(self, name: str) -> CampaignStory:
        return self._stories.get(name) or self._stories.setdefault(name, CampaignStory(self._store, self._runs, name))

    def _forget(self, moment: AllMoment) -> None:
        self._stories = {name: story for name, story in self._stories.items() if name in moment.open}
