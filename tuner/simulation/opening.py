"""The simulated opening of a study on a cluster: what a virtual copy of it holds for fast is told to the engine.

The copy is made of what the study timed anyway: dgemm of one core, dgemm with narrow blocks, and a ping-pong between
two nodes. It ranks what messages decide (grid, broadcast, look-ahead, swapping) better than HPL's model alone
(docs/search-quality.md). How far it counts the engine learns from the runs: `Fidelity.EARLIER`.
"""

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from hpl.errors import HplError
from hpl.params import HplParams, Scalar
from results.record import Kind
from runners.errors import RunnerError
from runners.virtual.cluster import Core, Network, VirtualBlas, VirtualCluster, VirtualNodes, VirtualNoise
from search_spaces.machine import Machine
from search_spaces.parameters.dimension import Point
from search_spaces.restriction import Restriction
from search_spaces.space import SearchSpace

from ..engines.base import Engine, EngineContext
from ..engines.outcomes import FULL, Outcome
from ..engines.probes import UNKNOWN, Probes
from ..engines.registry import make_engine
from ..errors import TunerError
from ..machine.inventory import Inventory
from ..machine.problem_size import STEP
from ..stopping import Stopping
from ..study.session import StudySession
from ..study.warm_start import Advice, Known, Source, advice
from ..trial.plan import parse_layout
from ..units import duration
from ..user_dirs import UserDirs
from ..words import counted
from .cluster import SimulatedCluster
from .session import PANEL_RANK_S, USUAL_NB, cores_here
from .simulator import Simulated, Wish, simulate

SHARE, LONGEST_S, LEAST_S = 0.05, 60.0, 2.0
"""Of the time that is left, what it may take at most, in seconds at most, and below which it does not begin."""
CONFIGURATIONS = 24
"""Simulated at most: with 12 a search on the recorded four hosts was no sooner than without, with 24 three times."""
MOST_JOBS = 4
"""Simulations at a time; whoever starts a study on a cluster may share that host with others."""
LEAST_RANKS, MOST_RANKS, LEAST_NODES = 4, 64, 2
LEAST_PART = 0.5
"""Of N, at which it is simulated: at a much smaller one messages weigh more than in the runs that count."""
MESSAGES = ("grid", "BCAST", "DEPTH", "SWAP")
"""Parameters whose effect lies in messages: without several values of two of them the model alone ranks as well."""
BLAS, NETWORK = "blas", "network"
"""What the copy's only library and network are called."""
CPU_PART = 0.2
"""Of a small message's latency, what the core that sends it is busy, and that which receives: assumed."""
JITTER = 0.04
"""By how much each stretch of computing differs, a standard deviation: that of dgemm on 1,456 cores of the cluster Dahu
(Cornebize, 2021). Without it long swaps beside a look-ahead are too cheap, because nobody is ever waited for."""
ROOMY_GIB = 2.0**20
"""Memory of a node of the copy: whether N fits was asked before."""


@dataclass(frozen=True)
class AtFirstRequest:
    """Ends simulations at the first request to stop: unlike real runs they are worth nothing to wait for."""

    asked: Stopping

    @property
    def requested(self) -> bool:
        """Nothing more may start."""
        return self.asked.requested

    @property
    def at_once(self) -> bool:
        """What runs must be ended."""
        return self.asked.requested


