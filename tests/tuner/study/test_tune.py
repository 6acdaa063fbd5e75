"""`hpltune tune` as a user runs it, with real MPI; and with real HPL and BLAS where their results are looked at."""

import json
import os
import shutil
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

import psutil
import pytest
from as_user import HPLTUNE, Run, program
from needs import needs, skip_without
from record_builders import a_study, begun, finished
from waiting import PATIENCE_S, heard, until

from hpl.build.toolchain import Mpi
from results.store.store import Store
from tuner.budget import Budget
from tuner.options import TuneOptions
from tuner.reports.figures.phases import phases_s
from tuner.study.sizing.prediction import prediction_of

pytestmark = pytest.mark.usefixtures("mpirun")
ASKED = {"search", "small", "prefix", "given-up"}
"""Kinds of trials that an engine asks for; the last of a budget is always a full run, a search."""
SMALL = ("--space", "quick", "--set", "N=1000", "--set", "NB=64,128", "--confirm", "1", "--budget", "10m")
FLOW = (*SMALL, "--xhpl", "xhpl")
"""The same of a program that only prints HPL's output."""


def leftovers() -> list[str]:
    """Living processes of runs that this test started, told by the data folder in their environment."""
    mine = os.environ["HPLTUNE_DATA"]
    running = psutil.process_iter(["name", "status", "environ"])
    return [
        process.info["name"]
        for process in running
        if (process.info["environ"] or {}).get("HPLTUNE_DATA") == mine
        and process.info["name"] in {"xhpl", "mpirun", "orted", "prterun", "prted", "sleep"}
        and process.info["status"] != psutil.STATUS_ZOMBIE
    ]


@pytest.mark.usefixtures("real_hpl")
def test_a_study_ends_with_its_best_files_and_a_command_that_runs_them(hpltune: Run, home: Path) -> None:
    best = hpltune.told("tune", *SMALL, "--trials", "3", "--price", "1000", "--power", "100")
    winner = best["ranking"][0]
    assert winner["median_gflops"] > 0
    assert winner["percent_of_peak"] > 0
    assert winner["usd_per_gflops"] == pytest.approx(1000 / winner["expected_gflops"])
    assert "1000         Ns" in Path(best["hpl_dat"]).read_text()
    again = subprocess.run([best["command"]], capture_output=True, text=True, cwd="/", check=False)
    assert "PASSED" in again.stdout, again.stderr
    assert Path(best["full_dat"]).is_file()
    assert "hpltune run" in best["confirm"]
    assert (home / "data/best").is_dir()
    with Store.open(home / "data/hpltune.db") as store:
        noted = prediction_of(store.newest())
        run = store.get(store.newest().name, winner["trial"])
    assert noted is not None
    assert json.loads(json.dumps(noted.to_json())) == best["full"]
    assert {"rfact", "update"} <= phases_s(run).keys()


@pytest.mark.usefixtures("prints_hpl")
def test_a_value_that_no_point_can_have_is_told_and_the_others_are_searched(hpltune: Run) -> None:
    one = ("--space", "quick", "--set", "N=512", "--set", "NB=64,384", "--set", "grid=1x2", "--set", "layout=2x1")
    done = hpltune.well("tune", *one, "--xhpl", "xhpl", "--trials", "1", "--confirm", "0")
    assert (
        "--set NB: no valid combination has 384: N = 512 leaves some of 2 process columns without a panel"
        in done.stdout
    )


@pytest.mark.usefixtures("real_hpl")
def test_every_ask_ends_in_a_record_that_says_what_really_ran(hpltune: Run) -> None:
    hpltune("tune", *SMALL, "--trials", "2", "--study", "told")
    found = hpltune.told("show", "told")
    assert [trial["number"] for trial in found] == list(range(1, len(found) + 1))
    assert {trial["kind"] for trial in found} >= {"pilot", "search", "confirmation"}
    searched = [trial for trial in found if trial["kind"] in ASKED]
    assert len(searched) == 2
    for trial in searched:
        assert trial["state"] == "complete"
        assert Path(str(trial["library"])).is_file()
        assert str(trial["command"]).split()[0].endswith("mpirun")


