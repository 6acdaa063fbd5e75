"""One HPL.dat on a virtual cluster, what spaces for virtual clusters say elsewhere, and settings no network takes."""

import json
import tomllib
from pathlib import Path

import pytest
from as_user import Run
from record_builders import a_study, begun, finished

from hpl.dat import HplDat, render
from hpl.params import HplParams
from results.store.store import Store
from runners.virtual.load import load_cluster
from search_spaces.load import space_text
from tuner.options import TuneOptions

pytestmark = pytest.mark.usefixtures("home")
RUN = HplParams(600, 64, 2, 4)
SMALL = ("--set", "N=600", "--set", "NB=64", "--set", "blas=atlas", "--trials", "2")


@pytest.fixture
def hpl_dat() -> str:
    Path("HPL.dat").write_text(render(HplDat.of(RUN)))
    return "HPL.dat"


@pytest.mark.usefixtures("simgrid")
def test_one_hpl_dat_is_simulated_with_the_record_and_the_report_of_a_measured_one(hpltune: Run, hpl_dat: str) -> None:
    done = hpltune.well("run", hpl_dat, "--cluster", "kronos", "--blas", "acml")
    assert "Simulated on Kronos: " in done.stdout
    assert "N=600 NB=64 2x4 with acml" in done.stdout
    assert "Stored as simulated study run-HPL-1." in done.stdout
    [trial] = hpltune.told("show", "run-HPL-1")
    assert trial["kind"] == "run"
    assert trial["params"]["layout"] == "8x1"
    told = json.loads(hpltune("run", hpl_dat, "--cluster", "kronos", "--like", "run-HPL-1#1", "--json").stdout)
    assert told["simulated"] is True
    assert told["runs"][0]["params"]["blas"] == "acml"
    assert told["runs"][0]["gflops"] == trial["gflops"]


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (("--layout", "8x1"), "--layout is for real machines and changes nothing on a virtual --cluster: leave it out"),
        (("--oversubscribe",), "--oversubscribe is for real machines"),
        (("--blas", "mine=HPL.dat"), "--blas NAME=FILE is for real machines"),
    ],
)
def test_what_changes_nothing_in_a_simulation_is_refused(
    hpltune: Run, hpl_dat: str, more: tuple[str, ...], sentence: str
) -> None:
    done = hpltune("run", hpl_dat, "--cluster", "kronos", *more)
    assert done.returncode != 0
    assert sentence in done.stderr


@pytest.mark.usefixtures("simgrid")
def test_a_file_for_more_ranks_than_the_cluster_has_cores_is_refused(hpltune: Run) -> None:
    Path("HPL.dat").write_text(render(HplDat.of(HplParams(600, 64, 4, 4))))
    assert "HPL.dat needs 16 ranks, but Kronos has 8 cores" in hpltune.refused("run", "HPL.dat", "--cluster", "kronos")


@pytest.mark.usefixtures("real_hpl")
def test_a_run_like_a_simulated_one_says_whose_blas_it_takes(hpltune: Run, home: Path) -> None:
    Path("HPL.dat").write_text(render(HplDat.of(HplParams(200, 32, 1, 1))))
    with Store.open(home / "sim.db") as store:
        versions = {"simulator": "SimGrid 3.32"}
        facts = {"virtual_cluster": "Kronos"}
        store.create_study(a_study("sim", versions=versions, host=facts, options=TuneOptions().to_json()))
        params = {"blas": "openblas", "kernel": "auto", "layout": "1x1"}
        trial = store.begin(begun("sim", params=params))
        store.finish(finished(trial, 14.0, "sim", params=params, blas="openblas", threads=1, versions=versions))
    done = hpltune("run", "HPL.dat", "--like", "sim", "--db", "sim.db")
    assert "Caution: --like sim was simulated on Kronos. Its BLAS, openblas, is the best of that cluster" in done.stdout
    own = hpltune("run", "HPL.dat", "--like", "sim", "--blas", "openblas", "--db", "sim.db")
    assert "Caution: --like" not in own.stdout


@pytest.mark.parametrize("name", ["kronos", "kronos-free"])
def test_the_spaces_of_kronos_have_the_throttling_of_the_article(name: str) -> None:
    throttle_us = load_cluster("kronos").networks["gige"].throttle_us
    assert tomllib.loads(space_text(name))["parameters"]["net"]["rx_usecs"] == [0, throttle_us]


@pytest.mark.heavy
def test_a_space_for_a_virtual_cluster_is_counted_for_it_wherever_it_is_looked_at(hpltune: Run) -> None:
    for more in ((), ("--cores", "8")):
        done = hpltune("spaces", "kronos-free", "--json", *more)
        assert sorted(json.loads(done.stdout)["parameters"]["blas"]) == ["acml", "atlas"]
    assert "Counted for the virtual cluster Kronos, not for this machine." in hpltune("spaces", "kronos").stdout
    assert "which has 8 cores" in hpltune("spaces", "kronos", "--cores", "4").stderr


@pytest.mark.usefixtures("simgrid")
@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        ("net.nics=1,2", "net.nics: no valid combination has 2: network gige: 2 NICs: these nodes have 1"),
        ("net.nics=2", "network gige: 2 NICs: these nodes have 1"),
        ("net.nics=0", "net.nics"),
        ("net.mtu=1500,12000", "an MTU of 12000: this network takes 256 to 9000"),
        ("net.network=gigge", "Kronos has gige, faste; did you mean gige?"),
        ("mpi.btl=tcp", "mpi.btl: without meaning on a virtual cluster"),
    ],
)
def test_a_setting_that_no_network_of_the_cluster_takes_is_refused_before_any_trial(
    hpltune: Run, setting: str, sentence: str
) -> None:
    assert sentence in hpltune.refused("tune", "--cluster", "kronos", "--space", "quick", *SMALL, "--set", setting)
    assert json.loads(hpltune("show", "--json").stdout) == []


@pytest.mark.usefixtures("simgrid")
def test_a_setting_that_one_network_takes_is_tried_with_that_one_only(hpltune: Run) -> None:
    nets = ("--set", "net.network=gige,faste", "--set", "net.mtu=1500,9000", "--engine", "grid")
    hpltune.well("tune", "--cluster", "kronos", "--space", "quick", *SMALL[:-1], "40", *nets, "--set", "DEPTH=0")
    trials = hpltune.told("show", "quick-1")
    assert all(trial["state"] == "complete" for trial in trials)
    tried = {(trial["params"]["net.network"], trial["params"]["net.mtu"]) for trial in trials}
    assert tried == {("gige", 1500), ("gige", 9000), ("faste", 1500)}
