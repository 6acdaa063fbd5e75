"""Logs of any origin: what launches print before their results, in the shapes of several programs."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from record_strategies import hpl_params

from hpl.dat import HplDat
from hpl.log import VARIANT, read_log
from hpl.params import Bcast, Fact, Form, HplParams, Pmap, Swap
from hpl.sizing import flop_count
from hpl.variant import encode

DATA = Path(__file__).parent / "data"
_FACTS = {Fact.LEFT: "Left", Fact.CROUT: "Crout", Fact.RIGHT: "Right"}
_BCASTS = dict(zip(Bcast, ("1ring", "1ringM", "2ring", "2ringM", "Blong", "BlongM"), strict=False))
_FORMS = {Form.TRANSPOSED: "transposed form", Form.NOT_TRANSPOSED: "no-transposed form"}


def launch(params: HplParams, *, residual: str = "0.0012 ...... PASSED", seconds: float = 100.0) -> str:
    """What HPL 2.3 prints for one run."""
    swap = {
        Swap.MIX: f"Mix (threshold = {params.swap_threshold})",
        Swap.LONG: "Spread-roll (long)",
        Swap.BINARY_EXCHANGE: "Binary-exchange",
    }[params.SWAP]
    rate = flop_count(params.N) / seconds / 1e9
    row = f"{encode(params)} {params.N} {params.NB} {params.P} {params.Q} {seconds:.2f} {rate:.4e}"
    return f"""
HPLinpack 2.3  --  High-Performance Linpack benchmark  --   December 2, 2018
T/V    : Wall time / encoded variant.
N      : The order of the coefficient matrix A.
The following parameter values will be used:
N      :  {params.N}
NB     :  {params.NB}
PMAP   : {"Row" if params.PMAP is Pmap.ROW else "Column"}-major process mapping
P      :  {params.P}
Q      :  {params.Q}
PFACT  :  {_FACTS[params.PFACT]}
NBMIN  :  {params.NBMIN}
NDIV   :  {params.NDIV}
RFACT  :  {_FACTS[params.RFACT]}
BCAST  :  {_BCASTS[params.BCAST]}
DEPTH  :  {params.DEPTH}
SWAP   : {swap}
L1     : {_FORMS[params.L1]}
U      : {_FORMS[params.U]}
EQUIL  : {"yes" if params.EQUIL else "no"}
ALIGN  : {params.alignment} double precision words
- Computational tests pass if scaled residuals are less than                {params.threshold!r}
================================================================================
T/V                N    NB     P     Q               Time                 Gflops
--------------------------------------------------------------------------------
{row}
HPL_pdgesv() start time Sun Mar  1 12:00:00 2026

