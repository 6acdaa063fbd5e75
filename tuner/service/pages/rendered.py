"""Pages as text: the list of campaigns and the report of one, in the look of `hpltune report`."""

from base64 import b64encode
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import sha256
from urllib.parse import quote

from results.report.html import Frame, page_script, page_style, to_html
from results.report.model import Report, Sentence
from results.store.store import Store

from ...commands.stored.campaigns import CampaignsRequest, Place, list_campaigns
from ...commands.stored.report import figure_source
from ...commands.stored.show import state
from ...reports.studies import studies_table
from ...reports.study_page import StudyPage
from ..api.cursors import campaign_cursor

REFRESH_S = 15
"""Seconds until a page is read again while a campaign runs."""
SHOWN = 50
"""Campaigns of a page."""
DOWNLOADS = (
    ("HPL.dat of the best", "HPL.dat"),
    ("report", "report.html"),
    ("trials as CSV", "trials.csv"),
    ("as JSON lines", "trials.jsonl"),
)


def _hashed(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


PAGE_HEADERS = {
    "Content-Security-Policy": f"default-src 'none'; style-src {_hashed(page_style())}; "
    f"script-src {_hashed(page_script())}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}
"""Only the style and the script that are our own files may work in a page, whatever else is in it."""


def campaigns_page(store: Store, before: Place | None, older: str) -> str:
    """Show campaigns, newest first.

    Args:
        older: address of the page of older ones, to which their cursor is added.
    """
    found = list_campaigns(store, CampaignsRequest(SHOWN, before=before))
    links = [] if before is None else [("Newest campaigns", "/")]
    if found.older:
        links.append(("Older campaigns", f"{older}{campaign_cursor(found.older)}"))
    if not found.lines:
        parts: tuple[Sentence, ...] = (Sentence("There is no campaign here yet: `hpltune tune` makes one."),)
        return to_html([Report("Campaigns", parts)], frame=Frame(tuple(links)))
    addresses = tuple(address_of(line.study.name) for line in found.lines)
    runs = any(line.state == "running" for line in found.lines)
    table = studies_table(found.lines)
    return to_html([Report("Campaigns", (table,))], frame=Frame(tuple(links), addresses, REFRESH_S if runs else None))


def campaign_page(store: Store, name: str, *, links: bool = False) -> str:
    """Show the report of a campaign; while it runs, without what matters, which would take time from its runs.

    Args:
        links: to the other pages, and to the files; a page that is read again while the campaign runs.

    Raises:
        ResultsError: there is no such campaign.
    """
    study = store.study(name)
    runs, source = state(study, store) == "running", figure_source(store, study)
    page = StudyPage(study, replace(source, taught=lambda: None) if runs else source)
    return to_html([page.report()], datetime.now(UTC), frame=_frame(name, runs=runs) if links else None)


def _frame(name: str, *, runs: bool) -> Frame:
    files = ((label, f"/api/v1{address_of(name)}/{file}") for label, file in DOWNLOADS)
    return Frame((("All campaigns", "/"), *files), refresh_s=REFRESH_S if runs else None)


def address_of(name: str) -> str:
    """The address of a campaign's page."""
    return f"/campaigns/{quote(name, safe='')}"
