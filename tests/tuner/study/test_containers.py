"""Ranks in an image: with real Charliecloud where it is here, and what is said of an image that does not do."""

import json
import os
from pathlib import Path

import pytest
from as_user import Run
from images import copied, image, require_charliecloud, tree
from stand_in_runtimes import podman, srun_with_pyxis

SETTINGS = ("N=400", "NB=64", "grid=1x2", "layout=2x1")
ONE = (*(word for setting in SETTINGS for word in ("--set", setting)), "--trials", "1", "--confirm", "0")
PLUGINS = ("openmpi", "pmix2")


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """An image with a shell, and without MPI."""
    folder = image(tmp_path / "bare")
    require_charliecloud(folder)
    return folder


def last(hpltune: Run, study: str) -> dict[str, object]:
    """The last trial of a study."""
    told = hpltune("export", "jsonl", study).stdout.splitlines()
    return dict(json.loads(told[-1]))


@pytest.mark.usefixtures("real_hpl")
def test_our_program_and_one_of_the_image_run_in_real_containers(hpltune: Run, home: Path, bare: Path) -> None:
    hpltune.well("tune", *ONE, "--blas", "openblas", "--study", "plain")
    xhpl = Path(str(last(hpltune, "plain")["command"]).split()[-1])
    blas = Path(str(last(hpltune, "plain")["library"]))
    tree(bare, str(blas.parent), "/usr/share/openmpi", "/usr/share/pmix", "/etc/openmpi")
    for plugins in PLUGINS:
        tree(bare, *map(str, Path("/usr/lib").glob(f"*/{plugins}")))
        for plugin in Path("/usr/lib").glob(f"*/{plugins}/lib/*/*.so"):
            copied(bare, plugin)
    copied(bare, xhpl, bare / "opt/hpl/xhpl")

    hpltune.well("tune", *ONE, "--container", str(bare), "--study", "boxed")
    trial = last(hpltune, "boxed")
    assert "/ch-run --join-ct=2 " in str(trial["command"])
    assert trial["library"] == str(blas), "ranks in the image told what they run"
    told = " ".join(hpltune("compare", "plain", "boxed").stdout.split())
    assert f"plain has none and boxed has charliecloud={bare}" in told

    dat = next((home / "data/best").rglob("HPL.dat"))
    hpltune.well("run", str(dat), "--container", str(bare), "--xhpl", "/opt/hpl/xhpl")
    trial = last(hpltune, "run-HPL-1")
    assert "/usr/bin/env LD_PRELOAD=" in str(trial["command"])
    assert str(trial["command"]).endswith(" /opt/hpl/xhpl")
    assert trial["library"] == str(blas)


def test_a_bare_image_is_refused_before_anything_starts(hpltune: Run, bare: Path, prints_hpl: Path) -> None:
    del prints_hpl
    assert f"the image {bare} has no program /opt/hpl/xhpl" in hpltune.refused(
        "tune", *ONE, "--container", str(bare), "--xhpl", "/opt/hpl/xhpl"
    )
    (bare / "usr/bin/sh").write_bytes(b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x02\x00\xb7\x00" + bytes(108))
    assert f"the image {bare} is for another CPU" in hpltune.refused(
        "tune", *ONE, "--container", str(bare), "--xhpl", "/opt/hpl/xhpl"
    )


def test_an_image_that_cannot_be_used_is_told_in_a_sentence(hpltune: Run, home: Path) -> None:
    empty = home / "empty"
    for name in ("dev", "proc", "sys"):
        (empty / name).mkdir(parents=True)
    for given, said in (
        ("/there/is/none", "--container /there/is/none: there is no such image; no container runtime takes this ("),
        ("charliecloud=/there/is/none", "there is no image /there/is/none"),
        ("docker=alpine", "there is no container runtime docker"),
        ("charliecloud=", "write an image, or NAME=IMAGE"),
        (
            f"charliecloud={empty}",
            "is no image, because it holds no system: it lacks tmp, etc/passwd, etc/group, bin/sh",
        ),
    ):
        assert said in hpltune.refused("tune", *ONE, "--container", given)
    done = hpltune("tune", *ONE, "--container", str(empty), "--xhpl", "xhpl")
    assert "name its whole path in the image" in done.stderr
    done = hpltune("tune", *ONE, "--container", str(empty), "--cluster", "kronos")
    assert "--container is for real machines" in done.stderr


def test_a_program_of_an_image_runs_through_another_runtime(
    hpltune: Run, home: Path, prints_hpl: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their command lines are those of the tests of runtimes."""
    programs = home / "runtimes"
    programs.mkdir()
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    podman(programs)
    boxed = ("--container", "podman=localhost/hpl:2.3", "--xhpl", str(prints_hpl), "--study", "boxed")
    hpltune.well("tune", *ONE, *boxed)
    hpltune.well("tune", "--resume", "--study", "boxed", "--trials", "2")
    command = str(last(hpltune, "boxed")["command"])
    assert f" {programs / 'podman'} run " in command
    assert command.endswith(f" {prints_hpl}")
    assert " localhost/hpl:2.3 " in command


def test_srun_starts_images_only_behind_a_batch_system(
    hpltune: Run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    srun_with_pyxis(home)
    monkeypatch.setenv("PATH", f"{home}:{os.environ['PATH']}")
    assert 'slurm=IMAGE needs a cluster behind a batch system with launcher = "srun"' in hpltune.refused(
        "tune", *ONE, "--container", "slurm=hpl.sqfs"
    )
