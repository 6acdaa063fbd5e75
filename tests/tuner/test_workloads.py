"""HPL-MxP and HPCG are tuned, stored and reported as workloads of their own, and never ranked with HPL."""

import json
import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from as_user import Run
from vendor_programs import fake_gpus, hpcg, nvidia_hpl, nvidia_mxp, roc_mxp

from hpl.dat import HplDat, render
from hpl.params import HplParams
from hpl.programs import gpus
from hpl.programs.terms import Gpu
from results.record import Kind, TrialRecord, TrialState
from results.store.store import Store

pytestmark = pytest.mark.real
SIZES = tuple(word for name in ("nx", "ny", "nz") for word in ("--set", f"program.{name}=16,32"))


@pytest.fixture(autouse=True)
def starts(mpirun: str) -> None:
    """These tests start ranks."""
    del mpirun


def words(text: str) -> str:
    return " ".join(text.split())


@pytest.fixture
def rated(hpltune: Run, home: Path) -> str:
    """A study of HPCG, and what the terminal said of it."""
    study = ("--trials", "10", "--confirm", "1", "--study", "rated")
    done = hpltune.well("tune", "--xhpl", str(hpcg(home)), *SIZES, *study)
    return words(done.stdout + done.stderr)


def test_hpcg_is_tuned_by_the_equations_of_a_rank_and_its_ranks(rated: str, home: Path) -> None:
    assert "This is HPCG: the engine hpl knows HPL only, so bayes searches" in rated
    assert "Caution: Each run computes 60 s, so its rating is not official: HPCG demands 1800 s" in rated
    assert "The HPCG rating is" in rated
    assert "Rmax" not in rated
    assert "Rpeak =" not in rated
    with Store.open(home / "data/hpltune.db") as store:
        study, records = store.study("rated"), store.records("rated", outputs=True)
    assert study.workload.name == "hpcg"
    assert study.space_name == "hpcg"
    searched = [record for record in records if record.kind is Kind.SEARCH]
    assert {record.state for record in searched} == {TrialState.COMPLETE}, [record.reason for record in searched]
    best = max(searched, key=lambda record: record.gflops or 0.0)
    assert [best.params[f"program.{name}"] for name in ("nx", "ny", "nz")] == [32, 16, 16]
    assert {"N", "NB", "grid", "BCAST"}.isdisjoint(best.params)
    assert best.hpl is None
    assert best.hpl_dat.splitlines()[2:] == ["32 16 16", "60"]
    assert (home / "data/best/rated/hpcg.dat").read_text() == best.hpl_dat
    assert not (home / "data/best/rated/HPL.dat").exists()


@pytest.mark.usefixtures("rated")
def test_what_is_told_of_a_study_of_hpcg_is_true(hpltune: Run, home: Path) -> None:
    for command in (
        ("show",),
        ("show", "rated"),
        ("show", "rated", "2"),
        ("best", "rated"),
        ("export", "csv", "rated"),
    ):
        assert "Rmax" not in hpltune.well(*command).stdout
    assert "measured, HPCG" in words(hpltune("show").stdout)
    assert json.loads(hpltune("show", "--json").stdout)[0]["workload"] == "hpcg"
    hpltune.well("report", "rated", "-o", str(home / "page.html"))
    page = (home / "page.html").read_text()
    assert "HPCG on " in page
    assert "<dt>HPCG rating</dt>" in page
    for hpls in ("Rmax", "Nmax", "N½", "HPL.dat"):
        assert hpls not in page
    hpltune.well("tune", "--resume", "--study", "rated", "--trials", "12")


