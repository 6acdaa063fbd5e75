"""The answer of a study at a glance: its best rate, how sure that is, and what to do next."""

import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from results.metrics import rate_text
from results.record import Study, TrialRecord
from results.report.model import Card, Heading, Part, Sentence, Tile, Tone, outcome
from results.report.ranking_table import named_values
from results.stats.confidence import Standing, probability_text
from results.stats.headline import median_text, once_text
from results.stats.ranking import Ranked
from results.store.service.campaign_entry import GOES_ON, LiveState

from ..machine.equipment import Equipment
from ..machine.peak import peak_words
from ..study.names import FEWEST_EXPLAINED, resuming
from ..study.objective import merit_text, unit_of
from ..words import counted
from .ranking import figures, interval_of
from .summary import StudySummary

STOPPED: frozenset[LiveState] = frozenset({"interrupted", "killed", "cancelled", "failed"})
"""States of studies that somebody can go on with."""
NAMED = ("N", "NB", "grid", "blas", "layout")
"""What the answer in short tells of its configuration."""
NOT_KNOWN = "Not known"
DOUBTED = "Other programs disturbed the runs beside the textbook: repeat them on a quiet machine."
FIGURE_NAMES = {
    "percent_of_peak": "Of what the cores can do",
    "usd_per_gflops": "Price of a GFLOPS",
    "mflops_per_watt": "Rate of a watt",
}
SCATTER = 2.0
"""Runs of one configuration that differ by more than this factor tell between which rates it is, and no single one."""


def answer_card(summary: StudySummary, state: LiveState) -> Card:
    """The answer of a study of which a run counts."""
    first = summary.ranking[0]
    facts = tuple((about, text) for about, text in _facts(summary, first) if text)
    return Card(tuple(_tiles(summary, first)), facts, next_step(summary, state))


def failure_card(study: Study, failed: Sequence[TrialRecord], count: int) -> Card:
    """What stands in place of the answer of a study all of whose trials failed.

    Args:
        failed: some of them, at least one.
        count: how many there are.
    """
    [(why, often)] = Counter(outcome(record).strip() for record in failed).most_common(1)
    told = next(record for record in failed if outcome(record).strip() == why)
    name = shlex.quote(study.name)
    facts = (("why", why if often == len(failed) else f"{why} ({often} of {len(failed)})"),)
    all_ = "its only trial failed" if count == 1 else f"all {count:,} trials failed"
    following = f"`hpltune show {name} {told.number}` tells all of trial {told.number}, with what it printed."
    return Card((("Best configuration", "No result", "", f"{study.workload.title}: {all_}"),), facts, following)


def _scatters(first: Ranked) -> bool:
    slowest, fastest = first.range_gflops
    return first.disturbance is None and fastest > SCATTER * slowest


def _rate(first: Ranked) -> str:
    """The rate, or those between which its runs are, where they differ too much."""
    return " to ".join(map(rate_text, first.range_gflops)) if _scatters(first) else rate_text(first.expected_gflops)


def _what(summary: StudySummary, first: Ranked) -> str:
    """What the rate is, in a few words."""
    study = summary.study
    if summary.front:
        return f"the fastest of {counted(len(summary.front), 'configuration')} that none beats in both aims"
    if study.simulated:
        return f"the best configuration, {study.how}"
    if first.disturbance is not None:
        return "at least this, for no run of the best configuration is known to be undisturbed"
    if first.runs == 1:
        return f"the best configuration, which {once_text(first.left_out, first.left_unknown)}"
    if _scatters(first):
        return "runs of the best configuration, which differ too much to tell one rate"
    return "expected of one more run of the best configuration"


def _tiles(summary: StudySummary, first: Ranked) -> Iterator[Tile]:
    """The rate and where it usually is, what part of the peak that is, the gain on the textbook, and how sure it is."""
    study, predicted, machine = summary.study, summary.predicted, Equipment.of(summary.study)
    usual = _usual_rate(study, first)
    yield (
        "Best configuration",
        _rate(first),
        "GFLOPS",
        f"{_what(summary, first)}{f': usually {usual}' if usual else ''}",
    )
    if not _scatters(first):
        for name, value in figures(machine, first.expected_gflops, first).items():
            peak = name == "percent_of_peak"
            of, unit = (
                (f"of {peak_words(study)}", "%") if peak else ("of the best configuration", unit_of(name, machine))
            )
            yield FIGURE_NAMES[name], merit_text(name, value), unit, of
    if predicted is not None:
        gain = predicted.gain_percent
        known = NOT_KNOWN if gain is None else f"{gain:+.1f}"
        side = DOUBTED if gain is None and predicted.textbook else f"{predicted.against_textbook}."
        yield "Against the textbook", known, "" if gain is None else "%", side
    if summary.how_sure:
        yield "How sure?", _sure(summary.sure), "", summary.how_sure


