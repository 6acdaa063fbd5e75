import os
from pathlib import Path

import pytest
from as_user import program

from runners.hosts.staging import stage, unstage
from runners.hosts.transport import Local, Ssh


def test_files_arrive_whole_and_are_removed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    file = tmp_path / "data.bin"
    file.write_bytes(os.urandom(300_000))
    staged = stage(Local(), ["here"], {"node_bench": file})
    folder = Path(staged.folders["here"])
    assert (folder / "node_bench").read_bytes() == file.read_bytes()
    assert (folder / "node_bench").stat().st_mode & 0o777 == 0o700
    unstage(Local(), staged)
    assert not folder.exists()


def test_a_folder_that_cannot_be_written_is_told_and_the_rest_goes_on(tmp_path: Path) -> None:
    """The program in place of ssh runs commands here, on node h2 with a folder for files that is not there."""
    elsewhere = 'case "$*" in *" h2 "*) export TMPDIR=/no/such/folder;; esac'
    text = f'#!/bin/sh\nfor last; do :; done\n{elsewhere}\nexec sh -c "$last"\n'
    ssh = program(tmp_path / "ssh", text)
    file = tmp_path / "data.bin"
    file.write_bytes(b"x")
    staged = stage(Ssh((str(ssh),)), ["h1", "h2"], {"data": file})
    assert list(staged.folders) == ["h1"]
    assert "node h2: files cannot be copied to its /tmp" in staged.failed["h2"]
    unstage(Ssh((str(ssh),)), staged)
    assert not Path(staged.folders["h1"]).exists()


def test_of_what_tar_prints_the_first_line_tells_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    (tmp_path / "bin").mkdir()
    says = "tar: node_bench: Cannot write: No space left on device"
    program(
        tmp_path / "bin/tar", f"#!/bin/sh\necho '{says}' >&2\necho 'tar: Exiting with failure status' >&2\nexit 2\n"
    )
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    file = tmp_path / "data.bin"
    file.write_bytes(b"x")
    staged = stage(Local(), ["here"], {"node_bench": file})
    assert staged.failed["here"] == (
        f"node here: files cannot be copied to its /tmp ({says}): make room or set TMPDIR there"
    )
