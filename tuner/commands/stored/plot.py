"""`hpltune plot`: a figure of a study as a picture for a paper."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from results.plain import finite
from results.record import Study
from results.report.model import Column, Drawable, Report, Sentence, Table
from results.report.picture import PictureSize
from results.store.store import Store

from ...errors import TunerError, UsageError
from ...reports.context import Context
from ...reports.figures.conditions import conditions
from ...reports.figures.registry import CONDITIONS, KINDS, FigureKind
from ...words import listed
from ..report_files import write_picture
from .report import figure_source


@dataclass(frozen=True)
class PlotRequest:
    """Which figure to draw.

    Attributes:
        kind: its name in `tuner.reports.figures.registry.KINDS`.
        study: None for the newest.
        out: file to write: .png, .svg or .pdf.
        trial: number of the run whose conditions are drawn; None for the best and disturbed ones.
    """

    kind: str
    out: Path
    study: str | None = None
    size: PictureSize = field(default_factory=PictureSize)
    trial: int | None = None


@dataclass(frozen=True)
class PlotResult:
    """A figure that was drawn.

    Attributes:
        kind: its name.
        figures: at least one.
        out: the file.
    """

    kind: str
    study: Study
    figures: Sequence[Drawable]
    out: Path

    def report(self) -> Report:
        """Say where it is; scripts are told its data too."""
        more = self.figures[1:]
        facts = {
            "kind": self.kind,
            "study": self.study.name,
            "rates": self.study.how,
            "file": str(self.out),
            "figure": _plain(asdict(self.figures[0])),
            **({"further_figures": [_plain(asdict(one)) for one in more]} if more else {}),
        }
        return Report(self.figures[0].title, (Sentence(f"Wrote {self.out}.", unbroken=True),), facts)


@dataclass(frozen=True)
class KindsResult:
    """The figures that there are, and whether a study has data for each."""

    study: Study
    kinds: tuple[tuple[FigureKind, bool], ...]

    def report(self) -> Report:
        """Report a line for each figure."""
        columns = tuple(Column(name, words=True) for name in ("kind", "shows", "needs", "can be drawn"))
        rows = tuple((kind.name, kind.shows, kind.needs, "yes" if there else "no") for kind, there in self.kinds)
        facts: list[object] = [
            {"kind": kind.name, "shows": kind.shows, "needs": kind.needs, "can_be_drawn": there}
            for kind, there in self.kinds
        ]
        title = f"Figures of study {self.study.name}"
        how = Sentence(f"`hpltune plot KIND {self.study.name} -o FILE.pdf` draws one.", unbroken=True)
        return Report(title, (Table(title, columns, rows), how), facts)


def list_kinds(store: Store, study: str | None = None) -> KindsResult:
    """List the figures, and which of them a study has data for.

    Raises:
        ResultsError: there is no such study.
    """
    found = store.study(study) if study else store.newest()
    source = figure_source(store, found)
    return KindsResult(found, tuple((kind, bool(kind.draw(source))) for kind in KINDS))


def plot(store: Store, request: PlotRequest) -> PlotResult:
    """Draw a figure into a file.

    Raises:
        UsageError: there is no such kind, a trial is named of another kind than conditions, or the file's name has
            another end than a picture's.
        ResultsError: there is no such study, or so large a picture cannot be drawn.
        TunerError: the study has no data for it, or the file cannot be written.
    """
    kind = kind_of(request.kind)
    study = store.study(request.study) if request.study else store.newest()
    if request.trial is not None and kind.name != CONDITIONS:
        raise UsageError(f"it is for `hpltune plot {CONDITIONS}`", field="trial", given=str(request.trial))
    figures = kind.draw(figure_source(store, study)) if request.trial is None else _of_run(store, study, request.trial)
    if not figures and request.trial is not None:
        raise TunerError(f"trial {request.trial} of study {study.name} was not watched: there is nothing to draw")
    if not figures:
        raise TunerError(f"study {study.name} has nothing to draw {kind.name} from: it needs {kind.needs}")
    if study.simulated:
        figures = [replace(figure, title=f"{figure.title} ({study.how})") for figure in figures]
    write_picture(request.out, figures, request.size)
    return PlotResult(kind.name, study, figures, request.out)


def _of_run(store: Store, study: Study, number: int) -> list[Drawable]:
    """Draw what the machine did during one run; nothing where that was not watched."""
    run = store.get(study.name, number)
    drawn = conditions(run)
    return [] if drawn is None else [Context.of_one(study, run).figure(drawn)]


def kind_and_study(store: Store, first: str | None, study: str | None) -> tuple[str | None, str | None]:
    """Tell a kind of figure from a study that stands alone in its place.

    Args:
        first: what stands where a kind does.
        study: None where none is named.

    Returns:
        The kind, or None where all shall be listed; and the study, or None for the newest.
    """
    if first is None or study is not None or any(kind.name == first for kind in KINDS):
        return first, study
    return (None, first) if any(one.name == first for one in store.studies()) else (first, None)


def _plain(value: object) -> object:
    """Return data as JSON can hold it: None for what is no number."""
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return finite(value) if isinstance(value, float) else value


def kind_of(name: str) -> FigureKind:
    """Return the kind of figure with a name.

    Raises:
        UsageError: there is none.
    """
    for kind in KINDS:
        if kind.name == name:
            return kind
    raise UsageError(f"there is no figure {name}: there are {listed([kind.name for kind in KINDS])}")
