"""Asks and measures the nodes of a cluster, all at once; what a node cannot do is told, and the rest goes on."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from results.stats.nodes.check import BENCHMARKS, NodeCheck, NodeRun
from runners.errors import UnreachableError
from runners.hosts.transport import CommandResult, Transport, say_all
from runners.readiness.asking import ask_facts
from runners.readiness.odd_facts import OddFact, classes_of, odd_facts
from runners.readiness.staging import stage, unstage

from ..events import Listener, Notice, WorkEnded, WorkStarted
from ..stopping import StopRequest
from ..words import counted

PROGRAM = "node_bench"
LIMIT_S = 600.0
"""Seconds that one call of a benchmark may take on a node; it hangs then."""
SPARE_S = 20.0
"""Seconds more after which a node that does not end it is given up."""
TIMED_OUT = frozenset({124, 137})
"""Exit codes of `timeout`, where the program ended and where it had to be killed."""
ONE_THREAD = " ".join(f"{name}_NUM_THREADS=1" for name in ("OPENBLAS", "OMP", "MKL", "BLIS"))
"""The program has a process for each core already."""
REPEATS = 3


@dataclass(frozen=True)
class NodesTarget:
    """The nodes to check, and how they are reached.

    Attributes:
        switches: the switch of each node, where people told.
    """

    name: str
    nodes: tuple[str, ...]
    reach: Transport
    switches: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class MeasuringPlan:
    """What is asked and measured.

    Attributes:
        program: the program that times a node.
        blas: the BLAS file whose DGEMM is timed; None times none.
        blas_prefix: what the names of its routines begin with.
        mpirun: an MPI launcher that nodes should have; None asks for none.
        repeats: runs of each benchmark; the best of each node counts.
        only_facts: nothing is measured.
        stream_bytes: of an array; 0 takes four times the caches, as STREAM's rules want.
        dgemm_n: order of the matrices; 0 takes a usual one.
    """

    program: Path | None
    blas: Path | None = None
    blas_prefix: str = ""
    mpirun: Path | None = None
    repeats: int = REPEATS
    only_facts: bool = False
    stream_bytes: int = 0
    dgemm_n: int = 2000


@dataclass(frozen=True)
class MeasuredNodes:
    """What nodes said and did.

    Attributes:
        odd: facts that are not as usual.
        notes: what else people should know.
    """

    check: NodeCheck
    odd: tuple[OddFact, ...]
    notes: tuple[str, ...]


def measure(target: NodesTarget, plan: MeasuringPlan, listener: Listener, stop: StopRequest) -> MeasuredNodes:
    """Ask all nodes, then run each benchmark on all of them at once.

    Raises:
        OSError: a file to copy cannot be read.
    """
    files = [plan.blas] if plan.blas else []
    listener(WorkStarted(f"Asking {counted(len(target.nodes), 'node')} for facts"))
    asked = ask_facts(target.reach, target.nodes, files, plan.mpirun)
    listener(WorkEnded())
    classes = classes_of(asked.facts)
    silent = dict(asked.silent)
    facts = _by_fact(asked.facts)
    check = NodeCheck(target.name, datetime.now(UTC), target.nodes, silent, classes, facts, switches=target.switches)
    odd = tuple(odd_facts(asked.facts, classes))
    answering = [node for node in target.nodes if node not in silent]
    if plan.only_facts or plan.program is None or not answering or stop.requested:
        return MeasuredNodes(check, odd, ())
    return _benchmarked(replace(check, silent=silent), odd, _Bench(target.reach, answering, plan, listener, stop))


def _by_fact(facts: Mapping[str, Mapping[str, str]]) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for node, own in facts.items():
        for name, value in own.items():
            found.setdefault(name, {})[node] = value
    return found


@dataclass(frozen=True)
class _Bench:
    """Where benchmarks run, and who watches."""

    reach: Transport
    nodes: Sequence[str]
    plan: MeasuringPlan
    listener: Listener
    stop: StopRequest


def _benchmarked(check: NodeCheck, odd: tuple[OddFact, ...], bench: _Bench) -> MeasuredNodes:
    plan = bench.plan
    files = {PROGRAM: plan.program} if plan.program else {}
    if plan.blas and any(own == "missing" for own in check.facts.get(f"file {plan.blas}", {}).values()):
        files[plan.blas.name] = plan.blas
    staged = stage(bench.reach, bench.nodes, files)
    silent = {**check.silent, **staged.failed}
    runs: list[NodeRun] = []
    notes: dict[str, None] = {}
    try:
        for title, arguments in _calls(plan, copied=len(files) > 1):
            for turn in range(plan.repeats):
                if bench.stop.requested:
                    break
                bench.listener(
                    WorkStarted(f"{title}, on {counted(len(staged.folders), 'node')}: {turn + 1} of {plan.repeats}")
                )
                alive = {node: folder for node, folder in staged.folders.items() if node not in silent}
                for node, said in _called(bench, alive, arguments).items():
                    why = _why_lost(node, said, title)
                    if isinstance(said, UnreachableError) or why:
                        silent.setdefault(node, why)
                    else:
                        runs += parse_runs(node, said) or _failed(node, said, arguments)
                        notes |= dict.fromkeys(parse_notes(said.stdout))
                bench.listener(WorkEnded())
    finally:
        unstage(bench.reach, staged)
    for why in staged.failed.values():
        bench.listener(Notice(f"{why}."))
    return MeasuredNodes(replace(check, runs=tuple(runs), silent=silent), odd, tuple(notes))


def _calls(plan: MeasuringPlan, *, copied: bool) -> list[tuple[str, tuple[str, ...]]]:
    """The calls of the program, simple ones first."""
    calls: list[tuple[str, tuple[str, ...]]] = []
    for cores, words in _CORES:
        calls.append((f"STREAM, {words}", ("stream", cores, str(plan.stream_bytes))))
    if plan.blas:
        file = f"./{plan.blas.name}" if copied else str(plan.blas)
        more = (plan.blas_prefix,) if plan.blas_prefix else ()
        calls += [(f"DGEMM, {words}", ("dgemm", cores, str(plan.dgemm_n), file, *more)) for cores, words in _CORES]
    return calls


_CORES = (("1", "one core"), ("0", "all cores"))


def _called(
    bench: _Bench, folders: Mapping[str, str], arguments: Sequence[str]
) -> Mapping[str, CommandResult | UnreachableError]:
    """Run the program on nodes at the same time, each in its own folder; a node ends it itself after the time limit."""
    script = f'cd "$1" && shift && exec timeout -k 5 {LIMIT_S:.0f} env {ONE_THREAD} ./"$@"'

    def one(node: str) -> CommandResult | UnreachableError:
        command = ("sh", "-c", script, "sh", folders[node], PROGRAM, *arguments)
        return say_all(bench.reach, [node], command, timeout_s=LIMIT_S + SPARE_S)[node]

    with ThreadPoolExecutor(max(1, len(folders))) as pool:
        return dict(zip(folders, pool.map(one, folders), strict=True))


def _why_lost(node: str, said: CommandResult | UnreachableError, title: str) -> str:
    """The sentence why a node is asked nothing more, or ""."""
    if isinstance(said, UnreachableError):
        return str(said)
    if said.exit_code in TIMED_OUT:
        return f"node {node}: {title} hung there, and was ended after {LIMIT_S:.0f} s"
    return ""


def _failed(node: str, said: CommandResult, arguments: Sequence[str]) -> list[NodeRun]:
    """The runs of a call that gave no result: the program could not start, or died."""
    kind, cores = arguments[0], "1" if arguments[1] == "1" else "all"
    last = said.stderr.strip().splitlines()[-1:]
    why = "".join(last) or f"the program ended with code {said.exit_code} and no result"
    names = [name for name in BENCHMARKS if name.startswith(kind) and name.endswith(f"-{cores}")]
    return [NodeRun(name, node, None, accurate=False, reason=why) for name in names]


def parse_runs(node: str, said: CommandResult) -> list[NodeRun]:
    """Read the lines of the program: run, benchmark, value, ok or wrong, reason; others are left out."""
    found = []
    for line in said.stdout.splitlines():
        parts = line.split("\t")
        if len(parts) != 5 or parts[0] != "run" or parts[1] not in BENCHMARKS or parts[3] not in {"ok", "wrong"}:
            continue
        value = _figure(parts[2])
        right = parts[3] == "ok"
        found.append(NodeRun(parts[1], node, value, accurate=right, reason="" if right else parts[4] or "wrong"))
    return found


def parse_notes(text: str) -> list[str]:
    """Read the sentences of the program."""
    lines = (line.partition("\t") for line in text.splitlines())
    return [sentence for word, tab, sentence in lines if tab and word == "note"]


def _figure(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0.0 < value < float("inf") else None
