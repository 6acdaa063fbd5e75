"""The report of `hpltune reproduce`: published tests beside simulated ones."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from results.metrics import four_digits, merit
from results.report.model import Copied, Figure, Heading, Part, Sentence, Series, Table, Wrap, columns
from runners.virtual.cluster import VirtualCluster

from ..machine.peak import model_above_peak
from ..simulation.reproduction import (
    BestFound,
    ComparedTest,
    PublishedTuning,
    SettingLoss,
    error_sizes,
    gain,
    simulated_gflops,
    typical_error,
)
from ..words import listed
from .virtual_cluster import cluster_sentence, cluster_table

HEADS = ("setting", "best", "published", "assumed", "loss with it", "worst", "loss with that")


def best_found_parts(
    published: PublishedTuning, tests: Sequence[ComparedTest], found: BestFound, study: str
) -> tuple[Part, ...]:
    """How much faster the best configuration is, what its settings are worth, and what following the advice costs.

    Args:
        study: what `hpltune show` needs to find the trials.
    """
    table = Table(
        title="What you lose by changing one setting of the best configuration",
        columns=columns(*HEADS, words=[head for head in HEADS if "loss" not in head]),
        rows=tuple(_best_cells(row) for row in found.settings),
    )
    said = [*remarks(published, found), *_advice_sentences(published, found)]
    return (
        Sentence(_rate_sentence(published, tests, found), unbroken=True),
        *_figures(found),
        table,
        *(Sentence(text, unbroken=True) for text in said),
        Sentence(f"All trials: hpltune show {study}"),
    )


def _rate_sentence(published: PublishedTuning, tests: Sequence[ComparedTest], found: BestFound) -> str:
    best, number = found.winner.expected_gflops, int(published.best["test"])
    tested = simulated_gflops(tests, number)
    beside = f", {best / tested - 1:.1%} above test {number} as simulated" if tested else ""
    return (
        f"The search found {best:.2f} GFLOPS on the same hardware: {best / published.best['gflops'] - 1:.1%} above the "
        f"published {published.best['gflops']}{beside}."
    )


def _figures(found: BestFound) -> list[Figure]:
    """What each setting is worth; nothing where none was changed."""
    if not found.settings:
        return []
    names = tuple(row.name for row in found.settings)
    worst = Series(
        "worst value",
        names,
        tuple(100 * row.worst_loss for row in found.settings),
        labels=tuple(str(row.worst) for row in found.settings),
    )
    known = [row for row in found.settings if row.loss is not None]
    told = Series(
        "published or assumed value",
        tuple(row.name for row in known),
        tuple(100 * (row.loss or 0.0) for row in known),
        labels=tuple(str(row.assumed if row.published is None else row.published) for row in known),
    )
    title = "What one other setting costs"
    return [Figure(title, "setting", "% of the best rate lost", (worst, told), lying=True)]


def _best_cells(row: SettingLoss) -> tuple[str, ...]:
    loss = "" if row.loss is None else f"{row.loss:.1%}"
    published, assumed = ("" if value is None else str(value) for value in (row.published, row.assumed))
    return (row.name, str(row.best), published, assumed, loss, str(row.worst), f"{row.worst_loss:.1%}")


def remarks(published: PublishedTuning, found: BestFound) -> list[str]:
    """Which values the article does not state, and where the model finds another best value than the authors."""
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


def _advice_sentences(published: PublishedTuning, found: BestFound) -> list[str]:
    if found.advised is None:
        return []
    advised = found.advised.expected_gflops
    held = ", ".join(str(found.advised.params[name]) for name in published.advice.values)
    loss = 1 - advised / found.winner.expected_gflops
    sentence = (
        f'The documentation recommends "{published.advice.what}". With {held} you lose {100 * loss:.1f} %, even after '
        f"retuning everything else ({advised:.2f} GFLOPS)."
    )
    return [sentence]


def best_found_facts(published: PublishedTuning, found: BestFound) -> dict[str, object]:
    """What the searches found, for scripts."""
    return {
        "gflops": found.winner.expected_gflops,
        "params": dict(found.winner.params),
        "settings": [asdict(row) for row in found.settings],
        "remarks": remarks(published, found),
        "advised_gflops": found.advised.expected_gflops if found.advised else None,
        "advised_params": dict(found.advised.params) if found.advised else None,
    }


NARROW = ("test", "published", "simulated", "error")
"""Columns of the table of tests that a narrow page shows; the rest stands below the table."""
WORDS = frozenset({"what", "grid", ""})
PRICES = {
    "at construction": "",
    "at the article's date": "later_",
    "then, less a disk and the video card": "stripped_",
}
"""The dates of a price, and how the keys of its figures begin."""
SummaryRow = tuple[str, float, float | None]
"""A figure of merit by name, as published and as simulated."""


def comparison_parts(
    cluster: VirtualCluster, published: PublishedTuning, tests: Sequence[ComparedTest]
) -> tuple[Part, ...]:
    """The tests and the best published configuration, each published beside simulated."""
    facts = [Sentence("The article also says:"), *article_facts(published)]
    return (*test_parts(published, tests), *facts, *best_parts(cluster, published, tests))


def test_parts(published: PublishedTuning, tests: Sequence[ComparedTest]) -> tuple[Part, ...]:
    """The tests, each published beside simulated, as figures, as a table and in sentences."""
    said = [Sentence(text, unbroken=True) for text in sentences(published, tests)]
    return (*test_figures(tests), test_table(published, tests), *said)


def test_figures(tests: Sequence[ComparedTest]) -> list[Figure]:
    """Published beside simulated rates, and how far they are apart."""
    return [_rate_figure(tests), *_error_figures(tests)]


def article_facts(published: PublishedTuning) -> list[Sentence]:
    """What else the publication says."""
    return [Sentence(f"- {fact}", unbroken=True) for fact in published.facts]


def best_parts(cluster: VirtualCluster, published: PublishedTuning, tests: Sequence[ComparedTest]) -> list[Part]:
    """The best published configuration with its figures of merit, and why one is above its peak."""
    doubt = above_peak(cluster, published, tests)
    table = Table(
        title="The best published configuration",
        columns=columns("", "published", "simulated", words=[""]),
        rows=tuple(
            (name, f"{said:,.10g}", "" if simulated is None else f"{simulated:.4g}")
            for name, said, simulated in summary(cluster, published, tests)
        ),
    )
    return [table, *([Sentence(doubt, unbroken=True)] if doubt else [])]


def test_table(published: PublishedTuning, tests: Sequence[ComparedTest]) -> Table:
    """Each test with its published and its simulated rate."""
    rows = [_cells(row, published.best["price_usd"]) for row in tests]
    return Table(
        title=f"Published and simulated: {published.source}",
        columns=columns(*rows[0], words=WORDS, wrap=Wrap.ANYWHERE),
        rows=tuple(tuple(row.values()) for row in rows),
        narrow=NARROW,
        below=tuple(
            f"Test {row['test']}: {row['what']}, N={row['N']}, NB={row['NB']}, grid={row['grid']}, "
            f"{row['% of peak']} % of peak, {row['$/GFLOPS']} $/GFLOPS, {row['']}"
            for row in rows
        ),
    )


def _cells(row: ComparedTest, price_usd: float) -> dict[str, str]:
    params, rate = row.test.params, row.simulated.gflops
    return {
        "test": str(row.test.number),
        "what": row.test.what,
        "N": str(params["N"]),
        "NB": str(params["NB"]),
        "grid": str(params["grid"]),
        "published": f"{row.test.gflops:g}",
        "% of peak": str(row.test.percent_of_peak),
        "$/GFLOPS": four_digits(round(price_usd / row.test.gflops)),
        "simulated": "failed" if rate is None else f"{rate:.4g}",
        "error": "" if row.error is None else f"{row.error:+.1%}",
        "": row.test.role,
    }


def sentences(published: PublishedTuning, tests: Sequence[ComparedTest], *, prices: bool = True) -> list[str]:
    """Which tests failed, how far the predictions are off, and what single changes gained.

    Args:
        prices: also what a GFLOPS cost.
    """
    said = [f"Test {row.test.number} failed: {row.simulated.reason}." for row in tests if row.simulated.gflops is None]
    price = f"$/GFLOPS is the price at construction, ${published.best['price_usd']:,.0f}, for each published GFLOPS."
    said.append(f"GFLOPS and % of peak are published.{f' {price}' if prices else ''}")
    said.append(_unstated_sentence(published))
    errors = typical_error(tests)
    fitted = listed([str(row.test.number) for row in tests if row.test.role == "fitted"])
    if errors:
        said.append(
            f"The model was fitted to tests {fitted} only; all others are predicted. Its error on tests "
            f"{listed(list(map(str, error_sizes(tests))))} is {100 * errors[0]:.1f} % (median), "
            f"{100 * errors[1]:.1f} % at most."
        )
        said += [
            f"Test {row.test.number} is predicted, too, but unlike the others and not counted among them: its error is "
            f"{100 * abs(row.error):.1f} %."
            for row in tests
            if row.test.apart and row.test.role == "predicted" and row.error is not None
        ]
    for pair in published.gains:
        gains = gain(tests, pair.before, pair.after)
        if gains:
            said.append(f"{pair.what} gained {gains[0]:.1%} as published, {gains[1]:.1%} simulated.")
    return said


def _unstated_sentence(published: PublishedTuning) -> str:
    """Which settings the publication does not state, and which values the simulations take for them."""
    words = ", ".join(f"{name}={value}" for name, value in published.unstated.items())
    return (
        f"The article does not state {listed(list(published.unstated))}. "
        f"The simulations assume values from the HPL.dat that HPL ships: {words}."
    )


def above_peak(cluster: VirtualCluster, published: PublishedTuning, tests: Sequence[ComparedTest]) -> str | None:
    """Why the best published configuration is above 100 % of peak as simulated; None where it is not."""
    rate = simulated_gflops(tests, int(published.best["test"]))
    return model_above_peak(merit(rate, rpeak_gflops=cluster.rpeak_gflops).percent_of_peak) if rate else None


def summary(cluster: VirtualCluster, published: PublishedTuning, tests: Sequence[ComparedTest]) -> list[SummaryRow]:
    """The figures of merit of the best published configuration."""
    best = published.best
    rate = simulated_gflops(tests, int(best["test"]))
    figures = merit(rate, rpeak_gflops=cluster.rpeak_gflops, price_usd=None, power_w=cluster.power_w) if rate else None
    rows: list[SummaryRow] = [
        ("GFLOPS", best["gflops"], rate),
        ("% of peak", best["percent_of_peak"], figures.percent_of_peak if figures else None),
    ]
    for date, prefix in PRICES.items():
        price_usd = best[f"{prefix}price_usd"]
        rows.append((f"price in $, {date}", price_usd, None))
        rows.append((f"$/GFLOPS, {date}", best[f"{prefix}usd_per_gflops"], price_usd / rate if rate else None))
    rows.append(("W under load", best["power_w"], None))
    rows.append(("MFLOPS/W", best["mflops_per_watt"], figures.mflops_per_watt if figures else None))
    return rows


def _rate_figure(tests: Sequence[ComparedTest]) -> Figure:
    """Published beside simulated for each test; a simulation that failed has no point."""
    published = {f"test {row.test.number}": row.test.gflops for row in tests}
    simulated = {f"test {row.test.number}": row.simulated.gflops for row in tests if row.simulated.gflops is not None}
    sides = {"published": published, "simulated": simulated}
    series = tuple(Series(name, tuple(side), tuple(side.values())) for name, side in sides.items())
    return Figure("Published and simulated GFLOPS of each test", "test", "GFLOPS", series, lying=True)


def _error_figures(tests: Sequence[ComparedTest]) -> list[Figure]:
    """How far the simulation of each test is off; nothing where none gave a rate."""
    errors = {
        f"test {row.test.number}{', fitted' if row.test.role == 'fitted' else ''}": 100 * row.error
        for row in tests
        if row.error is not None
    }
    if not errors:
        return []
    series = Series("simulated", tuple(errors), tuple(errors.values()))
    return [Figure("Simulated rate above or below the published one", "test", "difference in %", (series,), lying=True)]


def reproduction_facts(
    cluster: VirtualCluster, published: PublishedTuning, tests: Sequence[ComparedTest], search: dict[str, object] | None
) -> dict[str, object]:
    """All of it for scripts.

    Args:
        search: the facts of the searches; None where there was none or it was stopped.
    """
    errors = typical_error(tests)
    doubt = above_peak(cluster, published, tests)
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
            for row in tests
        ],
        "median_error": errors[0] if errors else None,
        "largest_error": errors[1] if errors else None,
        "summary": [
            {"name": name, "published": said, "simulated": simulated}
            for name, said, simulated in summary(cluster, published, tests)
        ],
        **({"above_peak": doubt} if doubt else {}),
        "search": search,
    }


@dataclass(frozen=True)
class ReproductionPage:
    """What the page is made of.

    Attributes:
        search: what the searches found; empty where there was none.
    """

    cluster: VirtualCluster
    published: PublishedTuning
    tests: Sequence[ComparedTest]
    search: Sequence[Part] = ()

    def parts(self, simulator: str | None, command: str) -> tuple[Part, ...]:
        """The page in the order in which it is read.

        Args:
            simulator: its name and version.
            command: it does the same again.
        """
        search = [Heading("What the same hardware could have done"), *self.search] if self.search else []
        return (
            cluster_sentence(self.cluster, simulator, rates="every rate that is not called published"),
            Heading("Published beside simulated"),
            *test_parts(self.published, self.tests),
            *best_parts(self.cluster, self.published, self.tests),
            *search,
            Heading("The article also says"),
            *article_facts(self.published),
            Heading("What was simulated"),
            cluster_table(self.cluster),
            Heading("Run it again"),
            Copied(command),
        )
