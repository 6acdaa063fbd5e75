"""`hpltune learn`: a lesson in the terminal."""

import sys
import termios
from io import StringIO
from typing import TYPE_CHECKING, Annotated, TextIO

import typer

from .common import Db, Json, console
from .signals import Stopped
from .terminal import INTERRUPTED, show_report

if TYPE_CHECKING:
    from rich.console import Console

    from ..commands.learn import TeachResult
    from ..events import Event
    from ..simulation.lesson import LessonStep
    from ..simulation.lesson_book import LessonBook


def _complete(incomplete: str) -> list[str]:
    """Names of lessons, for tab completion."""
    from ..simulation.lesson import lesson_names

    return [name for name in lesson_names() if name.startswith(incomplete)]


def learn(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]", autocompletion=_complete, help="The lesson: kronos. Without it all lessons are listed."
        ),
    ] = None,
    again: Annotated[
        bool, typer.Option("--again", help="Begin with the first step; its answer replaces all that is kept.")
    ] = False,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Learn to tune HPL: guess first, then see what a virtual cluster does, and why.

    Each step asks one question, simulates the answer in a few seconds, and keeps your guess and the runs. The runs are
    studies, which `hpltune plot` and `hpltune show` know. Enter alone makes no guess. Ctrl-D or Ctrl-C leaves, and the
    next call goes on there. `hpltune report --as kronos` shows your guesses. It needs SimGrid
    (`hpltune setup --with simgrid`).

    With --json it asks nothing: it takes the guesses that are piped in, one on a line, and prints what is kept.

    Examples:

        hpltune learn

        hpltune learn kronos

        hpltune learn kronos --json

        echo 0.5 | hpltune learn kronos --json
    """
    from ..commands.learn import all_lessons, book_report, opened_book

    if name is None:
        show_report(console(), all_lessons(), as_json=as_json)
        return
    book = opened_book(name, anew=again)
    try:
        if not as_json:
            _lead_through(console(), book, db, sys.stdin)
        elif guesses := "" if sys.stdin.isatty() else sys.stdin.read():
            book = _lead_through(console(stderr=True), book, db, StringIO(guesses))
    except Stopped as stopped:
        if sys.stdin.isatty():
            console(stderr=True).print()  # behind the ^C that the terminal shows
        stopped.sentence += f"; your guesses are kept, and `hpltune learn {name}` goes on here"
        raise
    if as_json:
        show_report(console(), book_report(book), as_json=True)


def _lead_through(shown: "Console", book: "LessonBook", db: str | None, typed: TextIO) -> "LessonBook":
    """Ask, simulate and show one step after the other, from the first that is not done.

    Args:
        typed: has the guesses, one on a line.

    Returns:
        All that is kept of the lesson then.

    Raises:
        TunerError: there is nobody to ask.
        typer.Exit: somebody stopped it.
    """
    from results.report.terminal import print_report, say

    from ..commands.learn import book_report

    lesson = book.lesson
    left = [step for step in lesson.steps if not book.is_done(step)]
    if left and left != list(lesson.steps):
        done = len(lesson.steps) - len(left)
        say(shown, f"{done} of {len(lesson.steps)} steps are done; `hpltune learn {lesson.name} --again` begins anew.")
    for number, step in enumerate(left):
        asked = _ask(shown, book, step, typed, first=number == 0)
        if asked is None:
            say(shown, f"\nKept. `hpltune learn {lesson.name}` goes on here.")
            return book
        result = _simulated(shown, book, step, asked or None, db)
        if result.interrupted:
            say(shown, f"Stopped; your guess is kept. `hpltune learn {lesson.name}` goes on here.")
            raise typer.Exit(INTERRUPTED)
        print_report(shown, result.report())
        book = result.book
    print_report(shown, book_report(book))
    say(shown, f"All steps are done. `hpltune report --as {lesson.name} -o {lesson.name}.html` makes the report.")
    return book


def _ask(shown: "Console", book: "LessonBook", step: "LessonStep", typed: TextIO, *, first: bool) -> str | None:
    """The guess of a step; "" for none, and None where somebody leaves.

    Raises:
        TunerError: it is the first question, and there is neither somebody at a terminal nor a line to read.
    """
    from results.report.model import Report
    from results.report.terminal import print_report, say

    from ..errors import TunerError, UsageError
    from ..reports.lesson import question_parts

    print_report(shown, Report("", question_parts(book.lesson, step)))
    kept = book.answers.get(step.name)
    if kept is not None:
        say(shown, f"Your guess: {kept.guess or 'none'} (kept)")
        return kept.guess or ""
    if not step.unit:
        say(shown, f"Choose {step.choices}.")
    in_unit = f" in {step.unit}" if step.unit else ""
    if typed.isatty():
        termios.tcflush(typed, termios.TCIFLUSH)  # what was typed during a simulation answers nothing
    while True:
        shown.print(f"Your guess{in_unit} (Enter: none): ", end="")
        line = typed.readline()
        if not typed.isatty():
            shown.print(line.strip())
        if not line:
            if first and not typed.isatty():
                raise TunerError("nobody can be asked here: call it in a terminal, or give it guesses, one on a line")
            return None
        if not line.strip():
            return ""
        try:
            return step.read_guess(line)
        except UsageError as error:
            say(shown, str(error))


def _simulated(
    shown: "Console", book: "LessonBook", step: "LessonStep", guess: str | None, db: str | None
) -> "TeachResult":
    """Simulate a step, and say on a terminal how far that is."""
    from ..commands.learn import teach
    from ..events import BuildStep, TrialEnded
    from ..words import counted
    from .signals import announce_stop, stop_on_signals

    ended, total = 0, len(step.values)

    with shown.status(f"Simulating {counted(total, 'run')}") as status, stop_on_signals(announce_stop) as stop:

        def tell(event: "Event") -> None:
            nonlocal ended
            if isinstance(event, BuildStep):
                status.update(f"Building HPL for the simulator: {event.text}")
            elif isinstance(event, TrialEnded):
                ended += 1
                status.update(f"Simulated {ended} of {counted(total, 'run')}")

        return teach(book, step, guess, tell, stop, db)
