import re
from pathlib import Path

import pytest

from tuner.errors import TunerError
from tuner.user_dirs import UserDirs


def test_the_users_variables_come_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HPLTUNE_CACHE", "HPLTUNE_DATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "c"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "d"))
    assert UserDirs.of_user() == UserDirs(tmp_path / "c/hpltune", tmp_path / "d/hpltune")
    monkeypatch.setenv("HPLTUNE_CACHE", str(tmp_path / "own"))
    found = UserDirs.of_user()
    assert (found.cache, found.data) == (tmp_path / "own", tmp_path / "d/hpltune")
    assert found.prefix is None
    found.private_prefix.mkdir()
    assert found.prefix == tmp_path / "own/prefix"


def test_a_folder_that_cannot_be_made_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("HPLTUNE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HPLTUNE_DATA", str(tmp_path / "file/data"))
    sentence = re.escape(f"cannot make the folder {tmp_path}/file/data (Not a directory): set HPLTUNE_DATA to another")
    with pytest.raises(TunerError, match=sentence):
        UserDirs.of_user()
