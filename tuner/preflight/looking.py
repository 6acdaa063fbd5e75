"""Asks a machine or its nodes for what checks read, and tells what they find."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from results.node_check import ranges
from results.report.model import Table, columns
from runners.hosts.host_facts import confined
from runners.hosts.transport import Local, Transport
from runners.readiness.asking import ask_facts
from runners.readiness.fact_table import fact_named

from ..machine.inventory import Inventory
from .contract import SHOWN, NodeView, RunPlan, Spoiler, SpoilerCheck, SpoilerWeight
from .registry import CHECKS
from .surroundings import other_programs

HERE = "this host"
LIMIT_S = 10.0
"""Seconds that a node has for its facts; it takes some tenths of one."""
MORE_FACTS = ("cpus_allowed", "memory_gib", "infiniband_state", "cores")
"""That checks read beside their own."""

UNITS = {
    "cpus_allowed": "CPUs",
    "cores": "cores",
    "cpu_quota": "CPUs",
    "swap_used_gib": "GiB used",
    "memory_gib": "GiB of memory",
    "limit_nofile": "files",
    "limit_nofile_hard": "files at most",
    "limit_processes": "processes",
    "limit_tasks": "processes",
    "work_free_gib": "GiB free",
    "work_free_files": "files free",
}
"""Of numbers whose titles end with none that a reader of one row would understand."""
SMT = {"notsupported": "no SMT", "notimplemented": "SMT not known", "forceoff": "SMT off"}
"""What the kernel's words for hardware threads mean; "on" and "off" say it."""


@dataclass(frozen=True)
class Preflight:
    """What was looked at, and found.

    Attributes:
        findings: warnings first, in the order of the checks.
        facts: by node what it told; this machine is HERE.
        looked: the checks that were made.
        silent: by node why it told nothing.
    """

    findings: tuple[Spoiler, ...] = ()
    facts: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    looked: tuple[SpoilerCheck, ...] = ()
    silent: Mapping[str, str] = field(default_factory=dict)

    @property
    def warnings(self) -> list[str]:
        """What makes runs slower, less alike, or fail: a sentence each, with what to do, without full stops."""
        return [sentence_of(one) for one in self.findings if one.severity is SpoilerWeight.WARNING]

    def with_memory(self, plan: RunPlan, memory_gb_s: float | None) -> "Preflight":
        """Return the same with what the measured rate of the memory tells, in GB/s by STREAM's triad on all cores."""
        return replace(self, findings=tuple(found_in(self.facts, plan, self.looked, memory_gb_s)))

    def table(self, *, everything: bool) -> Table:
        """Return a row for each check that found something, or for each: what was found, and what to do."""
        rows = [(check.title, *self._told(check)) for check in self.looked if everything or self._of(check)]
        return Table("What could spoil runs", columns("looked at", "found", "what to do"), tuple(rows))

    def to_json(self) -> list[dict[str, object]]:
        """Return the same for scripts."""
        facts = self.facts.items()
        return [
            {
                "check": check.name,
                "verdict": self.verdict(check),
                "findings": [
                    {"severity": one.severity.value, "sentence": one.sentence, "remedy": one.remedy}
                    | {"nodes": list(one.nodes)}
                    for one in self._of(check)
                ],
                "facts": {node: {name: own[name] for name in check.facts if name in own} for node, own in facts},
            }
            for check in self.looked
        ]

    def verdict(self, check: SpoilerCheck) -> str:
        """Return good, note, warning, or unknown where no node tells what the check reads."""
        found = [one.severity for one in self._of(check)]
        if found:
            return str(max(found, key=list(SpoilerWeight).index).value)
        return "good" if self._seen(check) else "unknown"

    def _of(self, check: SpoilerCheck) -> list[Spoiler]:
        return [one for one in self.findings if one.check == check.name]

    def _seen(self, check: SpoilerCheck) -> list[str]:
        """What nodes told of a check, each value once, with its unit."""
        own = [NodeView(facts, RunPlan(1)) for facts in self.facts.values()]
        return list(dict.fromkeys(_with_unit(name, view) for name in check.facts for view in own if view.text(name)))

    def _told(self, check: SpoilerCheck) -> tuple[str, str]:
        found = self._of(check)
        if found:
            words = "\n".join(f"{one.severity.value}: {_where(one)}{one.sentence}" for one in found)
            return words, "\n".join(dict.fromkeys(one.remedy for one in found))
        seen = "; ".join(self._seen(check))
        return (f"good ({seen[:SHOWN]})" if seen else "not told here"), ""


