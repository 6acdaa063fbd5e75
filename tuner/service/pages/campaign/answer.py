"""The answer of a campaign on its page: its ranking, made anew where a run has ended, and the card at the head."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from markupsafe import Markup

from results.record import Study, TrialRecord
from results.report.html import card_html
from results.store.service.campaign_entry import LiveState
from results.store.store import Store

from ....messages.plain_paths import without_paths
from ....reports.answer_card import answer_card, failure_card
from ....reports.summary import StudySummary
from ....study.objective import StudyRanking, rank_stored
from ....words import all_with_options
from .digest import CampaignTotals


@dataclass
class CampaignAnswer:
    """What is known of the best of one campaign."""

    store: Store
    _ranking: tuple[int, StudyRanking] | None = field(default=None, init=False)
    _summary: StudySummary | None = field(default=None, init=False)

    def ranked(self, study: Study, full_runs: int) -> StudyRanking:
        """Rank the configurations, anew where a run has ended since.

        Args:
            full_runs: how many there are now.
        """
        if self._ranking is None or self._ranking[0] != full_runs:
            self._ranking = (full_runs, rank_stored(self.store, study))
            self._summary = None
        return self._ranking[1]

    def card(
        self, study: Study, state: LiveState, totals: CampaignTotals, newest: Sequence[TrialRecord]
    ) -> Markup | None:
        """The answer at a glance; None while there is none."""
        found = self.ranked(study, totals.full)
        if not found.ranking:
            failed = [replace(one, reason=without_paths(one.reason)) for one in newest if one.reason]
            return card_html(failure_card(study, failed, totals.failed)) if failed and totals.all_failed else None
        if self._summary is None:
            self._summary = StudySummary.of(study, found.ranking, None, found.configurations, found.fastest)
        return card_html(all_with_options(answer_card(self._summary, state)))
