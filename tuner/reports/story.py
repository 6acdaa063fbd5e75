"""The story of a tuning: which trial improved on all before it, and the rates of the best at each N."""

from collections.abc import Mapping, Sequence

from hpl.params import Scalar
from results.metrics import rate_text
from results.record import Study, TrialRecord
from results.report.model import Figure, Series, Table, columns
from results.stats.headline import UNFINISHED, fastest_run
from results.stats.ranking import hosts_of, is_full_run

from ..machine.equipment import Equipment

COLUMNS = ("trial", "N", "NB", "P x Q", "library", "network", "% of peak", "GFLOPS")


def improvements(records: Sequence[TrialRecord]) -> list[TrialRecord]:
    """The first full run that counts, and each one that was faster than all before it."""
    found: list[TrialRecord] = []
    for record in full_runs(records):
        if not found or _gflops(record) > _gflops(found[-1]):
            found.append(record)
    return found


def full_runs(records: Sequence[TrialRecord]) -> list[TrialRecord]:
    """The full runs whose rates count."""
    return [record for record in records if is_full_run(record)]


def story_table(study: Study, records: Sequence[TrialRecord]) -> Table:
    """The improvements in the form of the Kronos article: one trial a row."""
    machine = Equipment.of(study)
    trials = improvements(records)
    rows = tuple(_row(record, machine) for record in trials)
    fastest = fastest_run(study, trials)
    small = ", no Rmax" if fastest and fastest.no_rmax and not fastest.source else ""
    last = f" The last gave the {fastest.called}{small}." if fastest else ""
    table = Table(
        "The tuning, trial by trial",
        columns(*COLUMNS, words={"P x Q", "library", "network"}),
        rows,
        bold=frozenset({len(rows) - 1} if rows else ()),
        caption=f"Each row was faster than all full runs before it.{last}",
    )
    return table.only(tuple(name for number, name in enumerate(COLUMNS) if any(row[number] for row in rows)))


def rate_by_size(records: Sequence[TrialRecord], params: Mapping[str, Scalar], least: int = 2) -> Figure | None:
    """The rates of one configuration at several N; None where it ran at fewer than `least` of them."""
    alike = {name: value for name, value in params.items() if name != "N"}
    points = sorted(
        (float(record.hpl.N), _gflops(record), record.disturbed is not None)
        for record in records
        if all(record.params.get(name) == value for name, value in alike.items())
        and record.ranked
        and record.kind not in UNFINISHED
        and record.hpl is not None
    )
    if len({N for N, _, _ in points}) < least:
        return None
    sizes, rates, hollow = zip(*points, strict=True)
    caption = "Each point is a run."
    if any(hollow):
        caption += " A disturbed one may be slower than its N makes it."
    return Figure(
        "Rate of the best configuration against N",
        "N",
        "GFLOPS",
        (Series("runs", sizes, rates, hollow=hollow),),
        caption=caption,
    )


def _row(record: TrialRecord, machine: Equipment) -> tuple[str, ...]:
    """A trial as a row of the story."""
    params, gflops = record.params, _gflops(record)
    merit = machine.used_on(hosts_of(record), params).merit(gflops)
    N = record.hpl.N if record.hpl else params.get("N", "")
    percent = "" if merit.percent_of_peak is None else f"{merit.percent_of_peak:.1f}"
    network = " ".join(f"{name.removeprefix('net.')}={value}" for name, value in params.items() if name[:4] == "net.")
    grid = str(params.get("grid", "")).replace("x", " x ")
    words = (record.number, N, params.get("NB", ""), grid, params.get("blas", ""), network, percent, rate_text(gflops))
    return tuple(map(str, words))


def _gflops(record: TrialRecord) -> float:
    """The rate of a trial; 0 without one."""
    return record.gflops or 0.0
