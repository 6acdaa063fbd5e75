"""Runs the command line in this process: as fast as a call, and with nothing left of it afterwards.

Tests of the process itself (signals, streams of the system, what it inherits, how it dies) start the installed
program: the fixture `hpltune_process`.
"""

import os
import subprocess
import sys
import tempfile
import threading
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import chdir, contextmanager
from pathlib import Path
from unittest.mock import patch

from as_user import HPLTUNE
from typer.testing import CliRunner

from results.errors import StoreWarning
from results.store.lease import Lease
from tuner.cli import main
from tuner.cli.signals import Stopped
from tuner.cli.terminal import INTERRUPTED

COLUMNS = "80"
"""Width of a pipe, unless the environment says another."""
STARTER = "hpltune-starter"
"""How threads are called that start launchers; they live as long as the process."""
END_S = 60.0
"""Seconds in which a thread ends that the command began: a program would wait for it, or end it."""


def run_in_process(
    arguments: Sequence[str], folder: Path, *, charset: str = "utf-8", typed: str = ""
) -> "subprocess.CompletedProcess[str]":
    """Run the command line as a process in a folder would, with pipes for its output.

    Args:
        typed: what it reads.

    Raises:
        KeyboardInterrupt: whoever runs the tests pressed Ctrl-C.
    """
    code: object = 0
    with _isolated(arguments, folder), CliRunner(charset).isolation(typed) as (stdout, stderr, _):
        try:
            main()
        except Stopped as stopped:
            raise KeyboardInterrupt from stopped
        except SystemExit as ended:
            code = ended.code or 0
        except Exception:  # noqa: BLE001 - Python would print it, too, and end with 1
            traceback.print_exc()
            code = 1
        sys.stdout.flush()
        sys.stderr.flush()
        printed, said = (_text(stream.getvalue(), charset) for stream in (stdout, stderr))
    assert isinstance(code, int)
    if code == INTERRUPTED:
        raise KeyboardInterrupt
    return subprocess.CompletedProcess([str(HPLTUNE), *arguments], code, printed, said)


@contextmanager
def _isolated(arguments: Sequence[str], folder: Path) -> Iterator[None]:
    """Give the block a command line, a folder, an environment and warnings of its own.

    pytest makes an error of each warning. What the store warns of stays a warning, for users are told of it.
    """
    before = set(threading.enumerate())
    with (
        chdir(folder),
        patch.dict(os.environ, {"COLUMNS": os.environ.get("COLUMNS", COLUMNS)}),
        patch.object(sys, "argv", [str(HPLTUNE), *arguments]),
        patch.object(sys, "excepthook", sys.excepthook),
        patch.object(tempfile, "tempdir", None),
        warnings.catch_warnings(),
        _own_identity(),
    ):
        warnings.simplefilter("default", StoreWarning)
        yield
    for thread in set(threading.enumerate()) - before:
        if not thread.name.startswith(STARTER):
            thread.join(END_S)
            assert not thread.is_alive(), f"{thread.name} still works after its command has ended"


@contextmanager
def _own_identity() -> Iterator[None]:
    """Let the block own its studies as a process would that is dead afterwards; `cat` lends its number."""
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as stand_in:
        lease = Lease.of(stand_in.pid)
        with patch.object(Lease, "mine", lambda: lease):
            yield


def _text(printed: bytes, charset: str) -> str:
    """What a pipe gives to who reads it as text."""
    return printed.decode(charset).replace("\r\n", "\n").replace("\r", "\n")