@pytest.mark.usefixtures("prints_hpl")
@pytest.mark.parametrize("engine", ["grid", "one-at-a-time", "random", "bayes"])
def test_every_engine_runs_a_study(hpltune: Run, engine: str) -> None:
    hpltune.well("tune", *FLOW, "--trials", "2", "--engine", engine, "--study", engine)
    found = hpltune.told("show", engine)
    assert sum(trial["kind"] == "search" for trial in found) == 2
    assert max(int(str(trial["N"])) for trial in found) == 1000, "no pilot run is larger than what is asked for"


@pytest.mark.usefixtures("real_hpl")
@pytest.mark.skipif(shutil.which("mpiexec.hydra") is None, reason=needs("MPICH"))
def test_two_mpi_libraries_run_side_by_side_in_one_study(hpltune: Run) -> None:
    two = ("--set", "mpi=openmpi,mpich", "--engine", "grid", "--points", "2", "--study", "mpis")
    hpltune.well("tune", *SMALL, *two, "--trials", "2")
    asked = [trial for trial in hpltune.told("show", "mpis") if trial["kind"] == "search"]
    assert [trial["state"] for trial in asked] == ["complete", "complete"]
    assert len({str(trial["xhpl_key"]) for trial in asked}) == 2


@pytest.fixture
def with_intel_mpi(hpltune: Run, intel_mpi: Mpi, monkeypatch: pytest.MonkeyPatch, home: Path) -> Run:
    """Runs the command line where `hpltune setup --with intelmpi` has run, with a cache of its own."""
    cache = home / "cache"
    wheels = cache / "prefix/wheels"
    wheels.mkdir(parents=True)
    (wheels / "impi-devel").symlink_to(intel_mpi.mpirun.parents[1])
    (cache / "source").symlink_to(Path(os.environ["HPLTUNE_CACHE"]) / "source")
    monkeypatch.setenv("HPLTUNE_CACHE", str(cache))
    return hpltune


@pytest.mark.usefixtures("real_hpl")
def test_intel_mpi_runs_beside_the_others_with_its_own_program(with_intel_mpi: Run) -> None:
    two = ("--set", "mpi=openmpi,intelmpi", "--engine", "grid", "--points", "2", "--study", "mpis")
    with_intel_mpi.well("tune", *SMALL, *two, "--trials", "2")
    asked = [trial for trial in with_intel_mpi.told("show", "mpis") if trial["kind"] == "search"]
    assert [trial["state"] for trial in asked] == ["complete", "complete"]
    assert len({str(trial["xhpl_key"]) for trial in asked}) == 2
    assert "MPI intelmpi" in with_intel_mpi("doctor", "--all").stdout


@pytest.mark.usefixtures("real_hpl")
def test_a_parameter_that_intel_mpi_lacks_or_that_names_a_file_is_refused(with_intel_mpi: Run) -> None:
    for given, said in (
        ("mpi.I_MPI_ADJUST_BCASTS=1", "has no parameter I_MPI_ADJUST_BCASTS: did you mean mpi.I_MPI_ADJUST_BCAST?"),
        ("mpi.I_MPI_HYDRA_BOOTSTRAP_EXEC=x", "names what MPI starts or loads, which hpltune chooses itself"),
        ("mpi.FI_PROVIDER_PATH=/x", "names what MPI starts or loads, which hpltune chooses itself"),
    ):
        done = with_intel_mpi("tune", *SMALL, "--set", "mpi=intelmpi", "--set", given, "--trials", "1")
        assert done.returncode == 2
        assert said in done.stderr
        assert done.stderr.count("\n") == 1


@pytest.mark.usefixtures("real_hpl")
def test_an_mpi_library_that_is_not_here_is_said(hpltune: Run) -> None:
    assert "MPI lam is not on this machine (found: openmpi" in hpltune.refused(
        "tune", *SMALL, "--set", "mpi=lam", "--trials", "1", "--study", "lam", code=1
    )


@pytest.mark.usefixtures("prints_hpl")
def test_n_is_chosen_from_the_budget_and_this_is_said(hpltune: Run) -> None:
    done = hpltune.well(
        "tune", "--xhpl", "xhpl", "--space", "quick", "--budget", "20s", "--trials", "1", "--study", "sized"
    )
    assert "was chosen from the budget" in done.stdout
    assert "The whole memory" in done.stdout


