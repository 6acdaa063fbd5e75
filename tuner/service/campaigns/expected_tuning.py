"""What a tuning may take, and how large its space is."""

import threading
from collections.abc import Callable
from math import prod

from search_spaces.load import space_text
from search_spaces.space import SearchSpace

from ...commands.spaces import EXAMPLE_N
from ...machine.inventory import Inventory
from ...options import TuneOptions
from ...simulation.cluster import cluster_from
from ...simulation.known import simulated_space
from ...simulation.options import hourly_usd, usd_per_hour
from ...study.sizing.size import load_space
from .expected import CampaignEstimate, SpaceSize
from .host_survey import HostSurvey
from .wrong import WrongDocumentError, read_as_document

COUNTING, PATIENT_S = threading.Lock(), 1.0
"""One space is counted at a time, so that many large ones leave time for others; who waits longer is told no number."""
MOST_COUNTED = 300
"""Combinations of the values in a document; more are not counted in the process that answers everybody."""
TOO_MANY = "There are too many combinations to count them beforehand."
OTHERS_COUNT = "How many combinations there are is not known yet: the service counts the spaces of others now."
NODES_TELL = "How many combinations there are is counted when the campaign asks the nodes of the cluster."


def expected_of(options: TuneOptions) -> CampaignEstimate:
    """What a tuning may take; the budget of a simulation is time of its virtual cluster."""
    budget = options.budget
    if options.cluster is not None:
        hourly = usd_per_hour(cluster_from(options.cluster))
        return CampaignEstimate(str(budget), None, budget.whole_s, hourly, simulated=True)
    return CampaignEstimate(str(budget), budget.wall_s, budget.whole_s, hourly_usd(options.price_usd, options.power_w))


def size_of(options: TuneOptions, survey: HostSurvey) -> SpaceSize:
    """Count the space of a tuning on its machine.

    Raises:
        WrongDocumentError: the space has no valid combination there.
    """
    given = prod(len(values) for values in (options.overrides or {}).values())
    if given > MOST_COUNTED:
        return SpaceSize(None, (TOO_MANY,))
    if options.cluster is not None:
        cluster = cluster_from(options.cluster)
        return _counted(lambda: simulated_space(options.space, cluster, EXAMPLE_N, options.overrides or {}))
    if options.real_cluster is not None:
        return SpaceSize(None, (NODES_TELL,))
    seen = survey.view(options)
    inventory = seen.inventory
    if inventory is None:
        return SpaceSize(None, (f"Something is missing on this machine: {seen.missing}.",))
    return _counted(lambda: load_space(options, inventory, space_text(options.space), EXAMPLE_N), inventory)


def _counted(load: Callable[[], SearchSpace], inventory: Inventory | None = None) -> SpaceSize:
    """Load and count a space, unless others are counted now.

    Raises:
        WrongDocumentError: it has no valid combination, or a value in it is wrong.
    """
    if not COUNTING.acquire(timeout=PATIENT_S):
        return SpaceSize(None, (OTHERS_COUNT,))
    try:
        space = read_as_document(load)
        return SpaceSize(len(space), _not_timed(space, inventory) if inventory else ())
    except WrongDocumentError as error:
        raise WrongDocumentError("space" if error.path == "document" else error.path, error.sentence) from error
    finally:
        COUNTING.release()


def _not_timed(space: SearchSpace, inventory: Inventory) -> tuple[str, ...]:
    """The sentence that kernels of a library are not counted yet."""
    if "kernel" not in space.parameters:
        return ()
    names = [entry.name for entry in inventory.blas if entry.name not in inventory.probes]
    return (f"Kernels of {', '.join(names)} are counted when the campaign has timed them.",) if names else ()
