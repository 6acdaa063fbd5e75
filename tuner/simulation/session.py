"""Opening a study on a virtual cluster: what `tune --cluster`, `reproduce` and `predict` have in common."""

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial

from results.record import StudyNotes
from results.store.store import Store

from ..clock import ToldClock
from ..engines.outcomes import FULL
from ..machine.problem_size import STEP
from ..options import TuneOptions
from ..study.campaign import TuneOutcome, tuned
from ..study.lifecycle import MachineFacts, begin, closing_study, go_on
from ..study.session import StudyContext
from ..study.sized_study import SiteFacts, SizedStudy, sized_study
from ..trial.ladder import ladder
from ..units import dollars, duration
from ..user_dirs import UserDirs
from ..words import counted
from .cluster import SimulatedCluster, cluster_from, equipment_of
from .known import probes_of, refuse_impossible, simulated_space
from .options import usd_per_hour
from .simulator import Simulator

AFFORDABLE_S = 30.0
"""A simulation of a search should not take longer than this on one core, unless the user asks for the whole memory."""
PANEL_RANK_S = 4e-4
"""Real seconds of a simulation for each panel and rank: measured 1.6e-4 without look-ahead, 3.7e-4 with it."""
USUAL_NB = 192


@contextmanager
def virtual_session(
    name: str | None,
    options: TuneOptions,
    site: SimulatedCluster,
    context: StudyContext,
    *,
    resume: bool = False,
    lesson: str | None = None,
) -> Iterator[SizedStudy]:
    """A new study of that name, None for a free one, or with `resume` the stored one with all it has learnt.

    Its simulator is closed and the study ended whatever happens; only one that came to its end is complete.

    Args:
        lesson: of which it is a step; None for none.

    Raises:
        SpaceError, ResultsError: a sentence says what prevents the study.
    """
    if resume and name is not None:
        begun = go_on(context.store, name, options, run="simulation")
    else:
        refuse_impossible(simulated_space(options.space, site.cluster, study_n(site, options), options.overrides or {}))
        facts = replace(facts_of(options, site), notes=StudyNotes(lesson=lesson or ""))
        begun = begin(context.store, name, options, facts)
    jobs = options.jobs or cores_here()
    simulator = Simulator(site, jobs)
    with closing_study(begun.name, context.store, context.stop), closing(simulator):
        stored, N = context.store.study(begun.name), study_n(site, options)
        space = simulated_space(options.space, site.cluster, N, options.overrides or {}, stored.space_text)
        # Small runs where machine time is short; where only trials are counted a full one tells more for its cost.
        known = SiteFacts(
            probes=probes_of(site.cluster, space),
            ladder=ladder(N, 1.0, 0.0, prefixes=False) if options.budget.timed else (FULL,),
            noisy=bool(site.cluster.noise.between_runs),
            told_clock=ToldClock(),
        )
        yield sized_study(begun, options, space, [simulator] * jobs, known, context)


def say_n(study: SizedStudy, site: SimulatedCluster, options: TuneOptions) -> None:
    """Say where the N that we chose for a study is less than the memory would hold."""
    space, whole_n = study.session.space, site.largest_n(options.memory_fraction)
    if space.asked_n is None and space.largest_n < whole_n:
        sentence = f"N={space.largest_n}, so that a simulation takes about half a minute."
        study.session.say(f"{sentence} The whole memory would hold N={whole_n}: `⟦full⟧` simulates there.")


def why_nothing(store: Store, name: str) -> str:
    """What is said of a study without any result."""
    reasons = [record.reason for record in store.records(name) if record.reason]
    return f"no simulation gave a result; {f'the last one: {reasons[-1]}' if reasons else 'none was legal'}"


def study_n(site: SimulatedCluster, options: TuneOptions) -> int:
    """N where the space leaves it to us: the whole memory, or less where a simulation of that would take long."""
    whole = site.largest_n(options.memory_fraction)
    affordable = int(AFFORDABLE_S / PANEL_RANK_S / site.cluster.cores * USUAL_NB)
    return whole if options.full or whole <= affordable else affordable // STEP * STEP


def cores_here() -> int:
    """How many simulations can run at a time: the cores this process may use."""
    return len(os.sched_getaffinity(0))


def facts_of(options: TuneOptions, site: SimulatedCluster) -> MachineFacts:
    """Where the user says price or power, it is that of the whole cluster, whichever of its networks is used."""
    own = site.cluster
    cluster = own.model_copy(
        update={"price_usd": options.price_usd or own.price_usd, "power_w": options.power_w or own.power_w}
    )
    rpeak_gflops = options.rpeak_gflops or cluster.rpeak_gflops
    return MachineFacts(
        host={**site.facts(), **equipment_of(cluster, rpeak_gflops).facts()},
        rpeak_gflops=rpeak_gflops,
        price_usd=cluster.price_with(cluster.default_network),
        power_w=cluster.power_with(cluster.default_network),
        versions=site.versions(),
    )


def spent(site: SimulatedCluster, run_s: float) -> str:
    """What the search would have cost on the real cluster, as a sentence."""
    hourly_usd = usd_per_hour(site.cluster)
    money = "" if not hourly_usd else f", about {dollars(hourly_usd * run_s / 3600)} of its price and power"
    return f"On the cluster itself this search would have taken {duration(run_s)} of HPL runs{money}."


def tune_virtual(
    options: TuneOptions, name: str | None, user_dirs: UserDirs, context: StudyContext, *, resume: bool
) -> TuneOutcome:
    """Run a study on a virtual cluster.

    Args:
        name: of the study; a new one may be None, which takes a free one.
        resume: go on with the stored one of that name.

    Raises:
        TunerError, SpaceError, HplError, ResultsError: a sentence says what prevents the study.
    """
    cluster = cluster_from(options.cluster or {})
    with context.stop.preparing():
        site = SimulatedCluster.open(cluster, user_dirs, options.hpl_source, context.listener)
    with virtual_session(name, options, site, context, resume=resume) as study:
        study.session.say(f"Study {study.session.study}: {options}")
        study.session.say(
            f"Simulated: {cluster.name}, {counted(len(cluster.node_list), 'node')} with "
            f"{counted(cluster.cores, 'core')} in all, Rpeak {cluster.rpeak_gflops:.4g} GFLOPS; budget and times are "
            "the virtual cluster's."
        )
        say_n(study, site, options)
        return tuned(study, options, partial(spent, site))
