"""What every family of programs keeps; a test class of a family inherits it and says what its program is."""

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from needs import skip_without
from waiting import PATIENCE_S

from hpl.blas.catalogue import BlasLibrary, Threading
from hpl.blas.registry import discover
from hpl.build.toolchain import Mpi, find_mpis
from hpl.output import HplResult
from hpl.params import HplParams, Scalar
from hpl.programs import registry
from hpl.programs.family import AskedLibrary, AskedStart, HplProgram, ReadyProgram
from hpl.programs.terms import ONE_SOCKET, OWN
from hpl.search_paths import SearchPaths
from hpl.witness import RankReport
from runners.registry import LAUNCHERS

RUN = HplParams(300, 32, 1, 1)


def result_of(N: int = 300) -> str:
    """What netlib's HPL prints of a run of RUN."""
    return (
        "T/V                N    NB     P     Q               Time                 Gflops\n"
        f"WR11C2R4{N:13d}    32     1     1               0.01              1.8135e+00\n"
        "||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)=   4.51600000e-03 ...... PASSED\n"
        "End of Tests.\n"
    )


class ProgramContract:
    """A family that hpltune can tune."""

    printed = result_of()
    """What its program prints of RUN."""
    run = RUN
    """What its program is asked for."""
    node = ONE_SOCKET
    """Where it is asked to start."""
    expected: tuple[int, int, int, int, bool] = (300, 32, 1, 1, True)
    """N, NB, P and Q of its result, and that it passed."""
    made: Callable[[Path], Path]
    """Makes a file of the program in a folder."""

    @pytest.fixture
    def program(self, tmp_path: Path) -> HplProgram:
        """A program of the family that this machine can start, or a skipped test."""
        return registry.program_at(type(self).made(tmp_path))

    @pytest.fixture
    def mpi(self, built: SearchPaths) -> Mpi:
        return find_mpis(built)[0]

    @pytest.fixture
    def library(self, built: SearchPaths, program: HplProgram) -> BlasLibrary | None:
        found = [library for blas in discover(built, {}) for library in blas.libraries]
        if program.built and not found:
            skip_without("a BLAS library")
        return found[0] if program.built else None

    @pytest.fixture
    def ready(self, program: HplProgram, mpi: Mpi, library: BlasLibrary | None, built: SearchPaths) -> ReadyProgram:
        return program.ready(mpi, library, built)

    def test_its_name_and_description_are_one_line(self, program: HplProgram) -> None:
        assert re.fullmatch(r"[\w.+-]+", program.name), "it stands where a BLAS would"
        assert program.description
        assert "\n" not in program.description

    def test_it_is_known_by_its_name(self, program: HplProgram) -> None:
        families = [family for family in registry.families() if family.name == program.name]
        assert families == [type(program)]
        assert registry.terms_of(program.name) == program.terms

    def test_each_of_its_files_is_recognised_as_it(self, program: HplProgram) -> None:
        for file in program.files:
            assert registry.program_at(file) == program

    def test_a_file_of_another_family_stands_for_no_blas_of_the_catalogue(self, program: HplProgram) -> None:
        assert program.stands_for("openblas") == ("openblas" if program.built else program.name)

    def test_its_mpi_is_one_that_can_be_started(self, program: HplProgram) -> None:
        assert program.linked_mpi() in {None, *LAUNCHERS}

    @pytest.mark.real
    def test_it_is_made_once(
        self, program: HplProgram, ready: ReadyProgram, mpi: Mpi, library: BlasLibrary | None, built: SearchPaths
    ) -> None:
        assert ready.path.is_absolute()
        assert os.access(ready.path, os.X_OK)
        assert program.ready(mpi, library, built) == ready
        assert bool(ready.key) == program.built

    @pytest.mark.real
    def test_its_real_output_is_read(self, program: HplProgram, ready: ReadyProgram, mpi: Mpi, tmp_path: Path) -> None:
        start = program.start(self.asked(program))
        if program.terms.reads_file:
            (tmp_path / program.workload.input_name).write_text(program.input_text(self.asked(program)))
        root = ["--allow-run-as-root"] if mpi.name == "openmpi" and os.geteuid() == 0 else []
        done = subprocess.run(
            [str(mpi.mpirun), *root, "-np", "1", *start.before, str(ready.path), *start.arguments],
            cwd=tmp_path,
            env={**mpi.variables(), **ready.environment, **start.environment},
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        (result,) = program.parse(done.stdout).results
        assert self.is_of_run(result), done.stdout
        assert program.parse(done.stdout).finished

    def test_its_dialect_is_read_as_far_as_it_was_printed(self, program: HplProgram) -> None:
        whole = program.parse(self.printed)
        assert [self.is_of_run(result) for result in whole.results] == [True]
        assert whole.finished
        for length in range(len(self.printed)):
            part = program.parse(self.printed[:length])
            assert len(part.results) <= 1
        assert not program.parse("").finished

    def test_memory_grows_with_n(self, program: HplProgram) -> None:
        small, large = (program.terms.memory_bytes(HplParams(N, 32, 1, 1)) for N in (1000, 2000))
        assert 0 < small < large

    def test_its_terms_are_of_lines_of_hpl_dat_and_legal(self, program: HplProgram) -> None:
        words, terms = RUN.words(), program.terms
        assert not terms.ignores.keys() & terms.takes.keys()
        for name, value in terms.ignores.items():
            assert name in words
            HplParams.from_words({**words, name: value})
        for name, values in terms.takes.items():
            assert values
            assert name == "binding" or name in words
            for value in values if name in words else ():
                assert HplParams.from_words({**words, name: value}).words()[name] == value

    def test_what_it_takes_is_not_refused(self, program: HplProgram) -> None:
        assert not list(program.terms.refusals(program.terms.fitted(self.run.words()), 1))

    def test_each_value_of_its_own_parameters_is_legal_and_another_start(self, program: HplProgram) -> None:
        for own in program.terms.own:
            assert own.point_name == OWN + own.name
            assert own.accepts(own.default), own.expected
            assert all(map(own.accepts, own.values)), own.expected
            asked = [self.asked(program, **{own.name: value}) for value in own.values]
            starts = [(program.start(each), program.input_text(each)) for each in asked]
            assert all(starts.count(start) == 1 for start in starts)
        start = program.start(self.asked(program))
        assert all(isinstance(text, str) for text in (*start.arguments, *start.environment.values()))

    def test_a_blas_is_proven_by_its_ranks_where_one_was_asked_for(self, program: HplProgram) -> None:
        library = BlasLibrary("openblas", "openblas", "0.3", Path("/lib/o.so"), Threading.SERIAL, "", "here", ())
        asked = AskedLibrary("openblas", "auto", 1, library)
        right = RankReport(0, "n1", library.path, "0.3", "haswell", 1)
        other = RankReport(1, "n1", Path("/lib/other.so"), "0.3", "haswell", 1)
        found = program.parse(self.printed)
        assert program.unproven(asked, [right], found) is None
        assert program.unproven(asked, [], found) is not None
        assert (program.unproven(asked, [right, other], found) or "").startswith("rank 1 on n1: asked for openblas")
        assert program.unproven(AskedLibrary(program.name, "auto", 1, None), [], found) is None

    @classmethod
    def asked(cls, program: HplProgram, **own: Scalar) -> AskedStart:
        values = {**program.terms.own_of({}), **own}
        run = cls.taken(program, cls.run)
        return AskedStart((run,), ranks=1, threads=1, nodes=1, node=cls.node, own=values)

    @staticmethod
    def taken(program: HplProgram, run: HplParams) -> HplParams:
        return HplParams.from_words(program.terms.fitted(run.words()))

    @classmethod
    def is_of_run(cls, result: HplResult) -> bool:
        return (result.N, result.NB, result.P, result.Q, result.passed) == cls.expected
