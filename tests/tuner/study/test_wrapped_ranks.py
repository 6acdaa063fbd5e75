"""Words before the program of every rank: `--wrap`, and `wrap` of a cluster's file."""

import json
from pathlib import Path

import pytest
from as_user import Run

from runners.hosts.cluster import find_real_cluster
from runners.toml_file import ClusterFileError
from tuner.asks.tune import TuneAsk
from tuner.commands.campaigns.reading import ThisMachine, tune_options
from tuner.options import TuneOptions

SETTINGS = ("N=512", "NB=64", "grid=1x2", "layout=2x1")
ONE = (*(word for setting in SETTINGS for word in ("--set", setting)), "--trials", "1", "--confirm", "0")


def trial(hpltune: Run, study: str) -> dict[str, object]:
    """The last trial of a study."""
    told = hpltune("export", "jsonl", study).stdout.splitlines()
    return dict(json.loads(told[-1]))


@pytest.mark.usefixtures("prints_hpl")
def test_every_rank_is_started_through_the_wrapper_also_in_runs_like_a_trial(hpltune: Run, home: Path) -> None:
    hpltune.well("tune", *ONE, "--xhpl", "xhpl", "--wrap", "env 'WHO=a rank'", "--study", "wrapped")
    assert "env 'WHO=a rank' " in str(trial(hpltune, "wrapped")["command"])
    best = next((home / "data/best").rglob("command.sh"))
    assert "env 'WHO=a rank' " in best.read_text()
    hpltune.well("run", str(best.with_name("HPL.dat")), "--like", "wrapped")
    command = str(trial(hpltune, "run-HPL-1")["command"])
    assert command.endswith(f"env 'WHO=a rank' {home / 'xhpl'}")


@pytest.mark.usefixtures("prints_hpl")
def test_a_comparison_says_that_one_side_was_wrapped(hpltune: Run) -> None:
    for study, words in (("plain", ()), ("wrapped", ("--wrap", "env WRAPPED=1"))):
        hpltune.well("tune", *ONE, "--xhpl", "xhpl", *words, "--study", study)
    told = hpltune("compare", "plain", "wrapped").stdout
    assert "plain has none and wrapped has env WRAPPED=1" in " ".join(told.split())
    told = hpltune("compare", "plain", "wrapped", "--interleaved", "--rounds", "2").stdout
    assert "plain has none and wrapped has env WRAPPED=1" in " ".join(told.split())


@pytest.mark.usefixtures("prints_hpl")
def test_a_study_tells_the_modules_with_which_it_began(hpltune: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOADEDMODULES", "GCC/14.2.0:foss/2026a")
    assert hpltune("tune", *ONE, "--xhpl", "xhpl", "--study", "with").returncode == 0
    assert "Modules: GCC/14.2.0, foss/2026a." in hpltune("show", "with").stdout
    monkeypatch.delenv("LOADEDMODULES")
    assert hpltune("tune", *ONE, "--xhpl", "xhpl", "--study", "without").returncode == 0
    told = " ".join(hpltune("compare", "with", "without").stdout.split())
    assert "with has GCC/14.2.0, foss/2026a and without has none" in told


def test_a_cluster_file_names_the_wrapper_word_by_word(tmp_path: Path) -> None:
    file = tmp_path / "lab.toml"
    head = 'name = "lab"\nbackend = "ssh"\nhosts = ["n1"]\n'
    file.write_text(f'{head}wrap = ["numactl", "--interleave=all"]\n')
    cluster = find_real_cluster(file)
    assert cluster is not None
    assert cluster.wrap == ("numactl", "--interleave=all")
    file.write_text(f'{head}wrap = ["numactl", ""]\n')
    with pytest.raises(ClusterFileError, match="expected one word"):
        find_real_cluster(file)


def test_a_study_keeps_its_wrapper() -> None:
    options = tune_options(TuneAsk(wrap="numactl --interleave=all"), ThisMachine())
    assert TuneOptions.from_json(json.loads(json.dumps(options.to_json()))).wrap == ("numactl", "--interleave=all")
