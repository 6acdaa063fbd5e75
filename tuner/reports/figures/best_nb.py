"""The rate at each NB with all other parameters the same, and beside it the runs that differ in more."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from statistics import median

from hpl.params import Scalar
from results.record import TrialRecord
from results.report.model import Figure, Series

from ..story import full_runs

Rest = frozenset[tuple[str, Scalar]]
Rates = Mapping[int, Sequence[float]]
"""Of the runs at each NB."""


def best_nb(records: Sequence[TrialRecord]) -> Figure | None:
    """Draw a line for each library and kernel that ran at several NB with nothing else changed.

    A line joins runs that differ in NB alone. All other runs are points, because what makes them slower or faster may
    be another parameter.

    Returns:
        None where fewer than two NB ran.
    """
    found: dict[str, dict[Rest, dict[int, list[float]]]] = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    disturbed: list[tuple[int, float]] = []
    for record in full_runs(records):
        NB = record.hpl.NB if record.hpl else record.params.get("NB")
        if isinstance(NB, int) and record.disturbed:
            disturbed.append((NB, record.gflops or 0.0))
        elif isinstance(NB, int):
            found[_library(record)][_rest(record)][NB].append(record.gflops or 0.0)
    NBs = {NB for groups in found.values() for rates in groups.values() for NB in rates}
    if len(NBs | {NB for NB, _ in disturbed}) < 2:
        return None
    lines, points, others = list[Series](), list[Series](), list[tuple[int, float]]()
    for name, groups in found.items():
        chosen = _chosen(groups)
        if chosen is None:
            points.append(_points(name, _runs(groups.values())))
            continue
        lines.append(_line(name, groups[chosen]))
        others += _runs(rates for rest, rates in groups.items() if rest != chosen)
    grey = [_points("runs that differ in more", others, behind=True)] if others else []
    if disturbed:
        lone = _points("disturbed runs", disturbed, behind=True)
        grey.append(replace(lone, hollow=(True,) * len(disturbed)))
    return Figure("Rate at each NB", "NB", "GFLOPS", (*lines, *points, *grey), caption=_caption(lines, points, others))


def _line(name: str, rates: Rates) -> Series:
    """Join the medians of runs that differ in NB alone; the band is from the slowest to the fastest."""
    sizes = sorted(rates)
    return Series(
        name,
        tuple(sizes),
        tuple(median(rates[NB]) for NB in sizes),
        line=True,
        low=tuple(min(rates[NB]) for NB in sizes),
        high=tuple(max(rates[NB]) for NB in sizes),
    )


def _points(name: str, runs: Sequence[tuple[int, float]], *, behind: bool = False) -> Series:
    """Make a point of each run, without lines, since more than NB differs between them."""
    ordered = sorted(runs)
    return Series(name, tuple(NB for NB, _ in ordered), tuple(rate for _, rate in ordered), behind=behind)


def _runs(groups: Iterable[Rates]) -> list[tuple[int, float]]:
    return [(NB, rate) for rates in groups for NB, found in rates.items() for rate in found]


def _chosen(groups: Mapping[Rest, Rates]) -> Rest | None:
    """Choose the fastest of those that ran at many NB: at least half as many as any; None where none ran at two."""
    most = max(map(len, groups.values()))
    wide = {rest: rates for rest, rates in groups.items() if len(rates) >= max(2, most / 2)}
    return max(wide, key=lambda rest: max(max(found) for found in wide[rest].values()), default=None)


def _caption(lines: Sequence[Series], points: Sequence[Series], others: Sequence[tuple[int, float]]) -> str:
    joined = "A line joins medians of runs that differ in NB alone; its band is from the slowest to the fastest."
    lone = "Points without a line are single runs that differ in more than NB."
    return " ".join([*([joined] if lines else []), *([lone] if points or others else [])])


def _rest(record: TrialRecord) -> Rest:
    """All parameters of a trial but NB, with the N that it ran at."""
    N = {"N": record.hpl.N} if record.hpl else {}
    return frozenset((name, value) for name, value in {**record.params, **N}.items() if name != "NB")


def _library(record: TrialRecord) -> str:
    """The library and the kernel of a trial, if a kernel was chosen."""
    kernel = record.params.get("kernel", "auto")
    name = str(record.params.get("blas", "all runs"))
    return name if kernel == "auto" else f"{name}, {kernel}"
