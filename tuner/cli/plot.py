"""`hpltune plot`: a figure of a study as a picture."""

from pathlib import Path
from typing import Annotated

import typer

from .common import Db, Json, StudyName, complete_study, console, open_store
from .terminal import show_report


def complete_kind(incomplete: str) -> list[str]:
    """Names of figures, for tab completion."""
    from ..reports.figures.registry import KINDS

    return [kind.name for kind in KINDS if kind.name.startswith(incomplete)]


def plot(
    kind: Annotated[
        str | None,
        typer.Argument(
            metavar="[KIND]",
            autocompletion=complete_kind,
            help="Which figure; without it, or with a STUDY in its place, all are listed.",
        ),
    ] = None,
    study: Annotated[
        str | None,
        typer.Argument(metavar="[STUDY]", autocompletion=complete_study, help="A study; without it the newest."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="A .png, .svg or .pdf file. Default: KIND.png."),
    ] = None,
    width: Annotated[
        float,
        typer.Option(min=4, max=100, metavar="CM", help="16 fills an A4 page, 8 fills one of two columns."),
    ] = 16.0,
    trial: Annotated[
        list[int] | None,
        typer.Option(
            min=1,
            metavar="NUMBER",
            help="Whose `conditions` or `timeline` is drawn, in place of the best; repeat it to compare timelines.",
        ),
    ] = None,
    steps: Annotated[
        str | None,
        typer.Option(metavar="FIRST-LAST", help="Steps of HPL that a `timeline` shows in detail, for example 1-6."),
    ] = None,
    dpi: Annotated[int, typer.Option(min=50, max=1200, help="Dots per inch of a PNG file.")] = 300,
    named: StudyName = None,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Draw a figure of a study as a picture for a paper, or list the figures and which of them can be drawn.

    Most are figures of the page that `hpltune report` writes. --json prints the list, or the data of the figure.

    Examples:

        hpltune plot

        hpltune plot default-1

        hpltune plot nb -o nb.pdf

        hpltune plot runs default-1 -o runs.svg --width 8

        hpltune plot conditions default-1 --trial 7

        hpltune plot timeline lookahead --trial 1 --trial 2 --steps 1-6
    """
    from results.report.picture import PictureSize

    from ..commands.stored.plot import kind_and_study, list_kinds, parse_steps
    from ..commands.stored.plot import plot as draw
    from ..errors import UsageError

    with open_store(db, create=False) as store:
        kind, study = kind_and_study(store, kind, study or named)
        if kind is None and out is not None:
            raise UsageError(f"which figure shall be drawn into {out}? `hpltune plot` lists them")
        if kind is None and trial:
            given = " ".join(map(str, trial))
            raise UsageError("it is for `hpltune plot conditions` and `timeline`", field="trial", given=given)
        if kind is None:
            report = list_kinds(store, study)
        else:
            shown = None if steps is None else parse_steps(steps)
            drawn = draw(store, kind, study, tuple(dict.fromkeys(trial or ())), shown)
            report = drawn.write(out or Path(f"{kind}.png"), PictureSize(width, dpi))
    show_report(console(), report, as_json=as_json)
