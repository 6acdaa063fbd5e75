"""A study's ranking as a table for people and as JSON for scripts."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict

from rich.console import Console
from rich.table import Table

from results.confidence import Standing, sentence
from results.export import varying
from results.record import Study
from results.statistics import Ranked, relative_sd
from search_spaces.dimension import Scalar

from .equipment import Equipment
from .objective import of_study
from .tables import print_fitting


def figures(study: Study, gflops: float, params: Mapping[str, Scalar], hosts: int = 0) -> dict[str, float]:
    """The figures of merit that the study's facts allow, by name with their unit, of the nodes that are in use.

    Args:
        hosts: on how many it ran; 0 where that is not known.
    """
    merits = Equipment.of(study).used_on(hosts, params).merit(gflops)
    return {name: value for name, value in asdict(merits).items() if value is not None}


HEADS = {
    "percent_of_peak": ("% of peak", "{:.1f}"),
    "usd_per_gflops": ("$/GFLOPS", "{:.2f}"),
    "mflops_per_watt": ("MFLOPS/W", "{:.1f}"),
}


def print_ranking(console: Console, study: Study, ranking: Sequence[Ranked], count: int) -> None:
    """Show the best configurations; only the parameters in which they differ are told of each, the others below.

    Each parameter has a column where all fit the width, else the parameters stand below the table.
    """
    shown = ranking[:count]
    names = varying(shown)
    below = [f"{place}  {_words(entry.params, names)}" for place, entry in enumerate(shown, start=1)]
    print_fitting(console, _table(study, shown, names), _table(study, shown, []), below)
    alike = [name for name in shown[0].params if name not in {*names, "threshold"}]
    console.print(_words(shown[0].params, alike))
    noise = relative_sd(ranking)
    if noise is not None:
        console.print(f"repeated runs differ by {noise:.1%} (pooled standard deviation)")
        console.print(
            f"GFLOPS are what one more run is expected to give; the first's fastest run had {max(shown[0].gflops):.2f}."
        )
    failed = shown[0].failed_runs
    if failed:
        console.print(f"The first failed in {failed} of its {failed + shown[0].runs} runs.")


def print_standing(console: Console, study: Study, ranking: Sequence[Ranked]) -> None:
    """Say how sure the first of a whole ranking is the best; nothing of simulations, which need not differ."""
    if study.simulated:
        return
    objective = of_study(study)
    if len(ranking) == 1:
        console.print("Only one configuration has a valid run: there is none to compare it with.")
    else:
        console.print(sentence(objective.standing(ranking), objective.best))


def _words(params: Mapping[str, Scalar], names: Sequence[str]) -> str:
    return "  ".join(f"{name}={params[name]}" for name in names if name in params)


def _table(study: Study, shown: Sequence[Ranked], names: Sequence[str]) -> Table:
    """Figures and parameters of configurations, as wide as they are."""
    where = " (simulated)" if study.simulated else ""
    table = Table(title=f"Best of study {study.name}{where}", title_justify="left")
    merits = figures(study, shown[0].expected_gflops, shown[0].params, shown[0].hosts)
    failures = ["failed"] if any(entry.failed_runs for entry in shown) else []
    for head in ("", "GFLOPS", "±%", "runs", *failures, *(HEADS[name][0] for name in merits)):
        table.add_column(head, justify="right", no_wrap=True)
    for name in names:
        figure = name in {"N", "NB", "NBMIN", "DEPTH"}
        table.add_column(name, justify="right" if figure else "left", no_wrap=True)
    for place, entry in enumerate(shown, start=1):
        spread = "" if entry.spread_percent is None else f"{entry.spread_percent:.1f}"
        own = figures(study, entry.expected_gflops, entry.params, entry.hosts)
        cells = [str(place), f"{entry.expected_gflops:.2f}", spread, str(entry.runs)]
        cells += [str(entry.failed_runs) for _ in failures]
        cells += [HEADS[name][1].format(own[name]) for name in merits]
        words = [str(entry.params.get(name, "")) for name in names]
        table.add_row(*cells, *words, style="bold" if place == 1 else "")
    return table


def ranking_json(
    study: Study, shown: Sequence[Ranked], sure: Standing | None, written: Mapping[str, object] | None = None
) -> dict[str, object]:
    """The best of a ranking with figures of merit, as JSON can hold it.

    Args:
        sure: how the first stands against the whole ranking; None where that cannot be told.
        written: what else to say.
    """
    entries = [
        {
            "expected_gflops": entry.expected_gflops,
            "median_gflops": entry.median_gflops,
            "fastest_gflops": max(entry.gflops),
            "gflops": list(entry.gflops),
            "spread_percent": entry.spread_percent,
            "failed_runs": entry.failed_runs,
            **figures(study, entry.expected_gflops, entry.params, entry.hosts),
            "trial": entry.best_record_number,
            "params": dict(entry.params),
        }
        for entry in shown
    ]
    return {
        "study": study.name,
        "rpeak_gflops": study.rpeak_gflops,
        "confidence": None if sure is None else sure.confidence,
        "cannot_be_told_apart": None if sure is None else list(sure.equals),
        "ranking": entries,
        **dict(written or {}),
    }
