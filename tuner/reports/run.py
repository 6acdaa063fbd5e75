"""What `hpltune run` found, as sentences and as facts for scripts."""

from collections.abc import Sequence

from results.metrics import rate_text
from results.plain import finite
from results.record import Study, TrialRecord
from results.report.outcome import outcome
from results.stats.confidence import rerank_by_posterior
from results.stats.ranking import Ranked, rank

from ..machine.equipment import Equipment
from ..words import counted
from .ranking import above_peak_of, figures

SHOWN_BEST = 3
"""Configurations whose rates are told."""


def _best(records: Sequence[TrialRecord]) -> Sequence[Ranked]:
    return rerank_by_posterior(rank(records))[:SHOWN_BEST]


def run_facts(study: Study, records: Sequence[TrialRecord]) -> dict[str, object]:
    """All runs of a file, as JSON can hold them."""
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
    return {
        "study": study.name,
        "simulated": study.simulated,
        "rpeak_gflops": study.rpeak_gflops,
        "above_peak": above_peak_of(study, _best(records)),
        "runs": rows,
    }


def run_sentences(study: Study, records: Sequence[TrialRecord]) -> list[str]:
    """The rates of a file's best configurations, what does not count and why, and where it is stored."""
    best = _best(records)
    sentences = []
    how = f"Simulated on {study.host['virtual_cluster']}: " if study.simulated else ""
    for entry in best:
        spread = "" if entry.spread_percent is None else f" ± {entry.spread_percent:.1f} %"
        percent = figures(Equipment.of(study), entry.expected_gflops, entry.params, entry.hosts)["percent_of_peak"]
        runs = counted(entry.runs, "run")
        sentences.append(
            f"{how}{rate_text(entry.expected_gflops)} GFLOPS{spread} ({percent:.1f} % of Rpeak), {runs}: "
            f"N={entry.params['N']} NB={entry.params['NB']} {entry.params['grid']} with {entry.params['blas']}"
        )
    doubt = above_peak_of(study, best)
    if doubt:
        sentences.append(doubt)
    sentences += [
        f"Trial {record.number} does not count: {outcome(record).strip()}" for record in records if not record.ranked
    ]
    sentences.append(f"Stored as {'simulated ' if study.simulated else ''}study {study.name}.")
    return sentences
