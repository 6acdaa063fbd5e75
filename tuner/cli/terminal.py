"""What commands have in common on a terminal: a display, Ctrl-C, and the report at the end."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console

    from results.report.model import Drawable, Report

    from ..events import Event, Listener
    from ..stopping import StopRequest

INTERRUPTED = 130
"""Exit code where the user stopped a command."""


@contextmanager
def watched(
    console: "Console", *, ends_at_once: bool = False, verbose: bool = False
) -> "Iterator[tuple[Listener, StopRequest]]":
    """Show what a command does while the block runs, and turn Ctrl-C into a request to stop it.

    Args:
        ends_at_once: the first request ends what runs.
        verbose: a terminal shows all that a log has.
    """
    from ..console import display
    from .signals import announce_end, announce_stop, stop_on_signals

    asked = announce_end if ends_at_once else announce_stop
    with stop_on_signals(asked) as stop, display(console, verbose=verbose) as listener:
        yield listener, stop


class EarlyParts:
    """Passes events on to a display, and counts the parts of the report that the user has seen already.

    Args:
        shown: without it these parts are not passed on, because the output is for scripts.
    """

    def __init__(self, listener: "Listener", *, shown: bool) -> None:
        self._listener = listener
        self._shown = shown
        self._seen = 0

    def __call__(self, event: "Event") -> None:
        """Pass an event on."""
        from ..events import PartFound

        if isinstance(event, PartFound):
            if not self._shown:
                return
            self._seen += len(event.parts)
        self._listener(event)

    def rest(self, report: "Report") -> "Report":
        """The report without the parts that the user has seen, which are its first ones."""
        return replace(report, parts=report.parts[self._seen :])


def show_report(console: "Console", report: "Report", *, as_json: bool) -> None:
    """Print a report for people, or its facts on standard output for scripts.

    Args:
        console: where people read.
    """
    from results.report.terminal import print_report
    from results.report.text_forms import json_parts

    from ..words import all_with_options

    if as_json:
        for part in json_parts(all_with_options(report)):
            print(part, end="")
        print()
    else:
        print_report(console, report)


def print_output(text: str) -> None:
    """Print what a program wrote: as it is for files and pipes, without what steers a terminal on one."""
    from ..words import printable

    print(printable(text) if sys.stdout.isatty() else text, end="")


@dataclass(frozen=True)
class ReportFiles:
    """Files that show a report beside the terminal.

    Attributes:
        html: of the page; None for none.
        plot: of the picture; None for none.
    """

    html: "Path | None"
    plot: "Path | None"

    @classmethod
    def required(cls, html: "Path | None", plot: "Path | None" = None) -> "ReportFiles":
        """Refuse files that cannot be written before anything runs.

        Raises:
            UsageError: the name of a picture has a wrong end.
            TunerError: a file cannot be written.
        """
        from ..commands.report_files import require_files

        require_files(html, plot)
        return cls(html, plot)

    def write(self, page: "Report", figures: "Sequence[Drawable]") -> list[str]:
        """Write the files, unless there is nothing to show, and return a sentence for each.

        Raises:
            TunerError: a file cannot be written.
        """
        from ..commands.report_files import write_page, write_picture

        said = []
        if self.html is not None and page.parts:
            write_page(self.html, [page])
            said.append(f"Wrote {self.html}. Open it in a browser.")
        if self.plot is not None and figures:
            write_picture(self.plot, figures)
            said.append(f"Wrote {self.plot}.")
        return said


def show_and_write(
    console: "Console",
    report: "Report",
    files: ReportFiles,
    *,
    as_json: bool,
    page: "Report | None" = None,
    figures: "Sequence[Drawable]" = (),
) -> None:
    """Write files, and then show a report as `show_report` does, even if a file cannot be written.

    Args:
        page: what the HTML file shows; None for the report.
        figures: what the picture shows.

    Raises:
        TunerError: a file cannot be written.
    """
    from results.report.terminal import say

    from .common import console as on

    said: list[str] = []
    try:
        said = files.write(page or report, figures)
    finally:
        show_report(console, report, as_json=as_json)
    for sentence in said:
        say(on(stderr=True) if as_json else console, sentence)
