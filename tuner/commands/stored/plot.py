"""`hpltune plot`: a figure of a study as a picture for a paper."""

from dataclasses import dataclass, field
from pathlib import Path

from results.record import Study
from results.report.model import Column, Report, Sentence, Table
from results.report.picture import PictureSize, write_picture
from results.store.store import Store

from ...errors import TunerError, UsageError
from ...reports.figures.registry import KINDS, FigureKind
from ...words import listed
from .report import figure_source


@dataclass(frozen=True)
class PlotRequest:
    """Which figure to draw.

    Attributes:
        kind: its name in `tuner.reports.figures.registry.KINDS`.
        study: None for the newest.
        out: file to write: .png, .svg or .pdf.
    """

    kind: str
    out: Path
    study: str | None = None
    size: PictureSize = field(default_factory=PictureSize)


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
        how = Sentence("`hpltune plot KIND -o FILE.pdf` draws one.", unbroken=True)
        return Report(title, (Table(title, columns, rows), how), facts)


def list_kinds(store: Store, study: str | None = None) -> KindsResult:
    """List the figures, and which of them a study has data for.

    Raises:
        ResultsError: there is no such study.
    """
    found = store.study(study) if study else store.newest()
    source = figure_source(store, found)
    return KindsResult(found, tuple((kind, kind.draw(source) is not None) for kind in KINDS))


def plot(store: Store, request: PlotRequest) -> Path:
    """Draw a figure into a file, and return where it is.

    Raises:
        UsageError: there is no such kind.
        ResultsError: there is no such study, or the file cannot be written.
        TunerError: the study has no data for it.
    """
    kind = kind_of(request.kind)
    study = store.study(request.study) if request.study else store.newest()
    figure = kind.draw(figure_source(store, study))
    if figure is None:
        raise TunerError(f"study {study.name} has nothing to draw {kind.name} from: it needs {kind.needs}")
    write_picture(figure, request.out, request.size)
    return request.out


def kind_of(name: str) -> FigureKind:
    """Return the kind of figure with a name.

    Raises:
        UsageError: there is none.
    """
    for kind in KINDS:
        if kind.name == name:
            return kind
    raise UsageError(f"there is no figure {name}: there are {listed([kind.name for kind in KINDS])}")
