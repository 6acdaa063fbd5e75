"""The report of one campaign as a page; what it imports is heavy, so only a process that writes one imports it."""

from dataclasses import replace
from datetime import UTC, datetime

from results.report.html import to_html
from results.store.store import Store

from ...commands.stored.report import figure_source
from ...commands.stored.show import state
from ...reports.study_page import StudyPage
from ...words import all_with_options


def report_page(store: Store, name: str) -> str:
    """Show the report of a campaign; while it runs, without what matters, which would take time from its runs.

    Raises:
        ResultsError: there is no such campaign.
    """
    study = store.study(name)
    runs, source = state(study, store) == "running", figure_source(store, study)
    page = StudyPage(study, replace(source, taught=lambda: None) if runs else source)
    return to_html([all_with_options(page.report())], datetime.now(UTC))
