"""What somebody wants to see of the list of campaigns, as the fields of its form say it."""

from typing import Annotated, Literal

from pydantic import Field

from results.store.study_list import StudiesAsked

from ....commands.stored.campaigns import CampaignsRequest
from ....messages.campaigns import AskedQuery
from ...api.campaigns import Word
from ...api.cursors import campaign_place

SHOWN = 50
"""Campaigns of a page."""
STATES = ("running", "complete", "interrupted", "killed")


Names = Annotated[list[Word], Field(default_factory=list, max_length=SHOWN)]


class CompareQuery(AskedQuery):
    """What to compare."""

    studies: Names


class HomeQuery(AskedQuery):
    """Filters of the list; a field that is left empty filters nothing."""

    name: Word = ""
    state: Literal["", "running", "complete", "interrupted", "killed"] = ""
    space: Word = ""
    engine: Word = ""
    simulated: Literal["", "yes", "no"] = ""
    cursor: str | None = None
    studies: Names

    @property
    def filters(self) -> dict[str, str]:
        """The filters that are set."""
        return {key: text for key, text in self.model_dump(include=set(FILTERS)).items() if text}

    def request(self) -> CampaignsRequest:
        """What to list."""
        asked = StudiesAsked(
            before=campaign_place(self.cursor) if self.cursor else None,
            engine=self.engine or None,
            space=self.space or None,
            named=self.name or None,
            simulated=None if not self.simulated else self.simulated == "yes",
        )
        return CampaignsRequest(SHOWN, asked, self.state or None)


FILTERS = ("name", "state", "space", "engine", "simulated")
