"""A study's ranking as a table for people and as JSON for scripts."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict

from rich.console import Console
from rich.table import Table

from hpl.params import Scalar
from results.export.markdown import first_columns, varying
from results.record import Study
from results.stats.confidence import Standing, sentence
from results.stats.levels import change, drift_corrected
from results.stats.ranking import Ranked, relative_sd

from ..console.tables import print_fitting
from ..machine.equipment import Equipment
from ..machine.peak import above_peak
from ..study.noise_at_first import noise_at_first
from ..study.objective import UNITS, Objective, of_study


def figures(machine: Equipment, gflops: float, params: Mapping[str, Scalar], hosts: int = 0) -> dict[str, float]:
    """The figures of merit that are known of a machine, by name with their unit, of the nodes that are in use.

    Args:
        hosts: on how many it ran; 0 where that is not known.
    """
    merits = machine.used_on(hosts, params).merit(gflops)
    return {name: value for name, value in asdict(merits).items() if value is not None}


def above_peak_of(study: Study, shown: Sequence[Ranked]) -> str | None:
    """Why configurations are above 100 % of peak, as one sentence; None where none is."""
    machine = Equipment.of(study)
    merits = [figures(machine, entry.expected_gflops, entry.params, entry.hosts) for entry in shown]
    return above_peak(study, [merit.get("percent_of_peak") for merit in merits])


SHORT = {"rank": "", "spread %": "±%"}


def print_ranking(
    console: Console,
    study: Study,
    shown: Sequence[Ranked],
    ranking: Sequence[Ranked],
    against: Objective | None = None,
) -> None:
    """Show some configurations; only the parameters in which they differ are told of each, the others below.

    Each parameter has a column where all fit the width, else the parameters stand below the table.

    Args:
        ranking: the whole one.
        against: those shown are the front of GFLOPS against this.
    """
    names = varying(shown)
    below = [f"{place}  {_words(entry.params, names)}" for place, entry in enumerate(shown, start=1)]
    print_fitting(console, _table(study, shown, names, against), _table(study, shown, [], against), below)
    alike = [name for name in shown[0].params if name not in {*names, "threshold"}]
    console.print(_words(shown[0].params, alike))
    doubt = above_peak_of(study, shown)
    if doubt:
        console.print(doubt)
    shown_noise = noise_at_first(study.host)
    changed = change(ranking, shown_noise)
    if changed:
        did, speeds = ("sped up", "faster") if changed > 0 else ("slowed", "slower")
        console.print(
            f"The machine {did} by {100 * abs(changed):.0f} % before confirmation; the table shows the {speeds} speeds."
        )
    noise = relative_sd(drift_corrected(ranking, shown_noise))
    if noise is not None:
        console.print(f"Repeated runs of one configuration differ by {100 * noise:.1f} % (standard deviation).")
        console.print(f"GFLOPS estimates the next run. No. 1's fastest run gave {max(shown[0].gflops):.2f}.")
    failed = shown[0].failed_runs
    if failed:
        console.print(f"No. 1 failed in {failed} of its {failed + shown[0].runs} runs.")


def how_sure(study: Study, ranking: Sequence[Ranked], sure: Standing | None) -> str | None:
    """How sure the first of a whole ranking is the best; nothing of simulations, which need not differ."""
    if study.simulated:
        return None
    if len(ranking) == 1:
        return "Only one configuration has a valid run: there is none to compare it with."
    return sentence(sure, of_study(study).best)


def _words(params: Mapping[str, Scalar], names: Sequence[str]) -> str:
    return "  ".join(f"{name}={params[name]}" for name in names if name in params)


def _table(study: Study, shown: Sequence[Ranked], names: Sequence[str], against: Objective | None) -> Table:
    """Figures and parameters of configurations, as wide as they are."""
    where = " (simulated)" if study.simulated else ""
    objective = of_study(study)
    by = "" if objective.name == "gflops" else f" by {objective.unit}"
    front = None if against is None else f"Front of study {study.name}{where}: GFLOPS against {against.unit}"
    table = Table(title=front or f"Best of study {study.name}{where}{by}", title_justify="left")
    machine = Equipment.of(study)
    merits = [figures(machine, entry.expected_gflops, entry.params, entry.hosts) for entry in shown]
    columns = first_columns(shown)
    if front and study.simulated:
        columns["nodes"] = [str(machine.used(entry.params).nodes) for entry in shown]
    columns |= {UNITS[name][0]: [UNITS[name][1].format(one[name]) for one in merits] for name in merits[0]}
    for head in columns:
        table.add_column(SHORT.get(head, head), justify="right", no_wrap=True)
    for name in names:
        figure = name in {"N", "NB", "NBMIN", "DEPTH"}
        table.add_column(name, justify="right" if figure else "left", no_wrap=True)
    for place, (entry, cells) in enumerate(zip(shown, zip(*columns.values(), strict=True), strict=True)):
        words = [str(entry.params.get(name, "")) for name in names]
        table.add_row(*cells, *words, style="" if place else "bold")
    return table


def ranking_json(
    study: Study,
    shown: Sequence[Ranked],
    ranking: Sequence[Ranked],
    sure: Standing | None,
    written: Mapping[str, object] | None = None,
) -> dict[str, object]:
    """Some of a ranking with figures of merit, as JSON can hold it.

    Args:
        ranking: the whole one.
        sure: how the first stands against it; None where that cannot be told.
        written: what else to say.
    """
    machine = Equipment.of(study)
    entries = [
        {
            "expected_gflops": entry.expected_gflops,
            "median_gflops": entry.median_gflops,
            "fastest_gflops": max(entry.gflops),
            "gflops": list(entry.gflops),
            "spread_percent": entry.spread_percent,
            "failed_runs": entry.failed_runs,
            **figures(machine, entry.expected_gflops, entry.params, entry.hosts),
            "trial": entry.best_record_number,
            "params": dict(entry.params),
        }
        for entry in shown
    ]
    return {
        "study": study.name,
        "rpeak_gflops": study.rpeak_gflops,
        "above_peak": above_peak_of(study, shown),
        "machine_changed_percent": 100 * change(ranking, noise_at_first(study.host)),
        "confidence": None if sure is None else sure.confidence,
        "cannot_be_told_apart": None if sure is None else list(sure.equals),
        "ranking": entries,
        **dict(written or {}),
    }
