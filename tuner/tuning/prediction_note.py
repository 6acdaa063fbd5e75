"""What was predicted of the whole memory, kept with the study, so that a run there can be compared with it."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace

from results.record import Study
from results.store.store import Store

from .extrapolation import Extrapolation

FACT = "whole_memory"


@dataclass(frozen=True)
class NotedPrediction:
    """A prediction, and the trial that stands for the configuration it is made for."""

    full: Extrapolation
    trial: int


def note_prediction(store: Store, study: str, noted: NotedPrediction) -> None:
    """Keep a prediction in place of an older one."""
    store.note_host(study, {FACT: {**asdict(noted.full), "trial": noted.trial}})


def prediction_of(study: Study) -> NotedPrediction | None:
    """Return what was predicted last; None where nothing was."""
    known = study.host.get(FACT)
    if not isinstance(known, Mapping):
        return None
    facts = dict(known)
    trial = int(facts.pop("trial"))
    facts["coefficients"], facts["gflops_range"] = tuple(facts["coefficients"]), tuple(facts["gflops_range"])
    noted = Extrapolation(**facts)
    return NotedPrediction(replace(noted, can_tell=noted.can_tell and not noted.too_far), trial)