HPL_pdgesv() end time   Sun Mar  1 12:01:40 2026
--------------------------------------------------------------------------------
||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)= {residual}
================================================================================
End of Tests.
"""


@settings(max_examples=25)
@given(st.lists(hpl_params().filter(lambda run: not run.BCAST.of_vendors), min_size=1, max_size=3))
def test_all_parameters_of_every_launch_in_a_log_are_read_back(asked: list[HplParams]) -> None:
    log = read_log("".join(map(launch, asked)))
    assert log.launches == len(asked)
    assert log.finished
    for params, logged in zip(asked, log.results, strict=True):
        read = logged.hpl
        assert read is not None
        swap_threshold = params.swap_threshold if params.SWAP is Swap.MIX else HplParams(1, 1, 1, 1).swap_threshold
        assert {**params.words(), "swap_threshold": swap_threshold} == read.words()
        assert logged.program == "HPLinpack 2.3"
        assert (logged.started_at, logged.ended_at) != (None, None)


@settings(max_examples=25)
@given(st.text(max_size=400))
def test_no_text_makes_the_reader_fail(text: str) -> None:
    assert read_log(text).results == ()
    read_log(launch(HplParams(6000, 192, 1, 2)).replace("2ring", text) + text)


def test_several_results_of_a_real_launch_have_each_their_own_lines() -> None:
    log = read_log((DATA / "several.txt").read_text())
    assert len(log.results) > 1
    assert all(logged.text.count("Gflops") == 1 for logged in log.results)
    assert all(logged.hpl is not None for logged in log.results)


def test_a_real_output_that_was_cut_off_keeps_what_was_finished() -> None:
    log = read_log((DATA / "truncated.txt").read_text())
    assert len(log.results) == 1
    assert not log.finished


def test_a_fork_with_letters_of_its_own_keeps_its_code_and_makes_up_nothing() -> None:
    text = launch(HplParams(6000, 192, 1, 2)).replace("WR11C2R4", "WRC07R8C48c").replace("1ringM", "HybBcast")
    (logged,) = read_log("AMD Zen HPL 2030_01_01\nDerived from:\n" + text).results
    assert logged.program == "AMD Zen HPL 2030_01_01"
    assert logged.words[VARIANT] == "WRC07R8C48c"
    assert "BCAST" not in logged.words
    assert logged.hpl is None


def test_the_lines_of_an_automation_may_be_indented() -> None:
    text = "\n".join(f"        {line}" for line in launch(HplParams(6000, 192, 1, 2)).splitlines())
    (logged,) = read_log("ok: [host] => \n    stdout: |-\n" + text).results
    assert logged.hpl == HplParams(6000, 192, 1, 2)


def test_an_excerpt_has_a_size_and_a_variant_but_not_all_parameters() -> None:
    (logged,) = read_log("WR11C2R4        6000   192     1     2               2.00              7.2e+01\n").results
    assert (logged.words["N"], logged.words["DEPTH"], logged.words["BCAST"]) == (6000, 1, "1rM")
    assert logged.hpl is None
    assert logged.result.passed is None


def test_mixed_precision_is_told_apart_within_one_log() -> None:
    real, other = launch(HplParams(6000, 192, 1, 2)), launch(HplParams(7000, 192, 1, 2))
    named = read_log(real + "HPL-MxP 24.9.0 -- mixed precision\n" + other + real)
    assert [logged.result.N for logged in named.results] == [6000, 6000]
    assert named.mixed_precision == 1
    refined = read_log(other.replace("====\nT/V", "====\nCPU 3 CG 0 iter 1 resid1 = 4.5e+06\nT/V"))
    assert (refined.results, refined.mixed_precision) == ((), 1)


def test_mixed_precision_without_its_name_is_known_by_its_count_of_iterations() -> None:
    text = (Path(__file__).parent / "data/hpl-mxp.txt").read_text()
    assert (read_log(text).results, read_log(text).mixed_precision) == ((), 1)


STAMPED = launch(HplParams(6000, 192, 1, 2))
AT_ROW = "=" * 80 + "\nT/V "
CUT_OFF = STAMPED.partition("\nHPL_pdgesv")[0] + "\n"
NVIDIA_MXP = """ ****** test 1 of 1 starts ******
GMRES iteration  0, L-infinite residual = 4.72199031e-04
 ****** HPL MxP Result    ******
  ||Ax-b||_oo / (EPS * (||A||_oo * ||x||_oo + ||b||_oo) * N) =    2.480394E-03 ...... PASSED
    N = 10000, NB = 256, NPROW = 1, NPCOL = 1, SLOPPY-TYPE = 2
       GFLOPS = 1.1492e+03, per GPU =    1149.16
