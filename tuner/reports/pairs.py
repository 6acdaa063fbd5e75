"""Two parameters against each other, as a matrix for people."""

from dataclasses import replace

from results.record import Study
from results.report.model import Matrix, Part, Sentence, Table, Wrap, columns
from results.stats.intervals import half_95

from ..errors import TunerError
from ..explain.pairs import Choice, Crossing
from ..explain.taught_study import TaughtStudy
from ..explain.variance import PLUS_MINUS
from ..words import counted

MOST_PAIRS = 2
"""Pairs that a page shows."""
CAPTION = (
    "The model tells each cell with all else at its best. A number in brackets is its guess: no run had this pair."
)


def crossing_parts(study: Study, crossing: Crossing) -> list[Part]:
    """Report the matrix with the best values at its edges, and what it amounts to."""
    shown = upright(crossing)
    heads, *rows = _rows(shown)
    title = f"Study {study.marked_name}: {shown.one} by {shown.other}, percent below the best, all else at its best"
    shown_heads = columns(*heads, words=heads[:1], wrap=Wrap.NEVER)
    table = Table(title, shown_heads, tuple(map(tuple, rows)), in_pieces=True, total=True, caption=PLUS_MINUS)
    return [table, crossing_matrix(title, shown), *map(Sentence, sentences(shown))]


def upright(crossing: Crossing) -> Crossing:
    """Return a matrix with at least as many rows as columns."""
    return crossing if len(crossing.ones) >= len(crossing.others) else _transposed(crossing)


def crossing_matrix(title: str, crossing: Crossing) -> Matrix:
    """Draw the differences to the best as a heat map that also knows how sure each is."""
    notes = tuple(
        tuple(_note(*cell) for cell in zip(sds, runs, strict=True))
        for sds, runs in zip(crossing.sd, crossing.runs, strict=True)
    )
    return Matrix(
        title,
        crossing.other,
        crossing.one,
        tuple(map(str, crossing.others)),
        tuple(map(str, crossing.ones)),
        crossing.percent,
        "% from the best, which is 0",
        notes,
        tuple(
            tuple(percent is not None and not count for percent, count in zip(*row, strict=True))
            for row in zip(crossing.percent, crossing.runs, strict=True)
        ),
        caption=CAPTION,
    )


def _note(sd: float | None, runs: int) -> str:
    """Say how sure a cell is, and how many runs it has."""
    sure = "" if sd is None else f"95 % interval ± {half_95(sd):.1f}, "
    return f"{sure}{counted(runs, 'run')}" if runs else f"{sure}not run"


def _rows(crossing: Crossing) -> list[list[str]]:
    """Write the heads, a row for each value, and a row of best values; the last column has the best of each row."""
    rows = [[f"{crossing.one} \\ {crossing.other}", *map(str, crossing.others), f"best {crossing.other}"]]
    for number, value in enumerate(crossing.ones):
        cells = zip(crossing.percent[number], crossing.sd[number], crossing.runs[number], strict=True)
        rows.append([f"{value}", *(_cell(*cell) for cell in cells), _best(crossing.best_other[number])])
    return [*rows, [f"best {crossing.one}", *map(_best, crossing.best_one), ""]]


def _cell(percent: float | None, sd: float | None, runs: int) -> str:
    if percent is None:
        return ""
    words = f"{abs(percent):.1f} ± {half_95(sd or 0.0):.1f}" if percent else "best"
    return words if runs else f"({words})"


def _best(choice: Choice) -> str:
    return f"{choice.value} ({'>99%' if choice.sure > 0.99 else f'{choice.sure:.0%}'})"


def _transposed(crossing: Crossing) -> Crossing:
    """Swap the rows and the columns of a matrix."""
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


def sentences(crossing: Crossing) -> list[str]:
    """Say what the cells mean, and how much of the variance both parameters explain only together."""
    legend = "The percentage behind a best value says how sure it is."
    found = [
        f"{legend} Values in brackets are estimates; no run of those combinations counts."
        if 0 in _legal_runs(crossing)
        else legend
    ]
    pair = crossing.together
    if pair is not None:
        share = f"{100 * pair.share:.1f} ± {half_95(100 * pair.sd):.1f} % of the speed differences"
        h = f"H {pair.h:.2f} ± {half_95(pair.h_sd):.2f}; 95 % intervals"
        found.append(f"Their joint effect explains {share} ({h}).")
    return found


def _legal_runs(crossing: Crossing) -> set[int]:
    return {
        count
        for percents, runs in zip(crossing.percent, crossing.runs, strict=True)
        for percent, count in zip(percents, runs, strict=True)
        if percent is not None
    }


def strongest_pairs(taught: TaughtStudy, count: int = MOST_PAIRS) -> list[Matrix]:
    """Draw the strongest pairs, the strongest first; none where no two parameters depend on each other."""
    try:
        crossings = taught.strongest(count)
    except TunerError:
        return []
    return [_of_page(upright(crossing)) for crossing in crossings]


def _of_page(crossing: Crossing) -> Matrix:
    title = f"{crossing.one} by {crossing.other}: behind the best, all else at its best"
    return crossing_matrix(title, crossing)
