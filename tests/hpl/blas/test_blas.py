import subprocess
import sys
from pathlib import Path

import pytest
from needs import skip_without

from hpl.blas.catalogue import Blas, BlasError, BlasLibrary, Threading
from hpl.blas.family import inherited_choices
from hpl.blas.probe import CHILD, Timing
from hpl.blas.registry import FAMILIES, discover, family, grouped, kernel_survey
from hpl.rpeak import cpu_flags
from hpl.search_paths import SearchPaths

AVX2 = frozenset({"pni", "ssse3", "sse4_2", "avx", "avx2", "fma"})
AVX512 = AVX2 | {"avx512f", "avx512dq", "avx512bw", "avx512vl"}


def library(name: str = "openblas", *, threading: Threading = Threading.SERIAL, version: str = "1") -> BlasLibrary:
    ids = (("generic", 25), ("haswell", 3), ("knl", 1), ("skx", 0)) if name == "blis" else ()
    return BlasLibrary(name, name, version, Path(f"/lib/{name}-{threading}.so"), threading, "", "test", ids)


def installed(search: SearchPaths, name: str) -> Blas:
    return next((blas for blas in discover(search, {}) if blas.name == name), None) or skip_without("a BLAS library")


def test_one_thread_takes_the_serial_build_and_more_take_a_threaded_one() -> None:
    serial, threaded = library(), library(threading=Threading.PTHREADS)
    blas = Blas("openblas", "openblas", (threaded, serial))
    assert blas.library(1) is serial
    assert blas.library(2) is threaded


def test_a_blas_without_a_threaded_build_says_what_to_do() -> None:
    with pytest.raises(BlasError, match=r"no build for 4 threads.*hpltune setup"):
        Blas("openblas", "openblas", (library(),)).library(4)


def test_builds_of_one_version_are_one_blas_and_the_version_found_first_wins() -> None:
    builds = [library(version="2"), library(threading=Threading.OPENMP, version="2"), library(version="1")]
    (blas,) = grouped(builds)
    assert [build.version for build in blas.libraries] == ["2", "2"]
    assert blas.threaded


@pytest.mark.parametrize("name", sorted(FAMILIES))
def test_every_family_sets_every_thread_variable(name: str) -> None:
    variables = family(name).environment("auto", 3, None)
    for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "BLIS_NUM_THREADS", "MKL_NUM_THREADS"):
        assert variables[variable] == "3"
    assert variables["MKL_DYNAMIC"] == "FALSE"
    assert variables["MKL_THREADING_LAYER"] == "GNU"
    assert family(name).environment("auto", 1, None)["MKL_THREADING_LAYER"] == "SEQUENTIAL"
    assert "OMP_PROC_BIND" not in variables


def test_the_kernel_becomes_the_variable_of_its_family() -> None:
    assert family("openblas").environment("Zen", 1, library())["OPENBLAS_CORETYPE"] == "Zen"
    assert family("mkl").environment("AVX2", 1, library("mkl"))["MKL_ENABLE_INSTRUCTIONS"] == "AVX2"


def test_blis_is_told_the_number_of_a_kernel_because_it_reads_names_as_zero() -> None:
    assert family("blis").environment("haswell", 1, library("blis"))["BLIS_ARCH_TYPE"] == "3"


@pytest.mark.parametrize("name", sorted(set(FAMILIES) - {"nvblas"}))
def test_auto_leaves_the_kernel_to_the_library(name: str) -> None:
    chosen = {"OPENBLAS_CORETYPE", "BLIS_ARCH_TYPE", "MKL_ENABLE_INSTRUCTIONS"}
    assert not chosen & set(family(name).environment("auto", 1, library(name)))
    assert family(name).asked_matches("auto", "Prescott")