@pytest.mark.process
@pytest.mark.usefixtures("prints_hpl")
def test_a_killed_study_loses_no_finished_trial_and_goes_on(hpltune: Run) -> None:
    study = ("--study", "killed")
    process = subprocess.Popen([str(HPLTUNE), "tune", *FLOW, "--trials", "6", *study], stdout=subprocess.DEVNULL)

    def two_have_begun() -> bool:
        found = hpltune("show", "killed", "--json")
        return found.returncode == 0 and sum(t["kind"] in ASKED for t in json.loads(found.stdout)) >= 2

    until(lambda: two_have_begun() or process.poll() is not None)
    process.send_signal(signal.SIGKILL)
    process.wait()
    before = [trial for trial in hpltune.told("show", "killed") if trial["state"] == "complete"]
    assert before
    hpltune.well("tune", "--resume", *study)
    after = hpltune.told("show", "killed")
    assert after[: len(before)] == before
    assert sum(trial["kind"] in ASKED and trial["ended_at"] is not None for trial in after) == 6
    assert not [trial for trial in after if trial["state"] == "running"]
    until(lambda: not leftovers())


@pytest.mark.parametrize("later", [None, "all_blas = 3\n"])
def test_a_study_of_a_users_space_goes_on_without_the_file(hpltune: Run, home: Path, later: str | None) -> None:
    space = home / "my.toml"
    space.write_text('name = "mine"\n[parameters]\nN = [1000]\nNB = [64, 128]\n')
    broken = program(home / "xhpl", "#!/bin/sh\nexit 3\n")
    begun = hpltune("tune", "--space", "my.toml", "--xhpl", str(broken), "--hpl-source", "hpl-2.3", "--study", "own")
    assert "ended with code 3" in begun.stderr
    space.unlink()
    if later:
        space.write_text(later)
    done = hpltune("tune", "--resume", "--study", "own")
    assert "ended with code 3" in done.stderr, done.stderr
    with Store.open(home / "data/hpltune.db") as store:
        assert store.study("own").options["hpl_source"] == str(home / "hpl-2.3")


@pytest.mark.usefixtures("prints_hpl")
def test_a_complete_study_goes_on_with_a_larger_budget(hpltune: Run) -> None:
    study = ("--study", "longer")
    hpltune("tune", *FLOW, "--trials", "2", *study)
    done = hpltune.well("tune", "--resume", "--trials", "4", *study)
    assert "engine hpl, 4 trials\n" in done.stdout
    assert "chosen from the budget" not in done.stdout
    assert sum(trial["kind"] in ASKED for trial in hpltune.told("show", "longer")) == 4


def test_a_budget_beside_resume_is_kept_with_the_study(hpltune: Run, home: Path) -> None:
    broken = program(home / "xhpl", "#!/bin/sh\nexit 3\n")
    hpltune("tune", "--xhpl", str(broken), "--trials", "2", "--study", "kept")
    assert "ended with code 3" in hpltune("tune", "--resume", "--run-time", "10m").stderr
    with Store.open(home / "data/hpltune.db") as store:
        assert store.study("kept").options["budget"] == asdict(Budget(run_s=600.0))


@pytest.mark.process
@pytest.mark.parametrize(("name", "words"), [((), "ended with code 3"), (("--study", "default-1"), "exists already")])
def test_a_study_that_somebody_began_in_the_meantime_is_left_alone(
    hpltune_process: Run, home: Path, monkeypatch: pytest.MonkeyPatch, name: tuple[str, ...], words: str
) -> None:
    bin_folder = home / "bin"
    bin_folder.mkdir()
    (bin_folder / "mpicc").symlink_to(str(shutil.which("mpicc")))
    wait = f"touch {home}/asked; until [ -e {home}/go ]; do sleep 0.1; done"
    program(bin_folder / "mpirun", f'#!/bin/sh\n{wait}\nexec {shutil.which("mpirun")} "$@"\n')
    monkeypatch.setenv("PATH", f"{bin_folder}:{os.environ['PATH']}")
    broken = program(home / "xhpl", "#!/bin/sh\nexit 3\n")
    with ThreadPoolExecutor() as pool, Store.open(home / "data/hpltune.db") as store:
        slow = pool.submit(hpltune_process, "tune", "--xhpl", str(broken), *name)
        until(lambda: (home / "asked").exists() or slow.done())
        assert not slow.done()
        store.create_study(a_study("default-1"))
        store.end_study("default-1", "complete")
        (home / "go").touch()
        assert words in slow.result().stderr, slow.result().stderr
        assert store.study("default-1") == a_study("default-1", state="complete")
        assert store.records("default-1") == []
        assert [study.name for study in store.studies()][1:] == ([] if name else ["default-2"])