@pytest.mark.usefixtures("rated", "prints_hpl")
def test_hpcg_is_never_held_against_hpl(hpltune: Run, home: Path) -> None:
    done = hpltune.well(
        "tune", "--xhpl", "xhpl", "--set", "N=1000", "--trials", "1", "--confirm", "0", "--study", "solved"
    )
    (home / "HPL.dat").write_text(render(HplDat.of(HplParams(1000, 64, 1, 1))))
    (home / "rated.csv").write_text(hpltune("export", "csv", "rated").stdout)
    for command, sentence in (
        (
            ("compare", "solved", "rated"),
            "study solved is of HPL and study rated of HPCG, whose rates count other work",
        ),
        (("explain", "rated"), "study rated is of HPCG, and what matters is told by a model of HPL's time"),
        (("export", "sheet", "rated"), "study rated is of HPCG: the sheet is for the lists of HPL"),
        (("check", "--baseline", "rated"), "that study is of HPCG, which reads no HPL.dat: only `hpltune tune`"),
        (("blas", "--program", "xhpcg=xhpcg"), "whose rates are never ranked together"),
        (
            ("tune", "--replay", "rated.csv", "--trials", "1"),
            "column blas: hpcg: expected a run of HPL, and this is one of HPCG",
        ),
        (("run", "HPL.dat", "--xhpl", "xhpcg"), "this computes HPCG, which reads no HPL.dat"),
        (("run", "HPL.dat", "--like", "rated#2"), "this computes HPCG, which reads no HPL.dat"),
        (
            ("tune", "--xhpl", "xhpl", "--warm-start", "rated", "--trials", "1"),
            "this is of HPCG, and the study of HPL: nothing of it helps",
        ),
    ):
        done = hpltune(*command)
        assert done.returncode != 0
        assert sentence in words(done.stderr)
        assert "Traceback" not in done.stderr


@pytest.mark.usefixtures("prints_hpl")
@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            ("--program", "a=xhpl", "--program", "b=xhpcg"),
            "a computes HPL and b computes HPCG, whose rates are never ranked together: give each a study of its own",
        ),
        (("--xhpl", "xhpcg", "--set", "BCAST=1rM"), "the program has no such parameter (it has: layout, program.nx"),
        (("--xhpl", "xhpcg", "--set", "N=1000"), "the program has no such parameter (it has: layout, program.nx"),
        (("--xhpl", "xhpcg", "--set", "memory_fraction=0.5"), "the program has no such parameter (it has: layout"),
        (("--xhpl", "xhpcg", "--set", "program.nx=100"), "program.nx = 100 is refused by HPCG: take a multiple of 8"),
        (("--xhpl", "xhpcg", "--set", "program.nx=8"), "expected a number from 16 to 1024"),
        (("--xhpl", "xhpcg", "--full"), "--full gives the N of HPL, and this is HPCG"),
        (("--xhpl", "xhpcg", "--pareto", "percent-of-peak"), "--pareto is for HPL, and this is HPCG"),
    ],
)
def test_what_is_none_of_hpcgs_is_one_sentence_before_anything_starts(
    hpltune: Run, home: Path, options: Sequence[str], sentence: str
) -> None:
    hpcg(home)
    assert sentence in words(hpltune.refused("tune", *options, "--trials", "1"))
    with Store.open(home / "data/hpltune.db") as store:
        assert not store.studies()


