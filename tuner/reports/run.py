"""What `hpltune run` says at its end: for people, and as JSON."""

import json
from collections.abc import Sequence

from rich.console import Console

from results.plain import finite
from results.record import Study, TrialRecord
from results.stats.confidence import rerank_by_posterior
from results.stats.ranking import rank

from ..console.progress import outcome
from ..machine.equipment import Equipment
from ..words import counted
from .ranking import above_peak_of, figures

SHOWN_RUNS = 20
"""Of a file with more runs only so many get a line each, and those that do not count; all are stored."""


def report(console: Console, study: Study, records: Sequence[TrialRecord], *, as_json: bool) -> None:
    """The rates of a file's best configurations, what does not count and why, and where it is stored."""
    best = rerank_by_posterior(rank(records))[:3]
    doubt = above_peak_of(study, best)
    if as_json:
        rows = [
            {
                "trial": record.number,
                "counts": record.ranked,
                "gflops": finite(record.gflops),
                "time_s": finite(record.time_s),
                "residual": finite(record.residual),
                "reason": record.reason,
                "params": dict(record.params),
            }
            for record in records
        ]
        said = {
            "study": study.name,
            "simulated": study.simulated,
            "rpeak_gflops": study.rpeak_gflops,
            "above_peak": doubt,
            "runs": rows,
        }
        print(json.dumps(said, indent=1))
        return
    how = f"Simulated on {study.host['virtual_cluster']}: " if study.simulated else ""
    for entry in best:
        spread = "" if entry.spread_percent is None else f" ± {entry.spread_percent:.1f} %"
        percent = figures(Equipment.of(study), entry.expected_gflops, entry.params, entry.hosts)["percent_of_peak"]
        runs = counted(entry.runs, "run")
        console.print(
            f"{how}{entry.expected_gflops:.2f} GFLOPS{spread} ({percent:.1f} % of Rpeak), {runs}: "
            f"N={entry.params['N']} NB={entry.params['NB']} {entry.params['grid']} with {entry.params['blas']}",
        )
    if doubt:
        console.print(doubt)
    for record in records:
        if not record.ranked:
            console.print(f"Trial {record.number} does not count: {outcome(record).strip()}")
    console.print(f"Stored as {'simulated ' if study.simulated else ''}study {study.name}.")
