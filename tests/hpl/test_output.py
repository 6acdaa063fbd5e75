from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpl.output import PHASES, HplResult, parse
from hpl.sizing import flop_count, fraction_done, gflops

DATA = Path(__file__).with_name("data")
CAPTURED = sorted(DATA.glob("*.txt"))


def captured(name: str) -> str:
    return (DATA / f"{name}.txt").read_text()


def test_a_passed_run_is_read_with_rate_and_residual() -> None:
    output = parse(captured("passed"))
    assert output.finished
    result = output.results[0]
    assert (result.code, result.N, result.NB, result.P, result.Q) == ("WR11C2R4", 500, 64, 1, 2)
    assert result.passed is True
    assert result.residual == pytest.approx(0.0059298)
    assert result.consistent


def test_every_result_of_a_file_with_several_is_read_in_order() -> None:
    output = parse(captured("several"))
    assert [(result.NB, result.code[2]) for result in output.results] == [(32, "0"), (32, "1"), (64, "0"), (64, "1")]
    assert all(result.passed for result in output.results)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (
            "HPL ERROR: CUDART Error: cudaMalloc((void**)&A_dev, n) = 2 (out of memory) on n1 at (../HPL_pdtest.c:422)",
            "the memory of a GPU is too small for this N: CUDART Error: cudaMalloc",
        ),
        ("HPL ERROR: CUBLAS initialization failed", "CUBLAS initialization failed"),
        ("NVSHMEM initialization failed, exiting", "NVSHMEM initialization failed, exiting"),
        ("Error: HIP runtime error in file a.hpp, line 3, error code: 2, out of memory", "the memory of a GPU is too"),
    ],
)
def test_errors_of_programs_for_gpus_are_read(line: str, words: str) -> None:
    (error,) = parse(line).errors
    assert error.startswith(words)


def test_of_three_checks_the_one_that_failed_is_named() -> None:
    check = "||Ax-b||_oo / ( eps * ||A||_1  * N        ) = "
    row = "W11R2C4  1000  32  1  1  1.00  6.687e-01\n".replace("W11", "WR11")
    rest = f"{check} 0.0511 ...... PASSED\n{check} 0.0040 ...... FAILED\n{check} 0.0300 ...... PASSED\n"
    (result,) = parse(row + rest).results
    assert result.why_not() == "the residual check FAILED (0.004)"
    assert parse(row + rest.replace("FAILED", "PASSED")).results[0].passed is True


@pytest.mark.parametrize(("name", "passed"), [("failed", False), ("unchecked", None)])
def test_a_failed_or_unchecked_residual_is_told_from_a_passed_one(name: str, passed: bool | None) -> None:  # noqa: FBT001
    assert parse(captured(name)).results[0].passed is passed


def test_hpls_own_errors_are_read() -> None:
    assert parse(captured("need-4.stderr")).errors == ("Need at least 4 processes for these tests (HPL_pdinfo)",)
    output = parse(captured("no-memory"))
    assert "Memory allocation failed" in output.errors[0]
    assert output.results == ()


def test_a_line_with_a_short_code_is_read_whole() -> None:
    result = parse("WC0  92160  1024  1  1  30.73  1.698e+04 ( 1.698e+04)").results[0]
    assert (result.code, result.N, result.NB, result.P, result.Q) == ("WC0", 92160, 1024, 1, 1)
    assert result.consistent


@pytest.mark.parametrize(
    ("head", "routine"),
    [
        ("HPL ERROR from process # 1, on line 203 of function HPL_pdpanel_init:", "HPL_pdpanel_init"),
        ("HPL ERROR from process # 1, in function HPL_grid_init:", "HPL_grid_init"),
    ],
)
@pytest.mark.parametrize("tail", ["<<<", "<<< Abort ..."])
def test_an_error_is_what_hpl_says_without_its_marks_whether_it_goes_on_or_aborts(
    head: str, routine: str, tail: str
) -> None:
    said = f"{head}\n>>> Memory allocation failed {tail}\n\n"
    assert parse(said).errors == (f"Memory allocation failed ({routine})",)


