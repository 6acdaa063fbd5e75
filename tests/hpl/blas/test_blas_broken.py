import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from found_here import shared_library

from hpl.blas import probe as probing
from hpl.blas.catalogue import TRIPLET, BlasError, library_folders
from hpl.blas.probe import NotTimedError, Timing, ask
from hpl.blas.registry import discover, kernel_survey
from hpl.search_paths import SearchPaths

SOURCE = r"""
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifndef INT
#define INT int
#endif
#ifndef NAME
#define NAME dgemm_
#endif
#ifdef NEEDS
int needed(void);
#endif
#ifdef OPENBLAS
#ifndef PARALLEL
#define PARALLEL 0
#endif
int openblas_get_parallel(void) { return PARALLEL; }
char *openblas_get_config(void) { return "OpenBLAS 9.9.9 DYNAMIC_ARCH" OPENBLAS; }
char *openblas_get_corename(void)
{
    char *asked = getenv("OPENBLAS_CORETYPE");
    return asked && !strcmp(asked, "Haswell") ? "Haswell" : "Prescott";
}
#endif
void NAME(char *ta, char *tb, INT *m, INT *n, INT *k, double *alpha, double *a, INT *lda, double *b, INT *ldb,
          double *beta, double *c, INT *ldc)
{
#ifdef ILLEGAL
    __builtin_trap();
#endif
#ifdef HANG
    sleep(60);
#endif
#ifdef NAP
    usleep(NAP);
#endif
#ifdef NEEDS
    needed();
#endif
    if (*m > *lda || *k > *ldb)
        return;
    for (INT j = 0; j < *n; j++)
        for (INT l = 0; l < *k; l++)
            for (INT i = 0; i < *m; i++)
                c[j * *ldc + i] += *alpha * a[l * *lda + i] * b[j * *ldb + l];
}
"""
Builder = Callable[..., Path]


@pytest.fixture
def search(search: SearchPaths, tmp_path: Path) -> SearchPaths:
    return replace(search, prefix=tmp_path / "prefix")


@pytest.fixture
def build(tmp_path: Path) -> Builder:
    """Builds a small BLAS of our own, sound or with a fault."""

    def built(*options: str, file: str = "libmine.so", source: str = SOURCE) -> Path:
        return shared_library(tmp_path / file, source, *options)

    return built


def sentence(search: SearchPaths, path: Path) -> str:
    with pytest.raises(BlasError) as caught:
        discover(search, {"mine": path})
    told = str(caught.value)
    assert "\n" not in told
    assert str(path) in told
    return told


def test_a_small_blas_of_one_s_own_is_taken_as_other(search: SearchPaths, build: Builder) -> None:
    mine = discover(search, {"mine": build()})[0]
    assert (mine.name, mine.family, mine.libraries[0].symbol_prefix) == ("mine", "other", "")


def test_a_library_with_prefixed_names_tells_its_prefix(search: SearchPaths, build: Builder) -> None:
    mine = discover(search, {"mine": build("-DNAME=scipy_dgemm_")})[0]
    assert mine.libraries[0].symbol_prefix == "scipy_"


def test_a_missing_file_is_named(search: SearchPaths, tmp_path: Path) -> None:
    assert "no such file" in sentence(search, tmp_path / "missing.so")


def test_a_text_file_does_not_load(search: SearchPaths, tmp_path: Path) -> None:
    path = tmp_path / "libtext.so"
    path.write_text("not a library")
    assert "does not load" in sentence(search, path)


def test_a_library_without_dgemm_is_no_blas(search: SearchPaths, build: Builder) -> None:
    assert "no dgemm_" in sentence(search, build("-DNAME=something_else"))


@pytest.mark.parametrize(
    "options",
    [("-DNAME=dgemm_64_", "-DINT=long"), ("-DINT=long",), ('-DOPENBLAS=" USE64BITINT"', "-DINT=long")],
    ids=["by its names", "by what it computes", "by what it says"],
)
def test_a_library_with_64_bit_integers_is_refused(
    search: SearchPaths, build: Builder, options: tuple[str, ...]
) -> None:
    assert "64-bit integers" in sentence(search, build(*options))


