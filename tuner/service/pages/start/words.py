"""What the form tells of the machine and of a preview."""

from ....messages.plain_paths import without_paths
from ....units import dollars, duration, gibibytes
from ....words import counted, listed
from ...campaigns.host_survey import HostView
from ...campaigns.preview import Preview
from ..facts import StatedFact

MOST_NAMED = 5
"""Campaigns ahead that are named."""


def machine_facts(seen: HostView) -> list[StatedFact]:
    """What is known of this machine without timing anything."""
    host, inventory = seen.host, seen.inventory
    facts = [
        StatedFact("CPU", f"{host.cpu_model}, {counted(host.physical_cores, 'core')}"),
        StatedFact("Memory", f"{gibibytes(host.memory_available_bytes)} free of {gibibytes(host.memory_total_bytes)}"),
        StatedFact("Rpeak", f"{seen.rpeak.gflops:.4g} GFLOPS"),
    ]
    if inventory is None:
        return [*facts, StatedFact("Missing", without_paths(seen.missing))]
    names = [entry.name for entry in inventory.blas]
    mpis = [f"{mpi.name} {mpi.version}" for mpi in inventory.mpis]
    return [*facts, StatedFact("BLAS", ", ".join(names)), StatedFact("MPI", ", ".join(dict.fromkeys(mpis)))]


def preview_facts(seen: Preview) -> list[StatedFact]:
    """What would come of a campaign."""
    expected = seen.expected
    facts = [StatedFact("Works on", listed(list(seen.nodes)) + (", by simulating" if expected.simulated else ""))]
    if seen.points is not None:
        facts.append(StatedFact("Space", f"{counted(seen.points, 'valid combination')}"))
    facts.append(StatedFact("Ends after", expected.limits + (" of the virtual cluster" if expected.simulated else "")))
    if expected.usd is not None:
        facts.append(StatedFact("Costs", f"about {dollars(expected.usd)} of the machine's time"))
    return [*facts, StatedFact("Before it", _before(seen))]


def _before(seen: Preview) -> str:
    if not seen.ahead:
        return "nothing: it starts now"
    named = list(seen.ahead[:MOST_NAMED])
    more = [f"{len(seen.ahead) - len(named)} more"] if len(seen.ahead) > len(named) else []
    wait = "" if seen.wait_s is None else f", for about {duration(seen.wait_s)}"
    return listed([*named, *more]) + wait
