"""The report of `hpltune reproduce`: published tests beside simulated ones."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

from results.metrics import four_digits, merit
from results.report.model import (
    Copied,
    FactColumn,
    Figure,
    Heading,
    Part,
    Sentence,
    Series,
    Table,
    Wrap,
    facts_of,
    table_of,
)
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

SETTINGS: tuple[FactColumn[SettingLoss], ...] = (
    FactColumn("setting", lambda row: row.name, words=True),
    FactColumn("best", lambda row: row.best, words=True),
    FactColumn("published", lambda row: row.published, words=True),
    FactColumn("assumed", lambda row: row.assumed, words=True),
    FactColumn("loss with it", lambda row: row.loss, ".1%"),
    FactColumn("worst", lambda row: row.worst, words=True),
    FactColumn("loss with that", lambda row: row.worst_loss, ".1%"),
)
"""What is told of each setting that was changed alone."""


def best_found_parts(
    published: PublishedTuning, tests: Sequence[ComparedTest], found: BestFound, study: str
) -> tuple[Part, ...]:
    """How much faster the best configuration is, what its settings are worth, and what following the advice costs.

    Args:
        study: what `hpltune show` needs to find the trials.
    """
    table = table_of("What you lose by changing one setting of the best configuration", SETTINGS, found.settings)
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


PRICES = {
    "at construction": "",
    "at the article's date": "later_",
    "then, less a disk and the video card": "stripped_",
}
"""The dates of a price, and how the keys of its figures begin."""
SummaryRow = tuple[str, float, float | None]
"""A figure of merit by name, as published and as simulated."""
SUMMARY: tuple[FactColumn[SummaryRow], ...] = (
    FactColumn("", lambda row: row[0], key="name", words=True),
    FactColumn("published", lambda row: row[1], ",.10g", "published"),
    FactColumn("simulated", lambda row: row[2], ".4g", "simulated"),
)


def test_fields(price_usd: float) -> tuple[FactColumn[ComparedTest], ...]:
    """What is told of each test of a cluster that cost so much."""
    return (
        FactColumn("test", lambda row: row.test.number, key="test"),
        FactColumn("with", lambda row: row.test.what, words=True, aside=True),
        FactColumn("N", lambda row: row.test.params["N"], aside=True),
        FactColumn("NB", lambda row: row.test.params["NB"], aside=True),
        FactColumn("grid", lambda row: row.test.params["grid"], words=True, aside=True),
        FactColumn("", lambda row: row.test.role, None, "role"),
        FactColumn("published", lambda row: row.test.gflops, "g", "published_gflops"),
        FactColumn("% of peak", lambda row: row.test.percent_of_peak, key="published_percent_of_peak", aside=True),
        FactColumn("$/GFLOPS", lambda row: round(price_usd / row.test.gflops), four_digits, aside=True),
        FactColumn("", lambda row: price_usd / row.test.gflops, None, "published_usd_per_gflops"),
        FactColumn("simulated", lambda row: row.simulated.gflops, ".4g", "simulated_gflops", none="failed"),
        FactColumn("error", lambda row: row.error, "+.1%", "error"),
        FactColumn("", lambda row: row.test.role, words=True, aside=True),
        FactColumn("", lambda row: dict(row.test.params), None, "params"),
    )


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
    table = table_of("The best published configuration", SUMMARY, summary(cluster, published, tests))
    return [table, *([Sentence(doubt, unbroken=True)] if doubt else [])]


def test_table(published: PublishedTuning, tests: Sequence[ComparedTest]) -> Table:
    """Each test with its published and its simulated rate."""
    title, fields = f"Published and simulated: {published.source}", test_fields(published.best["price_usd"])
    return replace(table_of(title, fields, tests, wrap=Wrap.ANYWHERE), below=True)


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
        "tests": [facts_of(test_fields(published.best["price_usd"]), row) for row in tests],
        "median_error": errors[0] if errors else None,
        "largest_error": errors[1] if errors else None,
        "summary": [facts_of(SUMMARY, row) for row in summary(cluster, published, tests)],
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