def test_an_illegal_instruction_becomes_a_sentence(search: SearchPaths, build: Builder) -> None:
    assert "an instruction this CPU does not have" in sentence(search, build("-DILLEGAL"))


def test_a_hang_becomes_a_sentence(search: SearchPaths, build: Builder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probing, "TIMEOUT_S", 0.5)
    assert "did not answer" in sentence(search, build("-DHANG"))


def test_a_broken_library_that_was_only_found_is_passed_over(
    search: SearchPaths, build: Builder, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = build("-DILLEGAL", file="module/libopenblas.so.0")
    monkeypatch.setenv("LD_LIBRARY_PATH", str(path.parent))
    assert path not in [library.path for blas in discover(search, {}) for library in blas.libraries]


@pytest.mark.parametrize(("variable", "file"), [("LD_LIBRARY_PATH", ""), ("OPENBLAS_ROOT", "lib64")])
def test_a_loaded_module_comes_before_the_system(
    search: SearchPaths, build: Builder, monkeypatch: pytest.MonkeyPatch, variable: str, file: str
) -> None:
    path = build('-DOPENBLAS=""', file=f"module/{file}/libopenblas.so.0")
    monkeypatch.setenv(variable, str(path.parents[1] if file else path.parent))
    found = {blas.name: blas for blas in discover(search, {})}["openblas"]
    assert [(library.path, library.origin) for library in found.libraries] == [(path, variable)]


@pytest.mark.parametrize("parallel", ["0", "1"], ids=["serial", "threaded"])
def test_the_file_a_user_gives_a_known_name_is_the_one_that_runs_beside_found_builds_of_its_version(
    search: SearchPaths, build: Builder, monkeypatch: pytest.MonkeyPatch, parallel: str
) -> None:
    found = [
        build('-DOPENBLAS=""', f"-DPARALLEL={number}", file=f"module/libopenblas{letter}.so.0")
        for number, letter in (("0", ""), ("1", "p"))
    ]
    monkeypatch.setenv("LD_LIBRARY_PATH", str(found[0].parent))
    mine = build('-DOPENBLAS=""', f"-DPARALLEL={parallel}", file="libmine.so")
    named = {blas.name: blas for blas in discover(search, {"openblas": mine})}["openblas"]
    assert named.library(1).path == mine
    if parallel == "1":
        assert named.library(2).path == mine
    else:
        with pytest.raises(
            BlasError, match=r"no build for 2 threads per rank \(found: .*/libmine.so\).*⟦blas⟧ openblas=FILE"
        ):
            named.library(2)


def test_unpacked_packages_of_the_private_prefix_find_each_other(search: SearchPaths, build: Builder) -> None:
    folder = f"prefix/debs/usr/lib/{TRIPLET}"
    needed = build(file=f"{folder}/libneeded.so", source="int needed(void) { return 0; }")
    path = build("-DNEEDS", str(needed), file=f"{folder}/blas/libblas.so.3")
    assert ask(path, {}, search, seconds=0.0)["family"] == "other"


def test_a_prefix_behind_a_link_is_the_same_prefix(tmp_path: Path) -> None:
    folder = tmp_path / "disk/prefix/debs/usr/lib" / TRIPLET
    folder.mkdir(parents=True)
    (tmp_path / "prefix").symlink_to(tmp_path / "disk/prefix")
    search = SearchPaths(prefix=tmp_path / "prefix", cache=tmp_path)
    for file in (folder / "libblas.so.3", tmp_path / "prefix/debs/usr/lib" / TRIPLET / "libblas.so.3"):
        assert library_folders(search, file)[0].resolve() == folder
    assert library_folders(search, tmp_path / "elsewhere/libblas.so.3") == ()


@pytest.mark.heavy
def test_a_kernel_the_library_silently_replaces_is_left_out(search: SearchPaths, build: Builder) -> None:
    mine = discover(search, {"mine": build('-DOPENBLAS=""', "-O3")})[0]
    flags = frozenset({"avx2", "fma", "avx512f", "avx512dq", "avx512bw", "avx512vl"})
    probes = kernel_survey(mine, flags, search, Timing.QUIET)
    assert {(probe.kernel, probe.kernel_used) for probe in probes} == {("auto", "Prescott"), ("Haswell", "Haswell")}


def test_an_answer_is_kept_until_the_library_changes(search: SearchPaths, build: Builder) -> None:
    path = build('-DOPENBLAS=""')
    assert ask(path, {}, search, seconds=0.0)["family"] == "openblas"
    kept = list((search.cache / "probes").iterdir())
    assert len(kept) == 1
    assert ask(path, {}, search, seconds=0.0)["family"] == "openblas"
    assert list((search.cache / "probes").iterdir()) == kept
    assert ask(build(), {}, search, seconds=0.0)["family"] == "other"


def kept_rate(search: SearchPaths, *, gflops: float) -> None:
    """Write another rate into the only timing that is kept."""
    (kept,) = [file for file in (search.cache / "probes").iterdir() if json.loads(file.read_text())["gflops"]]
    kept.write_text(json.dumps({**json.loads(kept.read_text()), "gflops": gflops}))


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("first", "then", "again"),
    [
        (Timing.BUSY, Timing.QUIET, True),
        (Timing.BUSY, Timing.BUSY, False),
        (Timing.BUSY, Timing.NEVER, False),
        (Timing.QUIET, Timing.BUSY, False),
        (Timing.QUIET, Timing.QUIET, False),
    ],
)
def test_what_was_timed_while_the_machine_was_busy_is_timed_again_once_it_is_not(
    search: SearchPaths, build: Builder, first: Timing, then: Timing, *, again: bool
) -> None:
    mine = discover(search, {"mine": build("-O3")})[0]
    kernel_survey(mine, frozenset(), search, first)
    kept_rate(search, gflops=123456.0)
    (probe,) = kernel_survey(mine, frozenset(), search, then)
    assert (probe.gflops < 123456.0) is again