@dataclass(frozen=True)
class Scaled:
    """A virtual copy of a cluster and the size at which it is simulated.

    Attributes:
        measured: what it was made of.
        favourite: the configuration that the engine alone would run first.
        part: of N, at which configurations are simulated, so that all fit into their time.
    """

    cluster: VirtualCluster
    measured: Probes
    favourite: Point
    ranks: int
    part: float

    def wish(self, full: Point) -> Wish:
        """A complete configuration as it is simulated: all that a rank has is in the copy, so it has one thread."""
        words = {name: full[name] for name in full if name in HPL_WORDS}
        N = max(STEP, int(self.part * int(full["N"])) // STEP * STEP)
        own: dict[str, Scalar] = {"N": N, "layout": f"{self.ranks}x1", "blas": BLAS, "kernel": "auto"}
        return Wish({**words, **own, "binding": "core"})


HPL_WORDS = frozenset(HplParams(N=STEP, NB=STEP, P=1, Q=1).words())
"""Parameters that stand in HPL.dat."""


@dataclass(frozen=True)
class SimulatedOpening:
    """Makes the opening of a study, once; callable as `tuner.study.seeding.Opening`.

    Attributes:
        jobs: simulations at a time.
    """

    user_dirs: UserDirs
    hpl_source: Path | None
    seed: int
    jobs: int = field(default_factory=lambda: min(MOST_JOBS, cores_here()))

    def __call__(self, session: StudySession, site: Inventory, measured: Probes) -> Advice | None:
        """What a virtual copy of these nodes advises, simulated now or when the study began; None without one.

        It says why where there could be one and is none.
        """
        kept = session.context.store.study(session.study).notes.simulated_opening
        if kept:
            known = [Known(params, gflops) for params, gflops in kept]
            return _advice(known, session.space, f"{_counted(known)}, simulated when the study began, still count.")
        remaining_s = session.meter.remaining_s()
        limit_s = LONGEST_S if remaining_s is None else min(LONGEST_S, SHARE * remaining_s)
        if limit_s < LEAST_S or session.stopped or session.records((Kind.SEARCH,)) or not site.program.takes_blas:
            return None
        scaled = scaled_copy(session.space, measured, self.seed, limit_s * self.jobs / CONFIGURATIONS)
        if scaled is None:
            return None
        try:
            with session.context.stop.preparing():
                simulated = SimulatedCluster.open(
                    scaled.cluster, self.user_dirs, self.hpl_source, session.context.listener
                )
            began_s = time.monotonic()
            known = self.explore(session.space, simulated, scaled, began_s + limit_s, session.context.stop)
        except (HplError, TunerError, RunnerError, OSError) as error:
            session.say(f"No simulated opening, so HPL's model alone chooses the first full run: {error}.")
            return None
        if not known:
            return None
        kept = tuple((one.params, one.gflops or 0.0) for one in known)
        session.context.store.note(session.study, lambda notes: replace(notes, simulated_opening=kept))
        return _advice(known, session.space, _sentence(known, scaled, time.monotonic() - began_s, limit_s))

    def explore(
        self, space: SearchSpace, simulated: SimulatedCluster, scaled: Scaled, until_s: float, asked: Stopping
    ) -> list[Known]:
        """What the engine finds in the simulation, best first; all that was done until then.

        Args:
            until_s: by the monotonic clock.
            asked: a request ends it at once.

        Raises:
            TunerError: no configuration could be simulated.
        """
        part = only_in_hpl_dat(space, scaled.favourite)
        engine = make_engine("hpl", part, self.seed, EngineContext(probes=replace(scaled.measured, exact=True)))
        stop, known, last = AtFirstRequest(asked), list[Known](), Simulated(None, None)
        done = 0
        while done < CONFIGURATIONS and not stop.requested:
            points = _next(engine, min(self.jobs, CONFIGURATIONS - done))
            left_s = until_s - time.monotonic()
            if not points or left_s <= 0:
                break
            wishes = [scaled.wish(space.complete(point)) for point in points]
            found = simulate(simulated, wishes, jobs=self.jobs, limit_s=left_s, stop=stop, every_message=False)
            for point, last in zip(points, found, strict=False):
                engine.tell(point, Outcome(last.gflops, last.time_s, cost_s=last.time_s))
                if last.gflops is not None:
                    known.append(Known(point, last.gflops))
            done += len(points)
        if not known and not stop.requested:
            raise TunerError(last.reason or "its time was over before the first simulation")
        return sorted(known, key=lambda one: -(one.gflops or 0.0))


def scaled_copy(space: SearchSpace, measured: Probes, seed: int, affordable_s: float) -> Scaled | None:
    """The copy of a cluster on which an opening is worth its time; None where it is not.

    Args:
        affordable_s: what one simulation may take on one core.
    """
    several = [name for name in MESSAGES if name in space.varying]
    timed = measured.messages is not None and bool(measured.dgemm_gflops)
    if measured.nodes < LEAST_NODES or not timed or len(several) < 2:
        return None
    chosen = make_engine("hpl", space, seed, EngineContext(probes=measured)).choose((FULL,))
    if chosen is None:
        return None
    full = space.complete(chosen.params)
    ranks, threads = parse_layout(str(full["layout"]))
    if not LEAST_RANKS <= ranks <= MOST_RANKS:
        return None
    cluster = virtual_copy(measured, ranks, threads * measured.rate_gflops(full))
    part = affordable_s / PANEL_RANK_S / ranks * USUAL_NB / int(full["N"])
    return Scaled(cluster, measured, chosen.params, ranks, min(1.0, part)) if part >= LEAST_PART else None


def virtual_copy(measured: Probes, ranks: int, rank_gflops: float) -> VirtualCluster:
    """A virtual cluster with the figures that were timed; the others follow from these by usual proportions.

    Args:
        rank_gflops: dgemm of one rank with all its threads.
    """
    half_nb = max(measured.half_nb or UNKNOWN["half_nb"][0], 1.0)
    memory_gb_s = 8 * rank_gflops / half_nb  # dgemm moves 16 bytes for each 2 NB operations (`simulation/known.py`)
    core = Core(
        memory_gb_s=memory_gb_s,
        cache_kib=512,
        cache_gb_s=5 * memory_gb_s,
        strided_ns=16 / memory_gb_s,
        level2_gflops=0.1 * rank_gflops,
    )
    messages = measured.messages
    if messages is None:
        raise TunerError("the messages were not timed")
    network = Network(
        latency_us=1e6 * messages.latency_s,
        gbit_s=8e-9 * messages.bytes_s,
        cpu_us=CPU_PART * 1e6 * messages.latency_s,
        mtu=65535,
        mtu_most=65535,
    )
    kind = VirtualNodes(
        count=measured.nodes,
        cores=math.ceil(ranks / measured.nodes),
        clock_ghz=1.0,
        flops_per_cycle=16,
        memory_gib=ROOMY_GIB,
    )
    return VirtualCluster(
        name="copy",
        basis="dgemm and messages, timed at the beginning of a study",
        nodes=(kind,),
        core=core,
        blas={BLAS: VirtualBlas(dgemm_gflops=rank_gflops)},
        networks={NETWORK: network},
        noise=VirtualNoise(jitter=JITTER),
    )


def only_in_hpl_dat(space: SearchSpace, favourite: Point) -> SearchSpace:
    """The part of a space that a copy can tell apart: all but HPL.dat's parameters are as in the favourite."""
    fixed = [name for name in space.varying if name in favourite and (name not in HPL_WORDS or name == "N")]
    rules = [Restriction(f"as simulated: {name}", (name,), partial(_other, name, favourite[name])) for name in fixed]
    return space.keeping(*rules) if rules else space


def _other(name: str, value: Scalar, point: Point, _machine: Machine) -> str | None:
    return None if point[name] == value else f"{name} is {value} in the simulated opening"


def _next(engine: Engine, count: int) -> list[dict[str, Scalar]]:
    asked: list[dict[str, Scalar]] = []
    while len(asked) < count and (question := engine.choose((FULL,))) is not None:
        asked.append(question.params)
    return asked


def _advice(known: Sequence[Known], space: SearchSpace, sentence: str) -> Advice:
    """What of it is in the space, which may have shrunk since; only the best runs first."""
    return replace(advice(Source("the simulated opening", tuple(known)), space), sentence=sentence, tried=1)


def _sentence(known: Sequence[Known], scaled: Scaled, spent_s: float, limit_s: float) -> str:
    best: Mapping[str, Scalar] = known[0].params
    words = " ".join(f"{name}={best[name]}" for name in ("NB", *MESSAGES) if name in best)
    at = "" if scaled.part == 1 else f", at {scaled.part:.0%} of N"
    share = "" if spent_s < limit_s else f", its share of {SHARE:.0%} of the budget"
    nodes = len(scaled.cluster.node_list)
    return (
        f"Simulated opening: {_counted(known)} on a virtual copy of the {nodes} nodes{at} took {duration(spent_s)}"
        f"{share}; it advises {words}, which runs first."
    )


def _counted(known: Sequence[Known]) -> str:
    return counted(len(known), "configuration")
