import contextlib
import ctypes
from dataclasses import replace

import pytest
from hpl_strategies import DATS, PARAMS
from hypothesis import given
from hypothesis import strategies as st

from hpl.dat import HplDat, render
from hpl.dat_parse import HplDatError, parse
from hpl.params import Bcast, Fact, HplParams, Swap

SHIPPED = """HPLinpack benchmark input file
Innovative Computing Laboratory, University of Tennessee
HPL.out      output file name (if any)
6            device out (6=stdout,7=stderr,file)
4            # of problems sizes (N)
29 30 34 35  Ns
4            # of NBs
1 2 3 4      NBs
0            PMAP process mapping (0=Row-,1=Column-major)
3            # of process grids (P x Q)
2 1 4        Ps
2 4 1        Qs
16.0         threshold
3            # of panel fact
0 1 2        PFACTs (0=left, 1=Crout, 2=Right)
2            # of recursive stopping criterium
2 4          NBMINs (>= 1)
1            # of panels in recursion
2            NDIVs
3            # of recursive panel fact.
0 1 2        RFACTs (0=left, 1=Crout, 2=Right)
1            # of broadcast
0            BCASTs (0=1rg,1=1rM,2=2rg,3=2rM,4=Lng,5=LnM)
1            # of lookahead depth
0            DEPTHs (>=0)
2            SWAP (0=bin-exch,1=long,2=mix)
64           swapping threshold
0            L1 in (0=transposed,1=no-transposed) form
0            U  in (0=transposed,1=no-transposed) form
1            Equilibration (0=no,1=yes)
8            memory alignment in double (> 0)
"""
"""The HPL.dat that netlib ships."""


def problems(text: str) -> list[tuple[int, str]]:
    with pytest.raises(HplDatError) as caught:
        parse(text, "my.dat")
    assert all(f"my.dat, line {line}: {sentence}" in str(caught.value) for line, sentence in caught.value.problems)
    return list(caught.value.problems)


def with_line(number: int, text: str) -> str:
    lines = SHIPPED.splitlines()
    lines[number - 1] = text
    return "\n".join(lines)


@given(DATS, st.sampled_from(["\n", "\r\n"]))
def test_what_is_rendered_is_read_back(dat: HplDat, end: str) -> None:
    assert replace(parse(render(dat).replace("\n", end)), cautions=()) == dat


@given(PARAMS)
def test_a_configuration_survives_its_file(params: HplParams) -> None:
    read = parse(render(HplDat.of(params)))
    assert list(read.runs()) == [params]


@given(DATS)
def test_no_line_is_longer_than_hpl_reads(dat: HplDat) -> None:
    lines = render(dat).splitlines()
    assert len(lines) == 31
    assert all(len(line) <= 253 for line in lines)


def test_the_file_that_hpl_ships_is_864_runs_of_up_to_4_ranks() -> None:
    dat = parse(SHIPPED)
    assert dat.ranks == 4
    assert len(list(dat.runs())) == 864
    assert dat.SWAP is Swap.MIX
    assert dat.PFACTs == (Fact.LEFT, Fact.CROUT, Fact.RIGHT)
    assert dat.cautions == ()


