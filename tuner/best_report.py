"""`hpltune best`."""

import json
from collections.abc import Sequence
from typing import Any

from rich.console import Console

from results.confidence import Standing
from results.errors import ResultsError
from results.statistics import Ranked
from results.store import Store

from .found import Found
from .objective import Objective, ranking_of


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
    ranking = ranking_of(store, study)
    if not ranking:
        raise ResultsError(f"study {study.name} has no valid run: `hpltune show {study.name}` lists what ran")
    found = Found.of(study, ranking, front)
    libraries = [] if found.front else by_blas(found.objective, ranking, found.sure)
    if as_json:
        print(json.dumps(found.to_json(count, {} if found.front else {"by_blas": libraries}), indent=1))
        return
    found.show(console, count)
    for line in libraries[1:]:
        certainty = "" if line["first_is_faster"] is None else f" ({line['first_is_faster']:.0%} sure)"
        console.print(
            f"The best with {line['blas']} is in place {line['place']} with {line['expected_gflops']:.2f} GFLOPS, "
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
