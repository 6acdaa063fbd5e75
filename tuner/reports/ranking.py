"""A study's ranking: its table and sentences for people, and its facts for scripts."""

import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from results.metrics import measured_watts, rate_text, too_efficient
from results.plain import finite
from results.record import Study, TrialRecord
from results.report.model import Figure, Part, Sentence, Series, Table, Tone, uncounted
from results.report.ranking_table import named_values, ranking_table
from results.stats.confidence import Standing, rerank_by_posterior, sentence
from results.stats.disturbed_runs import DisturbedRuns
from results.stats.headline import (
    FastestRun,
    HeadlineRates,
    disturbed_sentence,
    expected_sentence,
    fastest_run,
    gave_text,
    has_doubtful_runs,
)
from results.stats.levels import change, did_words, drift_corrected
from results.stats.ranking import Ranked, hosts_of, rank, relative_sd, varying

from ..machine.equipment import Equipment
from ..machine.peak import above_peak, ceiling_of, peak_words
from ..study.objective import UNITS, Objective, StudyRanking, merit_text, of_study, unit_of
from ..words import counted


def figures(machine: Equipment, gflops: float, run: Ranked | TrialRecord) -> dict[str, float]:
    """Return the known figures of merit of the nodes that a configuration or a run used, by name with their unit.

    Args:
        gflops: the rate that they are told of.
    """
    if isinstance(run, Ranked):
        hosts, watts = run.hosts, {name: gflops * each for name, each in run.watts_per_gflops.items()}
    else:
        hosts, watts = hosts_of(run), measured_watts(run.measurements)
    merits = machine.used_on(hosts, run.params, watts).merit(gflops)
    return {name: value for name, value in asdict(merits).items() if value is not None}


def interval_of(study: Study, entry: Ranked) -> tuple[float, float] | None:
    """Return the rates between which a configuration is with 95 % probability; None where that is not known.

    Simulated runs do not depend on chance, so they have no interval; those of a table did. It ends where no run of the
    machine can be; a bound that one of its runs exceeded is none.
    """
    if study.how == "simulated" or entry.interval_gflops is None:
        return None
    most = ceiling_of(study)
    if max(entry.gflops) > most:
        return entry.interval_gflops
    low, high = entry.interval_gflops
    return min(low, most), min(high, most)


def headline_rates(study: Study, stored: StudyRanking) -> HeadlineRates | None:
    """What lists, messages and pages tell of the rates of a study; None where no run counts."""
    if stored.fastest is None or not stored.ranking:
        return None
    first = stored.ranking[0]
    return HeadlineRates.of(stored.fastest, first, interval_of(study, first))


def above_peak_of(study: Study, shown: Sequence[Ranked]) -> str | None:
    """Say in one sentence why configurations are above 100 % of peak; None where none is."""
    return above_peak(study, [merit.get("percent_of_peak") for merit in _merits(Equipment.of(study), shown)])


def doubts_of(study: Study, shown: Sequence[Ranked]) -> list[str]:
    """Say why figures of merit cannot be right, or are of another bound than Rpeak."""
    merits = _merits(Equipment.of(study), shown)
    most = max((merit.get("mflops_per_watt", 0.0) for merit in merits), default=0.0)
    return [
        *filter(None, [above_peak(study, [one.get("percent_of_peak") for one in merits]), too_efficient(most)]),
    ]


EXPORTED = {"percent_of_peak": "% of peak", "usd_per_gflops": "USD/GFLOPS", "mflops_per_watt": "MFLOPS/W"}
"""Heads of the figures of merit in an exported table."""


def ranking_parts(
    study: Study,
    shown: Sequence[Ranked],
    ranking: Sequence[Ranked],
    against: Objective | None = None,
    fastest: FastestRun | None = None,
    *,
    short: bool = False,
) -> list[Part]:
    """Report some configurations: the table has the parameters in which they differ, the line below it the others.

    Args:
        shown: at least one configuration.
        ranking: the whole one.
        against: those shown are the front of GFLOPS against this.
        fastest: the fastest run of the study, which may be one of another configuration than the first.
        short: the rate that counts and what varies, without how runs differed.
    """
    names = varying(shown)
    alike = [name for name in shown[0].params if name not in {*names, "threshold"}]
    table = _table(study, shown, against, short=short)
    told = [named_values(shown[0].params, alike), *_remarks(study, shown, ranking, fastest, short=short)]
    bound = disturbed_sentence(shown[0])
    doubted = [Sentence(bound, tone=Tone.CAUTION)] if bound else []
    return [table, *doubted, _figure(table.title, study, (shown, ranking), against), *map(Sentence, told)]


