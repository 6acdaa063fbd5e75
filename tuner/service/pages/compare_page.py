"""Campaigns compared as a page; what it imports is heavy, so only a process that writes one imports it."""

from collections.abc import Sequence

from results.report.html import Frame, to_html
from results.store.store import Store

from ...commands.stored.compare import CompareRequest, compare
from ...words import all_with_options


def compare_page(store: Store, names: Sequence[str]) -> str:
    """Show what `hpltune compare` says of campaigns.

    Raises:
        UsageError: they are too few, or one is named twice.
        ResultsError: there is no such campaign, or one has no valid run.
    """
    page = compare(store, CompareRequest(tuple(names))).page()
    return to_html([all_with_options(page)], frame=Frame((("All campaigns", "/"), ("Compare others", "/compare"))))
