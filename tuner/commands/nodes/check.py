"""`hpltune nodes check`: whether the nodes of a cluster are ready."""

from dataclasses import dataclass

from results.report.model import Report
from results.stats.nodes.verdict import ReadinessVerdict, verdict_of

from ...errors import UsageError
from ...nodes.planted import KINDS, PlantedFault, virtual_check
from ...reports.nodes.readiness import readiness_page, readiness_report

MOST_VIRTUAL = 4096
"""Nodes of a virtual cluster."""


@dataclass(frozen=True)
class VirtualClusterAsked:
    """A virtual cluster to check, with faults planted in it.

    Attributes:
        faults: as people write them: KIND:NAME[,NAME][:PERCENT].
    """

    size: int
    per_switch: int = 16
    faults: tuple[str, ...] = ()
    seed: int = 0


@dataclass(frozen=True)
class NodesCheckResult:
    """What a check of nodes found.

    Attributes:
        interrupted: somebody stopped it; what was measured until then is judged.
    """

    verdict: ReadinessVerdict
    interrupted: bool = False

    def report(self) -> Report:
        """The verdict, and all results."""
        return readiness_report(self.verdict)

    def page(self) -> Report:
        """The same with figures."""
        return readiness_page(self.verdict)


def check_virtual(asked: VirtualClusterAsked) -> NodesCheckResult:
    """Check a virtual cluster: nothing is measured.

    Raises:
        UsageError: a fault cannot be read.
    """
    faults = [parse_fault(text) for text in asked.faults]
    check = virtual_check(asked.size, asked.per_switch, faults, asked.seed)
    known = {*check.nodes, *check.switches.values()}
    for fault in faults:
        for name in fault.names:
            if name not in known:
                first, last = check.nodes[0], check.nodes[-1]
                raise UsageError(
                    f"--fault {fault.kind}:{name}: there is no {name}: nodes are {first} to {last}, switches s01 …"
                )
    return NodesCheckResult(verdict_of(check))


def parse_fault(text: str) -> PlantedFault:
    """Read KIND:NAME[,NAME][:PERCENT].

    Raises:
        UsageError: it is none.
    """
    kind, _, rest = text.partition(":")
    names, _, percent = rest.partition(":")
    if kind not in KINDS or not names:
        raise UsageError(f"--fault {text}: write KIND:NODE[,NODE][:PERCENT], with a kind of {', '.join(KINDS)}")
    try:
        lost = float(percent or "5")
    except ValueError:
        lost = -1.0
    if not 0.0 < lost < 100.0:
        raise UsageError(f"--fault {text}: the percent that it takes of the rate are above 0 and below 100")
    return PlantedFault(kind, tuple(names.split(",")), lost)
