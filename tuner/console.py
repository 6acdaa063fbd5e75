"""Shows a running study: a live display on a terminal, one plain line per event elsewhere."""

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import IO, Any, cast

from rich.console import Console, ConsoleOptions, RenderableType
from rich.progress import (
    BarColumn,
    Progress,
    SpinnerColumn,
    TaskID,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
)
from rich.segment import Segment
from rich.text import Text

from hpl.params import Scalar
from hpl.variant import is_code
from results.metrics import rate_text
from results.record import TrialState
from results.report.model import Report, outcome
from results.report.terminal import blocks, can_draw, print_report, say
from results.stats.ranking import is_full_run

from .events import (
    PHASES,
    BuildStep,
    Event,
    Listener,
    Notice,
    PartFound,
    PhaseStarted,
    Remark,
    TrialEnded,
    TrialProgress,
    TrialStarted,
    WorkEnded,
    WorkProgress,
    WorkStarted,
)
from .units import duration
from .words import counted, printable, with_options

WIDE, LEAST = 120, 12
"""Columns from which bars are long, and what is left of a label at least."""
BESIDE, NOTE = 18, 16
"""Columns that the clock and all blanks take beside a label, its bar and its note; those of the note of a run."""
PREPARING, CHOOSING = "preparing", "preparing the next run"
UNREAD = 141
"""Exit code where nobody reads the output: 128 + SIGPIPE."""
FEWEST_DRAWN, MOST_DRAWN = 3, 40
"""Rates that make a line of small blocks, and those that it shows at most, the last ones."""
MOST_VALUES = 5
"""Values of a configuration that its line tells."""
SHORT_PHASES = {
    "pilot": "pilot runs",
    "confirmation": "the best again",
    "rounds": "rounds",
    "turns": "in turn",
    "extrapolation": "another N",
}
"""What the bar of the budget says while a part of a study goes on; "search" says itself."""
PIPE_WIDTH = 160
"""Columns where the output is no terminal: wide enough for tables, and for `less -S`."""


class Terminal(Console):
    """Prints what others wrote, brackets too, but not what steers a terminal; tells our starter that nobody reads."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options, highlight=False, markup=False)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        """Render as Rich does; only Rich itself may colour, move or clear."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(printable(segment.text), segment.style)

    def render_str(self, text: str, **options: Any) -> Text:
        """Make a text of sentences, with the options of the command line in place of fields."""
        return super().render_str(printable(with_options(text)), **options)

    def on_broken_pipe(self) -> None:
        """Leave as a program does that the signal ends, unless only errors are not read."""
        if not self.stderr:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise SystemExit(UNREAD)


def output(*, stderr: bool = False) -> Console:
    """Where people read: colours and the terminal's width only on a terminal."""
    return Terminal(stderr=stderr, width=None if (sys.stderr if stderr else sys.stdout).isatty() else PIPE_WIDTH)


def remark(sentence: str, *, failed: bool = False) -> None:
    """Say something on standard error, in red where it is why a command failed.

    On a terminal it is broken between words only; a path, and a command in backticks, stay whole so that they can be
    copied.
    """
    with suppress(OSError):
        say(output(stderr=True), f"hpltune: {sentence}", "red" if failed else None)


class PlainLines:
    """One line per event that matters, for logs, pipes and screen readers.

    Attributes:
        last: the trial that ended last, where it has no line; "" where each has one.
    """

    last = ""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._labels: dict[int, str] = {}
        self._head: str | None = None

    def close(self) -> None:
        """Say what was kept for the end: nothing."""

    def __call__(self, event: Event) -> None:
        """Print the event, if it is worth a line; the head of a part of the study, once it has a run."""
        if self._head and isinstance(event, TrialStarted | TrialEnded):
            self._print(self._head)
            self._head = None
        match event:
            case Notice():
                self._notice(event)
            case Remark(text):
                remark(text)
            case WorkStarted(text):
                self._print(f"{text} …")
            case PartFound(parts):
                print_report(self._console, Report("", parts))
            case PhaseStarted(name, runs):
                most = "at most " if name == "search" else ""
                self._head = PHASES[name] + (f" ({most}{counted(runs, 'run')})" if runs else "")
            case TrialStarted(number=number, label=label):
                self._labels[number] = label
            case TrialEnded(record=record):
                self._ended(event, self._labels.pop(record.number, ""))
            case BuildStep(text, done, total) if text.startswith("linking") or done == total:
                self._print(f"Building xhpl: {text}")
            case _:
                pass

    def _notice(self, event: Notice) -> None:
        self._print(event.sentence)

    def _ended(self, event: TrialEnded, label: str) -> None:
        self._print(line(event, label))

    def _print(self, text: str, style: str | None = None) -> None:
        say(self._console, text, style)


