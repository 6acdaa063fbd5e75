"""`hpltune tune --cluster`: search, confirm, end."""

from runners.virtual.cluster import VirtualCluster

from ..engines.registry import make_engine
from ..events import Listener, Notice
from ..options import TuneOptions
from ..study import Outcome
from ..units import duration
from .costs import Costs
from .session import Bench, say_n, sitting
from .site import VirtualSite


def spent(site: VirtualSite, run_s: float) -> str:
    """What the search would have cost on the real cluster, as a sentence."""
    usd_per_hour = Costs().usd_per_hour(site.cluster)
    money = "" if not usd_per_hour else f", about {usd_per_hour * run_s / 3600:.2f} US dollars"
    return f"On the cluster itself this search would have taken {duration(run_s)} of HPL runs{money}."


def tune_virtual(options: TuneOptions, name: str | None, site: VirtualSite, bench: Bench, *, resume: bool) -> Outcome:
    """Run a study on a virtual cluster.

    Args:
        name: of the study; a new one may be None, which takes a free one.
        resume: go on with the stored one of that name.

    Raises:
        TunerError, SpaceError, HplError, ResultsError: a sentence says what prevents the study.
    """
    with sitting(name, options, site, bench, resume=resume) as study:
        _introduce(study.name, options, site.cluster, bench.listener)
        say_n(study, options)
        known = {"points": options.points, "probes": site.probes(), "worth": study.worth}
        engine = make_engine(options.engine, study.space, options.seed, known)
        ended = study.search(engine, options.repeats, to_confirm=options.confirm)
        bench.listener(Notice(f"Search ended: {ended}."))
        bench.listener(Notice(spent(site, study.meter.run_s)))
        ranking = study.confirm(options.confirm)
    return Outcome(study.name, ranking, None, ended, interrupted=bench.stop.requested)


def _introduce(name: str, options: TuneOptions, cluster: VirtualCluster, listener: Listener) -> None:
    listener(Notice(f"Study {name}: space {options.space}, engine {options.engine}, {options.budget}"))
    listener(
        Notice(
            f"Simulated: {cluster.name}, {len(cluster.node_list)} nodes with {cluster.cores} cores, Rpeak "
            f"{cluster.rpeak_gflops:.4g} GFLOPS; budget and times are the virtual cluster's."
        )
    )