def _sure(sure: Standing | None) -> str:
    """How sure the best is the best, in a word or two."""
    if sure is None or sure.unfit:
        return NOT_KNOWN
    return f"A tie of {len(sure.equals)}" if len(sure.equals) > 1 else probability_text(sure.confidence)


def _facts(summary: StudySummary, first: Ranked) -> Iterator[tuple[str, str]]:
    study, fastest = summary.study, summary.fastest
    yield f"{study.how} of the best", f"{rate_text(first.median_gflops)} GFLOPS, {median_text(first)}"
    if predicted := summary.predicted:
        yield "whole memory", predicted.at_whole_memory
    if fastest is not None:
        told = f"{rate_text(fastest.gflops)} GFLOPS, {fastest.where(summary.ranking)}"
        yield fastest.called, " ".join(filter(None, (f"{told}.", fastest.no_rmax)))
    runs = sum(entry.runs + entry.left_out + entry.left_unknown for entry in summary.ranking)
    known = counted(summary.known or len(summary.ranking), "configuration")
    yield "runs", f"{counted(runs, 'full run')} of {known}"
    if not (study.simulated or study.imported):
        yield "disturbed runs", _disturbed(summary.ranking)


def _usual_rate(study: Study, first: Ranked) -> str:
    interval = interval_of(study, first)
    if interval is None:
        return ""
    return f"{' to '.join(map(rate_text, interval))} with 95 % probability"


def _disturbed(ranking: Sequence[Ranked]) -> str:
    count = sum(entry.left_out + (entry.runs - entry.unknown if entry.disturbance else 0) for entry in ranking)
    unknown = sum(entry.unknown + entry.left_unknown for entry in ranking)
    told = str(count or "none") if count or unknown < sum(entry.runs + entry.left_unknown for entry in ranking) else ""
    return ", and ".join(filter(None, (told, f"of {unknown} it is not known" if unknown else "")))


def is_doubtful(first: Ranked) -> bool:
    """Whether the rate of a configuration has to be measured again before anything follows from it."""
    return first.disturbance is not None or first.runs == 1 or _scatters(first)


def in_short(summary: StudySummary, following: Sentence | None) -> Iterator[Part]:
    """What a reader in a hurry needs: the best, how sure that is, the whole memory, and what to do next, if any.

    The whole memory comes first where its rate can be told.
    """
    predicted, own = summary.predicted, list[Sentence]()
    if not summary.front:
        named = named_values(summary.ranking[0].params, NAMED, " ")
        own = [Sentence(f"Best{f' ({named})' if named else ''}: {summary.best_in_short()}")]
    own += [Sentence(f"Sure? {summary.how_sure}")] if summary.how_sure else []
    whole = [Sentence(predicted.at_whole_memory), Sentence(predicted.in_turn)] if predicted else []
    yield Heading("In short")
    told = (*whole, *own) if predicted and predicted.full.can_tell else (*own, *whole)
    yield from (replace(one, tone=Tone.PLAIN if place else Tone.GOOD) for place, one in enumerate(told))
    if following is not None:
        yield replace(following, text=f"Next: {following.text}")


def next_step(summary: StudySummary, state: LiveState, db: str = "", written: str = "") -> str:
    """What to do next, in a sentence.

    Args:
        db: the option that names the store; "" where it is the user's own.
        written: where the HPL.dat of the best is; "" where it is not written yet.
    """
    study, first = summary.study, summary.ranking[0]
    name = f"{shlex.quote(study.name)}{db}"
    if state in GOES_ON:
        return "Nothing: the search goes on."
    if state in STOPPED and study.space_text:
        return f"`{resuming(study)}{db}` goes on with the search."
    if study.how == "simulated":
        return f"`hpltune tune ⟦from_simulation⟧ {name}` begins on the real machine with what this study found."
    if study.simulated or study.imported or not study.workload.is_hpl or study.notes.programs_of:
        return _explained(summary, db)
    file = "" if written else f"`hpltune export dat {name} > HPL.dat` writes its HPL.dat"
    if is_doubtful(first):
        again = f"`hpltune run {shlex.quote(written or 'HPL.dat')} ⟦like⟧ {name} ⟦repeats⟧ 3` repeats"
        return f"{f'{file}, and {again} it' if file else f'{again} the best'}; let nothing else run meanwhile."
    return "; ".join(filter(None, (file, _explained(summary, db))))


def _explained(summary: StudySummary, db: str) -> str:
    """How to learn which parameters matter, or how to measure as much as that needs; only a search can tell that."""
    study = summary.study
    name = f"{shlex.quote(study.name)}{db}"
    if not study.space_text or study.notes.all_tried:
        return f"`hpltune best {name}` shows the ranking."
    if study.workload.is_hpl and (summary.known or len(summary.ranking)) >= FEWEST_EXPLAINED:
        return f"`hpltune explain {name}` tells which parameters matter."
    return f"`{resuming(study)}{db} ⟦budget⟧ 30m` tries more configurations."
