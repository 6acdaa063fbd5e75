"""`hpltune export`: a study as text for other programs."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from results.columns import TrialPlace
from results.errors import NoValidRunError, ResultsError
from results.export.csv_lines import csv_parts, to_hpl_dat
from results.export.json_lines import json_line
from results.record import Study
from results.report.model import Report, Sentence
from results.report.text_forms import to_markdown
from results.stats.headline import expected_sentence, fastest_run
from results.store.store import Store

from ...errors import TunerError
from ...machine.equipment import Equipment
from ...reports.context import Context
from ...reports.ranking import doubts_of, exported_table, figures, how_sure, interval_of
from ...reports.submission import Sheet
from ...reports.summary import StudySummary
from ...study.cautions import cautions_of, small_caution
from ...study.objective import StudyRanking, rank_stored
from ...study.shootout import n_of, sentences
from ...units import gibibytes
from ...words import all_with_options, counted, with_options


def submission_sheet(store: Store, name: str | None = None) -> Report:
    """Fill in the sheet with the fastest full run that counts, after what a reader must know first.

    Args:
        name: None for the newest study.

    Raises:
        ResultsError: there is no such study, or no run of it counts.
        TunerError: it is of another workload than HPL.
    """
    study = store.study(name) if name else store.newest()
    records = store.records(study.name)
    fastest = fastest_run(study, records)
    if fastest is None:
        raise ResultsError(
            f"study {study.name} has no run whose residual was checked and PASSED, so there is nothing to submit: "
            f"`hpltune show {study.name}` lists what ran"
        )
    if not study.workload.is_hpl:
        raise TunerError(f"study {study.name} is of {study.workload.title}: the sheet is for the lists of HPL")
    context = replace(Context.of_runs(study, [fastest.record]), runs=None)
    report = Sheet(study, fastest, records).report()
    facts = report.facts if isinstance(report.facts, Mapping) else {}
    return replace(context.page(report), facts={**facts, "cautions": context.cautions()})


def export_study(store: Store, kind: str, name: str | None = None, trial: int | None = None) -> Iterator[str]:
    """Write a study as text, in parts that are read while the store is open: a large study is never in memory at once.

    Args:
        kind: "csv", "jsonl", "md" or "dat".
        name: of the study; None for the newest.
        trial: with "dat", which; None takes the best.

    Raises:
        ResultsError: there is no such study or trial, or no valid run to choose the best from.
    """
    study = store.study(name) if name else store.newest()
    if kind == "dat" and trial is not None:
        return iter([to_hpl_dat(store.get(study.name, trial))])
    stored = rank_stored(store, study)
    if kind == "csv":
        more, rows = store.each_flat(study.name)
        return csv_parts(more, rows, placed_in(study, stored))
    if kind == "jsonl":
        placed = placed_in(study, stored)
        return (json_line(record, placed.get(record.number)) for record in store.each(study.name))
    if not stored.ranking:
        raise NoValidRunError(study.name)
    if kind == "md":
        return iter([to_markdown(all_with_options(_report(study, stored)))])
    return iter([to_hpl_dat(store.get(study.name, stored.ranking[0].best_record_number))])


def _report(study: Study, stored: StudyRanking) -> Report:
    """The whole ranking, and what a reader must know of it."""
    said = filter(None, (stored.left_out, *doubts_of(study, stored.ranking)))
    sizes = frozenset(int(entry.params["N"]) for entry in stored.ranking if "N" in entry.params)
    below = map(Sentence, (*said, *Context([study], sizes).cautions(), *_below(study, stored)))
    return Report("", (exported_table(study, stored.ranking), *below))


def placed_in(study: Study, stored: StudyRanking) -> Mapping[int, TrialPlace]:
    """What `best` says of the configuration of each trial that counts, by its number."""
    machine, cautions = Equipment.of(study), " ".join(map(with_options, cautions_of(study)))
    places = [
        TrialPlace(
            number,
            entry.expected_gflops,
            figures(machine, entry.expected_gflops, entry).get("percent_of_peak"),
            " ".join(filter(None, (cautions, small_caution(study, n_of(entry)) if n_of(entry) else None))),
        )
        for number, entry in enumerate(stored.ranking, start=1)
    ]
    return {number: places[place] for number, place in stored.placed.items()}


def _below(study: Study, stored: StudyRanking) -> list[str]:
    """What a reader must know of a table: how sure it is, each BLAS, and what was measured where with what."""
    found = StudySummary.of(study, stored.ranking, fastest=stored.fastest)
    ranking = stored.ranking
    expected = expected_sentence(ranking[0], interval_of(study, ranking[0]))
    rates = [*([expected] if expected else []), *([stored.fastest.sentence(ranking)] if stored.fastest else [])]
    sure = None if found.front else how_sure(study, ranking, found.sure)
    sizes = sorted({int(entry.params["N"]) for entry in ranking if "N" in entry.params})
    N = "" if not sizes else f", N = {sizes[0]:,}" if len(sizes) == 1 else f", N = {sizes[0]:,} to {sizes[-1]:,}"
    when = f"{study.created_at:%Y-%m-%d %H:%M} UTC"
    where = study.how if study.simulated else f"{'imported at' if study.imported else 'measured from'} {when}"
    return [
        *rates,
        *([sure] if sure else []),
        *sentences(found.libraries, found.programs, study, ranking),
        f"Study {study.name}, {where}{N}, engine {study.engine}, space {study.space_name}.",
        f"Machine: {_machine(study)}.",
        f"Versions: {', '.join(f'{name} {version}' for name, version in study.versions.items())}.",
    ]


def _machine(study: Study) -> str:
    host = study.host
    memory = host.get("memory_total_bytes")
    peak = study.rpeak_gflops
    told = [
        "that of the table" if study.replayed else str(host.get("cpu_model", "unknown")),
        counted(int(str(host["nodes"])), "node") if "nodes" in host else "",
        counted(int(str(host["physical_cores"])), "core") if "physical_cores" in host else "",
        gibibytes(memory) if isinstance(memory, int) else "",
        f"Rpeak {peak:.1f} GFLOPS" if peak else "",
        "virtual machine" if host.get("hypervisor") is True else "",
        f"host {host['hostname']}" if host.get("hostname") else "",
        str(host.get("os_release", "")),
        f"Linux {host['kernel']}" if "kernel" in host else "",
    ]
    return ", ".join(filter(None, told))


def parquet(store: Store, name: str | None) -> bytes:
    """Write a study as a Parquet file, and return what is in it.

    Args:
        name: of the study; None for the newest.

    Raises:
        ResultsError: there is no such study, or pyarrow is missing.
    """
    from results.export.frame import write_parquet  # noqa: PLC0415 - pandas takes a second to import

    study = store.study(name) if name else store.newest()
    with TemporaryDirectory(prefix="hpltune-") as folder:
        file = Path(folder) / "study"
        write_parquet(file, study, store.records(study.name), placed_in(study, rank_stored(store, study)))
        return file.read_bytes()