def test_runs_come_in_hpls_order_with_the_grid_outermost() -> None:
    dat = replace(parse(SHIPPED), BCASTs=(Bcast.ONE_RING, Bcast.LONG), PFACTs=(Fact.LEFT,), RFACTs=(Fact.LEFT,))
    runs = list(dat.runs())
    assert [(run.P, run.Q) for run in runs[:: len(runs) // 3]] == [(2, 2), (1, 4), (4, 1)]
    assert (runs[0].BCAST, runs[2].BCAST) == (Bcast.ONE_RING, Bcast.LONG)


def test_a_broadcast_that_only_vendors_have_is_read_with_a_caution() -> None:
    dat = parse(with_line(23, "7            BCASTs"))
    assert dat.BCASTs == (Bcast.VENDOR_7,)
    assert dat.cautions == ("line 23: BCAST 6 and 7 are only in vendors' HPL: netlib's runs 0 in their place",)
    assert parse(render(dat)).BCASTs == dat.BCASTs


def test_lines_that_later_versions_append_are_passed_over() -> None:
    assert parse(SHIPPED + "##### This line (no. 32) is ignored #####\n0  Number of PTRANS\n") == parse(SHIPPED)


@pytest.mark.parametrize(
    ("number", "text", "words"),
    [
        (5, "0            # of problems sizes (N)", "between 1 and 20"),
        (5, "21           # of problems sizes (N)", "between 1 and 20"),
        (6, "29 30 -4 35  Ns", "-4 is out of range"),
        (6, "29 30        Ns", "4 values are announced"),
        (8, "1 2 0 4      NBs", "0 is out of range"),
        (9, "2            PMAP", "0 = row, 1 = column"),
        (12, "2 0 1        Qs", "0 is out of range"),
        (13, "sixteen      threshold", "sixteen is not a number"),
        (15, "0 1 3        PFACTs", "0 = left, 1 = crout, 2 = right"),
        (17, "2 0          NBMINs", "0 is out of range"),
        (19, "1            NDIVs", "at least 2"),
        (23, "8            BCASTs", "7 = bc7"),
        (25, "-1           DEPTHs", "-1 is out of range"),
        (26, "3            SWAP", "0 = bin, 1 = long, 2 = mix"),
        (30, "2            Equilibration", "between 0 and 1"),
        (31, "0            memory alignment", "at least 1"),
        (31, "8.5          memory alignment", "not a whole number"),
        (6, "1 2 3 3000000000  Ns", "3000000000 is out of range: the largest number that HPL can read is 2147483647"),
        (8, "1 2 3 3000000000  NBs", "the largest number that HPL can read is 2147483647"),
        (31, "3000000000   memory alignment", "the largest number that HPL can read is 2147483647"),
    ],
)
def test_a_value_hpl_would_reject_or_replace_is_named_with_its_line(number: int, text: str, words: str) -> None:
    found = problems(with_line(number, text))
    assert [line for line, _ in found] == [number]
    assert words in found[0][1]


@given(st.builds(HplDat.of, PARAMS), st.data())
def test_configurations_that_are_a_product_of_lists_share_a_file_in_any_order(one: HplDat, data: st.DataObject) -> None:
    dat = replace(
        one,
        NBs=data.draw(st.lists(st.integers(1, 512), min_size=1, max_size=3, unique=True).map(tuple)),
        grids=data.draw(st.sampled_from([((1, 4),), ((2, 2), (4, 1)), ((1, 4), (4, 1), (2, 2))])),
        BCASTs=data.draw(st.lists(st.sampled_from(Bcast), min_size=1, max_size=3, unique=True).map(tuple)),
    )
    runs = list(dat.runs())
    shared = HplDat.together(data.draw(st.permutations(runs)))
    assert shared is not None
    assert set(shared.runs()) == set(runs)
    assert len(list(shared.runs())) == len(runs)
    missing_one = data.draw(st.permutations(runs))[1:]
    if len(dat.NBs) > 1 and len(dat.grids) > 1:
        assert HplDat.together(missing_one) is None


@pytest.mark.parametrize("change", [{"SWAP": Swap.LONG}, {"EQUIL": False}, {"NB": 64, "N": 900}, {}])
def test_what_is_no_product_of_lists_needs_files_of_its_own(change: dict[str, int]) -> None:
    one = HplParams(N=1000, NB=32, P=1, Q=2, SWAP=Swap.MIX)
    assert HplDat.together([one, replace(one, **change)]) is None  # type: ignore[arg-type]


def test_a_file_holds_no_more_values_than_hpl_reads() -> None:
    one = HplParams(N=1000, NB=32, P=1, Q=2)
    assert HplDat.together([replace(one, NB=NB) for NB in range(1, 21)]) is not None
    assert HplDat.together([replace(one, NB=NB) for NB in range(1, 22)]) is None
    assert HplDat.together([replace(one, N=10**9 + N) for N in range(20)]) is not None


def test_all_problems_are_named_at_once() -> None:
    text = with_line(8, "1 2 0 4      NBs").replace("2            SWAP", "7            SWAP")
    assert [line for line, _ in problems(text)] == [8, 26]


def test_a_file_that_was_cut_off_says_where_it_ends() -> None:
    assert "ends after 12 lines" in problems("\n".join(SHIPPED.splitlines()[:12]))[0][1]


@pytest.mark.parametrize(
    ("number", "text", "words"),
    [
        (6, "29   30   34   35  Ns", "HPL reads 29 30 0 34, not 29 30 34 35"),
        (6, "29   30   34   35  Ns", "more than one blank"),
        (6, "29 30   34   35  Ns", "HPL reads 29 30 34 4, not 29 30 34 35"),
        (6, "29 \t\t30\t34\t35  Ns", "HPL reads 29 30 0 34"),
        (8, "1   2 3 4      NBs", "HPL reads 1 2 2 3, not 1 2 3 4"),
        (8, "  10 20 30 40  NBs", "HPL reads 10 0 20 30, not 10 20 30 40"),
        (8, "  10 20 30 40  NBs", "first column"),
        (13, "-1.0         threshold", "does not check"),
        (2, "x" * 300, "300 characters"),
    ],
)
def test_what_hpl_would_misread_is_a_caution(number: int, text: str, words: str) -> None:
    dat = parse(with_line(number, text))
    assert any(words in caution and f"line {number}" in caution for caution in dat.cautions), dat.cautions


@pytest.mark.parametrize(
    ("word", "device"), [("file", 0), ("6", 6), ("7", 7), ("0", 0), ("12", 12), ("-1", -1), ("", 0), ("6=stdout", 6)]
)
def test_the_device_may_be_all_that_hpl_takes_for_it(word: str, device: int) -> None:
    dat = parse(with_line(4, f"{word:<12}" if word else ""))
    assert dat.device == device
    assert parse(render(dat)).device == device
    assert dat.cautions == ()


@pytest.mark.parametrize("word", ["stdout", "stderr", "screen"])
def test_a_device_in_words_is_a_caution_since_hpl_prints_into_its_file(word: str) -> None:
    (caution,) = parse(with_line(4, f"{word}  device out")).cautions
    assert f"line 4: HPL knows no device {word} and prints into the output file" in caution


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (6, "29\t30\t34\t35  Ns"),
        (6, "29  30 34 35  Ns"),
        (8, " 1 2 3 4      NBs"),
        (8, "7  7   7  7  NBs"),
        (26, "   2          SWAP"),
    ],
    ids=["tabs", "one gap of two", "one blank before all", "the same value again", "a single value"],
)
def test_what_hpl_reads_as_it_was_meant_is_no_caution(number: int, text: str) -> None:
    assert parse(with_line(number, text)).cautions == ()