def exported_table(study: Study, ranking: Sequence[Ranked]) -> Table:
    """Build the table of a whole ranking as `hpltune export md` writes it."""
    merits = _merits(Equipment.of(study), ranking)
    known = [name for name in EXPORTED if any(name in merit for merit in merits)]
    words = Equipment.of(study).power_words
    heads = {name: f"{EXPORTED[name]}{words if name == 'mflops_per_watt' else ''}" for name in known}
    more = {heads[name]: [_exported(name, merit[name]) if name in merit else "" for merit in merits] for name in known}
    return ranking_table("", ranking, more, [interval_of(study, entry) for entry in ranking])


def _exported(name: str, figure: float) -> str:
    return f"{figure:.2f}" if figure < 100 else merit_text(name, figure)


def _remarks(
    study: Study, shown: Sequence[Ranked], ranking: Sequence[Ranked], fastest: FastestRun | None, *, short: bool
) -> list[str]:
    """Say what a reader must know of the rates: doubts, drift, noise, failures."""
    said = doubts_of(study, shown)
    shown_noise = study.notes.noise_at_first
    changed = change(ranking, shown_noise)
    if changed:
        speed = "faster" if changed > 0 else "slower"
        said.append(
            f"The machine {did_words(changed)} before confirmation; what is expected is of the {speed} machine."
        )
    noise = relative_sd(drift_corrected(ranking, shown_noise))
    if noise is not None and not short:
        said.append(f"Repeated runs of one configuration differ by {100 * noise:.1f} % (standard deviation).")
    first, ends = shown[0], interval_of(study, shown[0])
    expected = expected_sentence(first, ends)
    if expected is not None and not (short and ends):
        said.append(expected)
    if fastest is not None and (noise is not None or not fastest.is_rmax or fastest.place(ranking) != 1):
        said.append(fastest.sentence(ranking))
    if first.failed_runs:
        said.append(f"No. 1 failed in {first.failed_runs} of its {first.failed_runs + first.runs} runs.")
    return said


def how_sure(study: Study, ranking: Sequence[Ranked], sure: Standing | None) -> str | None:
    """Say how sure the first of a whole ranking is the best; nothing of simulations, which need not differ."""
    if study.how == "simulated":
        return None
    if len(ranking) == 1:
        return "Only one configuration has a valid run: there is none to compare it with."
    if sure is None and study.imported:
        return "No configuration ran twice, so the confidence is unknown."
    if sure is None and study.replayed:
        return (
            "No configuration ran twice, so the confidence is unknown: ⟦confirm⟧ 2 repeats the best where the table "
            "has further runs of them."
        )
    if sure is None and any(map(has_doubtful_runs, ranking)):
        return "No configuration ran twice undisturbed, so the confidence is unknown."
    return sentence(sure, of_study(study).best)


def _table(study: Study, shown: Sequence[Ranked], against: Objective | None, *, short: bool) -> Table:
    """Build the table of configurations with the figures of merit that are known."""
    objective = of_study(study)
    by = "" if objective.name == "gflops" else f" by {objective.unit}"
    front = None if against is None else f"Front of study {study.marked_name}: GFLOPS against {against.unit}"
    machine = Equipment.of(study)
    merits = _merits(machine, shown)
    more = {}
    if front and study.simulated:
        more["nodes"] = [str(machine.used(entry.params).nodes) for entry in shown]
    for name in [name for name in UNITS if any(name in one for one in merits)]:
        more[unit_of(name, machine)] = [merit_text(name, one[name]) if name in one else "" for one in merits]
    title = front or f"Best of study {study.marked_name}{by}"
    return ranking_table(title, shown, more, [interval_of(study, entry) for entry in shown], short=short)


def _merits(machine: Equipment, entries: Sequence[Ranked]) -> list[dict[str, float]]:
    return [figures(machine, entry.expected_gflops, entry) for entry in entries]


def _figure(
    title: str, study: Study, entries: tuple[Sequence[Ranked], Sequence[Ranked]], against: Objective | None
) -> Figure:
    """Draw what is expected of each with its single runs, or the front of GFLOPS and another figure of merit.

    Args:
        entries: those that are shown, and the whole ranking, which stands behind a front.
    """
    shown, ranking = entries
    ranks = tuple(range(1, len(shown) + 1))
    expected = tuple(entry.expected_gflops for entry in shown)
    if against is not None:
        on_front = {entry.key for entry in shown}
        others = [entry for entry in ranking if entry.key not in on_front]
        front = Series(
            "front", _worths(study, shown, against), expected, tuple(f"no. {rank}" for rank in ranks), line=True
        )
        beaten = tuple(entry.expected_gflops for entry in others)
        rest = Series("other configurations", _worths(study, others, against), beaten, behind=True)
        return Figure(title, against.unit, "GFLOPS", (front, rest) if others else (front,))
    runs = [(float(rank), rate) for rank, entry in zip(ranks, shown, strict=True) for rate in entry.gflops]
    hollow = tuple(entry.disturbance is not None for entry in shown for _ in entry.gflops)
    single = Series("runs", tuple(rank for rank, _ in runs), tuple(rate for _, rate in runs), hollow=hollow)
    ends = [interval_of(study, entry) for entry in shown]
    known = [end or (math.nan, math.nan) for end in ends] if any(ends) else []
    low, high = (tuple(end[side] for end in known) for side in (0, 1))
    beside = known or any(entry.believed_gflops not in (None, *entry.gflops) for entry in shown)
    next_run = [Series("next run, as expected", ranks, expected, low=low, high=high, dashes=True)] if beside else []
    said = ["Each point of the runs is one full run."]
    said += ["Error bars are 95 % intervals of a configuration's rate."] if known else []
    caption = " ".join(said)
    return Figure(title, "rank", "GFLOPS", (*next_run, single), x_whole=True, caption=caption)


