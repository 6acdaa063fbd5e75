"""Asks and measures the nodes of a cluster, all at once; what a node cannot do is told, and the rest goes on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from results.node_check import NodeCheck, ranges
from runners.hosts.hearing import FILES
from runners.hosts.node_facts import same_host, same_image, same_kernel
from runners.hosts.staging import stage, unstage
from runners.hosts.transport import Ssh
from runners.process_tree import require_open_files
from runners.readiness.asking import AskedFacts, ask_facts
from runners.readiness.fact_table import FACTS, FILE, OddFact, classes_of, odd_facts

from ..events import Listener, NodesMeasured, Notice, WorkEnded, WorkStarted
from ..machine.node_checks import said_together
from ..stopping import StopRequest
from ..words import counted
from .steps.step import NodesTarget, Step, StepPlace


@dataclass(frozen=True)
class MeasuringPlan:
    """What is asked and measured.

    Attributes:
        steps: kinds of benchmarks, simple ones first; none measures nothing.
        same_files: files that should be the same on all nodes.
        mpirun: an MPI launcher that nodes should have; None asks for none.
    """

    steps: tuple[Step, ...] = ()
    same_files: tuple[Path, ...] = ()
    mpirun: Path | None = None


@dataclass(frozen=True)
class MeasuredNodes:
    """What nodes said and did.

    Attributes:
        odd: facts that are not as usual.
        clones: nodes whose systems are copies of one that was already installed, in groups.
        notes: what else people should know.
        shared: nodes that run on one machine with others.
    """

    check: NodeCheck
    odd: tuple[OddFact, ...]
    clones: tuple[tuple[str, ...], ...] = ()
    notes: tuple[str, ...] = ()
    shared: frozenset[str] = frozenset()


def measure(target: NodesTarget, plan: MeasuringPlan, listener: Listener, stop: StopRequest) -> MeasuredNodes:
    """Ask all nodes, then run each benchmark on all of them at once.

    Raises:
        OSError: a file to copy cannot be read.
        RunnerError: this host may not open enough files for so many nodes at once.
    """
    nodes = [node for node in target.nodes if node not in target.silent]
    if plan.steps:
        require_open_files(FILES * len(nodes), f"measurements on {counted(len(nodes), 'node')}")
    listener(WorkStarted(f"Asking {counted(len(nodes), 'node')} for facts"))
    asked = ask_facts(target.reach, nodes, (*FACTS, *(f"{FILE}{file}" for file in plan.same_files)), plan.mpirun)
    listener(WorkEnded())
    again = _named_again(target, asked)
    asked = replace(asked, facts={node: own for node, own in asked.facts.items() if node not in again})
    classes = classes_of(asked.facts)
    facts = _by_fact(asked.facts)
    silent = {**target.silent, **asked.silent, **again}
    check = NodeCheck(target.name, datetime.now(UTC), target.nodes, silent, classes, facts, switches=target.switches)
    listener(NodesMeasured(check))
    containers = same_kernel(asked.identities) if isinstance(target.reach, Ssh) else []
    measured = MeasuredNodes(
        check,
        tuple(odd_facts(asked.facts, classes)),
        tuple(same_image(asked.identities)),
        tuple(f"{ranges(names)} run on one machine, whose cores and memory they share." for names in containers),
        frozenset(name for names in same_kernel(asked.identities) for name in names),
    )
    if plan.steps and asked.facts and not stop.requested:
        return _benchmarked(measured, target, plan.steps, listener, stop)
    return measured


def _named_again(target: NodesTarget, asked: AskedFacts) -> dict[str, str]:
    """Return the names that lead to a host that has another one, each with why it is not measured twice.

    People write down names of hosts; a batch system knows its nodes, of which several
    may be one machine, as in a test cluster.
    """
    if not isinstance(target.reach, Ssh):
        return {}
    return {
        name: f"it is the same machine as {names[0]}: name it once in hosts"
        for names in same_host(asked.identities)
        for name in names[1:]
    }


def _by_fact(facts: Mapping[str, Mapping[str, str]]) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for node, own in facts.items():
        for name, value in own.items():
            found.setdefault(name, {})[node] = value
    return found


def _benchmarked(
    asked: MeasuredNodes, target: NodesTarget, steps: Sequence[Step], listener: Listener, stop: StopRequest
) -> MeasuredNodes:
    """Copy the files of all steps, measure step by step, and remove the files."""
    check = asked.check
    answering = [node for node in target.nodes if node not in check.silent]
    files = {name: path for step in steps for name, path in step.files(check.facts).items()}
    staged = stage(target.reach, answering, files)
    for sentence in said_together(staged.failed):
        listener(Notice(f"{sentence}."))
    check = replace(check, silent={**check.silent, **staged.failed})
    notes: dict[str, None] = {}
    try:
        for step in steps:
            if stop.requested:
                break
            alive = {node: folder for node, folder in staged.folders.items() if node not in check.silent}
            place = StepPlace(target, alive, check.facts, listener, stop, check.classes, check.runs, asked.shared)
            found = step.measure(place)
            check = replace(
                check,
                runs=(*check.runs, *found.runs),
                pairs=(*check.pairs, *found.pairs),
                pairs_at_once=(*check.pairs_at_once, *found.pairs_at_once),
                groups=(*check.groups, *found.groups),
                silent={**check.silent, **found.lost},
            )
            listener(NodesMeasured(check))
            notes |= dict.fromkeys(found.notes)
    finally:
        unstage(target.reach, staged)
    return replace(asked, check=check, notes=(*asked.notes, *notes))
