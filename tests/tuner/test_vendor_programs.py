"""Programs of vendors are tuned with parameters of their own: real executables stand in for those that are not here."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from as_user import Run
from vendor_programs import amd_zen_hpl, fake_gpus, intel_hpl, nvidia_hpl, roc_hpl

from hpl.dat import HplDat, render
from hpl.params import Bcast, HplParams
from hpl.programs import gpus
from hpl.programs.terms import Gpu
from results.record import Kind, TrialRecord, TrialState
from results.store.store import Store

pytestmark = pytest.mark.real
StandIn = Callable[[Path], Path]


@pytest.fixture(autouse=True)
def starts(mpirun: str) -> None:
    """These tests start ranks."""
    del mpirun


def tuned(hpltune: Run, home: Path, stand_in: StandIn, *options: str) -> Sequence[TrialRecord]:
    """The trials of a study of a program that stands in for a vendor's."""
    file = stand_in(home)
    study = ("--trials", "20", "--confirm", "1", "--study", "vendor")
    done = hpltune("tune", "--xhpl", str(file), "--set", "N=1000", "--set", "NB=192,384", *options, *study)
    assert done.returncode == 0, done.stderr
    with Store.open(home / "data/hpltune.db") as store:
        found = [record for record in store.records("vendor") if record.kind is Kind.SEARCH]
    assert {record.state for record in found} == {TrialState.COMPLETE}, [record.reason for record in found]
    return found


def best(records: Sequence[TrialRecord]) -> TrialRecord:
    return max(records, key=lambda record: record.gflops or 0.0)


def test_amd_zen_hpl_is_tuned_with_its_kernels_and_its_own_broadcast(hpltune: Run, home: Path) -> None:
    records = tuned(hpltune, home, amd_zen_hpl, "--set", "layout=2x1", "--set", "grid=1x2")
    assert {record.params["blas"] for record in records} == {"amd-zen"}
    assert {"auto", "zen4"} <= {record.params["program.arch"] for record in records}
    found = best(records)
    assert (found.params["NB"], found.params["program.arch"]) == (384, "zen4")
    assert "BLIS_ARCH_TYPE=zen4" in found.command
    assert "OMP_PROC_BIND=close" in found.command
    assert "bc7" in {record.params["BCAST"] for record in records}


def test_intels_hpl_is_tuned_with_large_pages_and_its_own_broadcasts(hpltune: Run, home: Path) -> None:
    records = tuned(hpltune, home, intel_hpl, "--set", "layout=2x1", "--set", "grid=1x2")
    found = best(records)
    assert found.params["program.largepage"] == 1
    assert "HPL_LARGEPAGE=1" in found.command
    assert {"bc6", "bc7"} & {record.params["BCAST"] for record in records}
    assert any("HPL_HOST_NODE=" in record.command for record in records)


def test_a_broadcast_of_vendors_is_not_run_with_netlibs_hpl(hpltune: Run, home: Path, prints_hpl: Path) -> None:
    del prints_hpl
    done = hpltune("tune", "--xhpl", "xhpl", "--set", "N=1000", "--set", "BCAST=bc6", "--trials", "1")
    assert done.returncode == 2
    assert "BCAST = bc6 is refused by the program: only HPL of some vendors has it" in " ".join(done.stderr.split())
    (home / "HPL.dat").write_text(render(HplDat.of(HplParams(1000, 64, 1, 1, BCAST=Bcast.VENDOR_6))))
    done = hpltune("run", "HPL.dat", "--xhpl", "xhpl")
    assert done.returncode != 0
    assert "BCAST = bc6 is refused by the program" in " ".join(done.stderr.split())


def test_intels_hpl_dat_is_run_with_intels_hpl(hpltune: Run, home: Path) -> None:
    (home / "HPL.dat").write_text(render(HplDat.of(HplParams(1000, 64, 1, 1, BCAST=Bcast.VENDOR_6))))
    done = hpltune("run", "HPL.dat", "--xhpl", str(intel_hpl(home)))
    assert done.returncode == 0, done.stderr
    with Store.open(home / "data/hpltune.db") as store:
        (record,) = store.records("run-HPL-1")
    assert record.ranked, record.reason
    assert record.params["BCAST"] == "bc6"


