"""The live pages of all campaigns that somebody has looked at lately."""

import threading
from collections.abc import Callable
from pathlib import Path

from cachetools import LRUCache

from results.store.service.campaign_entry import CampaignEntry
from results.store.store import Store

from .explanations import Explanations
from .live_page import LivePage

REMEMBERED = 64
"""Campaigns whose pages are in memory; another one is read again from its first trial."""


class LivePages:
    """Live pages by the names of their campaigns.

    Args:
        starts: tells whether this service can start a campaign.
        log_of: where the process of a campaign writes what it says.
    """

    def __init__(
        self,
        store: Store,
        runs: Path,
        explanations: Explanations,
        starts: Callable[[CampaignEntry], bool],
        log_of: Callable[[str], Path],
    ) -> None:
        self._log_of = log_of
        self._store = store
        self._runs = runs
        self._explanations = explanations
        self._starts = starts
        self._pages: LRUCache[str, LivePage] = LRUCache(REMEMBERED)
        self._lock = threading.Lock()

    def of(self, name: str) -> LivePage:
        """The page of a campaign.

        Raises:
            UnknownStudyError: there is no such campaign.
        """
        self._store.study(name)
        with self._lock:
            page = self._pages[name] = self._pages.get(name) or LivePage(
                self._store, self._runs, name, self._explanations, self._starts, self._log_of(name)
            )
            return page

    def close(self) -> None:
        """End what goes on behind the pages."""
        self._explanations.close()