def line(event: TrialEnded, label: str) -> str:
    """A finished trial on one line, with what is left of the budget."""
    left = "" if event.left is None else f"  {event.left} left"
    best = "" if event.best is None else f"  best {event.best.removesuffix(' GFLOPS')}"
    label += " (again)" if event.again else ""
    return f"#{event.record.number:<4d} {outcome(event.record)}  {label}{best}{left}"


class ShortLines(PlainLines):
    """What scrolls by on a terminal: trials that are the best so far or failed, no details, and cautions at the end.

    Where nothing is searched for, each trial has a line.
    """

    def __init__(self, console: Console) -> None:
        super().__init__(console)
        self._cautions: list[str] = []
        self._ran = False
        self._best: str | None = None
        self._best_params: Mapping[str, Scalar] = {}

    def close(self) -> None:
        """Tell the cautions."""
        if self._cautions:
            self._print(f"\n{counted(len(self._cautions), 'caution')}", "bold")
            for caution in dict.fromkeys(self._cautions):
                self._print(f"- {caution}")
            self._print("")

    def _notice(self, event: Notice) -> None:
        if event.caution:
            self._cautions.append(f"{event.text[:1].upper()}{event.text[1:]}")
        elif not event.detail:
            self._print(event.text)

    def _ended(self, event: TrialEnded, label: str) -> None:
        if not self._ran and self._cautions:
            self._print(f"{counted(len(self._cautions), 'caution')} so far, told at the end.")
        self._ran, record = True, event.record
        better = record.ranked and event.best not in (None, self._best)
        words = self._apart(record.params, label, better=better) if record.ranked else short_label(label)
        self.last = f"#{record.number:<4d} {outcome(record)}  {words}"
        if better:
            self._best, self._best_params = event.best, record.params
        if better or record.state is not TrialState.COMPLETE or event.best is None:
            self._print(
                self.last if better or record.state is not TrialState.COMPLETE else cut(self.last, self._console.width),
                "green" if better else None,
            )
            self.last = ""

    def _apart(self, params: Mapping[str, Scalar], label: str, *, better: bool) -> str:
        """What a configuration has that the best so far has not."""
        if not self._best_params:
            return f"best so far: {short_label(label)}" if better else short_label(label)
        other = [f"{name}={params[name]}" for name in params if params[name] != self._best_params.get(name)]
        if better:
            return f"best so far, now with {_some(other)}" if other else "best so far, the same again"
        return f"like the best, but {_some(other)}" if other else "the best again"


def _some(values: Sequence[str]) -> str:
    """The first of some values, and how many more there are."""
    more = len(values) - MOST_VALUES
    return f"{' '.join(values[:MOST_VALUES])}{f' and {more} more' if more > 0 else ''}"


def short_label(label: str) -> str:
    """The label of a trial without HPL's own code for its parameters, which only who knows HPL can read."""
    return " ".join(word for word in label.split(" ") if not is_code(word))


def cut(text: str, width: int) -> str:
    """A text that one line holds."""
    return text if len(text) <= width else f"{text[: width - 1]}…"


class _LinesBelow(Progress):
    """Bars of what runs, and below them the trial that ended last, and the rates so far as a line of small blocks."""

    rates: Sequence[float] = ()
    last = ""

    def get_renderables(self) -> Iterator[RenderableType]:
        """Yield what is shown."""
        yield from super().get_renderables()
        if self.last:
            yield Text(cut(f"  {self.last}", self.console.width))
        if len(self.rates) >= FEWEST_DRAWN:
            drawn = self.rates[-MOST_DRAWN:]
            yield Text(f"  rates {blocks(drawn, drawn)} {rate_text(min(drawn))} to {rate_text(max(drawn))} GFLOPS")