def test_intels_script_is_one_sentence(hpltune: Run, home: Path) -> None:
    script = intel_hpl(home).rename(home / "runme_intel64_dynamic")
    done = hpltune("tune", "--xhpl", str(script), "--trials", "1")
    assert done.returncode == 2
    said = " ".join(done.stderr.split())
    assert "--xhpl" in said
    assert "this script of Intel's starts MPI by itself: name xhpl_intel64_dynamic beside it" in said
    assert "Traceback" not in done.stderr


@pytest.fixture
def two_gpus(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two GPUs of NVIDIA, as their tool tells of them."""
    folder = fake_gpus(home / "gpus").parent
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)


@pytest.mark.usefixtures("two_gpus")
def test_nvidia_hpl_is_tuned_with_a_rank_on_each_gpu(hpltune: Run, home: Path) -> None:
    few = ("fct_comm_policy=1", "dist_trsm_flag=1", "chunk_size_nbs=16", "cta_per_fct=16", "nvshmem_swap=0")
    options = [word for one in few for word in ("--set", f"program.{one}")]
    records = tuned(hpltune, home, nvidia_hpl, *options, "--set", "program.p2p_as_bcast=0,1")
    assert {(record.params["layout"], record.params["L1"]) for record in records} == {("2x1", "notransposed")}
    assert all("--gpu-affinity 0:1" in record.command for record in records)
    assert all("--bind-to none" in record.command for record in records)
    assert {record.params["DEPTH"] for record in records}
    found = best(records)
    assert (found.params["NB"], found.params["program.p2p_as_bcast"]) == (384, 1)
    assert "HPL_P2P_AS_BCAST=1" in found.command


@pytest.mark.usefixtures("two_gpus")
def test_what_gpus_do_not_take_is_one_sentence_before_anything_starts(hpltune: Run, home: Path) -> None:
    file = str(nvidia_hpl(home))
    for setting, sentence in (
        ("N=200000", "but only 159.3 GiB of the GPUs' memory may be used: take at most N = "),
        ("L1=transposed", "L1 = transposed is refused by the program: it takes notransposed"),
        ("layout=1x2", "the layout 1x2 is refused by the program: it takes 2 ranks a node"),
    ):
        done = hpltune("tune", "--xhpl", file, "--set", setting, "--trials", "1")
        assert done.returncode == 2, done.stderr
        assert sentence in " ".join(done.stderr.split())
    nvshmem = ("--set", "program.p2p_as_bcast=4", "--set", "program.use_nvshmem=0")
    done = hpltune("tune", "--xhpl", file, "--set", "N=1000", *nvshmem, "--trials", "1")
    assert done.returncode == 2, done.stderr
    assert "program.p2p_as_bcast = 4 sends with NVSHMEM" in " ".join(done.stderr.split())


def test_without_a_gpu_a_program_of_gpus_is_one_sentence(hpltune: Run, home: Path) -> None:
    done = hpltune("tune", "--xhpl", str(roc_hpl(home)), "--trials", "1")
    assert done.returncode == 1
    assert "rochpl computes on GPUs of AMD, and this machine shows none" in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


def test_rochpl_is_tuned_with_its_split(hpltune: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = (Gpu("AMD", "AMD Instinct MI210", 64 * 2**30),) * 2
    monkeypatch.setattr(gpus, "gpus", lambda _root=None: shown)
    records = tuned(hpltune, home, roc_hpl)
    for name, value in (("DEPTH", 1), ("SWAP", "long"), ("EQUIL", "no"), ("U", "transposed")):
        assert {record.params[name] for record in records} == {value}
    found = best(records)
    assert found.params["program.split"] == 0.5
    assert "-f 0.5 -i HPL.dat" in found.command