def test_a_truncated_output_gives_what_it_holds() -> None:
    output = parse(captured("truncated"))
    assert not output.finished
    assert [result.passed for result in output.results] == [True]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("WR11C2R4       35840   256     1     8              45.36             6.7673e+02", 676.73),
        ("WC05R2C4      100000   384     2     2     1052.91   1052.88     6.332e+02", 633.2),
        ("\x1b[1mWR03L2L2  92160  1024 1 1  12.75  4.091e+04 ( 4.091e+04)\x1b[0m", 40910.0),
        ("WC0  92160  1024  1  1  30.73  1.698e+04 ( 1.698e+04)", 16980.0),
        ("WR00R2R16 34 4 1 8 0.00 8.4e-03", 0.0084),
    ],
    ids=["2.3", "a fork with CPU time", "NVIDIA, coloured, per GPU", "NVIDIA's short code", "Kronos"],
)
def test_forks_put_the_rate_last(line: str, expected: float) -> None:
    assert parse(line).results[0].gflops == expected


def test_amds_codes_and_its_column_before_n_are_read_and_passed() -> None:
    output = parse(captured("amd-zen"))
    assert output.finished
    assert [(one.code, one.N, one.NB, one.P, one.Q, one.time_s, one.gflops) for one in output.results] == [
        ("WRC07R8C48c", 100000, 384, 1, 2, 100.0, 6666.8),
        ("WR0XR8C48", 50000, 384, 1, 2, 20.0, 4166.9),
    ]
    assert all(one.passed and one.consistent for one in output.results)


def test_what_hpl_mxp_prints_behind_the_rate_is_not_the_rate() -> None:
    (result,) = parse(captured("hpl-mxp")).results
    assert (result.gflops, result.passed, result.consistent) == (106700.0, True, True)


@pytest.mark.parametrize("name", ["amd-zen", "hpl-mxp"])
def test_a_fork_is_read_without_the_head_of_its_table_too(name: str) -> None:
    whole = captured(name)
    bare = "\n".join(line for line in whole.splitlines() if not line.startswith("T/V"))
    assert parse(bare).results == parse(whole).results


def test_a_check_belongs_to_the_result_of_its_own_table() -> None:
    text = captured("passed") + captured("failed").replace("\nW", "\n?")
    assert [result.passed for result in parse(text).results] == [True]


@pytest.mark.parametrize(
    "line",
    [
        "WR11C2R4 1 1 1 1 " + "1 " * 20_000 + "x",
        "WR11C2R4 1 1 1 1 " + "1" * 100_000 + "x",
        "WR11C2R4 " + "1" * 5_000 + " 64 1 2 1.0 1.0",
        "WR11C2R4 500 64 1 2 " + "1" * 900 + " 1.0",
        "W" + "R1" * 50_000,
        "=" + "1" * 100_000 + "." * 100_000 + "PASSE",
        "=" * 100_000,
        "\x1b[" + "1;" * 100_000,
        "HPL ERROR from process # " + "1" * 100_000,
    ],
    ids=lambda line: line[:30],
)
def test_a_line_of_any_length_is_read_at_once(line: str) -> None:
    assert not any(result.consistent for result in parse(f"{line}\n").results)


WORDS = "WR11C2R4 WRC07R8C48c W T/V N Gflops ||Ax-b||= PASSED ...... ( 1_0 1 211 0.00 1e999 nan -inf 1e-320 ²"
PIECES = st.sampled_from(
    [*WORDS.split(), "9" * 5000, "\n", "\r", "\x1b[1m", "HPL ERROR from process # 1, in function f:"]
)


@given(
    st.lists(
        st.builds(
            lambda piece, times, gap: (piece + gap) * times,
            PIECES,
            st.integers(1, 400),
            st.sampled_from(["", " ", "\t"]),
        )
    )
)
def test_no_repetition_makes_the_parser_fail(pieces: list[str]) -> None:
    output = parse("".join(pieces))
    assert all(result.N < 2**31 for result in output.results)


