"""`hpltune plot`: a figure of a study as a picture for a paper."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from results.plain import finite
from results.record import Study
from results.report.model import Drawable, Report, Sentence, Table, columns
from results.report.picture import PictureSize
from results.store.store import Store

from ...errors import TunerError, UsageError
from ...reports.context import Context
from ...reports.figures.conditions import conditions
from ...reports.figures.rank_timeline import DrawnRun, coarse_lanes, rank_lanes, shares_facts, shares_table
from ...reports.figures.registry import CONDITIONS, KINDS, TIMELINE, FigureKind
from ...user_files import require_folder
from ...words import listed
from ..report_files import write_picture
from .report import figure_source
from .timeline import drawn_runs


@dataclass(frozen=True)
class PlotResult:
    """A figure that was drawn.

    Attributes:
        kind: its name.
        figures: at least one.
        runs: those of a timeline.
    """

    kind: str
    study: Study
    figures: Sequence[Drawable]
    runs: Sequence[DrawnRun] = ()

    def write(self, out: Path, size: PictureSize) -> Report:
        """Write it into a file, and say where that is; scripts are told its data too.

        Args:
            out: .png, .svg or .pdf.

        Raises:
            UsageError: the file's name has another end than a picture's.
            ResultsError: so large a picture cannot be drawn.
            TunerError: the file cannot be written.
        """
        require_folder(out)
        write_picture(out, self.figures, size)
        more = self.figures[1:]
        facts = {
            "kind": self.kind,
            "study": self.study.name,
            "rates": self.study.how,
            "file": str(out),
            "figure": _plain(asdict(self.figures[0])),
            **({"further_figures": [_plain(asdict(one)) for one in more]} if more else {}),
            **({"runs": [shares_facts(run) for run in self.runs]} if self.runs else {}),
        }
        tables = [shares_table(self.runs)] if self.runs else []
        return Report(self.figures[0].title, (*tables, Sentence(f"Wrote {out}.", unbroken=True)), facts)


def list_kinds(store: Store, name: str | None = None) -> Report:
    """List the figures, and which of them a study has data for.

    Raises:
        ResultsError: there is no such study.
    """
    study = store.study(name) if name else store.newest()
    source = figure_source(store, study)
    kinds = [(kind, kind.can_be_drawn(source)) for kind in KINDS]
    rows = tuple((kind.name, kind.shows, kind.needs, "yes" if there else "no") for kind, there in kinds)
    facts: list[object] = [
        {"kind": kind.name, "shows": kind.shows, "needs": kind.needs, "can_be_drawn": there} for kind, there in kinds
    ]
    title = f"Figures of study {study.name}"
    how = Sentence(f"`hpltune plot KIND {study.name} -o FILE.pdf` draws one.", unbroken=True)
    return Report(title, (Table(title, columns("kind", "shows", "needs", "can be drawn"), rows), how), facts)


def plot(
    store: Store,
    kind: str,
    name: str | None = None,
    trials: Sequence[int] = (),
    steps: tuple[int, int] | None = None,
) -> PlotResult:
    """Draw a figure.

    Args:
        kind: its name in `tuner.reports.figures.registry.KINDS`.
        name: of the study; None for the newest.
        trials: numbers of the runs that are drawn, where a figure is of single ones; none for the best and, of
            conditions, the disturbed ones.
        steps: the first and the last step of HPL that a timeline shows, from 1; None for whole runs.

    Raises:
        UsageError: there is no such kind, or a trial or step is named of a kind that has none.
        ResultsError: there is no such study.
        TunerError: the study has no data for it.
    """
    asked = kind_of(kind)
    study = store.study(name) if name else store.newest()
    given = " ".join(map(str, trials))
    if trials and asked.name not in {CONDITIONS, TIMELINE}:
        raise UsageError(f"it is for `hpltune plot {CONDITIONS}` and `{TIMELINE}`", field="trial", given=given)
    if len(trials) > 1 and asked.name == CONDITIONS:
        raise UsageError(f"`hpltune plot {CONDITIONS}` draws one run", field="trial", given=given)
    if steps is not None and asked.name != TIMELINE:
        raise UsageError(f"it is for `hpltune plot {TIMELINE}`", field="steps", given="-".join(map(str, steps)))
    runs: Sequence[DrawnRun] = ()
    if asked.name == TIMELINE:
        figures, runs = _of_ranks(store, study, trials, steps)
    elif trials:
        figures = _of_run(store, study, trials[0])
    else:
        figures = asked.draw(figure_source(store, study))
    if not figures:
        raise TunerError(f"study {study.name} has nothing to draw {asked.name} from: it needs {asked.needs}")
    if study.simulated:
        figures = [replace(figure, title=f"{figure.title} ({study.how})") for figure in figures]
    return PlotResult(asked.name, study, figures, runs)


def _of_ranks(
    store: Store, study: Study, trials: Sequence[int], steps: tuple[int, int] | None
) -> tuple[list[Drawable], Sequence[DrawnRun]]:
    """Draw what the ranks of some runs did, or of the best one; nothing where no run counts."""
    best = figure_source(store, study).best
    numbers = trials or ([best.number] if best else [])
    records = [store.get(study.name, number) for number in numbers]
    if not records:
        return [], ()
    coarse = coarse_lanes(records)
    if coarse is not None and steps is not None:
        said = "HPL's timers tell nothing of single steps; only a simulated trial has them"
        raise UsageError(said, field="steps", given="-".join(map(str, steps)))
    if coarse is not None:
        return [Context.of_one(study, records[0]).figure(coarse)], ()
    runs = drawn_runs(store, study, records, steps)
    return [Context.of_one(study, records[0]).figure(rank_lanes(runs, steps))], runs


def _of_run(store: Store, study: Study, number: int) -> list[Drawable]:
    """Draw what the machine did during one run.

    Raises:
        TunerError: that was not watched.
    """
    run = store.get(study.name, number)
    drawn = conditions(run)
    if drawn is None:
        raise TunerError(f"trial {number} of study {study.name} was not watched: there is nothing to draw")
    return [Context.of_one(study, run).figure(drawn)]


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


def parse_steps(text: str) -> tuple[int, int]:
    """Read steps of HPL as "1-6" or "3".

    Raises:
        UsageError: they are no such numbers.
    """
    first, _, last = text.partition("-")
    if first.isdecimal() and (last or first).isdecimal() and 1 <= int(first) <= int(last or first):
        return int(first), int(last or first)
    raise UsageError("expected the first and the last step from 1, for example 1-6", field="steps", given=text)


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
