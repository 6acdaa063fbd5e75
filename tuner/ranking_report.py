"""A study's ranking as a table for people and as JSON for scripts."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict

from rich.table import Table

from results.confidence import Standing
from results.export import varying
from results.metrics import merit
from results.record import Study
from results.statistics import Ranked, relative_sd
from search_spaces.dimension import Scalar

from .objective import of_study


def figures(study: Study, gflops: float, params: Mapping[str, Scalar]) -> dict[str, float]:
    """The figures of merit that the study's facts allow, by name with their unit, of the nodes that are in use."""
    share = of_study(study).share(params) if "layout" in params else 1.0
    peak, price, power = (
        None if fact is None else fact * share for fact in (study.rpeak_gflops, study.price_usd, study.power_w)
    )
    merits = merit(gflops, rpeak_gflops=peak, price_usd=price, power_w=power)
    return {name: value for name, value in asdict(merits).items() if value is not None}


HEADS = {
    "percent_of_peak": ("% of peak", "{:.1f}"),
    "usd_per_gflops": ("$/GFLOPS", "{:.2f}"),
    "mflops_per_watt": ("MFLOPS/W", "{:.1f}"),
}


def ranking_table(study: Study, ranking: Sequence[Ranked], count: int) -> Table:
    """The best configurations; only the parameters in which they differ have a column, the others stand below."""
    shown = ranking[:count]
    names = varying(shown)
    noise = relative_sd(ranking)
    same = {name: value for name, value in (shown[0].params.items() if shown else ()) if name not in names}
    caption = "  ".join(f"{name}={value}" for name, value in same.items() if name != "threshold")
    if noise is not None:
        caption += f"\nrepeated runs differ by {noise:.1%} (pooled standard deviation)"
    where = " (simulated)" if study.simulated else ""
    title = f"Best of study {study.name}{where}"
    table = Table(title=title, caption=caption, title_justify="left", caption_justify="left")
    merits = figures(study, shown[0].median_gflops, shown[0].params) if shown else {}
    for head in ("", "GFLOPS", "±%", "runs"):
        table.add_column(head, justify="right")
    for name in merits:
        table.add_column(HEADS[name][0], justify="right")
    for name in names:
        table.add_column(name, justify="right" if name in {"N", "NB", "NBMIN", "DEPTH"} else "left")
    for place, entry in enumerate(shown, start=1):
        spread = "" if entry.spread_percent is None else f"{entry.spread_percent:.1f}"
        cells = [str(place), f"{entry.median_gflops:.2f}", spread, str(entry.runs)]
        own = figures(study, entry.median_gflops, entry.params)
        cells += [HEADS[name][1].format(own[name]) for name in merits]
        table.add_row(*cells, *(str(entry.params.get(name, "")) for name in names), style="bold" if place == 1 else "")
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
            "median_gflops": entry.median_gflops,
            "gflops": list(entry.gflops),
            "spread_percent": entry.spread_percent,
            **figures(study, entry.median_gflops, entry.params),
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
