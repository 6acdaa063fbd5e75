"""Each family keeps the contract, and a made-up one is known by one line."""

from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from made_up_family import MadeUp, made_up_program, score_of
from program_contract import RUN, ProgramContract
from replayed import replaying

from hpl.blas.catalogue import BlasLibrary
from hpl.build.source import HplSource, SourceError
from hpl.build.toolchain import Mpi
from hpl.programs import registry
from hpl.programs.family import HplProgram, ReadyProgram
from hpl.programs.registry import FAMILIES, TO_BUILD, obtain, program_at, with_source
from hpl.programs.terms import TAKES_ALL
from hpl.search_paths import SearchPaths


def source(root: Path, *files: str) -> Path:
    for name in ("include/hpl.h", "testing/ptest/HPL_pdinfo.c"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()
    for name in files:
        (root.parent / name).parent.mkdir(parents=True, exist_ok=True)
        (root.parent / name).touch()
    return root


class OfSource(ProgramContract):
    """A program that is built, where this machine has its source; all else is shown with empty files."""

    kind: str
    more: tuple[str, ...] = ()

    @pytest.fixture
    def program(self, built: SearchPaths, tmp_path: Path) -> HplProgram:
        with suppress(SourceError):
            found = with_source(TO_BUILD, built)
            if found.name == self.kind:
                return found
        root = source(tmp_path / "top/hpl", *self.more)
        return with_source(TO_BUILD, SearchPaths(None, tmp_path / "cache"), root.parent)

    @pytest.fixture
    def ready(self, program: HplProgram, mpi: Mpi, library: BlasLibrary | None, built: SearchPaths) -> ReadyProgram:
        if "⟦hpl_source⟧" in program.description:
            pytest.skip(f"this machine has no source of {self.kind}")
        return program.ready(mpi, library, built)

    def test_it_is_built_and_proves_what_it_runs(self, program: HplProgram) -> None:
        assert program.name == self.kind
        assert program.built
        assert program.stops_at_column
        assert program.prints_at_once
        assert program.terms == TAKES_ALL


class TestNetlib(OfSource):
    kind = "netlib"


class TestHpcc(OfSource):
    kind, more = "hpcc", ("include/hpcc.h",)


class TestYourXhpl(ProgramContract):
    @pytest.fixture
    def program(self, tmp_path: Path) -> HplProgram:
        return program_at(replaying(tmp_path))

    def test_any_file_is_one(self, tmp_path: Path) -> None:
        assert program_at(tmp_path / "none").name == "xhpl"


class TestMadeUp(ProgramContract):
    printed = score_of(RUN, 1.8)

    @pytest.fixture(autouse=True)
    def one_line(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(registry, "FAMILIES", (MadeUp, *FAMILIES))

    @pytest.fixture
    def program(self, tmp_path: Path) -> HplProgram:
        return MadeUp(made_up_program(tmp_path))


def test_without_a_file_a_program_is_built() -> None:
    assert program_at(None).built


def test_a_program_that_is_there_needs_no_source(tmp_path: Path) -> None:
    there = program_at(tmp_path / "xhpl")
    assert with_source(there, SearchPaths(None, tmp_path / "nowhere"), tmp_path / "none") == there


def test_what_hpcc_needs_besides_is_told_by_its_source(tmp_path: Path) -> None:
    root = source(tmp_path / "top/hpl", "include/hpcc.h")
    found = obtain(SearchPaths(None, tmp_path / "cache"), root.parent)
    assert ([file.name for file in found.more], found.wrapped) == (["hpcc_main.c"], ("fopen",))
    plain = replace(found, kind="netlib", include=None, more=(), wrapped=())
    assert plain == HplSource("netlib", "2.0", root, found.origin, found.digest)
