"""Shows a running study: a live display on a terminal, one plain line per event elsewhere."""

import os
import sys
from collections.abc import Callable, Iterator
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

from results.report.model import Report, outcome
from results.report.terminal import print_report

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

WIDE, BESIDE, LEAST = 120, 64, 12
"""Columns from which labels are shown whole, those that times and figures take beside them, and what is left of one."""
UNREAD = 141
"""Exit code where nobody reads the output: 128 + SIGPIPE."""
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
        return super().render_str(with_options(text), **options)

    def on_broken_pipe(self) -> None:
        """Leave as a program does that the signal ends."""
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(UNREAD)


def output(*, stderr: bool = False) -> Console:
    """Where people read: colours and the terminal's width only on a terminal."""
    stream = sys.stderr if stderr else sys.stdout
    return Terminal(stderr=stderr, width=None if stream.isatty() else PIPE_WIDTH)


class PlainLines:
    """One line per event that matters, for logs and pipes."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._labels: dict[int, str] = {}
        self._head: str | None = None

    def __call__(self, event: Event) -> None:
        """Print the event, if it is worth a line; the head of a part of the study, once it has a run."""
        if self._head and isinstance(event, TrialStarted | TrialEnded):
            self._print(self._head)
            self._head = None
        match event:
            case Notice():
                self._print(event.sentence)
            case Remark(text):
                with suppress(OSError):
                    print(f"hpltune: {printable(with_options(text))}", file=sys.stderr)
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
                self._print(line(event, self._labels.pop(record.number, "")))
            case BuildStep(text, done, total) if text.startswith("linking") or done == total:
                self._print(f"Building xhpl: {text}")
            case _:
                pass

    def _print(self, text: str) -> None:
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)


def line(event: TrialEnded, label: str) -> str:
    """A finished trial on one line, with what is left of the budget."""
    left = "" if event.left is None else f"  {event.left} left"
    best = "" if event.best is None else f"  best {event.best.removesuffix(' GFLOPS')}"
    again = " (again)" if event.again else ""
    return f"#{event.record.number:<4d} {outcome(event.record)}  {label}{again}{best}{left}"


class LiveDisplay:
    """Finished trials scroll by; below them the running trial's own progress and the budget's."""

    def __init__(self, console: Console) -> None:
        self._lines = PlainLines(console)
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24 if console.width >= WIDE else 6),
            TaskProgressColumn("{task.percentage:3.0f}%"),
            TimeElapsedColumn(),
            TextColumn("{task.fields[note]}", markup=False),
            console=console,
            transient=True,
        )
        self._room = console.width if console.width >= WIDE else max(LEAST, console.width - BESIDE)
        self._trials: dict[int, TaskID] = {}
        self._build = self._progress.add_task("", total=1, note="", visible=False)
        self._budget = self._progress.add_task("study", total=None, note="", visible=False)
        self._work: TaskID | None = None

    def start(self) -> None:
        """Take the lower lines of the terminal."""
        self._progress.start()

    def stop(self) -> None:
        """Give them back."""
        self._progress.stop()

    def __call__(self, event: Event) -> None:
        """Update the display."""
        if not isinstance(event, BuildStep | WorkStarted):
            self._lines(event)
        match event:
            case BuildStep(text, done, total):
                self._progress.update(
                    self._build, description=text, completed=done, total=total, visible=not text.startswith("linking")
                )
            case WorkStarted(text):
                self._work = self._progress.add_task(text, total=None, note="")
            case WorkProgress(part, rest_s) if self._work is not None:
                self._progress.update(self._work, total=1.0, completed=part, note=f"{duration(rest_s)} left")
            case WorkEnded() if self._work is not None:
                self._progress.remove_task(self._work)
                self._work = None
            case TrialStarted(number=number, label=label, expected_s=expected_s, after=after):
                self._remove(after)
                self._remove(number)
                note = "" if expected_s is None else f"about {duration(expected_s)}"
                words = f"#{number} {label}"
                words = words if len(words) <= self._room else f"{words[: self._room - 1]}…"
                self._trials[number] = self._progress.add_task(words, total=1.0, note=note)
            case TrialProgress(number=number, fraction=fraction, elapsed_s=elapsed_s) if number in self._trials:
                left_s = elapsed_s * (1 / fraction - 1) if fraction > 0.02 else None
                note = "" if left_s is None else f"{duration(left_s)} left"
                self._progress.update(self._trials[number], completed=fraction, note=note)
            case TrialEnded():
                self._end_trial(event)
            case _:
                pass

    def _remove(self, number: int | None) -> None:
        task = None if number is None else self._trials.pop(number, None)
        if task is not None:
            self._progress.remove_task(task)

    def _end_trial(self, event: TrialEnded) -> None:
        self._remove(event.record.number)
        if event.spent is not None:
            words = [f"{event.left} left"] if event.left else []
            words += [f"best {event.best.removesuffix(' GFLOPS')}"] if event.best else []
            self._progress.update(self._budget, total=1.0, completed=event.spent, visible=True, note=", ".join(words))


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
def display(console: Console) -> Iterator[Listener]:
    """A listener that suits where the output goes; what it cannot write is dropped, so that no study ends for it."""
    stream = console.file
    console.file = cast("IO[str]", Droppable(stream))
    try:
        if not console.is_terminal:
            yield PlainLines(console)
            return
        live = LiveDisplay(console)
        live.start()
        try:
            yield live
        finally:
            live.stop()
    finally:
        console.file = stream
