"""What commands for this machine return, without any terminal."""

from pathlib import Path

import pytest
from report_reading import as_json

from results.report.model import Sentence
from results.store.store import Store
from tuner.asks.dat import DatAsk
from tuner.commands.dat import dat
from tuner.commands.hosts.build import build
from tuner.commands.hosts.doctor import doctor
from tuner.commands.hosts.net_settings import net_restore
from tuner.errors import TunerError
from tuner.events import Event
from tuner.options import TuneOptions
from tuner.user_dirs import UserDirs


@pytest.fixture
def user_dirs(tmp_path: Path, shared_cache: Path) -> UserDirs:
    (tmp_path / "data").mkdir()
    return UserDirs(shared_cache, tmp_path / "data")


@pytest.mark.real
@pytest.mark.usefixtures("real_hpl")
def test_the_doctor_returns_the_machine_and_the_kernels_it_timed(user_dirs: UserDirs) -> None:
    result = doctor(user_dirs, rpeak_gflops=1.0)
    assert result.rpeak.gflops == 1.0
    assert result.above_peak in result.findings.advice
    assert result.probes
    facts = result.report().facts
    assert isinstance(facts, dict)
    assert facts["missing"] == list(result.findings.missing) == []


@pytest.mark.real
@pytest.mark.usefixtures("real_hpl")
def test_build_returns_where_each_program_is(user_dirs: UserDirs) -> None:
    events: list[Event] = []
    built = as_json(build(TuneOptions(blas_only=("openblas",)), user_dirs, events.append))
    assert "openblas" in [one["blas"] for one in built]
    assert all(Path(one["xhpl"]).is_file() for one in built)


@pytest.mark.real
@pytest.mark.usefixtures("real_hpl")
def test_dat_returns_a_file_and_why_it_is_so(user_dirs: UserDirs, tmp_path: Path) -> None:
    result = dat(DatAsk(N=5000, NB=100, ranks=2), user_dirs)
    assert (result.params.N, result.params.NB, result.params.ranks) == (5000, 100, 2)
    assert Sentence("NB=100: as asked.") in result.report().parts
    result.write(tmp_path / "HPL.dat")
    assert (tmp_path / "HPL.dat").read_text() == result.text


def test_restoring_returns_that_nothing_was_changed_and_refuses_to_forget_a_host_that_was_not(tmp_path: Path) -> None:
    with Store.open(tmp_path / "study.db") as store:
        result = net_restore(store)
        assert (result.done, result.left) == ((), ())
        assert result.report().parts == (Sentence("Nothing is to be put back."),)
        with pytest.raises(TunerError, match="nothing is recorded of h9"):
            net_restore(store, forget="h9")
