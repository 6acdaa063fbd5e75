"""Each family keeps the contract, and a made-up one is known by one line."""

import subprocess
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import as_user
import pytest
from made_up_family import MadeUp, made_up_program, score_of
from needs import skip_without
from program_contract import RUN, ProgramContract, result_of
from replayed import replaying
from vendor_programs import (
    amd_zen_hpl,
    fake_gpus,
    hpcg,
    intel_hpl,
    nvidia_hpcg,
    nvidia_hpl,
    nvidia_mxp,
    roc_hpl,
    roc_mxp,
)

from hpl.blas.catalogue import BlasLibrary
from hpl.build.source import HplSource, SourceError
from hpl.build.toolchain import Mpi
from hpl.params import HplParams, Scalar, parse_grid
from hpl.programs import registry
from hpl.programs.family import AskedLibrary, AskedStart, HplProgram, ReadyProgram, UserProgramError
from hpl.programs.gpus import NoGpuError, for_program, gpus, peak_gflops
from hpl.programs.hpcc import HpccHpl
from hpl.programs.netlib import NetlibHpl
from hpl.programs.registry import TO_BUILD, obtain, program_at, with_source
from hpl.programs.terms import TAKES_ALL, Gpu, NodeShape
from hpl.search_paths import SearchPaths
from hpl.workload import HPCG, HPL_MXP


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
            skip_without("the source of this program")
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
    made = staticmethod(replaying)

    @pytest.mark.parametrize("name", ["hpl-mxp.sh", "xhpl_mxp", "xhpl_ai_hpl-ai"])
    def test_other_benchmarks_are_refused_by_their_names(self, tmp_path: Path, name: str) -> None:
        with pytest.raises(UserProgramError, match="another benchmark, and is no program of it that hpltune can start"):
            program_at(tmp_path / name)

    def test_any_other_file_is_one(self, tmp_path: Path) -> None:
        assert program_at(tmp_path / "none").name == "xhpl"
        for line in ('exec "$FOLDER/solver" "$@"', "exec linpack.x"):
            assert program_at(as_user.program(tmp_path / "run.sh", f"#!/bin/sh\n{line}\n")).name == "xhpl"

    @pytest.mark.parametrize(
        ("text", "lack"),
        [
            (None, "neither the word HPL.dat nor HPLinpack, and is linked with no MPI library"),
            ("#!/bin/sh\necho done\n", "it is a script that names none"),
            ('#!/bin/sh\nexec /bin/true "$@"\n', "it is a script that names none"),
        ],
    )
    def test_a_file_in_which_nothing_speaks_of_hpl_is_refused(
        self, tmp_path: Path, text: str | None, lack: str
    ) -> None:
        file = Path("/bin/true") if text is None else as_user.program(tmp_path / "mine", text)
        with pytest.raises(UserProgramError) as refused:
            program_at(file)
        assert str(refused.value).startswith(f"⟦xhpl⟧ {file}: this is no program of HPL: it ")
        assert lack in str(refused.value)


class TestAmdZen(ProgramContract):
    printed = (
        "AMD Zen HPL 2024_10_08\n"
        "T/V         SWP           N    NB     P     Q            Time             Gflops\n"
        "WRC07R8C48c 211         300    32     1     1            0.01         1.8135e+00\n"
        "||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)=   2.10000000e-03 ...... PASSED\n"
        "End of Tests.\n"
    )

    made = staticmethod(amd_zen_hpl)

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
    made = staticmethod(intel_hpl)

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


