"""`hpltune tune --cluster`: search, confirm, end."""

from ..engines.registry import make_engine
from ..events import Notice
from ..options import TuneOptions
from ..study import Outcome
from ..units import duration
from .costs import Costs
from .session import Bench, sitting
from .site import VirtualSite


def spent(site: VirtualSite, run_s: float) -> str:
    """What the search would have cost on the real cluster, as a sentence."""
    usd_per_hour = Costs().usd_per_hour(site.cluster)
    money = "" if not usd_per_hour else f", about {usd_per_hour * run_s / 3600:.2f} US dollars"
    return f"On the cluster itself this search would have taken {duration(run_s)} of HPL runs{money}."


def tune_virtual(options: TuneOptions, name: str, site: VirtualSite, bench: Bench) -> Outcome:
    """Run a study on a virtual cluster, or go on with a stored one of that name.

    Raises:
        TunerError, SpaceError, HplError, ResultsError: a sentence says what prevents the study.
    """
    with sitting(name, options, site, bench) as study:
        searched_n = int(study.space.complete(study.space.point(0))["N"])
        whole_n = site.largest_n(options.memory_fraction)
        if searched_n < whole_n and "N" not in (options.overrides or {}) and "N" not in study.space.varying:
            bench.listener(
                Notice(
                    f"N={searched_n}, so that a simulation takes about half a minute. The whole memory would hold "
                    f"N={whole_n}: `--full` simulates there."
                )
            )
        engine = make_engine(options.engine, study.space, options.seed, {"points": options.points})
        ended = study.search(engine, options.repeats)
        bench.listener(Notice(f"Search ended: {ended}."))
        bench.listener(Notice(spent(site, study.meter.run_s)))
        ranking = study.confirm(options.confirm)
    return Outcome(name, ranking, None, ended, interrupted=bench.stop.requested)
