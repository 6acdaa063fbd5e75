"""Pages as text: the list of campaigns in the look of `hpltune report`."""

from results.report.html import Frame, to_html
from results.report.model import Report, Sentence
from results.store.store import Store
from results.store.study_list import Place, StudiesAsked

from ...commands.stored.campaigns import CampaignsRequest, LineOf, list_campaigns
from ...reports.studies import studies_table
from ..api.cursors import campaign_cursor
from .frames import REFRESH_S, address_of

SHOWN = 50
"""Campaigns of a page."""


def campaigns_page(store: Store, before: Place | None, older: str, line_of: LineOf) -> str:
    """Show campaigns, newest first.

    Args:
        older: address of the page of older ones, to which their cursor is added.
    """
    found = list_campaigns(store, CampaignsRequest(SHOWN, StudiesAsked(before)), line_of)
    links = [] if before is None else [("Newest campaigns", "/")]
    if found.older:
        links.append(("Older campaigns", f"{older}{campaign_cursor(found.older)}"))
    links.append(("API", "/docs"))
    if not found.lines:
        parts: tuple[Sentence, ...] = (Sentence("There is no campaign here yet: `hpltune tune` makes one."),)
        return to_html([Report("Campaigns", parts)], frame=Frame(tuple(links)))
    addresses = tuple(address_of(line.study.name) for line in found.lines)
    runs = any(line.state == "running" for line in found.lines)
    table = studies_table(found.lines)
    return to_html([Report("Campaigns", (table,))], frame=Frame(tuple(links), addresses, REFRESH_S if runs else None))