class TestNvidia(ProgramContract):
    node = NodeShape(16, gpus=(Gpu("NVIDIA", "H100", 2**36, 0, "0-15"),))
    printed = (
        "T/V                N    NB     P     Q         Time          Gflops (   per GPU)\n"
        "WC0              300    32     1     1         0.01      1.8135e+00 ( 1.813e+00)\n"
        "||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)=   2.10000000e-03 ...... PASSED\n"
        "End of Tests.\n"
    )

    made = staticmethod(nvidia_hpl)

    def test_each_rank_gets_its_gpu_and_the_cores_and_the_memory_near_it(self, program: HplProgram) -> None:
        node = NodeShape(32, gpus=(Gpu("NVIDIA", "H100", 2**36, 0, "0-15"), Gpu("NVIDIA", "H100", 2**36, 1, "16-31")))
        asked = AskedStart((RUN,), ranks=4, threads=16, nodes=2, node=node, own=program.terms.own_of({}))
        assert " ".join(program.start(asked).arguments) == (
            "--dat HPL.dat --gpu-affinity 0:1 --cpu-affinity 0-15:16-31 --mem-affinity 0:1"
        )
        assert program.terms.layouts(node, 2) == [(4, 16)]

    def test_values_that_need_nvshmem_are_refused_without_it(self, program: HplProgram) -> None:
        fitted = program.terms.fitted(RUN.words())
        without = {**fitted, "program.use_nvshmem": 0}
        assert not list(program.terms.refusals(without, 1))
        (sentence,) = program.terms.refusals({**without, "program.p2p_as_bcast": 4}, 1)
        assert "program.p2p_as_bcast = 4 sends with NVSHMEM, which program.use_nvshmem = 0 turns off" in sentence

    def test_its_program_and_its_script_are_refused_without_each_other(self, tmp_path: Path) -> None:
        binary = tmp_path / "xhpl"
        binary.write_bytes(b"\x7fELF HPL_P2P_AS_BCAST\0HPL_FCT_COMM_POLICY\0")
        with pytest.raises(UserProgramError, match=r"name hpl\.sh"):
            program_at(binary)
        binary.unlink()
        script = nvidia_hpl(tmp_path / "alone")
        (script.parent / "hpl-linux-x86_64/xhpl").unlink()
        with pytest.raises(UserProgramError, match="no xhpl lies below its folder"):
            program_at(script)


