"""Writing the user's files."""

import os
import stat
import threading
from pathlib import Path

from waiting import PATIENCE_S

from tuner.user_files import write_text


def test_a_file_is_written_with_the_folders_it_needs(tmp_path: Path) -> None:
    write_text(tmp_path / "a/b/HPL.dat", "text\n", executable=True)
    assert (tmp_path / "a/b/HPL.dat").read_text() == "text\n"
    assert os.access(tmp_path / "a/b/HPL.dat", os.X_OK)
    assert [path.name for path in (tmp_path / "a/b").iterdir()] == ["HPL.dat"]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real.csv").write_text("old")
    (tmp_path / "link.csv").symlink_to("real.csv")
    write_text(tmp_path / "link.csv", "new")
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "real.csv").read_text() == "new"


def test_a_pipe_or_device_is_written_into(tmp_path: Path) -> None:
    pipe, read = tmp_path / "pipe", list[str]()
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    write_text(pipe, "rows\n")
    reader.join(timeout=PATIENCE_S)
    assert read == ["rows\n"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)
