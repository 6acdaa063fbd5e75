"""The command that repeats the best run of a study, as a script."""

from results.store.store import Store

from ...tuning.winner import command_text
from .best import BestRequest, best_of_study


def best_command(store: Store, study: str) -> str | None:
    """Write the script that repeats the best run of a study beside its HPL.dat, as `tune` leaves it.

    Returns:
        None where nothing was launched: the run was simulated, or imported.

    Raises:
        ResultsError: there is no such study, or none of its runs counts.
    """
    best = best_of_study(store, BestRequest(study)).summary.ranking[0]
    record = store.get(study, best.best_record_number)
    return command_text(record) if record.command and not record.simulated else None
