"""What `hpltune run` found, as sentences and as facts for scripts."""

from collections.abc import Sequence

from results.metrics import rate_text
from results.plain import finite
from results.record import Study, TrialRecord
from results.report.outcome import outcome
from results.stats.confidence import rerank_by_posterior
from results.stats.headline import fastest_run, median_text
from results.stats.ranking import Ranked, rank

from ..machine.equipment import Equipment
from .ranking import above_peak_of, figures

SHOWN_BEST = 3
"""Configurations whose rates are told."""


def _ranking(records: Sequence[TrialRecord]) -> Sequence[Ranked]:
    return rerank_by_posterior(rank(records))


def run_facts(study: Study, records: Sequence[TrialRecord]) -> dict[str, object]:
    """All runs of a file, as JSON can hold them."""
    ranking, fastest = _ranking(records), fastest_run(study, records)
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
        "above_peak": above_peak_of(study, ranking[:SHOWN_BEST]),
        "fastest_run": None if fastest is None else fastest.to_json(ranking),
        "runs": rows,
    }


def run_sentences(study: Study, records: Sequence[TrialRecord]) -> list[str]:
    """The rates of a file's best configurations, what does not count and why, and where it is stored."""
    ranking = _ranking(records)
    best = ranking[:SHOWN_BEST]
    sentences = []
    how = f"Simulated on {study.host['virtual_cluster']}: " if study.simulated else ""
    for entry in best:
        rate = entry.median_gflops
        percent = figures(Equipment.of(study), rate, entry.params, entry.hosts)["percent_of_peak"]
        sentences.append(
            f"{how}{rate_text(rate)} GFLOPS ({percent:.1f} % of Rpeak), {median_text(entry)}: "
            f"N={entry.params['N']} NB={entry.params['NB']} {entry.params['grid']} with {entry.params['blas']}"
        )
    fastest = fastest_run(study, records)
    if fastest is not None and (len(records) > 1 or not fastest.is_rmax):
        sentences.append(fastest.sentence(ranking))
    doubt = above_peak_of(study, best)
    if doubt:
        sentences.append(doubt)
    sentences += [
        f"Trial {record.number} does not count: {outcome(record).strip()}" for record in records if not record.ranked
    ]
    sentences.append(f"Stored as {'simulated ' if study.simulated else ''}study {study.name}.")
    return sentences