def _worths(study: Study, entries: Sequence[Ranked], against: Objective) -> tuple[float, ...]:
    """Return what configurations have of another figure of merit."""
    name = against.name.replace("-", "_")
    return tuple(merit.get(name, 0.0) for merit in _merits(Equipment.of(study), entries))


def ranking_json(
    study: Study,
    shown: Sequence[Ranked],
    ranking: Sequence[Ranked],
    sure: Standing | None,
    fastest: FastestRun | None = None,
    written: Mapping[str, object] | None = None,
) -> dict[str, object]:
    """Return some of a ranking with figures of merit, as JSON can hold it.

    Args:
        ranking: the whole one.
        sure: how the first stands against it; None where that cannot be told.
        fastest: the fastest run of the study.
        written: what else to say.
    """
    machine = Equipment.of(study)
    entries = [
        {
            "expected_gflops": entry.expected_gflops,
            "interval_gflops": interval_of(study, entry),
            "median_gflops": entry.median_gflops,
            "runs": entry.runs,
            "slowest_gflops": min(entry.gflops),
            "fastest_gflops": max(entry.gflops),
            "gflops": list(entry.gflops),
            "spread_percent": entry.spread_percent,
            "failed_runs": entry.failed_runs,
            "conditions": entry.conditions.value,
            "disturbed_runs": entry.left_out + (entry.runs - entry.unknown if entry.disturbance else 0),
            "unknown_runs": entry.unknown + entry.left_unknown,
            "all_disturbed_by": str(entry.disturbance) if entry.disturbance else None,
            **figures(machine, entry.expected_gflops, entry),
            "trial": entry.best_record_number,
            "params": dict(entry.params),
        }
        for entry in shown
    ]
    return {
        "study": study.name,
        "rates": study.how,
        "rpeak_gflops": study.rpeak_gflops,
        "above_peak": above_peak_of(study, shown),
        "power_source": machine.power_source or ("given" if study.power_w else None),
        "fastest_run": None if fastest is None else fastest.to_json(ranking),
        "machine_changed_percent": 100 * change(ranking, study.notes.noise_at_first),
        "confidence": None if sure is None or sure.unfit else sure.confidence,
        "confidence_not_told": sure.unfit or None if sure else None,
        "cannot_be_told_apart": None if sure is None or sure.unfit else list(sure.equals),
        "ranking": entries,
        **dict(written or {}),
    }


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
            "conditions": record.conditions.value,
            "disturbed": str(record.disturbed) if record.disturbed else None,
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
    best, sentences = ranking[:SHOWN_BEST], list[str]()
    apart = [name for name in varying(ranking) if name not in {"N", "NB", "grid", "blas"}]
    how = f"Simulated on {study.host['virtual_cluster']}: " if study.simulated else ""
    for entry in best:
        rate = entry.median_gflops if entry.disturbance is None else entry.expected_gflops
        percent = figures(Equipment.of(study), rate, entry)["percent_of_peak"]
        named = "this configuration" if len(ranking) > 1 else "this file"
        sentences += filter(None, [disturbed_sentence(entry, named)])
        sentences.append(
            f"{how}{rate_text(rate)} GFLOPS ({percent:.1f} % of {peak_words(study)}), {gave_text(entry)}: "
            f"N={entry.params['N']} NB={entry.params['NB']} {entry.params['grid']} with {entry.params['blas']}"
            + "".join(f" {name}={entry.params[name]}" for name in apart if name in entry.params)
        )
    if len(ranking) > len(best):
        more = counted(len(ranking) - len(best), "more configuration")
        sentences.append(f"{more} gave less: `hpltune best {shlex.quote(study.name)}` shows all.")
    fastest = fastest_run(study, records)
    if fastest is not None and (len(records) > 1 or not fastest.is_rmax):
        sentences.append(fastest.sentence(ranking))
    sentences += filter(None, (*doubts_of(study, best), DisturbedRuns.of(records).unknown()))
    sentences += uncounted(records)
    sentences.append(f"Stored as {'simulated ' if study.simulated else ''}study {study.name}.")
    return sentences