@pytest.mark.parametrize("figures", ["inf 1e-320", "0.00 inf", "0.00 nan", "0.00 -nan"])
def test_a_rate_that_is_no_number_or_too_small_to_have_a_time_is_read_but_not_believed(figures: str) -> None:
    (result,) = parse(f"WR11C2R4 500000 64 1 2 {figures}\n").results
    assert not result.consistent


def test_a_residual_that_is_no_number_has_failed() -> None:
    text = "WR11C2R4 500 64 1 2 0.00 3.3e+01\n||Ax-b||_oo/(eps*N)=   nan ...... FAILED\n"
    assert parse(text).results[0].passed is False


@pytest.mark.parametrize(
    ("residual", "why"),
    [
        ("nan", "its residual is nan, which is no number above 0"),
        ("-nan", "its residual is nan, which is no number above 0"),
        ("inf", "its residual is inf, which is no number above 0"),
        ("0.0", "its residual is 0.0, which is no number above 0"),
        ("17.5", "its residual is 17.5, not below 16, although HPL says PASSED"),
    ],
)
def test_the_number_of_the_residual_decides_and_not_the_word(residual: str, why: str) -> None:
    text = captured("passed").replace("0.0059298", residual)
    assert why in parse(text).results[0].why_not()


@given(st.text())
def test_no_text_makes_the_parser_fail(text: str) -> None:
    parse(text)


@given(st.sampled_from(CAPTURED), st.integers(0, 4000), st.text(max_size=30))
def test_no_damage_to_a_real_output_makes_the_parser_fail(path: Path, place: int, damage: str) -> None:
    text = path.read_text()
    parse(text[:place] + damage + text[place + len(damage) :])
    parse(text[:place])


@given(st.integers(1, 10**6), st.floats(0.01, 1e5))
def test_a_rate_computed_from_the_time_is_consistent(N: int, time_s: float) -> None:
    result = HplResult("WR11C2R4", N, 64, 1, 1, round(time_s, 2), gflops(N, time_s))
    assert result.consistent


def test_a_rate_of_another_n_is_not_consistent() -> None:
    assert not HplResult("WR11C2R4", 5000, 64, 1, 1, 10.0, gflops(6000, 10.0)).consistent


def test_operations_are_counted_as_hpl_counts_them() -> None:
    assert flop_count(3) == 18 + 13.5
    assert gflops(1000, 1.0) == pytest.approx(0.66816666)
    with pytest.raises(ValueError, match="0 s"):
        gflops(1000, 0)


def test_half_the_columns_are_most_of_the_work() -> None:
    assert fraction_done(1000, 0) == 0
    assert fraction_done(1000, 500) == pytest.approx(0.875)
    assert fraction_done(1000, 1000) == 1
    assert fraction_done(0, 0) == 1


def test_the_phases_of_a_run_are_read_where_hpl_timed_them() -> None:
    result = parse(captured("phases")).results[0]
    assert set(result.phases_s) == set(PHASES)
    assert result.phases_s["update"] > result.phases_s["laswp"]
    assert result.passed
    assert parse(captured("passed")).results[0].phases_s == {}


@given(
    st.lists(
        st.dictionaries(st.sampled_from(PHASES), st.integers(0, 10**8).map(lambda hundredths: hundredths / 100)),
        min_size=1,
        max_size=4,
    )
)
def test_what_hpl_prints_of_phases_is_read_back_for_each_result(runs: list[dict[str, float]]) -> None:
    assert [result.phases_s for result in parse("".join(map(printed_run, runs))).results] == runs


def printed_run(seconds: dict[str, float]) -> str:
    """A result with its phases, as HPL_pdtest.c prints them."""
    heads = {
        "rfact": "Max aggregated wall time rfact . . . : ",
        "pfact": "+ Max aggregated wall time pfact . . : ",
        "mxswp": "+ Max aggregated wall time mxswp . . : ",
        "update": "Max aggregated wall time update  . . : ",
        "laswp": "+ Max aggregated wall time laswp . . : ",
        "up tr sv": "Max aggregated wall time up tr sv  . : ",
    }
    lines = [f"{head}{seconds[name]:18.2f}\n" for name, head in heads.items() if name in seconds]
    result = "WR11C2R4        5000   256     1     2               0.77              1.087e+02\n"
    checked = "||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)=        0.0026501 ...... PASSED\n"
    return "".join([result, "--VVV--VVV--\n", *lines, "-" * 80, "\n", checked])


