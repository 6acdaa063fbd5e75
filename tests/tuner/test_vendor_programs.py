"""Programs of vendors are tuned with parameters of their own: real executables stand in for those that are not here."""

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from as_user import Run, program
from vendor_programs import amd_zen_hpl, fake_gpus, intel_hpl, nvidia_hpl, roc_hpl

from hpl.dat import HplDat, render
from hpl.params import Bcast, HplParams
from hpl.programs import gpus
from hpl.programs.registry import TO_BUILD, with_source
from hpl.programs.terms import Gpu
from hpl.search_paths import SearchPaths
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
    hpltune.well("tune", "--xhpl", str(file), "--set", "N=1000", "--set", "NB=192,384", *options, *study)
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
    said = hpltune.refused("tune", "--xhpl", "xhpl", "--set", "N=1000", "--set", "BCAST=bc6", "--trials", "1")
    assert "BCAST = bc6 is refused by the program: only HPL of some vendors has it" in " ".join(said.split())
    (home / "HPL.dat").write_text(render(HplDat.of(HplParams(1000, 64, 1, 1, BCAST=Bcast.VENDOR_6))))
    done = hpltune("run", "HPL.dat", "--xhpl", "xhpl")
    assert done.returncode != 0
    assert "BCAST = bc6 is refused by the program" in " ".join(done.stderr.split())


def test_intels_hpl_dat_is_run_with_intels_hpl(hpltune: Run, home: Path) -> None:
    (home / "HPL.dat").write_text(render(HplDat.of(HplParams(1000, 64, 1, 1, BCAST=Bcast.VENDOR_6))))
    hpltune.well("run", "HPL.dat", "--xhpl", str(intel_hpl(home)))
    with Store.open(home / "data/hpltune.db") as store:
        (record,) = store.records("run-HPL-1")
    assert record.ranked, record.reason
    assert record.params["BCAST"] == "bc6"


def test_intels_script_is_one_sentence(hpltune: Run, home: Path) -> None:
    script = intel_hpl(home).rename(home / "runme_intel64_dynamic")
    refusal = hpltune.refused("tune", "--xhpl", str(script), "--trials", "1")
    said = " ".join(refusal.split())
    assert "--xhpl" in said
    assert "this script of Intel's starts MPI by itself: name xhpl_intel64_dynamic beside it" in said


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
    assert found.params["program.p2p_as_bcast"] == 1
    assert "HPL_P2P_AS_BCAST=1" in found.command
    hpltune.well("explain", "vendor")


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
    said = hpltune.refused("tune", "--xhpl", file, "--set", "N=1000", *nvshmem, "--trials", "1")
    assert "program.p2p_as_bcast = 4 sends with NVSHMEM" in " ".join(said.split())


def test_without_a_gpu_a_program_of_gpus_is_one_sentence(hpltune: Run, home: Path) -> None:
    said = hpltune.refused("tune", "--xhpl", str(roc_hpl(home)), "--trials", "1", code=1)
    assert "rochpl computes on GPUs of AMD, and this machine shows none" in " ".join(said.split())


