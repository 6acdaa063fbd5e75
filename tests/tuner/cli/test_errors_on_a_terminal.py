"""What stands on standard error where that is a terminal: no word, path or command is broken by us."""

import fcntl
import os
import pty
import struct
import subprocess
import termios
from contextlib import suppress
from pathlib import Path

import pytest
from as_user import HPLTUNE, Run

PATH = "/srv/cluster/of/the/institute/with/a/long/name/and-a-longer-one/hpltune.db"
SENTENCE = f"hpltune: there is no database {PATH}: `hpltune tune` makes one, or name another with --db"


@pytest.mark.process
@pytest.mark.parametrize("width", [20, 40, 80])
def test_an_error_is_broken_between_words_at_any_width(width: int, home: Path) -> None:
    keyboard, screen = pty.openpty()
    fcntl.ioctl(screen, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
    remarked = {"COLUMNS", "LINES", "OPENBLAS_NUM_THREADS"}  # workers of the tests may have the last, which is remarked
    environment = {name: value for name, value in os.environ.items() if name not in remarked}
    process = subprocess.Popen(
        [str(HPLTUNE), "best", "--db", PATH],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=screen,
        cwd=home,
        env={**environment, "NO_COLOR": "1", "TERM": "xterm"},
    )
    os.close(screen)
    written = b""
    with suppress(OSError):  # it is told so where nobody can write to the terminal any more
        while part := os.read(keyboard, 65_536):
            written += part
    process.wait()
    os.close(keyboard)
    lines = written.decode().replace("\r\n", "\n").strip().split("\n")
    assert " ".join(lines) == SENTENCE
    assert [line for line in lines if len(line) > width and line != f"{PATH}:"] == []


def test_an_error_is_one_line_where_no_terminal_is(hpltune: Run) -> None:
    assert hpltune("best", "--db", PATH).stderr == f"{SENTENCE}\n"
