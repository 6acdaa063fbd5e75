"""What stands on standard error where that is a terminal: no word, path or command is broken by us."""

import fcntl
import os
import pty
import struct
import sys
import termios
from threading import Thread

import pytest

from tuner.console import remark

PATH = "/srv/cluster/of/the/institute/with/a/long/name/and-a-longer-one/hpltune.db"
SENTENCE = f"there is no database {PATH}: `hpltune tune --db {PATH}` makes one, or name another with ⟦db⟧"


@pytest.mark.parametrize("width", [20, 40, 80, 120])
def test_an_error_is_broken_between_words_at_any_width(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("COLUMNS", "LINES", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    keyboard, screen = pty.openpty()
    fcntl.ioctl(screen, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
    seen: list[bytes] = []
    reader = Thread(target=lambda: seen.append(os.read(keyboard, 65_536)))
    reader.start()
    with os.fdopen(screen, "w") as stream:
        monkeypatch.setattr(sys, "stderr", stream)
        remark(SENTENCE)
        stream.flush()
        reader.join()
    os.close(keyboard)
    lines = seen[0].decode().replace("\r\n", "\n").strip().split("\n")
    assert " ".join(lines) == f"hpltune: {SENTENCE}".replace("⟦db⟧", "--db")
    whole = (PATH, f"`hpltune tune --db {PATH}`")
    assert [line for line in lines if len(line) > width and not line.startswith(whole)] == []


def test_an_error_is_one_line_where_no_terminal_is(capsys: pytest.CaptureFixture[str]) -> None:
    remark(SENTENCE)
    assert capsys.readouterr().err.count("\n") == 1