@given(st.lists(st.tuples(st.text(" \t", min_size=1, max_size=4), st.integers(1, 2000)), min_size=4, max_size=4))
def test_a_caution_tells_what_the_c_library_reads_in_hpls_loop(gaps: list[tuple[str, int]]) -> None:
    line = "".join(f"{gap}{value}" for gap, value in gaps) + "  Ns"
    meant, read = [value for _, value in gaps], read_by_c(line, len(gaps))
    (caution,) = parse(with_line(6, line)).cautions or ("",)
    assert bool(caution) == (read != meant)
    assert not caution or f"HPL reads {' '.join(map(str, read))}, not {' '.join(map(str, meant))}" in caution


def read_by_c(line: str, count: int) -> list[int]:
    """Values of a line as the loops of HPL_pdinfo.c read them."""
    libc = ctypes.CDLL(None)
    memory, word = ctypes.create_string_buffer(line.encode()), ctypes.create_string_buffer(len(line) + 1)
    at, found = 0, []
    for _ in range(count):
        libc.sscanf(ctypes.byref(memory, at), b"%s", word)
        at += len(word.value) + 1
        found.append(int(word.value))
    return found


WORDS = st.one_of(
    st.sampled_from(["9" * 5000, "-", "+1", "-1", "1e999", "nan", "²", "٣", "1_0", "0", "1", "2", "64", "x", "", "\v"]),
    st.text(max_size=8),
)


@given(st.integers(1, 31), st.lists(WORDS, max_size=12), st.sampled_from([" ", "  ", "\t"]))
def test_no_words_of_a_line_make_the_reader_of_hpl_dat_fail(number: int, words: list[str], gap: str) -> None:
    text = with_line(number, gap.join(words))
    with contextlib.suppress(HplDatError):
        parse(text, "my.dat")


@given(st.text())
def test_no_text_makes_the_reader_of_hpl_dat_fail(text: str) -> None:
    for whole in (text, SHIPPED + text, text + SHIPPED):
        with contextlib.suppress(HplDatError):
            parse(whole)


@pytest.mark.parametrize("line", [6, 11])
def test_a_number_of_five_thousand_digits_is_out_of_range(line: int) -> None:
    assert "is out of range" in problems(with_line(line, "9" * 5000))[0][1]
