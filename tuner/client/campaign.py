"""One campaign of a service: to read, to watch also over connections that are lost, and to change."""

import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from httpx2 import EventSource
from pydantic import ValidationError

from results.columns import PLACED, TrialPlace
from results.export.json_lines import from_json_lines
from results.record import TrialRecord
from results.store.service.campaign_entry import GOES_ON

from ..messages.addresses import campaign_address, queue_address
from ..messages.campaigns import BestModel, CampaignModel
from ..messages.live import CampaignEvent, Event, LiveEvent
from ..messages.queue import HandedInModel, LogModel
from ..messages.trials import WholeTrialModel
from .connection import Connection
from .problems import NoAnswerError, not_a_service

if TYPE_CHECKING:
    import pandas as pd


EVERYTHING = "0"
"""In place of the id of an event: a stream that tells all from the begin."""
NAMES = frozenset(
    {
        "campaign",
        "campaign-began",
        "campaign-changed",
        "campaign-ended",
        "trial-begun",
        "trial-ended",
        "shown",
        "progress",
    }
)
AGAIN_S, LONGEST_S = 0.5, 10.0
"""Seconds until a lost connection is tried again: at first, and after many tries."""
NOTHING_FOLLOWS = 204


@dataclass(frozen=True)
class ServedCampaign:
    """A campaign of a service, by its name; each method asks the service anew.

    Every method raises TunerError where the service does not answer, refuses, or knows no such campaign.
    """

    connection: Connection
    name: str

    def info(self) -> CampaignModel:
        """Read how it stands."""
        return self.connection.get(self._address, CampaignModel)

    def entry(self) -> HandedInModel:
        """Read how it stands in the queue, and what was handed in."""
        return self.connection.get(queue_address(self.name), HandedInModel)

    def log(self) -> list[str]:
        """Read the last lines that its process said."""
        return self.connection.get(f"{queue_address(self.name)}/log", LogModel).lines

    def events(
        self, *, everything: bool = False, after: str | None = None, notice: Callable[[str], None] | None = None
    ) -> Iterator[Event]:
        """Give what happens, while it happens, until the campaign ends; a lost connection is made anew.

        Args:
            everything: begin with what has happened already, not with how the campaign stands.
            after: go on after the event with this id.
            notice: told in a sentence that the connection was lost, and that it is back.
        """
        known = EVERYTHING if everything else after
        return LiveStream(self.connection, f"{self._address}/events", known, notice).events()

    def wait(self, timeout_s: float | None = None) -> CampaignModel:
        """Wait until it ends, and return how it stands then: `state` tells whether it is complete.

        Raises:
            TimeoutError: it goes on after this time.
        """
        give_up_at = None if timeout_s is None else time.monotonic() + timeout_s
        while True:
            found = self.info()
            if found.state not in GOES_ON and (found.in_queue is None or found.in_queue not in GOES_ON):
                return found
            if give_up_at is not None and time.monotonic() > give_up_at:
                raise TimeoutError(f"campaign {self.name} goes on after {timeout_s:g} s")
            time.sleep(1.0)

    def best(self, count: int = 5) -> BestModel:
        """Read its best configurations, the best first."""
        return self.connection.get(f"{self._address}/best", BestModel, count=count)

    def trial(self, number: int) -> WholeTrialModel:
        """Read one trial."""
        return self.connection.get(f"{self._address}/trials/{number}", WholeTrialModel)

    def records(self) -> Sequence[TrialRecord]:
        """Read all trials with their outputs."""
        return from_json_lines(self.connection.text(f"{self._address}/trials.jsonl"), self.name)

    def trials(self) -> "pd.DataFrame":
        """Make a data frame with a row for each trial, as `results.export.frame.frame` does, parameters too."""
        from results.export.frame import frame  # noqa: PLC0415 - pandas takes a second to import

        lines = self.connection.text(f"{self._address}/trials.jsonl")
        rows = [json.loads(line) for line in lines.split("\n") if line]
        placed = {
            row["number"]: TrialPlace(**{name: row[name] for name in PLACED & row.keys()})
            for row in rows
            if row.get("rank") is not None
        }
        return frame(from_json_lines(lines, self.name), placed, parameters=True)

    def hpl_dat(self, trial: int | None = None) -> str:
        """Read the HPL.dat of its best run, or of a trial."""
        return self.connection.text(
            f"{self._address}/HPL.dat" if trial is None else f"{_trial(self._address, trial)}/HPL.dat"
        )

    def output(self, trial: int) -> str:
        """Read what HPL printed in a trial."""
        return self.connection.text(f"{_trial(self._address, trial)}/output.txt")

    def command(self) -> str:
        """Read the script that repeats its best run."""
        return self.connection.text(f"{self._address}/command.sh")

    def report_html(self) -> str:
        """Read its report, a page that needs no network."""
        return self.connection.text(f"{self._address}/report.html")

    def pause(self) -> HandedInModel:
        """Let it stop after its running trial."""
        return _want(self, "pause")

    def resume(self) -> HandedInModel:
        """Let it go on where it was, also after it was cancelled or failed."""
        return _want(self, "resume")

    def cancel(self) -> HandedInModel:
        """End it, and its running trial, now; what was measured stays."""
        return _want(self, "cancel")

    def declare_dead(self) -> HandedInModel:
        """Say that its process is dead, where its machine is gone and cannot say so; only admins may."""
        return _want(self, "declare-dead")

    def prioritize(self, priority: int) -> HandedInModel:
        """Give it another priority, from -100 to 100."""
        return self.connection.send("PATCH", queue_address(self.name), HandedInModel, json={"priority": priority})

    def clone(self, **changes: Any) -> "ServedCampaign":
        """Hand it in once more, with some keys of its document changed."""
        made = self.connection.send("POST", f"{self._address}/clone", HandedInModel, json=changes)
        return ServedCampaign(self.connection, made.name)

    @property
    def _address(self) -> str:
        return campaign_address(self.name)


