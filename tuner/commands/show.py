"""`hpltune show`: studies, their trials, and one trial in full."""

import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields

from rich.console import Console, JustifyMethod
from rich.table import Column, Table

from hpl.params import Scalar
from results.flat import COLUMNS, Placed, flat
from results.record import Study, TrialRecord, TrialState
from results.report.outcome import outcome
from results.stats.ranking import hosts_of
from results.store.reading import Tally
from results.store.store import Store

from ..machine.equipment import Equipment
from ..machine.peak import above_peak
from ..network.words import sentence
from ..reports.ranking import figures
from ..study.objective import ranking_of
from ..units import duration

KILLED = "killed"
"""How a study or a trial stands that still says it runs, though nobody works on it."""
PLACED = frozenset(field.name for field in fields(Placed))
"""Columns that only exports fill."""
UNSUCCESSFUL = (TrialState.FAILED, TrialState.CANCELLED)


@dataclass(frozen=True)
class Page:
    """Which of many are shown.

    Attributes:
        number: from 1, which has the newest.
        count: how many a page has; None for all.
    """

    number: int = 1
    count: int | None = None

    def before(self, usual: int) -> tuple[int, int]:
        """How many are shown, and how many newer ones are left out; `usual` where the user gave no count."""
        count = self.count or usual
        return count, count * (self.number - 1)

    def told(self, what: str, shown: int, before: int, whole: int) -> str | None:
        """The line that says what more there is; None where all is shown."""
        if shown == whole:
            return None
        last = whole - before
        these = f"{what} {last - shown + 1:,} to {last:,} of {whole:,}" if shown else f"{what}: {whole:,} and no more"
        older = f"--page {self.number + 1} has those before, " if last > shown else ""
        return f"{these}; {older}--count {whole} has all."


NEWEST = Page()
STUDIES, TRIALS = 20, 100
"""Of a page, where the user does not say how many."""


def show_studies(
    console: Console, store: Store, *, as_json: bool, page: Page = NEWEST, everything: bool = False
) -> None:
    """Studies, oldest first, with their best; with JSON all of them.

    Args:
        everything: also those that `hpltune run` and `hpltune predict` made.
    """
    known, tallies = store.studies(), store.tallies()
    if as_json:
        print(json.dumps([_study_json(one, store, tallies.get(one.name, Tally())) for one in known], indent=1))
        return
    if not known:
        console.print(f"{store.place} holds no study yet: `hpltune tune` makes one.")
        return
    listed = [study for study in known if everything or not _beside(study)]
    count, before = page.before(STUDIES)
    last = len(listed) - before
    shown = listed[max(0, last - count) : max(0, last)]
    if shown:
        console.print(_studies_table(store, shown, tallies))
    more = page.told("Studies", len(shown), before, len(listed))
    if more:
        console.print(more)
    folded = Counter(filter(None, map(_beside, known)))
    if folded and not everything:
        made = " and ".join(f"{number} of `hpltune {command}`" for command, number in sorted(folded.items()))
        console.print(f"{'Also ' if shown else ''}{made}: --all lists them too.")


def _beside(study: Study) -> str | None:
    """The command other than `tune` that made a study, or None."""
    if not study.space_text:
        return "run"
    return "predict" if study.simulated and study.name.startswith("predict-") else None


def _studies_table(store: Store, shown: Sequence[Study], tallies: Mapping[str, Tally]) -> Table:
    table = Table()
    for head in ("study", "when", "state", "engine", "trials", "failed", "best GFLOPS"):
        justify: JustifyMethod = "right" if head in {"trials", "failed", "best GFLOPS"} else "left"
        table.add_column(head, justify=justify, no_wrap=head in {"state", "engine", "trials"}, overflow="fold")
    for study in shown:
        ranking, tally = ranking_of(store, study), tallies.get(study.name, Tally())
        best = f"{ranking[0].expected_gflops:.2f}" if ranking else ""
        when = study.created_at.astimezone().strftime("%Y-%m-%d %H:%M")
        counts = (str(tally.trials), str(tally.failed))
        table.add_row(study.name, when, state(study, store), study.engine, *counts, best)
    return table


def state(study: Study, store: Store) -> str:
    """How a study stands; one that still says it runs, though nobody works on it, was killed."""
    return KILLED if study.state == "running" and not store.others(study.name) else study.state


def _study_json(study: Study, store: Store, tally: Tally) -> dict[str, object]:
    ranking = ranking_of(store, study)
    return {
        "study": study.name,
        "created_at": study.created_at.isoformat(),
        "state": state(study, store),
        "space": study.space_name,
        "engine": study.engine,
        "trials": tally.trials,
        "failed": tally.failed,
        "best_gflops": ranking[0].expected_gflops if ranking else None,
    }


