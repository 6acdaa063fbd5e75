"""What identifies a run in outputs that print more or less of it."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from results.printed_run import PrintedRun

BEGIN = datetime(2025, 3, 3, 10, tzinfo=UTC)
STAMPS = st.none() | st.integers(0, 3).map(
    lambda minute: (BEGIN + timedelta(minutes=minute), BEGIN + timedelta(minutes=minute, seconds=1))
)


@st.composite
def runs(draw: st.DrawFn) -> PrintedRun:
    """Runs of two configurations, with and without a check and time stamps."""
    checked = draw(st.booleans())
    residual = draw(st.sampled_from([None, 0.004, 0.005])) if checked else None
    return PrintedRun((draw(st.sampled_from([64, 128])), 42.0), checked, residual, draw(STAMPS))


@given(runs(), runs())
def test_being_of_one_run_goes_both_ways(one: PrintedRun, other: PrintedRun) -> None:
    assert one.same_as(one)
    assert one.same_as(other) == other.same_as(one)


@given(runs(), runs())
def test_what_both_print_and_differs_parts_two_runs(one: PrintedRun, other: PrintedRun) -> None:
    apart = (
        one.row != other.row
        or (one.checked and other.checked and one.residual != other.residual)
        or (one.stamps is not None and other.stamps is not None and one.stamps != other.stamps)
    )
    assert one.same_as(other) == (not apart)


@given(runs())
def test_an_extract_is_of_its_run_and_says_less(run: PrintedRun) -> None:
    extract = PrintedRun(run.row, checked=False, residual=None, stamps=None)
    assert extract.same_as(run)
    assert extract.completeness <= run.completeness


def test_forks_print_fewer_digits_of_a_residual() -> None:
    whole, short = (PrintedRun((1,), checked=True, residual=value, stamps=None) for value in (0.0041234, 0.004123))
    assert whole.same_as(short)
