"""A user's mistake ends in one clear sentence, a non-zero exit code and no traceback."""

import json
import os
import re
from pathlib import Path

import pytest
from as_user import Run, program
from needs import needs

from results.store.store import Store
from tuner.database import folder_of
from tuner.options import TuneOptions
from tuner.provision.plan import Needs
from tuner.trial.workbench import look_around
from tuner.user_dirs import UserDirs


@pytest.fixture(autouse=True)
def nobody_installs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A command that finds no HPL here installs none."""
    monkeypatch.setattr("tuner.provision.setup.install", lambda *_, **__: "everything")


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that lacks all that runs HPL."""
    for module in ("commands.set_up", "provision.setup"):
        monkeypatch.setattr(f"tuner.{module}.needs", lambda *_, **__: Needs(compiler=True, mpi=True, blas=True))


@pytest.mark.usefixtures("bare")
def test_a_machine_that_lacks_hpl_says_so_where_nothing_else_is_wrong(hpltune: Run) -> None:
    done = hpltune("tune", "--wrap", "env")
    assert (done.returncode, "this machine still lacks everything" in done.stderr) == (1, True)


@pytest.mark.usefixtures("bare")
@pytest.mark.parametrize("command", ["tune", "blas"])
@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        ("env.LD_PRELOAD=x", "--set env.LD_PRELOAD: hpltune chooses what ranks load: vary `blas`"),
        ("sys.cores=7000", "--set sys.cores = 7000: cannot be had on this machine: it has no CPU 7000"),
    ],
)
def test_a_setting_that_no_host_has_is_refused_before_anything_is_installed(
    hpltune: Run, command: str, setting: str, sentence: str
) -> None:
    done = hpltune(command, "--set", setting)
    assert done.returncode != 0
    assert sentence in " ".join(done.stderr.split())
    assert "Timing" not in done.stdout + done.stderr
    assert "hosts_offer" not in done.stderr


@pytest.mark.usefixtures("real_hpl")
@pytest.mark.parametrize("option", ["--blas=opneblas", "--set=blas=opneblas"])
def test_a_mistyped_blas_is_told_before_any_is_timed(
    hpltune: Run, home: Path, monkeypatch: pytest.MonkeyPatch, option: str
) -> None:
    monkeypatch.setenv("HPLTUNE_CACHE", str(home / "cache"))
    done = hpltune("tune", option)
    assert done.returncode == 1
    assert "opneblas" in done.stderr
    assert "Timing" not in done.stdout


@pytest.mark.usefixtures("real_hpl")
def test_auto_is_no_mistyped_blas(home: Path) -> None:
    options = TuneOptions(overrides={"blas": ["auto"]})
    assert look_around(options, UserDirs(home, home), lambda _: None, probing=False).blas


def test_a_database_with_any_name_has_folders_of_its_own(home: Path) -> None:
    with Store.open(home / "m\udcffne.db") as mine, Store.open(home / "mine.db") as other:
        assert folder_of("runs", mine, UserDirs(home, home)) != folder_of("runs", other, UserDirs(home, home))


@pytest.mark.usefixtures("real_hpl")
@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason=needs("two CPUs"))
def test_below_taskset_run_says_that_its_ranks_are_not_bound(hpltune: Run, home: Path) -> None:
    hpltune("dat", "HPL.dat", "--N", "100", "--ranks", "1")
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(before)})
    try:
        done = hpltune("run", "HPL.dat", "--xhpl", str(program(home / "xhpl", "#!/bin/sh\n")))
    finally:
        os.sched_setaffinity(0, before)
    assert "ranks are not bound, whatever `binding` says" in " ".join(done.stdout.split())
    assert "not bound" not in hpltune("run", "HPL.dat", "--xhpl", str(home / "xhpl")).stdout


@pytest.mark.heavy
@pytest.mark.usefixtures("mpirun")
def test_every_problem_of_an_input_file_is_named_with_its_line(hpltune: Run, home: Path) -> None:
    hpltune("dat", "HPL.dat", "--N", "1000")
    lines = (home / "HPL.dat").read_text().splitlines()
    lines[5], lines[22] = "-5           Ns", "9            BCASTs"
    (home / "HPL.dat").write_text("\n".join(lines) + "\n")
    said = hpltune.refused("run", "HPL.dat")
    assert "HPL.dat, line 6:" in said
    assert "HPL.dat, line 23:" in said


@pytest.mark.usefixtures("real_hpl")
@pytest.mark.parametrize("layout", ["4x00", "04x2", "4", "4x2x1"])
def test_a_layout_is_written_as_in_a_space(hpltune: Run, layout: str) -> None:
    hpltune("dat", "HPL.dat", "--N", "1000")
    said = hpltune.refused("run", "HPL.dat", "--layout", layout, "--oversubscribe")
    assert f"layout = {layout}: expected ranks x threads as 4x2" in said


def test_a_data_folder_that_cannot_be_made_is_named(hpltune: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "file").touch()
    monkeypatch.setenv("HPLTUNE_DATA", str(home / "file/data"))
    assert "set HPLTUNE_DATA to another" in hpltune.refused("tune", code=1)


def test_an_impossible_space_says_which_rule_forbids_every_point(hpltune: Run, home: Path) -> None:
    (home / "big.toml").write_text('name = "big"\n[parameters]\nN = [4000000]\nNB = [64]\n')
    said = hpltune.refused("spaces", "big.toml")
    assert "big.toml" in said
    assert "may be used" in said


@pytest.mark.heavy
def test_kernels_chosen_by_the_shell_are_not_inherited(hpltune: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    advice = json.loads(hpltune("doctor", "--json").stdout)["advice"]
    chosen = next(name for name in ("Prescott", "Nehalem", "Core2") if not any(name in one for one in advice))
    monkeypatch.setenv("OPENBLAS_CORETYPE", chosen)
    inherited = json.loads(hpltune("doctor", "--json").stdout)["advice"]
    assert not any(chosen in one for one in inherited)


@pytest.mark.usefixtures("mpirun")
def test_an_n_and_ranks_beyond_this_machine_are_written_with_a_caution_and_the_largest_n(hpltune: Run) -> None:
    done = hpltune("dat", "--N", "9999999", "--NB", "256")
    assert done.returncode == 0, "the file may be meant for another machine"
    assert "9999999" in done.stdout
    found = re.search(r"Caution: N=9999999 needs [\d.]+ GiB, but .* the largest N that fits is (\d+)\.", done.stderr)
    assert found
    assert "Caution: 70,000 ranks are more than the" in hpltune("dat", "--N", "1000", "--ranks", "70000").stderr
    again = hpltune("dat", "--N", str(int(found[1]) // 2), "--ranks", "1", "--NB", "256")
    assert "Caution" not in again.stderr


def test_an_n_that_does_not_fit_names_the_largest_that_does(hpltune: Run) -> None:
    said = hpltune.refused("spaces", "quick", "--set", "N=9999999", "--cores", "2")
    assert re.search(r"take at most N = \d+", said), said
