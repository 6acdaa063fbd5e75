"""A campaign that measures a study's best configuration again, as `hpltune check` does."""

import platform
from typing import ClassVar

from results.errors import UnknownStudyError
from results.report.model import Report
from results.store.store import Store
from runners.hosts.cluster import stored_cluster

from ....asks.check import CheckAsk, CheckVerdict
from ....commands.campaigns.check import CheckRequest, check, check_of_study
from ....commands.campaigns.run import Baseline, baseline_of
from ....commands.session import open_session
from ....errors import TunerError
from ....events import Listener
from ....messages.documents import Document
from ....stopping import StopRequest
from ....words import counted
from ..expected import CampaignEstimate
from ..offered import Offers
from ..offered_things import check_names
from ..wrong import WrongDocumentError, read_as_document
from .base import CampaignKind, WorkOrder, WorkResult, nodes_of


class CheckKind(CampaignKind):
    """Checks."""

    name: ClassVar = "check"

    def check(self, document: Document, offered: Offers, store: Store) -> tuple[str, ...]:
        """Check a document as the contract says."""
        ask: CheckAsk = document.ask
        cluster = _measured_before("baseline", ask.baseline, offered, store).study.options.get("real_cluster")
        if ask.reference is not None:
            _measured_before("reference", ask.reference, offered, store)
        return nodes_of(stored_cluster(cluster)) if isinstance(cluster, dict) else (platform.node(),)

    def expected(self, document: Document, _offered: Offers, store: Store) -> CampaignEstimate:
        """Its runs, each as long as the one that is measured again."""
        ask: CheckAsk = document.ask
        before = baseline_of(store, ask.baseline)
        trials = [before.trial, *([baseline_of(store, ask.reference).trial] if ask.reference else [])]
        run_s = sum(trial.time_s or 0.0 for trial in trials)
        return CampaignEstimate(counted(ask.runs * len(trials), "run"), None, ask.runs * run_s or None)

    def base_name(self, document: Document) -> str:
        """The baseline's name behind the word check."""
        return f"check-{document.ask.baseline}"

    def report(self, document: Document, name: str, store: Store, offered: Offers) -> Report:  # noqa: ARG002 - the contract's
        """The verdict, as `check` prints it."""
        return check_of_study(store, document.ask, name).report()

    def work(self, order: WorkOrder, listener: Listener, stop: StopRequest) -> WorkResult:
        """Measure; a check that was stopped measures from its beginning, in another study."""
        ask: CheckAsk = order.document.ask
        with open_session(order.db, listener, stop) as session:
            begun = session.store.queue.is_study(order.name)
        result = check(CheckRequest(ask, db=order.db, study=None if begun else order.name), listener, stop)
        if result.verdict is CheckVerdict.FAILED:
            raise TunerError(result.sentence)
        slower = result.verdict in {CheckVerdict.SLOWER, CheckVerdict.SLOWER_TODAY}
        return WorkResult(result.verdict is CheckVerdict.STOPPED, result.sentence, slower=slower)


def _measured_before(key: str, name: str, offered: Offers, store: Store) -> Baseline:
    """The best configuration of a study; what a campaign set is offered still, what a command line set is trusted.

    Raises:
        WrongDocumentError: there is none, or the service offers no longer what it sets.
    """
    try:
        before = read_as_document(lambda: baseline_of(store, name, field=key))
    except UnknownStudyError as error:
        raise WrongDocumentError(key, f"there is no study {name}: /api/v1/campaigns lists all") from error
    except WrongDocumentError as error:
        raise WrongDocumentError(key, error.sentence) from error
    campaign = store.queue.find(before.study.name)
    if campaign is not None:
        check_names(campaign.order.document.get("set", {}), offered, key, f"campaign {name}")
    return before
