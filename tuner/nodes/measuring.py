"""Asks and measures the nodes of a cluster, all at once; what a node cannot do is told, and the rest goes on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from results.stats.nodes.check import NodeCheck
from runners.hosts.hearing import FILES
from runners.hosts.staging import stage, unstage
from runners.open_files import require_open_files
from runners.readiness.asking import ask_facts
from runners.readiness.odd_facts import OddFact, classes_of, odd_facts

from ..events import Listener, NodesMeasured, Notice, WorkEnded, WorkStarted
from ..stopping import StopRequest
from ..words import counted
from .step import NodesTarget, Step, StepPlace


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
        notes: what else people should know.
    """

    check: NodeCheck
    odd: tuple[OddFact, ...]
    notes: tuple[str, ...] = ()


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
    asked = ask_facts(target.reach, nodes, plan.same_files, plan.mpirun)
    listener(WorkEnded())
    classes = classes_of(asked.facts)
    facts = _by_fact(asked.facts)
    silent = {**target.silent, **asked.silent}
    check = NodeCheck(target.name, datetime.now(UTC), target.nodes, silent, classes, facts, switches=target.switches)
    listener(NodesMeasured(check))
    measured = MeasuredNodes(check, tuple(odd_facts(asked.facts, classes)))
    if plan.steps and asked.facts and not stop.requested:
        return _benchmarked(measured, target, plan.steps, listener, stop)
    return measured


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
    for why in staged.failed.values():
        listener(Notice(f"{why}."))
    check = replace(check, silent={**check.silent, **staged.failed})
    notes: dict[str, None] = {}
    try:
        for step in steps:
            if stop.requested:
                break
            alive = {node: folder for node, folder in staged.folders.items() if node not in check.silent}
            found = step.measure(StepPlace(target, alive, check.facts, listener, stop, check.classes, check.runs))
            check = replace(
                check,
                runs=(*check.runs, *found.runs),
                pairs=(*check.pairs, *found.pairs),
                pairs_at_once=(*check.pairs_at_once, *found.pairs_at_once),
                soak=(*check.soak, *found.soak),
                groups=(*check.groups, *found.groups),
                silent={**check.silent, **found.lost},
            )
            listener(NodesMeasured(check))
            notes |= dict.fromkeys(found.notes)
    finally:
        unstage(target.reach, staged)
    return replace(asked, check=check, notes=tuple(notes))