def test_what_was_never_timed_is_not_timed_where_that_is_not_wanted(search: SearchPaths, build: Builder) -> None:
    mine = discover(search, {"mine": build()})[0]
    with pytest.raises(NotTimedError):
        kernel_survey(mine, frozenset(), search, Timing.NEVER)


def test_time_in_which_others_had_the_core_does_not_count(search: SearchPaths, build: Builder) -> None:
    def rate(path: Path) -> float:
        return kernel_survey(discover(search, {"mine": path})[0], frozenset(), search, Timing.QUIET)[0].gflops

    assert rate(build("-O3", "-DNAP=900000")) > 0.4 * rate(build("-O3"))


def test_a_variable_of_the_shell_is_part_of_what_an_answer_is_kept_for(
    search: SearchPaths, build: Builder, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = build('-DOPENBLAS=""')
    assert ask(path, {}, search, seconds=0.0)["kernel"] == "Prescott"
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Haswell")
    assert ask(path, {}, search, seconds=0.0)["kernel"] == "Haswell"


def test_a_damaged_answer_in_the_cache_is_asked_for_again(search: SearchPaths, build: Builder) -> None:
    path = build()
    ask(path, {}, search, seconds=0.0)
    (kept,) = (search.cache / "probes").iterdir()
    kept.write_text("{")
    assert ask(path, {}, search, seconds=0.0)["family"] == "other"


def test_a_cache_that_cannot_be_written_only_costs_time(search: SearchPaths, build: Builder) -> None:
    search.cache.write_text("a file where a folder should be")
    assert ask(build(), {}, search, seconds=0.0)["family"] == "other"


def test_what_failed_is_tried_again(search: SearchPaths, build: Builder) -> None:
    path = build("-DILLEGAL")
    with pytest.raises(BlasError):
        ask(path, {}, search, seconds=0.0)
    assert not (search.cache / "probes").exists()
