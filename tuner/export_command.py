"""`hpltune export`."""

from results.errors import ResultsError
from results.export import to_csv, to_hpl_dat, to_json_lines, to_markdown
from results.store import Store

from .equipment import Equipment
from .objective import ranking_of
from .ranking_report import above_peak_of, figures


def export_text(store: Store, name: str | None, kind: str, trial: int | None) -> str:
    """A study as text.

    Args:
        kind: "csv", "jsonl", "md" or "dat".
        trial: with "dat", which; None takes the best.

    Raises:
        ResultsError: there is no such study or trial, or no valid run to choose the best from.
    """
    study = store.study(name) if name else store.newest()
    if kind == "csv":
        return to_csv(store.records(study.name))
    if kind == "jsonl":
        return to_json_lines(store.records(study.name, outputs=True))
    ranking = ranking_of(store, study)
    if not ranking and trial is None:
        raise ResultsError(f"study {study.name} has no valid run: `hpltune show {study.name}` lists what ran")
    if kind == "md":
        machine = Equipment.of(study)
        told = [figures(machine, entry.expected_gflops, entry.params, entry.hosts) for entry in ranking]
        doubt = above_peak_of(study, ranking)
        return to_markdown(ranking, told, [doubt] if doubt else [])
    return to_hpl_dat(store.get(study.name, trial or ranking[0].best_record_number))