@pytest.fixture
def two_gpus(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two GPUs of NVIDIA, as their tool tells of them."""
    monkeypatch.setenv("PATH", f"{fake_gpus(home / 'gpus').parent}:{os.environ['PATH']}")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)


@pytest.fixture
def two_of_amd(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two GPUs of AMD."""
    monkeypatch.setattr(gpus, "gpus", lambda _root=None: (Gpu("AMD", "AMD Instinct MI210", 64 * 2**30),) * 2)


FEW = tuple(
    word
    for one in (
        *("sloppy_type=auto", "u_panel_chunk_nbs=8", "use_mpi_panel_broadcast=50", "prioritize_trsm=0,1"),
        *("prioritize_factorization=0", "use_separate_stream_for_gemm=1", "fill_device=0", "affinity=near"),
    )
    for word in ("--set", f"program.{one}")
)


def mixed(hpltune: Run, home: Path, file: Path, *options: str) -> tuple[str, Sequence[TrialRecord]]:
    """What the terminal said of a study of HPL-MxP, and its search trials."""
    study = ("--trials", "24", "--confirm", "1", "--study", "mixed")
    done = hpltune.well("tune", "--xhpl", str(file), *options, *study)
    with Store.open(home / "data/hpltune.db") as store:
        assert store.study("mixed").workload.name == "hpl-mxp"
        assert store.study("mixed").rpeak_gflops is None
        records = [record for record in store.records("mixed", outputs=True) if record.kind is Kind.SEARCH]
    assert {record.state for record in records} == {TrialState.COMPLETE}, [record.reason for record in records]
    return words(done.stdout + done.stderr), records


@pytest.mark.usefixtures("two_gpus")
def test_the_best_n_of_nvidias_hpl_mxp_is_not_the_largest(hpltune: Run, home: Path) -> None:
    said, records = mixed(hpltune, home, nvidia_mxp(home), *FEW)
    best = max(records, key=lambda record: record.gflops or 0.0)
    assert 0.25 <= float(best.params["memory_fraction"]) <= 0.55
    assert best.params["NB"] == 3072
    assert {"BCAST", "DEPTH", "SWAP"}.isdisjoint(best.params)
    assert f"--n {best.params['N']} --nb 3072" in best.command
    assert not best.hpl_dat
    assert "The HPL-MxP rate is" in said
    for hpls in ("Rmax", "Rpeak", "% of peak", "HPL.dat of the best", "HPL-MxP.dat of the best", "is small"):
        assert hpls not in said
    assert not list((home / "data/best/mixed").glob("*.dat"))
    assert (home / "data/best/mixed/command.sh").is_file()
    hpltune.well("report", "mixed", "-o", str(home / "page.html"))
    page = (home / "page.html").read_text()
    assert "HPL-MxP rate at N=" in page
    for hpls in ("Rmax", "Nmax", "N½", "Rpeak", "% of peak", "HPL.dat"):
        assert hpls not in page
    assert "has no HPL.dat: its program reads none" in words(hpltune.refused("export", "dat", "mixed", code=1))
    for command in (("show", "mixed", "2"), ("best", "mixed"), ("export", "csv", "mixed"), ("export", "md", "mixed")):
        assert "Rmax" not in hpltune.well(*command).stdout


@pytest.mark.usefixtures("two_of_amd")
def test_rochpl_mxp_is_tuned_with_its_own_file(hpltune: Run, home: Path) -> None:
    said, records = mixed(hpltune, home, roc_mxp(home))
    best = max(records, key=lambda record: record.gflops or 0.0)
    assert float(best.params["memory_fraction"]) < 0.6
    assert "-i HPL-MxP.dat" in best.command
    assert best.hpl_dat.splitlines()[5].split()[0] == str(best.params["N"])
    assert "The HPL-MxP rate is" in said
    assert (home / "data/best/mixed/HPL-MxP.dat").is_file()


@pytest.mark.usefixtures("two_gpus")
@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--set", "BCAST=1rM"), "no such parameter (it has: layout, N, NB, grid, PMAP, program.sloppy_type"),
        (("--set", "N=400000"), "of the GPUs' memory may be used: take at most N = "),
        (("--space", "quick"), "leaves N to the budget, and the N that is best for HPL-MxP is none"),
        (("--objective", "percent-of-peak"), "the peak in double precision is none of HPL-MxP: choose gflops"),
        (("--set", "layout=1x2"), "the layout 1x2 is refused by the program: it takes 2 ranks a node"),
    ],
)
def test_what_hpl_mxp_has_not_is_one_sentence(hpltune: Run, home: Path, options: Sequence[str], sentence: str) -> None:
    done = hpltune("tune", "--xhpl", str(nvidia_mxp(home)), *options, "--trials", "1")
    assert done.returncode in {1, 2}, done.stderr
    assert sentence in words(done.stderr)
    assert "Traceback" not in done.stderr


@pytest.mark.usefixtures("two_gpus")
def test_an_hpl_dat_and_a_program_of_hpl_do_not_go_with_hpl_mxp(hpltune: Run, home: Path) -> None:
    (home / "HPL.dat").write_text(render(HplDat.of(HplParams(1000, 64, 1, 1))))
    file, other = nvidia_mxp(home), nvidia_hpl(home)
    said = hpltune.refused("run", "HPL.dat", "--xhpl", str(file))
    assert "this computes HPL-MxP, which reads no HPL.dat: only `hpltune tune` runs it" in words(said)
    said = hpltune.refused("tune", "--program", f"a={file}", "--program", f"b={other}", "--trials", "1")
    assert "a computes HPL-MxP and b computes HPL, whose rates are never ranked together" in words(said)


def test_without_a_gpu_hpl_mxp_is_one_sentence(hpltune: Run, home: Path) -> None:
    for file in (nvidia_mxp(home), roc_mxp(home)):
        said = hpltune.refused("tune", "--xhpl", str(file), "--trials", "1", code=1)
        assert "and this machine shows none" in words(said)