@pytest.mark.process
@pytest.mark.usefixtures("prints_hpl")
def test_the_first_ctrl_c_lets_the_running_trial_end_and_resume_goes_on(hpltune: Run) -> None:
    arguments = [str(HPLTUNE), "tune", *FLOW, "--trials", "50", "--study", "stopped"]
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("#3"):
            break
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130
    assert "Stopping after the running trial" in stderr
    assert {trial["state"] for trial in hpltune.told("show", "stopped")} == {"complete"}
    assert not leftovers()


@pytest.mark.process
@pytest.mark.parametrize(
    ("command", "study", "signals"),
    [
        ("tune --study first", "first", (signal.SIGINT, signal.SIGINT)),
        ("tune --study first", "first", (signal.SIGTERM,)),
        ("tune --study first", "first", (signal.SIGHUP,)),
        ("run HPL.dat", "run-HPL-1", (signal.SIGINT, signal.SIGINT)),
    ],
)
def test_a_study_that_is_stopped_at_once_in_its_first_run_can_be_resumed(
    hpltune: Run, home: Path, command: str, study: str, signals: tuple[signal.Signals, ...]
) -> None:
    hanging = program(home / "xhpl", f"#!/bin/sh\ntouch {home}/started\nsleep 1000\n")
    hpltune("dat", "HPL.dat", "--N", "1000")
    arguments = [str(HPLTUNE), *command.split(), "--xhpl", str(hanging)]
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    until(lambda: (home / "started").exists() or process.poll() is not None)
    assert process.poll() is None
    assert process.stderr is not None
    for each in signals:
        process.send_signal(each)
        heard(process.stderr, "Stopping a")  # "after the running trial", or "at once"
    stdout, stderr = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130, stderr
    on = "Stopped before its first result: `hpltune tune --resume --study first` goes on."
    assert (on in stdout) is (study == "first")
    assert [trial["state"] for trial in hpltune.told("show", study)] == ["cancelled"]
    assert not leftovers()


@pytest.mark.usefixtures("prints_hpl")
def test_a_file_with_several_values_gives_one_record_each(hpltune: Run, home: Path) -> None:
    hpltune("dat", "HPL.dat", "--N", "600")
    text = (home / "HPL.dat").read_text()
    lines = text.splitlines()
    lines[6], lines[7] = "2            # of NBs", "32 64        NBs"
    (home / "HPL.dat").write_text("\r\n".join(lines) + "\r\n")
    done = hpltune.well("run", "HPL.dat", "--xhpl", "xhpl", "--json")
    runs = json.loads(done.stdout)["runs"]
    assert [run["params"]["NB"] for run in runs] == [32, 64]
    assert all(run["counts"] for run in runs)


@pytest.mark.usefixtures("prints_hpl")
def test_a_file_is_run_like_the_best_of_a_study_by_its_objective(hpltune: Run, home: Path) -> None:
    cluster, objective = {"nodes": 8, "physical_cores": 32}, {"objective": "usd-per-gflops"}
    with Store.open(home / "like.db") as store:
        store.create_study(
            a_study(
                "cheap",
                host=cluster,
                versions={"simulator": "SimGrid 3.32"},
                options={**TuneOptions().to_json(), **objective},
            )
        )
        for layout, binding, gflops in (("32x1", "core", 200.0), ("4x1", "none", 80.0)):
            params = {"layout": layout, "binding": binding, "blas": "openblas"}
            number = store.begin(begun("cheap", key=layout, params=params))
            store.finish(finished(number, gflops, "cheap", key=layout, params=params, kernel="auto"))
    hpltune("dat", "HPL.dat", "--N", "600")
    done = hpltune.well("run", "HPL.dat", "--xhpl", "xhpl", "--like", "cheap", "--db", "like.db", "--json")
    assert json.loads(done.stdout)["runs"][0]["params"]["binding"] == "none"
    with Store.open(home / "like.db") as store:
        assert store.newest().notes.like == "cheap#2"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("#!/bin/sh\nkill -9 $$\n", "signal 9"),
        ("#!/bin/sh\necho hello\n", "HPL printed 0 of 1 results; its last words: hello"),
        (
            "#!/bin/sh\necho 'no\tlicence\033[1m' >&2\nexit 4\n",
            "nothing can be tuned: a rank ended with code 4; its last words: no licence",
        ),
    ],
)
def test_a_program_that_fails_is_told_in_one_sentence(hpltune: Run, home: Path, text: str, words: str) -> None:
    broken = program(home / "xhpl", text)
    assert words in hpltune.refused("tune", "--xhpl", str(broken), "--budget", "30s", code=1)


