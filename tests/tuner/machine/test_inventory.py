"""What a search leaves out of the libraries and kernels of a machine, and which timings it goes by."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from hpl.blas.catalogue import Blas, BlasLibrary, Threading
from hpl.blas.probe import Probe, Timing
from hpl.build.toolchain import Mpi
from hpl.rpeak import Rpeak
from hpl.search_paths import SearchPaths
from runners.hosts.host_facts import host_facts
from search_spaces.parameters.parameter import Parameter
from search_spaces.restriction import ALWAYS
from search_spaces.space import SearchSpace
from tuner.machine.inventory import Inventory, cores_told
from tuner.machine.left_out import too_slow
from tuner.machine.survey import Instruments, SurveyWish, survey

MPI = Mpi("openmpi", "4.1.4", Path("/usr/bin/mpicc"), Path("/usr/bin/mpirun"), (), "PATH")


def library(name: str) -> BlasLibrary:
    return BlasLibrary(name, "openblas", "1", Path(f"/lib/{name}.so"), Threading.SERIAL, "", "test")


def blas(name: str) -> Blas:
    return Blas(name, "openblas", (library(name),))


def inventory(rates: Mapping[str, Mapping[str, float]]) -> Inventory:
    probes = {
        name: tuple(Probe(library(name), kernel, kernel, rate) for kernel, rate in kernels.items())
        for name, kernels in rates.items()
    }
    return Inventory(host_facts(2), Rpeak(80.0, 2, 2.5, 16, "", ()), (MPI,), tuple(map(blas, rates)), probes)


def test_what_is_too_slow_to_win_is_named() -> None:
    kernels = {"Zen": 50.0, "Haswell": 36.0, "Prescott": 12.0}
    assert too_slow(inventory({"openblas": kernels, "atlas": {"auto": 13.4}, "blis": {"skx": 26.0}})) == (
        "Skipped as too slow: atlas and 1 kernel. ⟦blas⟧ NAME includes them."
    )


def test_a_quota_is_told_beside_the_cores_that_it_leaves() -> None:
    one = replace(inventory({}), host=host_facts(1))
    assert cores_told(one) == "1 core"
    limited = replace(one, rpeak=replace(one.rpeak, quota_cpus=1.5))
    assert cores_told(limited) == "1 core (the quota of its control group is 1.5 CPUs)"


def test_nothing_is_said_where_nothing_is_left_out() -> None:
    assert too_slow(inventory({"openblas": {"Zen": 50.0, "Haswell": 36.0}, "blis": {"skx": 26.0}})) is None


@pytest.mark.parametrize(("own_choice", "kernel"), [(18.0, "skx"), (50.0, "auto")])
def test_a_space_that_names_no_kernel_runs_the_fastest_where_the_librarys_own_choice_is_much_slower(
    own_choice: float, kernel: str
) -> None:
    here = inventory({"blis": {"skx": 54.0, "auto": own_choice}, "openblas": {"auto": 49.0}}).machine(
        all_blas=False, N=4000
    )
    space = SearchSpace("test", here, [Parameter("NB", (128,))], ALWAYS)
    assert (space.first["blas"], space.first["kernel"]) == ("blis", kernel)


@pytest.mark.parametrize(("load", "timing"), [(0.1, Timing.QUIET), (9.0, Timing.BUSY)])
def test_libraries_are_timed_for_good_only_while_the_machine_is_quiet(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, load: float, timing: Timing
) -> None:
    asked: list[object] = []

    def kernel_survey(_blas: Blas, _flags: frozenset[str], _search: SearchPaths, how: Timing) -> tuple[Probe, ...]:
        asked.append(how)
        return ()

    monkeypatch.setattr("os.getloadavg", lambda: (load, 0.0, 0.0))
    instruments = Instruments(mpis=lambda *_: (MPI,), blas=lambda *_: (blas("openblas"),), kernels=kernel_survey)
    for on_probe in (print, None):
        survey(SearchPaths(None, tmp_path), SurveyWish(), on_probe, instruments)
    assert asked == [timing, Timing.NEVER]