def test_only_kernels_the_cpu_can_run_are_offered_the_widest_first() -> None:
    openblas = list(family("openblas").kernels(AVX512, library()))
    assert openblas[0] == "SkylakeX"
    assert "Cooperlake" not in openblas
    assert "SkylakeX" not in family("openblas").kernels(AVX2, library())
    assert list(family("blis").kernels(AVX512, library("blis"))) == ["skx", "haswell", "generic"]
    assert "NEOVERSEN1" in family("openblas").kernels(frozenset({"asimd", "asimddp"}), library())


def test_a_kernel_other_than_asked_does_not_match() -> None:
    assert family("openblas").asked_matches("SkylakeX", "skylakex")
    assert not family("openblas").asked_matches("SapphireRapids", "Cooperlake")
    assert not family("blis").asked_matches("zen4", "generic")
    assert not family("mkl").asked_matches("AVX512", "def")
    assert family("mkl").asked_matches("AVX512", "")


def test_variables_that_would_choose_behind_our_back_are_named() -> None:
    environment = {
        "OPENBLAS_CORETYPE": "Haswell",
        "OMP_PLACES": "cores",
        "HPLTUNE_STOP_AT": "0.1",
        "HPLTUNE_DATA": "/d",
        "OMPI_MCA_x": "1",
        "MKLROOT": "/m",
        "PATH": "/",
    }
    assert set(inherited_choices(environment)) == {"OPENBLAS_CORETYPE", "OMP_PLACES", "HPLTUNE_STOP_AT"}
    assert inherited_choices({"OPENBLAS_ROOT": "/opt/openblas"}) == {}


def test_no_real_file_is_found_twice(search: SearchPaths) -> None:
    paths = [library.path for blas in discover(search, {}) for library in blas.libraries]
    assert len(paths) == len(set(paths))
    assert all(path == path.resolve() for path in paths)


@pytest.mark.parametrize("name", ["openblas", "blis", "atlas", "reference"])
def test_an_installed_library_tells_its_version_and_is_of_its_family(search: SearchPaths, name: str) -> None:
    blas = installed(search, name)
    assert blas.family == name
    assert all(build.version[0].isdigit() for build in blas.libraries)


@pytest.mark.heavy
def test_openblas_runs_the_kernel_it_is_asked_for(search: SearchPaths) -> None:
    probes = kernel_survey(installed(search, "openblas"), cpu_flags(), search, Timing.QUIET)
    for probe in probes:
        assert probe.kernel in {"auto", probe.kernel_used}
        assert probe.gflops > 0
    assert [probe.gflops for probe in probes] == sorted((probe.gflops for probe in probes), reverse=True)


@pytest.mark.heavy
def test_blis_runs_the_kernel_it_is_asked_for(search: SearchPaths) -> None:
    probes = kernel_survey(installed(search, "blis"), cpu_flags(), search, Timing.QUIET)
    assert all(probe.kernel in {"auto", probe.kernel_used} for probe in probes)
    assert {"auto", "generic"} <= {probe.kernel for probe in probes}


def test_a_library_the_user_names_is_recognised_and_keeps_his_name(search: SearchPaths) -> None:
    theirs = installed(search, "openblas").libraries[0]
    mine = discover(search, {"mine": theirs.path})[0]
    assert (mine.name, mine.family) == ("mine", "openblas")


def test_a_library_that_is_found_and_named_counts_under_both_names(search: SearchPaths) -> None:
    theirs = installed(search, "openblas").libraries[0]
    assert {"mine", "openblas"} <= {blas.name for blas in discover(search, {"mine": theirs.path})}


def test_debian_s_alternatives_are_followed_to_the_real_file(search: SearchPaths) -> None:
    link = Path("/etc/alternatives/libblas.so.3-x86_64-linux-gnu")
    if not link.exists():
        skip_without("Debian's reference BLAS")
    (mine, *_) = discover(search, {"mine": link})
    assert mine.libraries[0].path == link.resolve()


def test_probing_needs_nothing_but_the_standard_library() -> None:
    done = subprocess.run(
        [sys.executable, "-I", "-S", str(CHILD), '{"path": "/no/such.so", "seconds": 0}'],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "does not load" in done.stdout