"""


@pytest.mark.parametrize(
    "text",
    [
        STAMPED.replace("HPL_pdgesv", "HPL_psgesv"),
        STAMPED.replace("HPL_pdgesv", "HPLAI_pdgesv"),
        STAMPED.replace("HPL_pdgesv", "HPLMXP_pdgesv").replace("WR11C2R4", "WR0"),
        STAMPED.replace("...... PASSED", "...... PASSED (4 iterations)"),
        STAMPED.replace("...... PASSED", "...... PASSED (iterations: 4)"),
        STAMPED.replace(
            "\nHPL_pdgesv() start", "\nGMRES iteration  1, L-infinite residual = 1.06e-09\nHPL_pdgesv() start"
        ),
        STAMPED.replace("\n||Ax-b", "\nGMRES iterations: 4\n||Ax-b"),
        STAMPED.replace(AT_ROW, f"Estimated residual norm at the 1-th iteration of GMRES: 3.4e-10\n{AT_ROW}"),
        STAMPED.replace(AT_ROW, f"1st iteration. Residual :   1.5528e+04, time =   0.22 sec\n{AT_ROW}"),
        STAMPED.replace(AT_ROW, f"# refinement: step=  1, ||r||=1.0e-03, residual=0.2\n{AT_ROW}"),
        STAMPED.replace("HPLinpack 2.3  --", "HPL-AI Mixed-Precision Benchmark v2.3d  --"),
        STAMPED.replace("HPLinpack 2.3  --", "HPL-AI Mixed-Precision Benchmark  --"),
        STAMPED.replace("HPLinpack 2.3  --", "HPL-AI-NVIDIA 1.0.0  -- NVIDIA\nHPLinpack 2.1  --"),
        NVIDIA_MXP,
    ],
    ids=[
        "Intel", "Sun Yat-sen", "AMD", "iterations behind the verdict", "their count behind the verdict",
        "GMRES behind the row", "count of GMRES before the verdict", "reference implementation", "its iterations",
        "its steps", "version", "no version", "two banners", "NVIDIA",
    ],
)  # fmt: skip
def test_mixed_precision_of_every_build_is_no_result_and_marks_only_itself(text: str) -> None:
    alone, beside = read_log(text), read_log(STAMPED + text + STAMPED)
    assert (alone.results, alone.mixed_precision) == ((), 1)
    assert ([one.result.N for one in beside.results], beside.mixed_precision) == ([6000, 6000], 1)
    assert all(not one.result.why_not(16.0) for one in beside.results)


@pytest.mark.parametrize(
    "words",
    [
        "# export USE_HPL_AI=1   (runs the mixed-precision benchmark)",
        "Next we will run HPL-MxP, whose iterative refinement needs GPUs.",
        "==== now HPL-MxP ====",
    ],
)
def test_words_of_a_script_or_of_prose_make_no_result_one_of_mixed_precision(words: str) -> None:
    log = read_log(f"{words}\n{STAMPED}{words}\n{STAMPED}{words}\n")
    assert (len(log.results), log.mixed_precision, log.mixed_begun) == (2, 0, False)


@pytest.mark.parametrize("marks", ["1st iteration. Residual :   1.55e+04, time =   0.22 sec", "GMRES iterations: 4"])
def test_iterations_of_the_next_launch_mark_its_row_and_none_that_was_cut_off_before(marks: str) -> None:
    log = read_log(STAMPED + CUT_OFF + STAMPED.replace(AT_ROW, f"{marks}\n{AT_ROW}") + STAMPED)
    assert ([one.result.passed for one in log.results], log.mixed_precision) == ([True, None, True], 1)


def test_the_check_of_another_benchmark_does_not_pass_a_row_that_was_cut_off() -> None:
    log = read_log(CUT_OFF + NVIDIA_MXP)
    assert ([one.result.passed for one in log.results], log.mixed_precision) == ([None], 1)


def test_tests_of_other_sections_of_the_hpc_challenge_are_not_counted() -> None:
    counts = "Finished 1 tests with the following results:\n 1 tests completed and passed residual checks,\n"
    ptrans = counts.replace("1 tests", "5 tests")
    hpl = STAMPED.replace("End of Tests.\n", counts)
    log = read_log(
        f"Begin of HPL section.\n{hpl}End of HPL section.\nBegin of PTRANS section.\n{ptrans}End of PTRANS section.\n"
    )
    assert (len(log.results), log.missing) == (1, 0)


def test_the_variant_of_a_dat_is_what_the_output_says() -> None:
    (logged,) = read_log(launch(HplParams(6000, 192, 1, 2, BCAST=Bcast.LONG))).results
    assert logged.hpl is not None
    assert next(iter(HplDat.of(logged.hpl).runs())).BCAST is Bcast.LONG
