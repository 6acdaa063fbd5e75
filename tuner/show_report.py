"""`hpltune show`: studies, their trials, and one trial in full."""

import json
from collections.abc import Collection, Mapping, Sequence

from rich.console import Console, JustifyMethod
from rich.table import Column, Table

from results.export import flat
from results.record import Study, TrialRecord, TrialState
from results.statistics import hosts_of
from results.store import Store
from search_spaces.dimension import Scalar

from .equipment import Equipment
from .net_words import sentence
from .objective import ranking_in
from .peak import above_peak
from .progress import outcome
from .ranking_report import figures
from .units import duration

KILLED = "killed"
"""How a study or a trial stands that still says it runs, though nobody works on it."""
UNSUCCESSFUL = (TrialState.FAILED, TrialState.CANCELLED)


def show_studies(console: Console, store: Store, *, as_json: bool) -> None:
    """All studies, oldest first, with their best."""
    rows = [(study, store.records(study.name)) for study in store.studies()]
    if as_json:
        print(json.dumps([_study_json(study, records, state(study, store)) for study, records in rows], indent=1))
        return
    if not rows:
        console.print(f"{store.place} holds no study yet: `hpltune tune` makes one.")
        return
    table = Table()
    for head in ("study", "when", "state", "engine", "trials", "failed", "best GFLOPS"):
        justify: JustifyMethod = "right" if head in {"trials", "failed", "best GFLOPS"} else "left"
        table.add_column(head, justify=justify, no_wrap=head in {"state", "engine", "trials"}, overflow="fold")
    for study, records in rows:
        ranking = ranking_in(study, records)
        failed = sum(record.state is TrialState.FAILED for record in records)
        best = f"{ranking[0].expected_gflops:.2f}" if ranking else ""
        when = study.created_at.astimezone().strftime("%Y-%m-%d %H:%M")
        table.add_row(study.name, when, state(study, store), study.engine, str(len(records)), str(failed), best)
    console.print(table)


def state(study: Study, store: Store) -> str:
    """How a study stands; one that still says it runs, though nobody works on it, was killed."""
    return KILLED if study.state == "running" and not store.others(study.name) else study.state


def _study_json(study: Study, records: Sequence[TrialRecord], how: str) -> dict[str, object]:
    ranking = ranking_in(study, records)
    return {
        "study": study.name,
        "created_at": study.created_at.isoformat(),
        "state": how,
        "space": study.space_name,
        "engine": study.engine,
        "trials": len(records),
        "failed": sum(record.state is TrialState.FAILED for record in records),
        "best_gflops": ranking[0].expected_gflops if ranking else None,
    }


def show_trials(console: Console, store: Store, name: str, *, failed: bool, as_json: bool) -> None:
    """The trials of a study in the order they were run; with `failed` only those that failed or were cancelled."""
    study = store.study(name)
    records = store.records(name, states=UNSUCCESSFUL if failed else None)
    killed = store.left_behind(name, frozenset())
    if as_json:
        print(json.dumps([_trial_json(record, killed) for record in records], indent=1))
        return
    if failed and not records:
        console.print(f"No trial of study {study.name} failed or was cancelled.")
        return
    title = f"Study {study.name} ({state(study, store)}), space {study.space_name}, engine {study.engine}"
    table = Table(title=title, title_justify="left")
    for head in ("#", "kind", "result", "time", "configuration"):
        figure = head in {"#", "time"}
        table.add_column(head, justify="right" if figure else "left", no_wrap=figure, overflow="fold")
    for record in records:
        time = "" if record.time_s is None else duration(record.time_s)
        table.add_row(str(record.number), str(record.kind), _result(record, killed), time, configuration(record))
    console.print(table)
    for probe in store.network.probes(name):
        console.print(sentence(probe))


def _trial_state(record: TrialRecord, killed: Collection[int]) -> str:
    return KILLED if record.number in killed else str(record.state)


def _result(record: TrialRecord, killed: Collection[int]) -> str:
    return KILLED if record.number in killed else outcome(record).strip()


def _trial_json(record: TrialRecord, killed: Collection[int]) -> dict[str, object]:
    return {**flat(record), "state": _trial_state(record, killed), "params": dict(record.params)}


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
    others = [
        one.number
        for one in store.records(study)
        if record.directory and one.directory == record.directory and one.number != number
    ]
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
