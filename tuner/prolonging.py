"""A larger budget for a study that is gone on with."""

from dataclasses import dataclass, replace

from runners.cluster import stored_cluster

from .budget import Budget
from .errors import TunerError
from .options import TuneOptions
from .pilot import run_time
from .problem_size import RUNS_IN_BUDGET
from .units import duration
from .virtual.options import budget_s


@dataclass(frozen=True)
class MoreBudget:
    """The limits given beside `--resume`; None leaves that of the study as it is.

    Attributes:
        wall: a time, node-hours or money as the user wrote it: the study's cluster tells how much time that is.
        trials: search trials.
        run_s: seconds of HPL runs.
    """

    wall: str | None = None
    trials: int | None = None
    run_s: float | None = None


def prolonged(options: TuneOptions, more: MoreBudget) -> TuneOptions:
    """A study's options with its new budget, of which the study has spent a part already.

    Raises:
        TunerError: the limit is no time, or one too short for runs of the size that the study has.
    """
    nodes = stored_cluster(options.real_cluster).size if options.real_cluster else 1
    old = options.budget
    budget = Budget(
        trials=more.trials or old.trials,
        wall_s=budget_s(more.wall, options.cluster, nodes) if more.wall else old.wall_s,
        run_s=more.run_s or old.run_s,
    )
    sized_by_budget = options.cluster is None and not options.full
    if sized_by_budget and run_time(budget).target_s < run_time(old).target_s:
        sized_for_s = run_time(old).target_s * RUNS_IN_BUDGET
        raise TunerError(
            f"{budget} is too short for a study whose runs were sized for {duration(sized_for_s)}: "
            "--resume can only prolong a study"
        )
    return replace(options, budget=budget)
