"""NVBLAS is a BLAS that computes on GPUs: shown with a library and an `nvidia-smi` that stand in for NVIDIA's."""

import json
import os
from pathlib import Path

import pytest
from as_user import Run
from found_here import shared_library
from needs import skip_without
from vendor_programs import fake_gpus

from hpl.blas.openblas import OpenBlas
from hpl.dat import HplDat, render
from hpl.params import HplParams
from hpl.search_paths import SearchPaths
from results.record import Kind
from results.store.store import Store

SOURCE = Path(__file__).parents[1] / "contracts/nvblas.c"
NO_GPU = "nvblas computes on GPUs of NVIDIA, and this machine shows none"


def stand_in(folder: Path, *, driver: bool) -> Path:
    """A library with NVBLAS' name that forwards to the BLAS behind it; with a driver it loads one, as on a GPU."""
    define = [f'-DDRIVER="{shared_library(folder / "libcuda.so.1", "")}"'] if driver else []
    name = "-Wl,-soname,libnvblas.so.12"
    return shared_library(folder / "libnvblas.so.12", SOURCE.read_text(), *define, name, "-ldl")


@pytest.fixture
def one_gpu(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that shows one GPU."""
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setenv("PATH", f"{fake_gpus(home / 'gpu', count=1).parent}:{os.environ['PATH']}")


@pytest.mark.parametrize(
    "command",
    [("tune", "--blas", "nvblas"), ("blas", "--blas", "nvblas", "--blas", "openblas"), ("setup", "--with", "nvblas")],
)
def test_without_a_gpu_one_sentence_is_all(hpltune: Run, command: tuple[str, ...]) -> None:
    done = hpltune(*command)
    assert done.returncode == 1
    assert done.stderr.strip() == f"hpltune: {NO_GPU}"
    assert done.stdout == ""


@pytest.mark.usefixtures("one_gpu")
def test_it_is_installed_from_pypi_and_has_a_study_of_its_own(hpltune: Run) -> None:
    planned = hpltune("setup", "--with", "nvblas", "--dry-run")
    assert "nvidia-cublas-cu12" in planned.stdout
    missing = hpltune("tune", "--blas", "nvblas", "--trials", "1")
    assert "BLAS nvblas is not on this machine" in missing.stderr
    assert "`hpltune setup --with nvblas` installs it" in " ".join(missing.stderr.split())
    both = hpltune("tune", "--blas", "nvblas", "--blas", "openblas", "--trials", "1")
    assert "nvblas computes on GPUs, which have another Rpeak than cores" in " ".join(both.stderr.split())


GRID = ("--space", "quick", "--engine", "grid", "--set", "DEPTH=0", "--set", "SWAP=long", "--set", "binding=none")
"""What a search tries is both kernels, also where a disturbed run is repeated."""


@pytest.mark.heavy
@pytest.mark.usefixtures("one_gpu", "real_hpl")
def test_hpl_runs_with_it_one_rank_on_each_gpu(hpltune: Run, home: Path) -> None:
    if not OpenBlas().candidates(SearchPaths(None, home)):
        skip_without("OpenBLAS")
    library = stand_in(home / "cuda", driver=True)
    asked = ("--set", "N=500", "--set", "NB=64", "--set", "kernel=auto,tile4096", "--confirm", "0", "--study", "gpu")
    done = hpltune.well("tune", "--blas", f"nvblas={library}", *asked, *GRID)
    assert "H100 80GB HBM3: 67000 GFLOPS in double precision" in done.stdout
    with Store.open(home / "data/hpltune.db") as store:
        ran = store.records("gpu")
    assert {record.ranks for record in ran} == {1}, "pilots, too"
    records = [record for record in ran if record.kind is Kind.SEARCH]
    assert [record.reason for record in records if not record.ranked] == []
    assert {record.params["kernel"] for record in records} == {"auto", "tile4096"}
    for record in records:
        assert record.observed is not None
        assert (Path(record.observed.library).name, record.observed.kernel) == ("libnvblas.so.12", "gpu")
        assert "CUDA_VISIBLE_DEVICES" in record.command
        (settings,) = [word for word in record.command.split() if word.startswith("NVBLAS_CONFIG_FILE=")]
        lines = Path(settings.partition("=")[2]).read_text().splitlines()
        assert ("NVBLAS_TILE_DIM 4096" in lines) is (record.params["kernel"] == "tile4096")
    facts = json.loads(hpltune("show", "gpu", str(records[0].number), "--json").stdout)
    assert facts["state"] == "complete"


@pytest.mark.heavy
@pytest.mark.usefixtures("one_gpu", "real_hpl")
def test_a_run_that_never_loaded_the_driver_does_not_count(hpltune: Run, home: Path) -> None:
    library = stand_in(home / "cuda", driver=False)
    (home / "HPL.dat").write_text(render(HplDat.of(HplParams(500, 64, 1, 1))))
    done = hpltune("run", "HPL.dat", "--blas", f"nvblas={library}", "--layout", "1x1")
    assert "asked nvblas for kernel auto, but it runs cpu" in " ".join((done.stdout + done.stderr).split())