def stamped(start: str, end: str, time_s: float) -> str:
    """Why a result with these time stamps does not count; "" where it does."""
    N = 4000
    text = f"""WR11C2R4 {N} 128 1 2 {time_s:.2f} {gflops(N, time_s):.6e}
HPL_pdgesv() start time {start}

HPL_pdgesv() end time   {end}

||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)=   1.7e-03 ...... PASSED
"""
    return parse(text).results[0].why_not()


NOON = "Mon Mar 3 12:00:07 2025"


@pytest.mark.parametrize(
    ("start", "end", "time_s"),
    [
        (NOON, "Mon Mar  3 12:01:47 2025", 100.0),
        (NOON, "Mon Mar  3 12:01:48 2025", 99.1),
        (NOON, "Mon Mar  3 12:00:07 2025", 0.02),
        ("Mon Mar  3 23:59:50 2025", "Tue Mar  4 00:00:10 2025", 20.0),
        ("Sun Oct 26 02:59:50 2025", "Sun Oct 26 02:00:10 2025", 20.0),
        ("Sun Mar 30 01:59:50 2025", "Sun Mar 30 03:00:10 2025", 20.0),
        ("Sat Mar 29 22:00:00 2025", "Sun Mar 30 08:00:00 2025", 9 * 3600.0),
        ("Mon Mar  3 12:00:00 2025", "Mon Mar  3 12:02:00 2025", 80.0),
        (NOON, "a clock without a year", 100.0),
    ],
    ids=[
        *("one second more or less", "cut to seconds", "below a second", "midnight", "summer time ends"),
        *("summer time begins", "within a long run", "minutes only", "another form"),
    ],
)
def test_time_stamps_of_the_same_seconds_speak_against_nothing(start: str, end: str, time_s: float) -> None:
    assert stamped(start, end, time_s) == ""


def test_time_stamps_of_other_seconds_than_hpls_time_are_told() -> None:
    told = "HPL says that it took 3.40 s, but its time stamps, 2025-03-03 12:00:07 and 12:00:21, are 14 s apart"
    assert stamped(NOON, "Mon Mar  3 12:00:21 2025", 3.4) == told
    assert "are 100 s apart" in stamped(NOON, "Mon Mar  3 12:01:47 2025", 300.0)
    assert "ended before it started" in stamped(NOON, "Mon Mar  3 11:59:10 2025", 106.7)
    assert "are 3600 s apart" in stamped(NOON, "Mon Mar  3 13:00:07 2025", 1.0), "no clock is put forward at noon"


def test_stamps_of_runs_whose_lines_are_mixed_belong_to_none() -> None:
    row = "WR11C2R4 4000 128 1 1 1.00 4.269e+01\n"
    stamps = f"HPL_pdgesv() start time {NOON}\nHPL_pdgesv() end time   Mon Mar  3 12:09:00 2025\n"
    assert all(result.stamps is None for result in parse(row * 2 + stamps * 2).results)


@pytest.mark.parametrize("printed", ["5.960464e-08", "1.110223e-01", "0.000000e+00", "nan", "-1.110223e-16"])
def test_a_residual_scaled_by_another_precision_than_double_shows_nothing(printed: str) -> None:
    text = captured("passed").replace("1.110223e-16", printed)
    assert text != captured("passed")
    why = parse(text).results[0].why_not()
    assert "only that of double precision, 1.11e-16, counts" in why
    assert ("that of single precision" in why) == (printed == "5.960464e-08")


def test_a_processor_that_cuts_digits_off_computes_in_double_precision_too() -> None:
    text = captured("passed").replace("1.110223e-16", "2.220446e-16")
    assert parse(text).results[0].why_not() == ""
