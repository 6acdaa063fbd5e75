"""`hpltune best`."""

import json

from rich.console import Console

from results.errors import ResultsError
from results.store import Store

from .objective import of_study, pareto, ranking_of
from .ranking_report import print_ranking, print_standing, ranking_json


def show_best(console: Console, store: Store, name: str | None, count: int, *, front: bool, as_json: bool) -> None:
    """The best configurations of a study.

    Args:
        front: those that none beats, of which none is the best, so that nothing is said of how sure that is.

    Raises:
        ResultsError: there is no such study, or none of its runs was valid.
    """
    study = store.study(name) if name else store.newest()
    objective, ranking = of_study(study), ranking_of(store, study)
    if not ranking:
        raise ResultsError(f"study {study.name} has no valid run: `hpltune show {study.name} --failed` says why")
    if front:
        ranking = pareto(objective, ranking)
        count = len(ranking)
    if as_json:
        sure = None if front else objective.standing(ranking)
        print(json.dumps(ranking_json(study, ranking[:count], sure), indent=1))
        return
    print_ranking(console, study, ranking, count)
    if not front:
        print_standing(console, study, ranking)
