"""`hpltune tune --cluster`: search, confirm, end."""

from ..options import TuneOptions
from ..study.session import StudyContext
from ..tuning.campaign import TuneOutcome
from ..units import dollars, duration
from ..words import counted
from .cluster import SimulatedCluster
from .costs import usd_per_hour
from .session import say_n, virtual_session
from .study import VirtualStudy


def spent(site: SimulatedCluster, run_s: float) -> str:
    """What the search would have cost on the real cluster, as a sentence."""
    hourly_usd = usd_per_hour(site.cluster)
    money = "" if not hourly_usd else f", about {dollars(hourly_usd * run_s / 3600)}"
    return f"On the cluster itself this search would have taken {duration(run_s)} of HPL runs{money}."


def tune_virtual(
    options: TuneOptions, name: str | None, site: SimulatedCluster, context: StudyContext, *, resume: bool
) -> TuneOutcome:
    """Run a study on a virtual cluster.

    Args:
        name: of the study; a new one may be None, which takes a free one.
        resume: go on with the stored one of that name.

    Raises:
        TunerError, SpaceError, HplError, ResultsError: a sentence says what prevents the study.
    """
    with virtual_session(name, options, site, context, resume=resume) as study:
        _introduce(study, site, options)
        say_n(study, site, options)
        engine = study.engine(options.engine, options.seed, options.points)
        ended = study.search(engine, options.repeats, to_confirm=options.confirm)
        study.session.say(f"Search stopped: {ended}.")
        study.session.say(spent(site, study.session.meter.run_s))
        ranking = study.confirm(options.confirm)
    return TuneOutcome(study=study.study, ranking=ranking, ended=ended, interrupted=study.stopped)


def _introduce(study: VirtualStudy, site: SimulatedCluster, options: TuneOptions) -> None:
    cluster = site.cluster
    study.session.say(f"Study {study.study}: {options}")
    nodes = counted(len(cluster.node_list), "node")
    study.session.say(
        f"Simulated: {cluster.name}, {nodes} with {counted(cluster.cores, 'core')} in all, Rpeak "
        f"{cluster.rpeak_gflops:.4g} GFLOPS; budget and times are the virtual cluster's."
    )