class TestRocHpl(ProgramContract):
    made = staticmethod(roc_hpl)

    def test_its_starter_and_a_script_without_its_program_are_refused(self, tmp_path: Path) -> None:
        with pytest.raises(UserProgramError, match="name run_rochpl beside it"):
            program_at(tmp_path / "mpirun_rochpl")
        script = tmp_path / "run_rochpl"
        script.write_text(f"#!/bin/bash\nrochpl_bin={tmp_path}/bin/rochpl\n")
        with pytest.raises(UserProgramError, match="bin/rochpl is not there"):
            program_at(script)

    @pytest.mark.parametrize(
        ("value", "grid", "ranks", "words"),
        [
            ("auto", "2x4", 8, "-P 2 -Q 4 -p 2 -q 4"),
            ("auto", "4x4", 8, "-P 4 -Q 4 -p 2 -q 4"),
            ("4x2", "4x4", 8, "-P 4 -Q 4 -p 4 -q 2"),
        ],
    )
    def test_its_local_grid_has_all_ranks_of_a_node(
        self, program: HplProgram, value: str, grid: str, ranks: int, words: str
    ) -> None:
        P, Q = parse_grid(grid)
        run = replace(RUN, P=P, Q=Q)
        own: dict[str, Scalar] = {"split": 0.5, "local_grid": value}
        asked = AskedStart((run,), P * Q, 4, P * Q // ranks, NodeShape(4 * ranks), own)
        assert " ".join(program.start(asked).arguments) == f"{words} -f 0.5 -i HPL.dat"
        point = program.terms.fitted({**run.words(), "program.local_grid": value})
        assert not list(program.terms.refusals(point, ranks))

    def test_a_local_grid_that_divides_no_grid_is_refused(self, program: HplProgram) -> None:
        point = program.terms.fitted({**replace(RUN, P=2, Q=4).words(), "program.local_grid": "8x1"})
        (sentence,) = program.terms.refusals(point, 8)
        assert sentence == (
            "program.local_grid = 8x1 does not divide the grid 2x4 over nodes with 8 ranks each: rocHPL refuses it"
        )


class TestHpcg(ProgramContract):
    printed = (
        "HPCG-Benchmark\nversion=3.1\nMachine Summary::Distributed Processes=1\n"
        "Local Domain Dimensions::nx=104\nLocal Domain Dimensions::ny=104\nLocal Domain Dimensions::nz=104\n"
        "Reproducibility Information::Scaled residual mean=1.26595e-16\nBenchmark Time Summary::Total=60.4\n"
        "GFLOP/s Summary::Raw Total=0.180435\nFinal Summary=\n"
        "Final Summary::HPCG result is VALID with a GFLOP/s rating of=0.179654\n"
    )

    made = staticmethod(hpcg)
    expected = (104**3, 1, 1, 1, True)

    def test_its_file_has_the_equations_of_a_rank_and_the_seconds(self, program: HplProgram) -> None:
        assert program.workload is HPCG
        asked = self.asked(program, nx=64, ny=32, seconds=1800)
        assert program.input_text(asked).splitlines()[2:] == ["64 32 104", "1800"]

    def test_a_short_run_is_not_official(self, program: HplProgram) -> None:
        (caution,) = program.cautions({"program.seconds": 60})
        assert "so its rating is not official: HPCG demands 1800 s" in caution
        assert not program.cautions({"program.seconds": 1800})

    def test_a_result_that_hpcg_calls_invalid_does_not_count(self, program: HplProgram) -> None:
        invalid = self.printed.rpartition("Final Summary::")[0] + "Final Summary::HPCG result is=INVALID.\n"
        (result,) = program.parse(invalid).results
        assert result.why_not() == "HPCG says that its result is INVALID"

    @pytest.mark.parametrize(
        ("sizes", "sentence"),
        [
            ((100, 104, 104), "program.nx = 100 is refused by HPCG: take a multiple of 8"),
            ((16, 192, 192), "16x192x192 equations of a rank are refused by HPCG: take no size below 0.125"),
        ],
    )
    def test_sizes_that_hpcg_does_not_take_are_refused(
        self, program: HplProgram, sizes: tuple[int, int, int], sentence: str
    ) -> None:
        own = {f"program.{name}": size for name, size in zip(("nx", "ny", "nz"), sizes, strict=True)}
        (said,) = program.terms.refusals({**RUN.words(), **own}, 1)
        assert said.startswith(sentence)

    def test_nvidias_program_needs_its_script(self, tmp_path: Path) -> None:
        binary = tmp_path / "xhpcg-cuda"
        binary.write_bytes(b"\x7fELF libcusparse HPCG result is VALID with a GFLOP/s rating of")
        with pytest.raises(UserProgramError, match=r"name hpcg\.sh"):
            program_at(binary)


class TestNvidiaHpcg(TestHpcg):
    node = NodeShape(16, gpus=(Gpu("NVIDIA", "H100", 2**36, 0, "0-15"),))
    printed = TestHpcg.printed.replace("=104", "=256")

    made = staticmethod(nvidia_hpcg)
    expected = (256**3, 1, 1, 1, True)

    def test_its_file_has_the_equations_of_a_rank_and_the_seconds(self, program: HplProgram) -> None:
        asked = self.asked(program, p2p=4)
        assert program.input_text(asked).splitlines()[2:] == ["256 256 256", "60"]
        assert " ".join(program.start(asked).arguments) == "--dat hpcg.dat --gpu-affinity 0 --p2p 4 --l2cmp 0"


class TestNvidiaMxp(ProgramContract):
    node = NodeShape(16, gpus=(Gpu("NVIDIA", "H100", 2**36, 0, "0-15"),))
    run = HplParams(100_000, 2048, 1, 1)
    printed = (
        "HPL-MxP-NVIDIA 24.6.0  -- NVIDIA accelerated HPL-MxP benchmark -- NVIDIA\n"
        "LU seconds: AVG = 1.36, MAX = 1.36 (0->a), MIN = 1.36 (0->a)\n"
        "GMRES seconds: AVG = 1.07, MAX = 1.07 (0->a), MIN = 1.07 (0->a)\n\n ****** HPL MxP Result    ****** \n\n"
        "  ||Ax-b||_oo     . . . . . . . . . . . . . . . . .          =    5.839405E-14\n"
        "  ||Ax-b||_oo / (EPS * (||A||_oo * ||x||_oo + ||b||_oo) * N) =    9.644059E-04 ...... PASSED\n\n"
        "    N = 100000, NB = 2048, NPROW = 1, NPCOL = 1, SLOPPY-TYPE = 2\n"
        "       GFLOPS = 2.7415e+05, per GPU =  274152.31\n    LU GFLOPS = 4.8842e+05, per GPU =  488416.20\n"
    )

    made = staticmethod(nvidia_mxp)
    expected = (100_000, 2048, 1, 1, True)

    def test_its_command_says_all(self, program: HplProgram) -> None:
        assert program.workload is HPL_MXP
        asked = self.asked(program, sloppy_type="FP8", prioritize_trsm=1)
        assert " ".join(program.start(asked).arguments) == (
            "--n 100000 --nb 2048 --nprow 1 --npcol 1 --nporder row --sloppy-type FP8 --prioritize-trsm 1 "
            "--gpu-affinity 0 --cpu-affinity 0-15 --mem-affinity 0"
        )

    def test_its_time_is_that_of_both_parts(self, program: HplProgram) -> None:
        (result,) = program.parse(self.printed).results
        assert result.time_s == pytest.approx(2.43, abs=0.01)
        assert not result.why_not()
        (result,) = program.parse(self.printed.replace("MAX = 1.36", "MAX = 3.36")).results
        assert "do not fit 4.43" in result.why_not()


class TestRocHplMxp(ProgramContract):
    node = NodeShape(16, gpus=(Gpu("AMD", "MI210", 2**36),))
    run = HplParams(61440, 2560, 1, 1)
    printed = (
        "T/V                N    NB     P     Q               Time                 Gflops\n"
        "WR0            61440  2560     1     1               1.55              1.000e+05\n"
        "||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)=        0.0011000 ...... PASSED\n"
        "End of Tests.\n"
    )

    made = staticmethod(roc_mxp)
    expected = (61440, 2560, 1, 1, True)

    def test_its_file_has_no_lines_that_it_lacks(self, program: HplProgram) -> None:
        assert program.workload is HPL_MXP
        asked = self.asked(program)
        assert " ".join(program.start(asked).arguments) == "-P 1 -Q 1 -p 1 -q 1 -i HPL-MxP.dat"
        lines = program.input_text(asked).splitlines()
        assert (len(lines), lines[5].split()[0], lines[7].split()[0]) == (14, "61440", "2560")
        assert lines[13].startswith("1            BCASTs")

    def test_a_part_of_a_block_is_refused(self, program: HplProgram) -> None:
        (sentence,) = program.terms.refusals({**self.run.words(), "N": 61441}, 1)
        assert sentence == "N = 61441 is no multiple of NB = 2560: rocHPL-MxP computes whole blocks only"

    def test_its_starter_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(UserProgramError, match="name run_rochplmxp beside it"):
            program_at(tmp_path / "mpirun_rochplmxp")


class TestGpus:
    @pytest.fixture(autouse=True)
    def nothing_hidden(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in ("CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES"):
            monkeypatch.delenv(name, raising=False)

    def test_nvidias_are_told_by_its_tool_and_near_what_the_kernel_shows(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("PATH", f"{fake_gpus(tmp_path / 'bin').parent}:/usr/bin:/bin")
        device = tmp_path / "sys/bus/pci/devices/0000:11:00.0"
        device.mkdir(parents=True)
        (device / "numa_node").write_text("1\n")
        (device / "local_cpulist").write_text("16-31\n")
        first, second = gpus(tmp_path)
        assert first == Gpu("NVIDIA", "NVIDIA H100 80GB HBM3", 81559 * 2**20, 1, "16-31")
        assert (second.numa_node, second.cpus) == (None, "")
        assert peak_gflops([first, second])[0] == 134e3
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
        assert gpus(tmp_path) == (second,)

    def test_amds_are_told_by_the_kernel(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PATH", "/usr/bin:/bin")
        for number, vendor in enumerate(("0x1002", "0x1a03")):
            device = tmp_path / f"sys/class/drm/card{number}/device"
            device.mkdir(parents=True)
            (device / "vendor").write_text(f"{vendor}\n")
            (device / "device").write_text("0x74a1\n")
            (device / "mem_info_vram_total").write_text("206141652992\n")
            (device / "numa_node").write_text("-1\n")
        (found,) = for_program("rochpl", "AMD", tmp_path)
        assert found == Gpu("AMD", "GPU 0x74a1", 206141652992)
        assert peak_gflops([found])[0] == 163.4e3
        with pytest.raises(NoGpuError, match=r"GPUs of NVIDIA, and this machine shows none .found: GPU 0x74a1"):
            for_program("nvidia", "NVIDIA", tmp_path)

    def test_of_an_unknown_gpu_the_peak_is_asked_for(self) -> None:
        with pytest.raises(
            NoGpuError, match="of GeForce in double precision is not known: give that of all with ⟦rpeak⟧"
        ):
            peak_gflops([Gpu("NVIDIA", "GeForce", 2**33)])


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


def test_a_source_of_another_family_is_for_another_program(tmp_path: Path) -> None:
    netlib = source(tmp_path / "given/hpl").parent
    source(tmp_path / "cache/source/hpcc/top/hpl", "include/hpcc.h")
    search = SearchPaths(None, tmp_path / "cache")
    given = {with_source(program, search, netlib, of_its_family=True) for program in (NetlibHpl(), HpccHpl())}
    assert {program.name for program in given} == {"netlib", "hpcc"}
    assert [program.description for program in given if program.name == "netlib"] == [
        f"unknown (⟦hpl_source⟧ {netlib})"
    ]


def test_what_hpcc_needs_besides_is_told_by_its_source(tmp_path: Path) -> None:
    root = source(tmp_path / "top/hpl", "include/hpcc.h")
    found = obtain(SearchPaths(None, tmp_path / "cache"), root.parent)
    assert ([file.name for file in found.more], found.wrapped) == (["hpcc_main.c"], ("fopen",))
    plain = replace(found, kind="netlib", include=None, more=(), wrapped=())
    assert plain == HplSource("netlib", "2.0", root, found.origin, found.digest)