def test_a_hanging_program_is_ended_and_recorded_as_a_timeout(hpltune: Run, home: Path) -> None:
    hanging = program(home / "xhpl", "#!/bin/sh\ntrap '' TERM\nsleep 1000\n")
    hpltune("dat", "HPL.dat", "--N", "1000")
    done = hpltune("run", "HPL.dat", "--xhpl", str(hanging), "--walltime", "2s", "--db", "hung.db")
    assert done.returncode == 1
    assert "timeout: stopped at its time limit" in done.stdout
    assert not leftovers()


@pytest.mark.process
def test_what_a_run_needs_is_not_cleaned_away(hpltune: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hpltune("dat", "HPL.dat", "--N", "1000")
    monkeypatch.setenv("HPLTUNE_CACHE", str(home / "cache"))
    hanging = program(home / "xhpl", "#!/bin/sh\nsleep 1000\n")
    process = subprocess.Popen([str(HPLTUNE), "run", "HPL.dat", "--xhpl", str(hanging)], stdout=subprocess.DEVNULL)
    try:
        output = home / "data/runs/run-HPL-1/00001/stdout"
        until(output.exists)
        done = hpltune("clean", "--yes", "--runs")
        assert (done.returncode, done.stderr.count("\n")) == (1, 1)
        assert "hpltune is running and uses the files in" in done.stderr
        assert output.exists()
    finally:
        process.terminate()
        process.wait()
    assert hpltune("clean", "--yes", "--runs").returncode == 0
    assert not output.exists()


@pytest.mark.usefixtures("real_hpl")
def test_a_user_library_is_used_under_its_name(hpltune: Run) -> None:
    libraries = [
        Path(f"/usr/lib/{os.uname().machine}-linux-gnu/{name}")
        for name in ("openblas-serial/libopenblas.so.0", "blas/libblas.so.3", "libblas.so.3")
    ]
    library = next((path for path in libraries if path.exists()), None)
    if library is None:
        skip_without("Debian's reference BLAS")
    hpltune.well("tune", *SMALL, "--trials", "1", "--blas", f"mine={library}", "--study", "own")
    searched = [trial for trial in hpltune.told("show", "own") if trial["kind"] == "search"]
    assert searched[0]["blas"] == "mine"
    assert searched[0]["library"] == str(library.resolve())
    hpltune("dat", "HPL.dat", "--N", "600")
    hpltune.well("run", "HPL.dat", "--like", f"own#{searched[0]['number']}")
    assert hpltune.told("show", "run-HPL-1")[0]["library"] == str(library.resolve())


@pytest.mark.usefixtures("real_hpl")
@pytest.mark.parametrize(
    ("given", "blas", "words"),
    [
        ({"xhpl": Path("xhpl")}, "xhpl", "ended with code 3"),
        ({"xhpl": Path("gone")}, "xhpl", "--xhpl gone: there is no such file"),
        ({"blas_files": {"mine": Path("broken.so")}}, "mine", "broken.so does not load"),
        ({"hpl_source": Path("gone")}, "openblas", "there is no such file or folder"),
    ],
)
def test_a_file_is_run_like_a_trial_with_what_the_user_gave_to_its_study(
    hpltune: Run, home: Path, given: dict[str, Any], blas: str, words: str
) -> None:
    program(home / "xhpl", "#!/bin/sh\nexit 3\n")
    (home / "broken.so").write_text("no library")
    hpltune("dat", "HPL.dat", "--N", "600")
    with Store.open(home / "data/hpltune.db") as store:
        store.create_study(a_study("stored", options=TuneOptions(**given).to_json()))
        store.finish(finished(store.begin(begun("stored")), study="stored", blas=blas, kernel="auto", threads=1))
    done = hpltune("run", "HPL.dat", "--like", "stored#1")
    assert done.returncode == (2 if "there is no such" in words else 1)
    assert words in done.stdout + done.stderr, done.stdout + done.stderr


@pytest.mark.usefixtures("real_hpl")
def test_more_memory_than_is_free_is_refused_before_the_launch(hpltune: Run) -> None:
    hpltune("dat", "HPL.dat", "--N", "1000000")
    done = hpltune("run", "HPL.dat")
    assert done.returncode == 1
    assert "of memory are free now" in done.stdout
