"""The report of `hpltune predict`: designs of clusters side by side."""

from collections.abc import Sequence
from dataclasses import replace

from results.metrics import four_digits
from results.report.model import Copied, FactColumn, Figure, Heading, Part, Sentence, Series, Wrap, facts_of, table_of

from ..simulation.design import Prediction
from .virtual_cluster import caution, cluster_table, computed

FIELDS: tuple[FactColumn[Prediction], ...] = (
    FactColumn("design", lambda one: one.design.name, key="design", words=True),
    FactColumn("nodes", lambda one: one.nodes, key="nodes", aside=True),
    FactColumn("", lambda one: one.nodes_used, None, "nodes_used"),
    FactColumn("price $", lambda one: one.price_usd, ",.0f", "price_usd", aside=True),
    FactColumn("", lambda one: one.power_w, None, "power_w"),
    FactColumn("", lambda one: one.rpeak_gflops, None, "rpeak_gflops"),
    FactColumn("GFLOPS", lambda one: one.gflops, four_digits, "gflops"),
    FactColumn("% of peak", lambda one: one.merit.percent_of_peak, ".1f", "percent_of_peak"),
    FactColumn("", lambda one: one.above_peak, None, "above_peak"),
    FactColumn("$/GFLOPS", lambda one: one.merit.usd_per_gflops, four_digits, "usd_per_gflops"),
    FactColumn("MFLOPS/W", lambda one: one.merit.mflops_per_watt, four_digits, "mflops_per_watt"),
    FactColumn("", lambda one: one.study, None, "study"),
    FactColumn("", lambda one: dict(one.best.params), None, "params"),
    FactColumn("N", lambda one: one.best.params["N"], aside=True),
    FactColumn("NB", lambda one: one.best.params["NB"], aside=True),
    FactColumn("grid", lambda one: one.best.params["grid"], words=True, aside=True),
    FactColumn("blas", lambda one: one.best.params["blas"], words=True, aside=True),
)
"""What is told of each design."""


def design_parts(predictions: Sequence[Prediction]) -> tuple[Part, ...]:
    """A table of designs with their best configurations, sentences on what it does not say, and figures."""
    if not predictions:
        return ()
    sentences = [sentence for prediction in predictions for sentence in _sentences(prediction)]
    most = max(prediction.gflops for prediction in predictions)
    best = [place for place, prediction in enumerate(predictions) if prediction.gflops == most]
    table = table_of("Tuned in simulation", FIELDS, predictions, bold=best, wrap=Wrap.ANYWHERE)
    return (replace(table, below=True), *sentences, *design_figures(predictions))


def design_facts(predictions: Sequence[Prediction]) -> list[object]:
    """The figures of each design for scripts."""
    return [facts_of(FIELDS, prediction) for prediction in predictions]


def _sentences(prediction: Prediction) -> list[Sentence]:
    """What a reader must know of the figures of one design."""
    name, said = prediction.design.name, []
    if prediction.nodes_used < prediction.nodes:
        said.append(
            f"{name}: {prediction.nodes_used} of {prediction.nodes} nodes are used; % of peak, $/GFLOPS and "
            f"MFLOPS/W count only those."
        )
    if prediction.above_peak:
        said.append(f"{name}: {prediction.above_peak}")
    if prediction.unknown:
        lost = " and no ".join(prediction.unknown)
        said.append(f"{name} has no {lost}: the base states it for other nodes. Give the design its own.")
    return [Sentence(text, unbroken=True) for text in said]


def design_figures(predictions: Sequence[Prediction]) -> list[Figure]:
    """Rate within Rpeak of each design; where prices are known, what a GFLOPS costs, and GFLOPS against the price."""
    names = tuple(prediction.design.name for prediction in predictions)
    rates = Series("simulated, tuned", names, tuple(prediction.gflops for prediction in predictions))
    peaks = Series("Rpeak", names, tuple(prediction.rpeak_gflops for prediction in predictions))
    figures = [Figure("Simulated rate within Rpeak", "design", "GFLOPS", (peaks, rates), lying=True)]
    priced = [(one.price_usd, one) for one in predictions if one.price_usd]
    if not priced:
        return figures
    labels = tuple(one.design.name for _, one in priced)
    costs = Series("designs", labels, tuple(price_usd / one.gflops for price_usd, one in priced))
    prices_usd, gflops = tuple(price_usd for price_usd, _ in priced), tuple(one.gflops for _, one in priced)
    points = Series("designs", prices_usd, gflops, labels=labels)
    return [
        *figures,
        Figure("Price of the whole design for each GFLOPS", "design", "$/GFLOPS", (costs,), lying=True),
        Figure("GFLOPS against price", "price in $", "simulated GFLOPS", (points,)),
    ]


def design_page(predictions: Sequence[Prediction], simulator: str | None, command: str) -> tuple[Part, ...]:
    """The page in the order in which it is read; empty where no design was predicted.

    Args:
        simulator: its name and version.
        command: it does the same again.
    """
    if not predictions:
        return ()
    told = computed(simulator, "clusters that exist only as a description")
    noisy = any(prediction.design.cluster.noise.between_runs for prediction in predictions)
    exact = "" if noisy else " A configuration always gives the same rate, so that no rate has an interval."
    made = [_made(prediction) for prediction in predictions]
    return (
        caution(told + exact),
        Heading("The designs"),
        *design_parts(predictions),
        Heading("What each design is made of"),
        *(part for parts in made for part in parts),
        Heading("Run it again"),
        Copied(command),
    )


def _made(prediction: Prediction) -> list[Part]:
    """The cluster of a design, and where its trials are."""
    design = prediction.design
    used = design.network_used if design.blas is None else f"{design.network_used} and the BLAS {design.blas}"
    return [
        cluster_table(design.cluster, title=design.name),
        Sentence(f"Its search used the network {used}. Its trials are study {prediction.study}."),
    ]
