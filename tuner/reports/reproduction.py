"""What `hpltune reproduce` shows: for people, and as JSON."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.table import Table

from results.metrics import merit

from ..console.tables import of_cells, print_fitting
from ..simulation.cluster import SimulatedCluster
from ..simulation.reproduction.published import Published
from ..simulation.reproduction.reproduce import Found, TestRow, gain, judged, typical_error
from ..words import listed

NARROW = ("test", "published", "simulated", "error")
"""Columns of Table 1 where not all of them fit; what else is said of a test then stands below."""
PRICES = {
    "at construction": "",
    "at the article's date": "later_",
    "then, less a disk and the video card": "stripped_",
}
"""What the hardware cost: when, and how the keys of its price begin."""
LEFT = frozenset({"what", "grid", ""})


def show_tests(console: Console, published: Published, rows: Sequence[TestRow]) -> None:
    """Table 1, published beside simulated, and how far the predictions are off."""
    cells = [_cells(row, published.best["price_usd"]) for row in rows]
    below = [
        f"Test {row['test']}: {row['what']}, N={row['N']}, NB={row['NB']}, grid={row['grid']}, "
        f"{row['% of peak']} % of peak, {row['$/GFLOPS']} $/GFLOPS, {row['']}"
        for row in cells
    ]
    title = f"Published and simulated: {published.source}"
    whole, narrow = (of_cells(title, cells, names, LEFT) for names in (cells[0], NARROW))
    print_fitting(console, whole, narrow, below)
    for sentence in sentences(published, rows):
        console.print(sentence, soft_wrap=True)


def _cells(row: TestRow, price_usd: float) -> dict[str, str]:
    params, rate = row.test.params, row.simulated.gflops
    return {
        "test": str(row.test.number),
        "what": row.test.what,
        "N": str(params["N"]),
        "NB": str(params["NB"]),
        "grid": str(params["grid"]),
        "published": f"{row.test.gflops:g}",
        "% of peak": str(row.test.percent_of_peak),
        "$/GFLOPS": f"{price_usd / row.test.gflops:,.0f}",
        "simulated": "failed" if rate is None else f"{rate:.4g}",
        "error": "" if row.error is None else f"{row.error:+.1%}",
        "": row.test.role,
    }


def sentences(published: Published, rows: Sequence[TestRow]) -> list[str]:
    """Which tests failed, how far the predictions are off, and what single changes gained."""
    found = [f"Test {row.test.number} failed: {row.simulated.reason}." for row in rows if row.simulated.gflops is None]
    found.append(
        "GFLOPS and % of peak are published. "
        f"$/GFLOPS is the price at construction, ${published.best['price_usd']:,.0f}, for each published GFLOPS."
    )
    found.append(unstated_sentence(published))
    errors = typical_error(rows)
    fitted = ", ".join(str(row.test.number) for row in rows if row.test.role == "fitted")
    if errors:
        found.append(
            f"The model was fitted to tests {fitted} only. Its error on the predicted tests "
            f"{', '.join(map(str, judged(rows)))} is {100 * errors[0]:.1f} % (median), {100 * errors[1]:.1f} % at most."
        )
    for pair in published.gains:
        gains = gain(rows, pair.before, pair.after)
        if gains:
            found.append(f"{pair.what} gained {gains[0]:.1%} as published, {gains[1]:.1%} simulated.")
    return found


def unstated_sentence(published: Published) -> str:
    """Which settings the publication does not state, and what was taken for them."""
    words = ", ".join(f"{name}={value}" for name, value in published.unstated.items())
    return (
        f"The article does not state {listed(list(published.unstated))}. "
        f"The simulations assume values from the HPL.dat that HPL ships: {words}."
    )


def show_summary(console: Console, site: SimulatedCluster, published: Published, rows: Sequence[TestRow]) -> None:
    """Table 2, published beside simulated."""
    console.print("The article also says:")
    for fact in published.facts:
        console.print(f"- {fact}", soft_wrap=True)
    table = Table(title="The best published configuration", title_justify="left")
    for head in ("", "published", "simulated"):
        table.add_column(head, justify="left" if not head else "right")
    for name, said, simulated in summary(site, published, rows):
        table.add_row(name, f"{said:,.10g}", "" if simulated is None else f"{simulated:.4g}")
    console.print(table)


def summary(
    site: SimulatedCluster, published: Published, rows: Sequence[TestRow]
) -> list[tuple[str, float, float | None]]:
    """Figures of merit by name, as published and as simulated."""
    best = published.best
    rate = next((row.simulated.gflops for row in rows if row.test.number == best["test"]), None)
    cluster = site.cluster
    found: list[tuple[str, float, float | None]] = [("GFLOPS", best["gflops"], rate)]
    figures = rate and merit(rate, rpeak_gflops=cluster.rpeak_gflops, price_usd=None, power_w=cluster.power_w)
    found.append(("% of peak", best["percent_of_peak"], figures.percent_of_peak if figures else None))
    for when, prefix in PRICES.items():
        price = best[f"{prefix}price_usd"]
        found.append((f"price in $, {when}", price, None))
        found.append((f"$/GFLOPS, {when}", best[f"{prefix}usd_per_gflops"], price / rate if rate else None))
    found.append(("W under load", best["power_w"], None))
    found.append(("MFLOPS/W", best["mflops_per_watt"], figures.mflops_per_watt if figures else None))
    return found


def show_found(console: Console, published: Published, rows: Sequence[TestRow], found: Found, study: str) -> None:
    """What the same hardware could have done."""
    best = found.winner.expected_gflops
    tested = next((row.simulated.gflops for row in rows if row.test.number == published.best["test"]), None)
    beside = f", {best / tested - 1:.1%} above test {published.best['test']:.0f} as simulated" if tested else ""
    console.print(
        f"The search found {best:.2f} GFLOPS on the same hardware: {best / published.best['gflops'] - 1:.1%} above the "
        f"published {published.best['gflops']}{beside}.",
        soft_wrap=True,
    )
    table = Table(title="What you lose by changing one setting of the best configuration", title_justify="left")
    for head in ("setting", "best", "published", "assumed", "loss with it", "worst", "loss with that"):
        table.add_column(head, justify="right" if "loss" in head else "left")
    for row in found.settings:
        loss = "" if row.loss is None else f"{row.loss:.1%}"
        was, taken = ("" if value is None else str(value) for value in (row.published, row.assumed))
        table.add_row(row.name, str(row.best), was, taken, loss, str(row.worst), f"{row.worst_loss:.1%}")
    console.print(table)
    for sentence in remarks(published, found):
        console.print(sentence, soft_wrap=True)
    if found.advised is not None:
        advised = found.advised.expected_gflops
        held = ", ".join(str(found.advised.params[name]) for name in published.advice.values)
        console.print(
            f'The documentation recommends "{published.advice.what}". With {held} you lose '
            f"{100 * (1 - advised / best):.1f} %, even after retuning everything else ({advised:.2f} GFLOPS).",
            soft_wrap=True,
        )
    console.print(f"All trials: hpltune show {study}")


def remarks(published: Published, found: Found) -> list[str]:
    """What the published values do not say: those that were assumed, and those where the model differs."""
    said = []
    assumed = [row.name for row in found.settings if row.assumed is not None]
    if assumed:
        said.append(
            f'The article does not state {listed(assumed)}. "assumed" is what the simulations took, not what the '
            "authors used: these losses say nothing about the authors' tests."
        )
    best = {row.name: row.best for row in found.settings}
    said += [
        f"{one.setting} was best at {one.published} in the article and at {best[one.setting]} here. {one.why}"
        for one in published.differs
        if best.get(one.setting, one.published) != one.published
    ]
    return said


def as_json(
    site: SimulatedCluster, published: Published, rows: Sequence[TestRow], found: Found | None
) -> dict[str, Any]:
    """All of it for scripts."""
    errors = typical_error(rows)
    return {
        "source": published.source,
        "facts": list(published.facts),
        "assumed": dict(published.unstated),
        "tests": [
            {
                "test": row.test.number,
                "role": row.test.role,
                "published_gflops": row.test.gflops,
                "published_percent_of_peak": row.test.percent_of_peak,
                "published_usd_per_gflops": published.best["price_usd"] / row.test.gflops,
                "simulated_gflops": row.simulated.gflops,
                "error": row.error,
                "params": dict(row.test.params),
            }
            for row in rows
        ],
        "median_error": errors[0] if errors else None,
        "largest_error": errors[1] if errors else None,
        "summary": [
            {"name": name, "published": said, "simulated": got} for name, said, got in summary(site, published, rows)
        ],
        "search": None
        if found is None
        else {
            "gflops": found.winner.expected_gflops,
            "params": dict(found.winner.params),
            "settings": [asdict(row) for row in found.settings],
            "remarks": remarks(published, found),
            "advised_gflops": found.advised.expected_gflops if found.advised else None,
            "advised_params": dict(found.advised.params) if found.advised else None,
        },
    }
