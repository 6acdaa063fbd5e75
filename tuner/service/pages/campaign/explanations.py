"""What the model believes of campaigns, computed behind the pages, one campaign after the other, and remembered."""

import json
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from cachetools import LRUCache

from results.store.store import Store

from ....errors import UsageError
from ....reports.configurations import Percents
from ...background import BackgroundChild
from ...problems import Problem

LIMIT_S = 120.0
"""Seconds after which an explanation is given up."""
MOST_EXPLAINED = 10_000
"""Trials of a campaign beyond which explaining it takes too long."""
REMEMBERED = 64
"""Campaigns whose explanations are in memory."""
GROWTH = 1.2
"""By so much a campaign must have grown before it is explained anew."""
_NOT_KNOWN = "The model could not be asked; `hpltune explain` on the service's machine says why."


@dataclass(frozen=True)
class ModelBelief:
    """What the model believes of a campaign.

    Attributes:
        trials: so many had ended.
        effects: parameters, what matters most first, as `hpltune explain --json` tells them.
        reason: why there is none; "" where there is.
        textbook: the configuration of HPL's documented advice.
        percents: what values bring, of the parameters whose values the runs tell apart.
    """

    trials: int
    effects: tuple[Mapping[str, Any], ...] = ()
    best: Mapping[str, Any] = field(default_factory=dict)
    best_gflops: float | None = None
    best_sd_percent: float | None = None
    reason: str = ""
    textbook: Mapping[str, Any] = field(default_factory=dict)
    percents: Percents = field(default_factory=dict)

    def of_value(self, name: str, value: object) -> Mapping[str, Any] | None:
        """What is believed of one value of a parameter."""
        values = (one for effect in self.effects if effect["name"] == name for one in effect["values"])
        return next((one for one in values if one["value"] == value), None)


class Explanations:
    """Asks for explanations, one at a time, in a process that yields to all others.

    Args:
        place: the database, with its password where it has one.
    """

    def __init__(self, place: str) -> None:
        self._known: LRUCache[str, ModelBelief] = LRUCache(REMEMBERED)
        self._asked: dict[str, Future[None]] = {}
        self._lock = threading.Lock()
        self._child = BackgroundChild("explanations", place, LIMIT_S)
        self._closed = False

    def of(self, campaign: str) -> ModelBelief | None:
        """What was found last; None before that."""
        with self._lock:
            return self._known.get(campaign)

    def is_asked(self, campaign: str) -> bool:
        """Whether an explanation is on its way."""
        with self._lock:
            return campaign in self._asked

    def ask(self, campaign: str, ended: int) -> None:
        """Ask for an explanation, unless there is one of about as many trials.

        Args:
            ended: trials that have ended.
        """
        with self._lock:
            known = self._known.get(campaign)
            fresh = known is not None and (ended == known.trials or ended < GROWTH * known.trials)
            if not fresh and campaign not in self._asked and not self._closed:
                self._asked[campaign] = self._child.submit(lambda: self._explain(campaign, ended))

    def ask_at_end(self, campaign: str, ended: int) -> None:
        """Ask for the explanation of all trials of a campaign that has ended."""
        with self._lock:
            known = self._known.get(campaign)
            if known is not None and known.trials != ended:
                del self._known[campaign]
        self.ask(campaign, ended)

    def close(self) -> None:
        """End what is on its way."""
        with self._lock:
            self._closed = True
        self._child.close()

    def _explain(self, campaign: str, ended: int) -> None:
        belief = self._found(campaign, ended)
        with self._lock:
            self._known[campaign] = belief
            self._asked.pop(campaign, None)

    def _found(self, campaign: str, ended: int) -> ModelBelief:
        if ended > MOST_EXPLAINED:
            return ModelBelief(ended, reason="It has too many trials to be explained here: use `hpltune explain`.")
        try:
            found = json.loads(self._child.compute("explanation", name=campaign))
        except (UsageError, Problem, RuntimeError, OSError):
            return ModelBelief(ended, reason=_NOT_KNOWN)
        if "reason" in found:
            return ModelBelief(ended, reason=f"{found['reason'][:1].upper()}{found['reason'][1:]}.")
        figures = {name: found[name] for name in ("best", "best_gflops", "best_sd_percent")}
        percents = {(name, value): percent for name, value, percent in found["percents"]}
        textbook = found["one_at_a_time"]["start"]
        return ModelBelief(ended, tuple(found["effects"]), **figures, textbook=textbook, percents=percents)


def measured_here(store: Store) -> str | None:
    """The name of a campaign whose HPL runs on this machine now, from which an explanation would take time; or None."""
    for study, leases in store.lists.at_work():
        if not study.simulated and any(lease.of_this_host and lease.alive for lease in leases):
            return study.name
    return None
