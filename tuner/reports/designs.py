"""The report of `hpltune predict`: designs of clusters side by side."""

from collections.abc import Sequence

from results.metrics import four_digits
from results.report.model import Copied, Figure, Heading, Part, Sentence, Series, Table, Wrap, columns

from ..simulation.design import Prediction
from .virtual_cluster import caution, cluster_table, computed

NARROW = ("design", "GFLOPS", "% of peak", "$/GFLOPS", "MFLOPS/W")
"""Columns that a narrow page shows; the other figures stand below the table."""
WORDS = frozenset({"design", "grid", "blas"})
PARAMETERS = ("N", "NB", "grid", "blas")
"""Parameters of the best configuration that have a column."""


def design_parts(predictions: Sequence[Prediction]) -> tuple[Part, ...]:
    """A table of designs with their best configurations, sentences on what it does not say, and figures."""
    if not predictions:
        return ()
    sentences = [sentence for prediction in predictions for sentence in _sentences(prediction)]
    return (_table(predictions), *sentences, *design_figures(predictions))


def design_facts(predictions: Sequence[Prediction]) -> list[object]:
    """The figures of each design for scripts."""
    return [_facts(prediction) for prediction in predictions]


def _table(predictions: Sequence[Prediction]) -> Table:
    rows = [_cells(prediction) for prediction in predictions]
    best = max(prediction.gflops for prediction in predictions)
    rest = [name for name in rows[0] if name not in NARROW]
    return Table(
        title="Tuned in simulation",
        columns=columns(*rows[0], words=WORDS, wrap=Wrap.ANYWHERE),
        rows=tuple(tuple(row.values()) for row in rows),
        bold=frozenset(number for number, prediction in enumerate(predictions) if prediction.gflops == best),
        narrow=NARROW,
        below=tuple(
            f"{row['design']}: " + ", ".join(f"{name} {row[name]}" for name in rest if row[name]) for row in rows
        ),
    )


def _cells(prediction: Prediction) -> dict[str, str]:
    merit = prediction.merit
    return {
        "design": prediction.design.name,
        "nodes": str(prediction.nodes),
        "price $": _number(prediction.price_usd, ",.0f"),
        "GFLOPS": four_digits(prediction.gflops),
        "% of peak": _number(merit.percent_of_peak, ".1f"),
        "$/GFLOPS": _four(merit.usd_per_gflops),
        "MFLOPS/W": _four(merit.mflops_per_watt),
        **{name: str(prediction.best.params[name]) for name in PARAMETERS},
    }


def _four(value: float | None) -> str:
    return "" if value is None else four_digits(value)


def _number(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)


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


def _facts(prediction: Prediction) -> dict[str, object]:
    return {
        "design": prediction.design.name,
        "nodes": prediction.nodes,
        "nodes_used": prediction.nodes_used,
        "price_usd": prediction.price_usd,
        "power_w": prediction.power_w,
        "rpeak_gflops": prediction.rpeak_gflops,
        "gflops": prediction.gflops,
        "percent_of_peak": prediction.merit.percent_of_peak,
        "above_peak": prediction.above_peak,
        "usd_per_gflops": prediction.merit.usd_per_gflops,
        "mflops_per_watt": prediction.merit.mflops_per_watt,
        "study": prediction.study,
        "params": dict(prediction.best.params),
    }


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
