"""Programs of vendors are tuned with parameters of their own: real executables stand in for those that are not here."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from as_user import Run
from vendor_programs import amd_zen_hpl, intel_hpl

from hpl.dat import HplDat, render
from hpl.params import Bcast, HplParams
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
