"""The story of a tuning: which trial improved on all before it, and how the best rate grew with machine time."""

from collections.abc import Mapping, Sequence

from hpl.params import Scalar
from results.record import Kind, Study, TrialRecord
from results.report.model import Column, Figure, Series, Table
from results.stats.ranking import hosts_of

from ..machine.equipment import Equipment

COMPARED = frozenset({Kind.SEARCH, Kind.CONFIRMATION, Kind.RUN})
"""Full runs, whose rates compare."""
COLUMNS = ("test", "N", "NB", "P x Q", "library", "network", "% of peak", "GFLOPS")


def improvements(records: Sequence[TrialRecord]) -> list[TrialRecord]:
    """The first full run that counts, and each one that was faster than all before it."""
    found: list[TrialRecord] = []
    for record in records:
        if record.ranked and record.kind in COMPARED and record.gflops:
            best = found[-1].gflops if found else None
            if best is None or record.gflops > best:
                found.append(record)
    return found


def story_table(study: Study, records: Sequence[TrialRecord]) -> Table:
    """The improvements in the form of the Kronos article: one test a row."""
    machine = Equipment.of(study)
    tests = improvements(records)
    rows = tuple(_row(record, machine) for record in tests)
    empty = {name for number, name in enumerate(COLUMNS) if not any(row[number] for row in rows)}
    words = {"P x Q", "library", "network"}
    table = Table(
        "The tuning, test by test",
        tuple(Column(name, words=name in words) for name in COLUMNS),
        rows,
        bold=frozenset({len(rows) - 1} if rows else ()),
        caption="Each row was faster than all full runs before it; a test's number is that of its trial.",
    )
    return _without(table, empty)


def convergence(records: Sequence[TrialRecord]) -> Figure | None:
    """The best rate so far against the machine time of all trials; None where no run counted."""
    spent_s, best, times, rates, runs, dots = 0.0, 0.0, [], [], [], []
    for record in records:
        spent_s += record.cost_s or 0.0
        if not (record.ranked and record.kind in COMPARED and record.gflops):
            continue
        runs.append(spent_s / 60.0)
        dots.append(record.gflops)
        best = max(best, record.gflops)
        times.append(spent_s / 60.0)
        rates.append(best)
    if not times:
        return None
    series = (
        Series("best so far", tuple(times), tuple(rates), line=True),
        Series("full runs", tuple(runs), tuple(dots)),
    )
    return Figure("How the best rate grew", "machine time of all trials in minutes", "GFLOPS", series)


def rate_by_size(records: Sequence[TrialRecord], params: Mapping[str, Scalar]) -> Figure | None:
    """The rates of one configuration at several N; None where it ran at fewer than two."""
    alike = {name: value for name, value in params.items() if name != "N"}
    rates: dict[int, list[float]] = {}
    for record in records:
        same = all(record.params.get(name) == value for name, value in alike.items())
        if same and record.passed and record.hpl is not None and record.gflops:
            rates.setdefault(record.hpl.N, []).append(record.gflops)
    if len(rates) < 2:
        return None
    sizes = sorted(rates)
    points = [(float(N), gflops) for N in sizes for gflops in rates[N]]
    series = Series("runs", tuple(x for x, _ in points), tuple(y for _, y in points))
    return Figure("Rate of the best configuration against N", "N", "GFLOPS", (series,))


def _row(record: TrialRecord, machine: Equipment) -> tuple[str, ...]:
    """A trial as a row of the story."""
    params, gflops = record.params, record.gflops or 0.0
    merit = machine.used_on(hosts_of(record), params).merit(gflops)
    N = record.hpl.N if record.hpl else params.get("N", "")
    percent = "" if merit.percent_of_peak is None else f"{merit.percent_of_peak:.1f}"
    network = " ".join(f"{name.removeprefix('net.')}={value}" for name, value in params.items() if name[:4] == "net.")
    grid = str(params.get("grid", "")).replace("x", " x ")
    words = (record.number, N, params.get("NB", ""), grid, params.get("blas", ""), network, percent, f"{gflops:.2f}")
    return tuple(map(str, words))


def _without(table: Table, names: set[str]) -> Table:
    """The table without some columns, such as those that are empty in all rows."""
    kept = table.only(tuple(column.name for column in table.columns if column.name not in names))
    return Table(kept.title, kept.columns, kept.rows, bold=kept.bold, caption=table.caption)
