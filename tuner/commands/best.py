"""`hpltune best`."""

import json

from rich.console import Console

from results.errors import ResultsError
from results.store.store import Store

from ..reports.summary import StudySummary
from ..study.objective import rank_stored


def show_best(
    console: Console, store: Store, name: str | None, count: int, *, front: str | None, as_json: bool
) -> None:
    """The best configurations of a study.

    Args:
        front: an objective; those that none beats both in GFLOPS and by it, as of a study that searched for these.

    Raises:
        ResultsError: there is no such study, or none of its runs was valid.
        TunerError: the other objective needs a fact of the machine that the study does not know.
    """
    study = store.study(name) if name else store.newest()
    stored = rank_stored(store, study, front=front is not None)
    ranking = stored.ranking
    if not ranking:
        raise ResultsError(f"study {study.name} has no valid run: `hpltune show {study.name}` lists what ran")
    found = StudySummary.of(study, ranking, front, stored.configurations)
    if as_json:
        print(json.dumps(found.to_json(count), indent=1))
        return
    found.show(console, count)
    if stored.left_out:
        console.print(stored.left_out)