def _with_unit(name: str, view: NodeView) -> str:
    """A fact with the unit that its title ends with; the kernel's words for SMT in ours."""
    if name == "smt":
        return SMT.get(view.text(name), f"SMT {view.text(name)}")
    unit = UNITS.get(name) or fact_named(name).title.partition(", ")[2] if view.number(name) is not None else ""
    return f"{view.text(name)} {unit}".rstrip()


def sentence_of(finding: Spoiler) -> str:
    """Write a finding with its nodes and its remedy, without a full stop."""
    return f"{_where(finding)}{finding.sentence}; what helps: {finding.remedy}"


def _where(finding: Spoiler) -> str:
    if not finding.nodes:
        return ""
    return f"node{'s' if len(finding.nodes) > 1 else ''} {ranges(finding.nodes)}: "


def look(
    plan: RunPlan,
    work: Path,
    reach: Transport | None = None,
    nodes: Sequence[str] = (),
    *,
    slow: bool = False,
    waits: bool = False,
) -> Preflight:
    """Ask this machine, or nodes, and check what they tell.

    Args:
        plan: what runs will take of each node.
        work: the folder of the runs.
        reach: how nodes are asked; None asks this machine.
        slow: also what takes too long for the beginning of a study.
        waits: without other programs, since a wait for a quiet machine follows, which tells them.
    """
    checks = tuple(
        check for check in CHECKS if (slow or not check.slow) and not (waits and check.look is other_programs)
    )
    names = {*MORE_FACTS, *(name for check in checks for name in check.facts)}
    asked = ask_facts(reach or Local(), list(nodes) or [HERE], names, work=work, limit_s=LIMIT_S)
    return Preflight(tuple(found_in(asked.facts, plan, checks)), asked.facts, checks, asked.silent)


def found_in(
    facts: Mapping[str, Mapping[str, str]],
    plan: RunPlan,
    checks: Sequence[SpoilerCheck],
    memory_gb_s: float | None = None,
) -> Iterator[Spoiler]:
    """Yield what checks find in the facts of nodes; what is the same on several is one finding. Warnings come first."""
    found: dict[Spoiler, list[str]] = {}
    for check in checks:
        for node, own in facts.items():
            for told in check.look(NodeView(own, plan, memory_gb_s)):
                one = replace(told, check=check.name, remedy=told.remedy or check.remedy)
                found.setdefault(one, []).append(node)
    for one in sorted(found, key=lambda one: one.severity is not SpoilerWeight.WARNING):
        names = () if found[one] == [HERE] else tuple(found[one])
        yield replace(one, nodes=names)


def plan_here(ranks: int, threads: int = 1, memory_bytes: int = 0) -> RunPlan:
    """Return what runs on this machine will take."""
    return RunPlan(ranks, threads, memory_bytes, confined=confined())


def plan_on(machine: Inventory, ranks: int | None = None, threads: int = 1, memory_bytes: int = 0) -> RunPlan:
    """Return what runs on a machine or on its nodes will take of each.

    Args:
        ranks: of one run on all nodes; None takes one for each core, which is the most that a search tries.
        memory_bytes: of one run on all nodes; 0 where nobody knows yet.
    """
    count = max(1, machine.node_count)
    each = -(-(ranks or machine.host.physical_cores) // count)
    if machine.nodes is None:
        return plan_here(each, threads, memory_bytes)
    return RunPlan(each, threads, memory_bytes // count, count, machine.nodes.interfaces, here=False)


def before_runs(
    machine: Inventory,
    work: Path,
    ranks: int | None = None,
    threads: int = 1,
    memory_bytes: int = 0,
    *,
    waits: bool = False,
) -> list[str]:
    """Return what would spoil runs now, a sentence each; nothing of nodes that a batch system chooses later.

    Args:
        ranks, threads, memory_bytes: as `plan_on` takes them.
        waits: as `look` takes it.
    """
    plan = plan_on(machine, ranks, threads, memory_bytes)
    if machine.nodes is None:
        return look(plan, work, waits=waits).warnings
    if not machine.node_names:
        return []
    return look(plan, work, machine.nodes.cluster.reach, machine.node_names, waits=waits).warnings