def show_trials(console: Console, store: Store, name: str, *, failed: bool, as_json: bool, page: Page = NEWEST) -> None:
    """Trials of a study in the order they were run, by default the last of them; with JSON all.

    Args:
        failed: only those that failed or were cancelled.
    """
    study, states = store.study(name), UNSUCCESSFUL if failed else None
    killed = set(store.left_behind(name, frozenset()))
    if as_json:
        _print_json(store, name, killed, states)
        return
    whole = store.count(name, states)
    if failed and not whole:
        console.print(f"No trial of study {study.name} failed or was cancelled.")
        return
    count, before = page.before(TRIALS)
    records = store.newest_records(name, count, before, states)
    title = f"Study {study.name} ({state(study, store)}), space {study.space_name}, engine {study.engine}"
    table = Table(title=title, title_justify="left")
    for head in ("#", "kind", "result", "time", "configuration"):
        figure = head in {"#", "time"}
        table.add_column(head, justify="right" if figure else "left", no_wrap=figure, overflow="fold")
    for record in records:
        time = "" if record.time_s is None else duration(record.time_s)
        table.add_row(str(record.number), str(record.kind), _result(record, killed), time, configuration(record))
    console.print(table)
    more = page.told("Trials", min(count, max(0, whole - before)), before, whole)
    if more:
        console.print(more)
    for probe in store.network.probes(name):
        console.print(sentence(probe))


def _print_json(store: Store, name: str, killed: Collection[int], states: Collection[TrialState] | None) -> None:
    """One trial a line, so that a large study is never in memory as a whole."""
    _, rows = store.each_flat(name)
    between = "[\n"
    for cells, params in rows:
        facts = {name: cell for name, cell in zip(COLUMNS, cells, strict=True) if name not in PLACED}
        if states is None or facts["state"] in states:
            how = KILLED if facts["number"] in killed else facts["state"]
            print(between + json.dumps({**facts, "state": how, "params": params}), end="")
            between = ",\n"
    print("\n]" if between != "[\n" else "[]")


def _trial_state(record: TrialRecord, killed: Collection[int]) -> str:
    return KILLED if record.number in killed else str(record.state)


def _result(record: TrialRecord, killed: Collection[int]) -> str:
    return KILLED if record.number in killed else outcome(record).strip()


def _trial_json(record: TrialRecord, killed: Collection[int]) -> dict[str, object]:
    facts = {name: cell for name, cell in flat(record).items() if name not in PLACED}
    return {**facts, "state": _trial_state(record, killed), "params": dict(record.params)}


def configuration(record: TrialRecord) -> str:
    """The parameters of a trial on one line, what matters most first."""
    first = ("blas", "kernel", "layout", "grid", "N", "NB", "BCAST", "DEPTH", "SWAP", "RFACT", "NBMIN")
    words = _ran(record)
    return " ".join(f"{name}={words[name]}" for name in first if name in words)


def _ran(record: TrialRecord) -> Mapping[str, Scalar]:
    """The parameters of a trial, with the N that it really had: that of a small run is not its configuration's."""
    return dict(record.params) if record.hpl is None else {**record.params, "N": record.hpl.N}


def show_trial(console: Console, store: Store, study: str, number: int, *, output: bool, as_json: bool) -> None:
    """One trial: its configuration, its figures, what really ran, and where its files are."""
    record = store.get(study, number)
    said = record.output or record.errors_text
    if output and not as_json:
        print(said, end="")
        return
    killed = store.left_behind(study, frozenset())
    if as_json:
        facts = {**_trial_json(record, killed), "hpl_dat": record.hpl_dat}
        print(json.dumps({**facts, "output": said} if output else facts, indent=1))
        return
    title = f"Study {study}, trial {number}: {_result(record, killed)}"
    table = Table("", Column(overflow="fold"), show_header=False, title=title, title_justify="left")
    others = store.of_the_launch(record)
    for name, value in _facts(store.study(study), record, _trial_state(record, killed), others).items():
        table.add_row(name, value)
    console.print(table)


def _facts(study: Study, record: TrialRecord, how: str, others: Sequence[int]) -> dict[str, str]:
    """What is shown of a trial.

    Args:
        how: it stands.
        others: trials of the same launch.
    """
    facts = {"kind": str(record.kind), "state": how}
    if record.reason:
        facts["reason"] = record.reason
    if record.gflops is not None:
        machine = Equipment.of(study)
        merits = figures(machine, record.gflops, record.params, hosts_of(record)) if record.ranked else {}
        facts["GFLOPS"] = " ".join([f"{record.gflops:.2f}", *(f"{name}={value:.2f}" for name, value in merits.items())])
        doubt = above_peak(study, [merits.get("percent_of_peak")])
        facts |= {"peak": doubt} if doubt else {}
        checked = f"{record.residual} ({'PASSED' if record.passed else 'not passed'})"
        facts["residual"] = "none, because nothing was computed: simulated" if record.simulated else checked
    if record.time_s is not None:
        launch = "with its part of the launch" if others else "whole launch"
        facts["time"] = f"{duration(record.time_s)} ({launch} {duration(record.cost_s or 0.0)})"
    if others:
        facts["same launch"] = f"trials {', '.join(map(str, others))}"
    facts["configuration"] = " ".join(f"{name}={value}" for name, value in _ran(record).items())
    if record.observed:
        seen = record.observed
        threads = "?" if seen.threads is None else str(seen.threads)
        facts["really ran"] = (
            f"{seen.library} ({seen.version}), kernel {seen.kernel or 'unknown'}, {threads} threads a rank"
        )
    facts["started"] = record.started_at.astimezone().strftime("%Y-%m-%d %H:%M:%S")
    if record.command:
        facts["command"] = record.command
        facts["folder"] = record.directory
    return facts
