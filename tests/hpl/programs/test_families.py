"""Each family keeps the contract, and a made-up one is known by one line."""

import subprocess
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from made_up_family import MadeUp, made_up_program, score_of
from program_contract import RUN, ProgramContract, result_of
from replayed import replaying
from vendor_programs import amd_zen_hpl, intel_hpl

from hpl.blas.catalogue import BlasLibrary
from hpl.build.source import HplSource, SourceError
from hpl.build.toolchain import Mpi
from hpl.params import Scalar
from hpl.programs import registry
from hpl.programs.family import AskedLibrary, AskedStart, HplProgram, ReadyProgram, UserProgramError
from hpl.programs.registry import TO_BUILD, obtain, program_at, with_source
from hpl.programs.terms import TAKES_ALL, NodeShape
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


class TestAmdZen(ProgramContract):
    printed = (
        "AMD Zen HPL 2024_10_08\n"
        "T/V         SWP           N    NB     P     Q            Time             Gflops\n"
        "WRC07R8C48c 211         300    32     1     1            0.01         1.8135e+00\n"
        "||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)=   2.10000000e-03 ...... PASSED\n"
        "End of Tests.\n"
    )

    @pytest.fixture
    def program(self, tmp_path: Path) -> HplProgram:
        return program_at(amd_zen_hpl(tmp_path))

    def test_the_name_of_its_folder_is_enough(self, tmp_path: Path) -> None:
        assert program_at(tmp_path / "amd-zen-hpl-2024_10_08/xhpl").name == "amd-zen"

    def test_what_prints_as_netlib_does_is_another_program(self, program: HplProgram) -> None:
        asked = AskedLibrary(program.name, "auto", 1, None)
        assert program.unproven(asked, [], program.parse(self.printed)) is None
        sentence = program.unproven(asked, [], program.parse(result_of()))
        assert sentence == "it printed WR11C2R4, a code of netlib's HPL: so this is not AMD Zen HPL"

    def test_it_has_a_rank_on_each_socket_or_on_each_l3_cache(self, program: HplProgram) -> None:
        node = NodeShape(192, sockets=2, numa_nodes=8, l3_caches=24)
        assert program.terms.layouts(node, 2) == [(4, 96), (48, 8)]


class TestIntel(ProgramContract):
    @pytest.fixture
    def program(self, tmp_path: Path) -> HplProgram:
        return program_at(intel_hpl(tmp_path))

    def test_another_name_does_not_hide_it(self, tmp_path: Path) -> None:
        file = tmp_path / "xhpl"
        file.write_bytes(b"\x7fELF HPL_LARGEPAGE\0HPL_HOST_NODE\0")
        assert program_at(file).name == "intel-mp"

    def test_its_script_that_starts_mpi_is_refused(self, tmp_path: Path) -> None:
        for script in ("runme_intel64_dynamic", "runme_intel64_prv"):
            with pytest.raises(UserProgramError, match="starts MPI by itself: name xhpl_intel64_dynamic beside it"):
                program_at(tmp_path / script)

    def test_each_rank_may_be_told_its_numa_nodes(self, program: HplProgram) -> None:
        node = NodeShape(64, sockets=2, numa_nodes=8)
        own: dict[str, Scalar] = {"largepage": 1, "host_node": "rank"}
        start = program.start(AskedStart((RUN,), ranks=4, threads=32, nodes=2, node=node, own=own))
        said = subprocess.run(
            [*start.before, "/bin/sh", "-c", "echo $HPL_HOST_NODE"],
            env={"OMPI_COMM_WORLD_LOCAL_RANK": "1", "PATH": "/usr/bin:/bin"},
            capture_output=True,
            text=True,
            check=True,
        )
        assert said.stdout == "4,5,6,7\n"
        assert start.environment == {"HPL_LARGEPAGE": "1"}


class TestMadeUp(ProgramContract):
    printed = score_of(RUN, 1.8)

    @pytest.fixture(autouse=True)
    def one_line(self, monkeypatch: pytest.MonkeyPatch) -> None:
        known = registry.families()
        monkeypatch.setattr(registry, "families", lambda: (MadeUp, *known))

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