def _trial(campaign: str, number: int) -> str:
    return f"{campaign}/trials/{number}"


def _want(campaign: ServedCampaign, what: str) -> HandedInModel:
    return campaign.connection.send("POST", f"{campaign_address(campaign.name)}/{what}", HandedInModel)


class LiveStream:
    """Reads the events of one campaign.

    Args:
        address: of the events.
        after: id of the last event that is known, or EVERYTHING; None begins with how the campaign stands.
        notice: told in a sentence that the connection was lost, and that it is back.
    """

    def __init__(
        self,
        connection: Connection,
        address: str,
        after: str | None = None,
        notice: Callable[[str], None] | None = None,
    ) -> None:
        self._connection = connection
        self._address = address
        self._known = after
        self._notice = notice or (lambda _sentence: None)
        self._lost = False
        self._known_all = False

    def events(self) -> Iterator[Event]:
        """Give each event once, until the campaign ends.

        Raises:
            TunerError: the service does not answer at the begin, or it refuses.
        """
        answered, wait_s = False, AGAIN_S
        while True:
            try:
                for event in self._of_one_connection():
                    answered, wait_s = True, AGAIN_S
                    yield event
                    if isinstance(event, CampaignEvent) and event.event == "campaign-ended":
                        return
                if self._known_all:
                    return
            except NoAnswerError as error:
                if not answered:
                    raise
                self._tell_lost(error)
            time.sleep(wait_s)
            wait_s = min(LONGEST_S, wait_s * 1.5)

    def _of_one_connection(self) -> Iterator[Event]:
        headers = {} if self._known is None else {"Last-Event-ID": self._known}
        with self._connection.stream(self._address, headers) as response:
            if self._lost:
                self._lost = False
                self._notice("The service answers again.")
            if response.status_code == NOTHING_FOLLOWS:
                self._known_all = True
                return
            if not response.headers.get("content-type", "").startswith("text/event-stream"):
                raise not_a_service(self._connection.server.url)
            for told in EventSource(response):
                self._known = told.id or self._known
                if told.event in NAMES:
                    yield self._read(told.data)

    def _read(self, text: str) -> Event:
        try:
            return LiveEvent.model_validate_json(text).root
        except ValidationError as error:
            raise not_a_service(self._connection.server.url) from error

    def _tell_lost(self, error: NoAnswerError) -> None:
        if not self._lost:
            self._lost = True
            self._notice(f"The connection is lost ({error}). The campaign goes on there; trying again …")