class LiveDisplay:
    """Finished trials scroll by; below them the running trial's own progress, the budget's, and the rates so far.

    Args:
        verbose: details, cautions when they are found, and HPL's own codes scroll by, too.
    """

    def __init__(self, console: Console, *, verbose: bool = False) -> None:
        self._verbose = verbose
        self._lines = PlainLines(console) if verbose else ShortLines(console)
        self._draws = can_draw(console)
        self._progress = _LinesBelow(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24 if console.width >= WIDE else 6),
            TaskProgressColumn("{task.percentage:3.0f}%"),
            TimeElapsedColumn(),
            TextColumn("{task.fields[note]}", markup=False),
            console=console,
            transient=True,
        )
        self._width = console.width - BESIDE - (24 if console.width >= WIDE else 6)
        self._phase, self._note = "study", ""
        self._trials: dict[int, TaskID] = {}
        self._budget = self._progress.add_task("", total=None, note="", visible=False)
        self._now: TaskID | None = self._progress.add_task(PREPARING, total=None, note="")
        self._work: TaskID | None = None

    def start(self) -> None:
        """Take the lower lines of the terminal."""
        self._progress.start()

    def stop(self) -> None:
        """Give them back, and tell what was kept for the end."""
        self._progress.stop()
        self._lines.close()

    def __call__(self, event: Event) -> None:
        """Update the display."""
        if not isinstance(event, BuildStep | WorkStarted):
            self._lines(event)
            self._progress.last = self._lines.last
        match event:
            case Notice(doing=True) if not self._verbose:
                self._tell_now(event.text)
            case PhaseStarted(name):
                self._phase = SHORT_PHASES.get(name, name)
                self._progress.update(self._budget, description=self._label(self._phase), visible=True)
                self._tell_now(CHOOSING)
            case BuildStep(text, done, total):
                self._tell_now(*((PREPARING,) if text.startswith("linking") else (text, done, total)))
            case WorkStarted() | WorkProgress() | WorkEnded():
                self._tell_work(event)
            case TrialStarted():
                self._start_trial(event)
            case TrialProgress() if event.number in self._trials:
                left_s = event.elapsed_s * (1 / event.fraction - 1) if event.fraction > 0.02 else None
                note = "" if left_s is None else _left(left_s)
                self._progress.update(self._trials[event.number], completed=event.fraction, note=note)
            case TrialEnded():
                self._end_trial(event)
            case _:
                pass

    def _label(self, text: str) -> str:
        """A text that fills the columns that are left beside bars, times and notes."""
        room = max(LEAST, self._width - max(NOTE, len(self._note)))
        return f"{cut(with_options(text), room):<{room}}"

    def _tell_now(self, text: str, done: int = 0, total: int | None = None) -> None:
        """Say what is done now in the line that a run has later, so that the other lines stay where they are."""
        if self._now is not None and total is not None:
            self._progress.update(self._now, description=self._label(text), completed=done, total=total)
            return
        self._hide_now()
        if not self._trials and self._work is None:
            self._now = self._progress.add_task(self._label(text), total=total, completed=done, note="")

    def _hide_now(self) -> None:
        if self._now is not None:
            self._progress.remove_task(self._now)
        self._now = None

    def _tell_work(self, event: WorkStarted | WorkProgress | WorkEnded) -> None:
        """Show something that may take long in a line of its own, until it is over."""
        if isinstance(event, WorkStarted):
            self._hide_now()
            self._work = self._progress.add_task(self._label(event.text), total=None, note="")
        elif self._work is not None and isinstance(event, WorkProgress):
            self._progress.update(self._work, total=1.0, completed=event.fraction, note=_left(event.left_s))
        elif self._work is not None:
            self._progress.remove_task(self._work)
            self._work = None
            self._tell_now(PREPARING)

    def _start_trial(self, event: TrialStarted) -> None:
        self._remove(event.after)
        self._remove(event.number)
        self._hide_now()
        note = "" if event.expected_s is None else f"about {duration(max(1.0, event.expected_s))}"
        words = f"#{event.number} {event.label if self._verbose else short_label(event.label)}"
        self._trials[event.number] = self._progress.add_task(self._label(words), total=1.0, note=note)

    def _remove(self, number: int | None) -> None:
        task = None if number is None else self._trials.pop(number, None)
        if task is not None:
            self._progress.remove_task(task)

    def _end_trial(self, event: TrialEnded) -> None:
        self._remove(event.record.number)
        if is_full_run(event.record) and event.record.gflops is not None and event.best is not None and self._draws:
            self._progress.rates = [*self._progress.rates, event.record.gflops]
        if event.spent is not None:
            words = [f"{event.left} left"] if event.left else []
            words += [f"best {event.best.removesuffix(' GFLOPS')}"] if event.best else []
            self._note = ", ".join(words)
            phase, done = self._label(self._phase), event.spent
            self._progress.update(
                self._budget, description=phase, total=1.0, completed=done, visible=True, note=self._note
            )
        if not self._trials:
            self._tell_now(CHOOSING)


def _left(seconds: float) -> str:
    """How long something will still take; nobody reads parts of a second that change."""
    return "soon done" if seconds < 1 else f"{duration(seconds)} left"


class Droppable:
    """A stream whose text is dropped where it cannot be written; whether somebody reads a pipe still counts."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write what can be written."""
        self._drop(lambda: self._stream.write(text))
        return len(text)

    def flush(self) -> None:
        """Hand on what was written."""
        self._drop(self._stream.flush)

    @staticmethod
    def _drop(write: Callable[[], object]) -> None:
        try:
            write()
        except BrokenPipeError:
            raise
        except OSError:
            pass


@contextmanager
def display(console: Console, *, verbose: bool = False) -> Iterator[Listener]:
    """A listener that suits where the output goes; what it cannot write is dropped, so that no study ends for it.

    Args:
        verbose: a terminal shows all that a log has.
    """
    stream = console.file
    console.file = cast("IO[str]", Droppable(stream))
    try:
        if not console.is_terminal or console.is_dumb_terminal:
            yield PlainLines(console)
            return
        live = LiveDisplay(console, verbose=verbose)
        live.start()
        try:
            yield live
        finally:
            live.stop()
    finally:
        console.file = stream
