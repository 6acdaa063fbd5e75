"""Two parameters against each other, as a matrix for people."""

from dataclasses import replace

from results.record import Study
from results.report.model import Column, Figure, Part, Sentence, Series, Table, Wrap

from ..explain.pairs import Choice, Crossing


def crossing_parts(study: Study, crossing: Crossing) -> list[Part]:
    """Report the matrix with the best values at its edges, and what it amounts to."""
    told = crossing if len(crossing.ones) >= len(crossing.others) else _turned(crossing)
    heads, *rows = _rows(told)
    title = f"Study {study.name}: {told.one} by {told.other}, percent below the best, all else at its best"
    columns = tuple(Column(head, words=not number, wrap=Wrap.NEVER) for number, head in enumerate(heads))
    table = Table(title, columns, tuple(map(tuple, rows)), in_pieces=True, total=True)
    return [table, _figure(title, told), *map(Sentence, sentences(told))]


def _figure(title: str, told: Crossing) -> Figure:
    """A line for each value of the one parameter, over the values of the other."""
    series = []
    for value, percents in zip(told.ones, told.percent, strict=True):
        known = [(str(x), y) for x, y in zip(told.others, percents, strict=True) if y is not None]
        series.append(Series(f"{told.one} {value}", tuple(x for x, _ in known), tuple(y for _, y in known), line=True))
    return Figure(title, told.other, "difference to the best in %", tuple(series))


def _rows(told: Crossing) -> list[list[str]]:
    """The heads, a row for each value, and a row of best values; the last column has these for each row."""
    rows = [[f"{told.one} \\ {told.other}", *map(str, told.others), f"best {told.other}"]]
    for number, value in enumerate(told.ones):
        cells = zip(told.percent[number], told.sd[number], told.runs[number], strict=True)
        rows.append([f"{value}", *(_cell(*cell) for cell in cells), _best(told.best_other[number])])
    return [*rows, [f"best {told.one}", *map(_best, told.best_one), ""]]


def _cell(percent: float | None, sd: float | None, runs: int) -> str:
    if percent is None:
        return ""
    told = f"{abs(percent):.1f} ± {sd:.1f}" if percent else "best"
    return told if runs else f"({told})"


def _best(choice: Choice) -> str:
    return f"{choice.value} ({choice.sure:.0%})"


def _turned(crossing: Crossing) -> Crossing:
    """The same with rows for columns."""
    return replace(
        crossing,
        one=crossing.other,
        other=crossing.one,
        ones=crossing.others,
        others=crossing.ones,
        percent=tuple(zip(*crossing.percent, strict=True)),
        sd=tuple(zip(*crossing.sd, strict=True)),
        runs=tuple(zip(*crossing.runs, strict=True)),
        best_one=crossing.best_other,
        best_other=crossing.best_one,
    )


def sentences(told: Crossing) -> list[str]:
    """What the cells mean, and how much of the variance both explain only together."""
    legend = "The percentage behind a best value says how sure it is."
    found = [
        f"{legend} Values in brackets are estimates; those combinations were not run."
        if 0 in _legal_runs(told)
        else legend
    ]
    pair = told.together
    if pair is not None:
        found.append(
            f"Their joint effect explains {100 * pair.share:.1f} ± {100 * pair.sd:.1f} % of the speed differences "
            f"(H {pair.h:.2f} ± {pair.h_sd:.2f})."
        )
    return found


def _legal_runs(told: Crossing) -> set[int]:
    return {
        count
        for percents, runs in zip(told.percent, told.runs, strict=True)
        for percent, count in zip(percents, runs, strict=True)
        if percent is not None
    }
