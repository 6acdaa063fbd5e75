"""The command line. One command a file, which is imported when it is called; heavy imports stay inside commands."""

import codecs
import gc
import io
import os
import re
import sys
import warnings
from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated, NoReturn, TextIO

from .signals import Stopped, silent_ctrl_c, stopped_at_once

gc.set_threshold(50_000)
"""Fewer collections: nearly all that a start makes stays, and looking for what does not takes a tenth of it."""

with silent_ctrl_c():
    import typer

    from .by_name import Program
    from .common import remark
    from .server import Url, choose_server

NAME = "hpltune"

app = typer.Typer(
    cls=Program,
    name=NAME,
    invoke_without_command=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Finds the fastest way to run High Performance Linpack on a machine, and proves it.",
    epilog="Start with `hpltune tune`: five minutes, and you have the best HPL.dat it could find.",
)

DOORS = """\
hpltune finds the fastest way to run High Performance Linpack, and proves it.

  hpltune tune                         for this machine: five minutes
  hpltune reproduce kronos --trials 0  no cluster? a published one, simulated
  hpltune dat --nodes 16 --cores 64 --memory 256GiB --network 100g
                                       an HPL.dat for any machine, with reasons

The first run on a machine installs what is missing (compiler, MPI, BLAS).
`hpltune --help` lists all commands, and `hpltune tune --help` all options."""
"""What a newcomer reads first."""

WRONG = 2
"""Exit code of wrong usage, as Typer's own: nothing was run, and the same again fails in the same way."""
NOT_READY = 3
"""Exit code where nodes of a cluster are not ready for a study, which therefore was not begun."""
NOBODY_READS = "PacifyFlushWrapper"
"""What Typer puts in place of a standard output that nobody reads."""

STORE_WARNING = "StoreWarning"
"""Of `results.errors`, which is not imported before it is needed."""
PLAIN = {
    "\N{PLUS-MINUS SIGN}": "+-",
    "\N{HORIZONTAL ELLIPSIS}": "...",
    "\N{MULTIPLICATION SIGN}": "x",
    "\N{MICRO SIGN}": "u",
    "\N{EN DASH}": "-",
    "\N{EM DASH}": "-",
    "\N{RIGHTWARDS ARROW}": "->",
}
"""What stands for characters of ours that a terminal lacks."""
SPINNER = range(0x2800, 0x2900)
"""Of Rich, in Braille."""


def _version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        typer.echo(f"hpltune {version('hpltune')}")
        raise typer.Exit


@app.callback()
def _root(
    context: typer.Context,
    _show: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
    server: Url = None,
) -> None:
    """Finds the fastest way to run High Performance Linpack on a machine, and proves it."""
    choose_server(context, server)
    if context.invoked_subcommand is None:
        typer.echo(DOORS)


def _fail(sentence: str, exit_code: int = 1) -> NoReturn:
    from ..console import remark

    remark(sentence, failed=True)
    sys.exit(exit_code)


def main() -> None:
    """Entry point.

    Exit codes: 0 done, 1 a sentence on stderr says why not, 2 wrong usage, 3 nodes that are not ready, 130 Ctrl-C,
    141 nobody reads the output, 128 and its number where another signal ended it.
    """
    _open_closed_streams()
    try:
        with stopped_at_once():
            _forget_inherited_choices()
            os.environ["OPENBLAS_NUM_THREADS"] = "1"  # of numpy: our own arithmetic is too small for more
            print_anything()
            tell_warnings()
            _refuse_empty(["hpltune", *sys.argv[1:]])
            _run()
    except Stopped as stopped:
        remark(_noted(stopped.sentence, stopped.__cause__ or stopped))
        raise
    except BrokenPipeError:
        from ..console import UNREAD

        sys.exit(UNREAD)
    except UnicodeEncodeError as error:
        _fail(f"{error.object[:40]!r} cannot be written in {error.encoding}: give it another name")
    except OSError as error:
        _fail(_noted(f"{error.filename or 'the system'}: {error.strerror or error}", error))
    except Exception as error:
        from ..errors import OUR_ERRORS

        if not isinstance(error, OUR_ERRORS):
            raise
        _fail(_noted(str(error), error), _exit_code(error))


def _noted(sentence: str, error: BaseException) -> str:
    """A sentence with the notes of its error, such as how to go on."""
    return "; ".join([sentence, *getattr(error, "__notes__", ())])


def _refuse_empty(arguments: Sequence[str]) -> None:
    """Refuse an empty argument, such as an unset shell variable gives: it would count as not given."""
    for before, argument in pairwise(arguments):
        if not argument or re.fullmatch(r"--[\w-]+=", argument):
            _fail(f"{argument or before} is followed by an empty value: give one, or leave it out", WRONG)


def _run() -> None:
    """Run the command, and flush standard output while a failure can still be reported."""
    try:
        app(prog_name=NAME)
    finally:
        try:
            sys.stdout.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise
        if type(sys.stdout).__name__ == NOBODY_READS:
            raise BrokenPipeError


def _open_closed_streams() -> None:
    """Open standard streams that were closed as /dev/null, before a database takes their numbers."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode))


def _forget_inherited_choices() -> None:
    """Drop variables of the shell that would choose kernels or threads behind our back (OPENBLAS_CORETYPE, …)."""
    from hpl.blas.family import inherited_choices

    inherited = inherited_choices(os.environ)
    for name in inherited:
        del os.environ[name]
    if inherited and sys.stderr.isatty():
        remark(f"your shell's {', '.join(inherited)} are not used; --set kernel=… chooses one")


def _exit_code(error: Exception) -> int:
    """The exit code of an error that was raised on purpose: WRONG for a field of what was asked for, or a file."""
    from hpl.dat_parse import HplDatError
    from hpl.errors import AskedError
    from runners.toml_file import ClusterFileError
    from search_spaces.errors import SpaceError

    from ..errors import NotReadyError

    if isinstance(error, NotReadyError):
        return NOT_READY
    return WRONG if isinstance(error, AskedError | SpaceError | HplDatError | ClusterFileError) else 1


def print_anything() -> None:
    """Write the nearest character, or an escape, for one that the terminal lacks, so that no report fails."""
    codecs.register_error("nearest", _nearest)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="nearest")


def _nearest(error: UnicodeError) -> tuple[str | bytes, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(map(_plain, error.object[error.start : error.end])), error.end


def _plain(letter: str) -> str:
    if ord(letter) in SPINNER:
        return "*"
    return PLAIN.get(letter) or letter.encode("ascii", "backslashreplace").decode("ascii")


def tell_warnings() -> None:
    """Say on standard error what users of a database must know, such as which damaged row is left out, each once."""

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        if category.__name__ != STORE_WARNING:
            usual(message, category, filename, lineno, file, line)
            return
        if str(message) not in told:
            remark(str(message))
        told.add(str(message))

    told: set[str] = set()
    usual, warnings.showwarning = warnings.showwarning, show
