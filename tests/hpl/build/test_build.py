"""Real builds of HPL, linked with the real libraries of this machine."""

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from needs import skip_without
from waiting import PATIENCE_S

from hpl.blas.catalogue import BlasLibrary
from hpl.blas.registry import discover, family
from hpl.build.link import libraries_of
from hpl.build.programs import BuildError, Recipe, build, build_calibrator, witness_library
from hpl.build.toolchain import Mpi, ToolchainError, find_mpis
from hpl.dat import HplDat, render
from hpl.output import parse
from hpl.params import HplParams
from hpl.programs.registry import obtain
from hpl.search_paths import SearchPaths
from hpl.witness import parse_panels, parse_reports

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def mpi(built: SearchPaths) -> Mpi:
    return find_mpis(built)[0]


@pytest.fixture(scope="module")
def libraries(built: SearchPaths) -> list[BlasLibrary]:
    found = [library for blas in discover(built, {}) for library in blas.libraries]
    if not found:
        skip_without("a BLAS library")
    return found


@pytest.fixture(scope="module")
def recipe(built: SearchPaths, mpi: Mpi, libraries: list[BlasLibrary]) -> Recipe:
    return Recipe(obtain(built), mpi, libraries[0])


def run(xhpl: Path, mpi: Mpi, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    (folder / "HPL.dat").write_text(render(HplDat.of(HplParams(300, 32, 1, 1))))
    root = ["--allow-run-as-root"] if mpi.name == "openmpi" and os.geteuid() == 0 else []
    return subprocess.run(
        [str(mpi.mpirun), *root, "-np", "1", str(xhpl)],
        cwd=folder,
        env={**mpi.variables(), **environment},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


def test_every_library_gives_a_program_that_passes_and_maps_just_that_file(
    built: SearchPaths, recipe: Recipe, libraries: list[BlasLibrary], tmp_path: Path
) -> None:
    for library in libraries:
        program = build(replace(recipe, library=library), built)
        done = run(program.path, recipe.mpi, tmp_path)
        assert parse(done.stdout).results[0].passed, (library, done.stderr)
        assert parse_reports(done.stderr)[0].library == library.path


def test_a_preloaded_copy_of_a_library_is_what_a_program_maps(
    built: SearchPaths, recipe: Recipe, libraries: list[BlasLibrary], tmp_path: Path
) -> None:
    for library in libraries:
        program = build(replace(recipe, library=library), built)
        files = libraries_of(program.path, library, recipe.mpi.variables())
        assert bool(files) == family(library.family).copyable
        if not files:
            continue
        assert files[0] == library.path
        assert not [file for file in files if file.name.startswith(("libc.", "libmpi", "ld-"))]
        copies = [Path(shutil.copy(file, tmp_path)) for file in files]
        done = run(program.path, recipe.mpi, tmp_path, LD_PRELOAD=":".join(map(str, copies)))
        assert parse(done.stdout).results[0].passed, (library, done.stderr)
        assert parse_reports(done.stderr)[0].library == copies[0]


def test_no_library_path_of_the_shell_changes_what_is_mapped(
    built: SearchPaths, recipe: Recipe, libraries: list[BlasLibrary], tmp_path: Path
) -> None:
    other = next((library for library in libraries if library.path != recipe.library.path), None)
    if other is None:
        skip_without("two BLAS libraries")
    done = run(build(recipe, built).path, recipe.mpi, tmp_path, LD_LIBRARY_PATH=str(other.path.parent))
    assert parse_reports(done.stderr)[0].library == recipe.library.path


def test_a_library_under_another_name_than_its_own_can_be_linked(
    built: SearchPaths, recipe: Recipe, tmp_path: Path
) -> None:
    mine = tmp_path / "mine.so"
    shutil.copy(recipe.library.path, mine)
    done = run(build(replace(recipe, library=replace(recipe.library, path=mine)), built).path, recipe.mpi, tmp_path)
    assert parse(done.stdout).results[0].passed
    assert parse_reports(done.stderr)[0].library == mine
    assert build_calibrator(replace(recipe, library=replace(recipe.library, path=mine)), built).path.is_file()


def test_progress_is_told_panel_by_panel(built: SearchPaths, recipe: Recipe, tmp_path: Path) -> None:
    panels = parse_panels(run(build(recipe, built).path, recipe.mpi, tmp_path).stderr)
    assert [panel.column for panel in panels] == list(range(0, 300, 32))
    assert {panel.N for panel in panels} == {300}


def test_a_second_build_costs_nothing_and_two_builders_agree(built: SearchPaths, recipe: Recipe) -> None:
    steps: list[str] = []
    first = build(recipe, built, on_step=lambda text, _done, _total: steps.append(text))
    steps.clear()
    with ThreadPoolExecutor(2) as pool:
        both = list(pool.map(lambda _: build(recipe, built, lambda *step: steps.append(str(step))), range(2)))
    assert both == [first, first]
    assert steps == []
    assert first.log.read_text().startswith("$ ")


def test_two_processes_may_build_the_same_program_at_once(built: SearchPaths, recipe: Recipe, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    cache.mkdir()
    (cache / "source").symlink_to(built.cache / "source")
    text = (
        "from pathlib import Path; from hpl.search_paths import SearchPaths; from hpl.programs.registry import obtain\n"
        "from hpl.build.toolchain import find_mpis; from hpl.build.programs import Recipe, build\n"
        "from hpl.blas.registry import discover\n"
        f"search = SearchPaths(None, Path({str(cache)!r}))\n"
        "library = discover(search, {})[0].libraries[0]\n"
        "print(build(Recipe(obtain(search), find_mpis(search)[0], library), search).path)\n"
    )
    racing = [
        subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[3])
        for _ in range(2)
    ]
    paths = {process.communicate(timeout=PATIENCE_S)[0].strip() for process in racing}
    assert len(paths) == 1
    assert parse(run(Path(paths.pop()), recipe.mpi, tmp_path).stdout).results[0].passed


def test_the_witness_speaks_for_a_program_we_did_not_build(built: SearchPaths, recipe: Recipe, tmp_path: Path) -> None:
    witness = witness_library(recipe.mpi, built)
    assert witness is not None
    source = tmp_path / "p.c"
    source.write_text("extern void dgemm_(void); int main(int c, char **v) { return c > 9 ? (dgemm_(), 0) : 0; }")
    foreign = tmp_path / "foreign"
    linked = [str(source), str(recipe.library.path), f"-Wl,-rpath,{recipe.library.path.parent}", "-o", str(foreign)]
    subprocess.run([str(recipe.mpi.mpicc), *linked], check=True)
    told = subprocess.run(
        [str(foreign)], env={"LD_PRELOAD": str(witness), "PMI_RANK": "3"}, capture_output=True, text=True, check=True
    )
    assert parse_reports(told.stderr)[0].rank == 3
    assert parse_reports(told.stderr)[0].library is not None
    silent = subprocess.run([str(foreign)], env={"LD_PRELOAD": str(witness)}, capture_output=True, check=True)
    assert silent.stderr == b""


def broken_mpicc(folder: Path, text: str) -> Mpi:
    for name in ("mpicc", "mpirun"):
        (folder / name).write_text(f"#!/bin/sh\n{text}\n")
        (folder / name).chmod(0o755)
    return Mpi("openmpi", "4.1.4", folder / "mpicc", folder / "mpirun", (), "test")


def test_the_compilers_first_error_is_shown_with_the_log(built: SearchPaths, recipe: Recipe, tmp_path: Path) -> None:
    says = 'case "$*" in *-c*) echo "HPL_x.c:3: note: a"; echo "HPL_x.c:7:1: error: no such thing" >&2; exit 1;; esac'
    broken = broken_mpicc(tmp_path, f"{says}\necho gcc 12")
    with pytest.raises(BuildError, match=r"HPL_x\.c:7:1: error: no such thing") as caught:
        build(replace(recipe, mpi=broken), SearchPaths(None, tmp_path / "cache"))
    log = str(caught.value).partition("log: ")[2].rstrip(")")
    assert "no such thing" in Path(log).read_text()
    assert built.cache.is_dir()


def test_a_library_that_is_gone_is_said(built: SearchPaths, recipe: Recipe) -> None:
    with pytest.raises(BuildError, match=r"/gone/libblas\.so is gone"):
        build(replace(recipe, library=replace(recipe.library, path=Path("/gone/libblas.so"))), built)


def test_a_cache_that_cannot_be_written_is_said(recipe: Recipe, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(BuildError, match="cannot build in"):
        build(recipe, SearchPaths(None, tmp_path / "file"))


@pytest.mark.parametrize(
    ("said", "name", "version"),
    [
        ("mpirun (Open MPI) 5.0.11", "openmpi", "5.0.11"),
        ("mpirun (Open MPI) 4.1.4", "openmpi", "4.1.4"),
        ("HYDRA build details:\n    Version:                                 4.0.2", "mpich", "4.0.2"),
    ],
)
def test_mpi_libraries_are_told_by_their_own_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, name: str, version: str
) -> None:
    broken_mpicc(tmp_path, f"echo '{said}'")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    first = find_mpis(SearchPaths(None, tmp_path))[0]
    assert (first.name, first.version, first.mpirun) == (name, version, tmp_path / "mpirun")


def test_an_mpi_that_is_missing_or_broken_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolchainError, match="hpltune setup"):
        find_mpis(SearchPaths(None, tmp_path, system=tmp_path))
    broken_mpicc(tmp_path, "echo who am I")
    with pytest.raises(ToolchainError, match="neither Open MPI nor MPICH nor Intel MPI"):
        find_mpis(SearchPaths(None, tmp_path, system=tmp_path))


def test_an_mpi_without_headers_starts_programs_and_builds_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    broken_mpicc(tmp_path, "echo 'mpirun (Open MPI) 4.1.4'")
    assert find_mpis(SearchPaths(None, tmp_path, system=tmp_path))
    says = "<stdin>:1:10: fatal error: mpi.h: No such file or directory"
    (tmp_path / "mpicc").write_text(f"#!/bin/sh\necho '{says}' >&2\nexit 1\n")
    with pytest.raises(ToolchainError, match=r"finds no mpi\.h: `hpltune setup` installs it"):
        find_mpis(SearchPaths(None, tmp_path, system=tmp_path))
    assert find_mpis(SearchPaths(None, tmp_path, system=tmp_path), building=False)
