"""The page of `hpltune predict`: designs of clusters side by side, and what each is made of."""

from collections.abc import Sequence

from results.report.model import Copied, Heading, Part, Sentence

from ...simulation.design import Prediction
from ..designs import design_parts
from .virtual_cluster import caution, cluster_table, computed


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
