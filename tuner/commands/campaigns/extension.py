"""Another budget for a study that is gone on with."""

from dataclasses import dataclass, replace

from ...budget import Budget
from ...options import TuneOptions
from ...simulation.options import time_budget


@dataclass(frozen=True)
class BudgetExtension:
    """The limits given beside `--resume`.

    Attributes:
        wall: a time, node-hours or money as the user wrote it: the study's cluster tells how much time that is.
        trials: search trials.
        run_s: seconds of HPL runs.
    """

    wall: str | None = None
    trials: int | None = None
    run_s: float | None = None


def prolonged(options: TuneOptions, more: BudgetExtension) -> TuneOptions:
    """A study's options, with the limits given now in place of all it had, and of which it has spent a part already.

    Raises:
        TunerError: the limit is no time.
    """
    if more == BudgetExtension():
        return options
    nodes = 1
    if options.real_cluster:
        from runners.hosts.cluster import stored_cluster  # noqa: PLC0415 - only a cluster needs it

        nodes = stored_cluster(options.real_cluster).taken(options.parallel)
    timed = time_budget(more.wall, options.cluster, nodes) if more.wall else Budget()
    return replace(options, budget=replace(timed, trials=more.trials, run_s=more.run_s))