def test_rochpl_is_tuned_with_its_split(hpltune: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = (Gpu("AMD", "AMD Instinct MI210", 64 * 2**30),) * 2
    monkeypatch.setattr(gpus, "gpus", lambda _root=None: shown)
    records = tuned(hpltune, home, roc_hpl)
    for name, value in (("DEPTH", 1), ("SWAP", "long"), ("EQUIL", "no"), ("U", "transposed")):
        assert {record.params[name] for record in records} == {value}
    found = best(records)
    assert found.params["program.split"] == 0.5
    assert "-f 0.5 -i HPL.dat" in found.command


NAMED = ("--program", "amd-zen=amd-zen-hpl-2024_10_08/xhpl", "--program", "mine=xhpl_intel64_dynamic")


@pytest.fixture
def two_programs(home: Path) -> None:
    """Stand-ins for two programs of vendors."""
    amd_zen_hpl(home)
    intel_hpl(home)


@pytest.mark.usefixtures("two_programs")
def test_programs_are_a_dimension_with_parameters_of_their_own(hpltune: Run, home: Path) -> None:
    study = ("--set", "N=1000", "--trials", "16", "--confirm", "1", "--study", "vendor")
    hpltune.well("tune", *NAMED, *study)
    with Store.open(home / "data/hpltune.db") as store:
        records = [record for record in store.records("vendor") if record.kind is Kind.SEARCH]
    assert {record.state for record in records} == {TrialState.COMPLETE}, [record.reason for record in records]
    assert {(record.params["program"], record.params["blas"]) for record in records} == {
        ("amd-zen", "amd-zen"),
        ("mine", "mine"),
    }
    for record in records:
        own = {name for name in record.params if name.startswith("program.")}
        if record.params["program"] == "amd-zen":
            assert own == {"program.arch"}
            assert "amd-zen-hpl-2024_10_08/xhpl" in record.command
        else:
            assert own == {"program.largepage", "program.host_node"}
            assert "xhpl_intel64_dynamic" in record.command
    for command in (("show", "vendor"), ("best", "vendor"), ("explain", "vendor")):
        hpltune.well(*command)
    like = best(records)
    (home / "HPL.dat").write_text(render(HplDat.of(HplParams(1000, 64, 1, 1))))
    hpltune.well("run", "HPL.dat", "--like", f"vendor#{like.number}", "--layout", "1x1")
    with Store.open(home / "data/hpltune.db") as store:
        (again,) = store.records("run-HPL-1")
    assert ("xhpl_intel64_dynamic" in again.command) is (like.params["program"] == "mine")
    hpltune.well("tune", "--resume", "--study", "vendor", "--trials", "18")


@pytest.mark.usefixtures("two_programs")
def test_what_is_built_stands_beside_programs_of_vendors(hpltune: Run, home: Path, shared_cache: Path) -> None:
    kind = with_source(TO_BUILD, SearchPaths(None, shared_cache)).name
    study = ("--space", "quick", "--set", "N=1000", "--trials", "4", "--confirm", "1", "--study", "vendor")
    hpltune.well("tune", *NAMED, "--set", f"program={kind},amd-zen", *study)
    with Store.open(home / "data/hpltune.db") as store:
        records = [record for record in store.records("vendor") if record.kind is Kind.SEARCH]
    assert {record.params["program"] for record in records} == {kind, "amd-zen"}
    assert {record.state for record in records} == {TrialState.COMPLETE}, [record.reason for record in records]


@pytest.mark.usefixtures("two_programs")
def test_programs_with_a_blas_inside_are_compared_in_rounds_as_libraries_are(hpltune: Run) -> None:
    options = ("--set", "N=1000", "--trials", "2", "--study", "rounds", "--json")
    done = hpltune.well("blas", *NAMED, "--set", "program=amd-zen,mine", *options)
    assert "Program 2 of 2: mine, 2 trials." in done.stderr
    told = json.loads(done.stdout)
    assert {place["blas"] for place in told["ranking"]} == {"amd-zen", "mine"}
    assert told["rounds"] >= 3
    shown = hpltune("blas", "--resume", "--study", "rounds")
    assert "BLAS libraries and programs in study rounds, each at its own best" in shown.stdout
    compared = hpltune.well("compare", "rounds", "--by", "program")
    assert "program=amd-zen" in compared.stdout
    assert "Whether something disturbed runs of program=mine and program=amd-zen is not known." in compared.stdout


@pytest.mark.usefixtures("two_programs")
def test_a_library_is_compared_with_a_program(hpltune: Run, home: Path, shared_cache: Path) -> None:
    kind = with_source(TO_BUILD, SearchPaths(None, shared_cache)).name
    named = hpltune("blas", "--blas", "openblas", "--program", "openblas=amd-zen-hpl-2024_10_08/xhpl")
    assert "--program openblas: a BLAS library has this name" in " ".join(named.stderr.split())
    options = ("--set", "N=1000", "--trials", "1", "--study", "both", "--budget", "1m")
    hpltune.well("blas", "--blas", "openblas", *NAMED[:2], *options)
    with Store.open(home / "data/hpltune.db") as store:
        records = [record for record in store.records("both") if record.kind is Kind.SEARCH and record.ranked]
    ran = {(record.params["program"], record.params["blas"]) for record in records}
    assert ran == {(kind, "openblas"), ("amd-zen", "amd-zen")}


@pytest.mark.usefixtures("two_programs")
@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--program", "amd-zen"), "--program amd-zen: write NAME=FILE"),
        (("--program", "a=nowhere"), "--program a=nowhere: there is no such file"),
        (("--program", "a=amd-zen-hpl-2024_10_08/xhpl", "--program", "a=xhpl_intel64_dynamic"), "a name of its own"),
        (("--program", "nvidia=xhpl_intel64_dynamic"), "this is intel-mp, not nvidia: give it that name"),
        (
            (*NAMED, "--set", "program=amd-zen,nvidia"),
            "name its file with --program nvidia=FILE (families of programs are amd-zen, intel-mp, nvidia",
        ),
        (("--program", "amdzen=go"), "amdzen: families are amd-zen, intel-mp, nvidia, "),
        (("--program", "a=/bin/true"), "--program a=/bin/true: this is no program of HPL: it holds neither"),
        ((*NAMED, "--xhpl", "xhpl_intel64_dynamic"), "--xhpl is the only program of a study"),
        ((*NAMED, "--set", "blas=mine", "--set", "program=amd-zen"), "blas = mine does not go with program = amd-zen"),
        ((*NAMED, "--set", "program.spilt=1"), "(it has: program.arch, program.largepage, program.host_node)"),
    ],
)
def test_what_cannot_be_a_program_of_a_study_is_one_sentence(
    hpltune: Run, home: Path, options: Sequence[str], sentence: str
) -> None:
    program(home / "go", "#!/bin/sh\nexec linpack.x\n")
    assert sentence in " ".join(hpltune.refused("tune", *options, "--set", "N=1000", "--trials", "1").split())


@pytest.mark.usefixtures("two_gpus", "two_programs")
def test_programs_of_gpus_and_of_cores_have_studies_of_their_own(hpltune: Run, home: Path) -> None:
    nvidia_hpl(home)
    said = hpltune.refused("tune", *NAMED, "--program", "gpu=hpl.sh", "--set", "N=1000", "--trials", "1", code=1)
    assert "do not compute on the same kind of processor" in " ".join(said.split())


def test_doctor_says_which_programs_are_here_and_what_each_needs(
    hpltune: Run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    intel_hpl(home / "bin")
    monkeypatch.setenv("PATH", f"{home / 'bin'}:{os.environ['PATH']}")
    done = hpltune("doctor", "--json")
    found = json.loads(done.stdout)["found"]
    assert str(home / "bin/xhpl_intel64_dynamic") in found["program intel-mp"]
    assert found["program rochpl"].startswith("not found; it needs rocHPL")
    assert found["GPUs"]
