"""`hpltune best`."""

import json
from collections.abc import Sequence
from typing import Any

from rich.console import Console

from results.confidence import Standing
from results.errors import ResultsError
from results.statistics import Ranked
from results.store import Store

from .objective import Objective, of_study, pareto, ranking_of
from .ranking_report import print_ranking, print_standing, ranking_json


def show_best(
    console: Console, store: Store, name: str | None, count: int, *, front: str | None, as_json: bool
) -> None:
    """The best configurations of a study.

    Args:
        front: an objective; those that none beats both in GFLOPS and by it, of which none is the best, so that nothing
            is said of how sure that is.

    Raises:
        ResultsError: there is no such study, or none of its runs was valid.
        TunerError: the other objective needs a fact of the machine that the study does not know.
    """
    study = store.study(name) if name else store.newest()
    objective, ranking = of_study(study), ranking_of(store, study)
    if not ranking:
        raise ResultsError(f"study {study.name} has no valid run: `hpltune show {study.name} --failed` says why")
    known = len(ranking)
    if front:
        ranking = pareto(Objective.of(front, study), ranking)
        count = len(ranking)
    sure = None if front else objective.standing(ranking)
    libraries = [] if front else by_blas(objective, ranking, sure)
    if as_json:
        written = {} if front else {"by_blas": libraries}
        print(json.dumps(ranking_json(study, ranking, sure, written, count=count), indent=1))
        return
    print_ranking(console, study, ranking, count)
    if front:
        these = "this" if count == 1 else "these"
        console.print(f"None of {known} configurations beats {these} both in GFLOPS and by {front}.")
    else:
        print_standing(console, study, ranking, sure)
        for line in libraries[1:]:
            certainty = "" if line["first_is_faster"] is None else f", which is sure to {line['first_is_faster']:.0%}"
            console.print(
                f"The best with {line['blas']} is place {line['place']} with {line['expected_gflops']:.2f} GFLOPS, "
                f"{line['behind_percent']:.1f} % behind{certainty}.",
            )


def by_blas(objective: Objective, ranking: Sequence[Ranked], sure: Standing | None) -> list[dict[str, Any]]:
    """The best configuration of each BLAS, best first; nothing where all have the same.

    `behind_percent` is by the objective; `first_is_faster` the probability that it is not by chance, or None.
    """
    lines: dict[str, dict[str, Any]] = {}
    worths = [objective.worth(entry.params, entry.expected_gflops) for entry in ranking]
    for place, (entry, worth) in enumerate(zip(ranking, worths, strict=True), start=1):
        name = str(entry.params.get("blas", ""))
        line = {
            "blas": name,
            "place": place,
            "expected_gflops": entry.expected_gflops,
            "behind_percent": 100 * (1 - worth / worths[0]),
            "first_is_faster": None if sure is None or place == 1 else sure.ahead[place - 1],
        }
        lines.setdefault(name, line)
    return list(lines.values()) if len(lines) > 1 else []
