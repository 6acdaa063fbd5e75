import pytest

from tuner.errors import TunerError
from tuner.units import compact, dollars, duration, gibibytes, parse_duration_s


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), ("5m", 300), ("1h30m", 5400), ("2d", 172800), ("0.5h", 1800), (" 1H ", 3600)]
)
def test_durations_are_read_as_people_write_them(text: str, seconds: float) -> None:
    assert parse_duration_s(text, "budget") == seconds


@pytest.mark.parametrize(
    "text", ["", "five", "-3s", "90", "5 minutes", "0", "0s", "m5", "5x", "9" * 400 + "s", f"{10**20}h"]
)
def test_what_is_no_duration_is_named_with_its_option(text: str) -> None:
    with pytest.raises(TunerError, match="⟦budget⟧"):
        parse_duration_s(text, "budget")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0 s"), (0.04, "0.04 s"), (0.436, "0.44 s"), (0.999, "1.0 s"), (8.43, "8.4 s"), (42.4, "42 s"),
        (60, "1 min"), (310, "5 min 10 s"), (7500, "2 h 05 min"),
    ],
)  # fmt: skip
def test_durations_are_shown_short(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize("seconds", [0.2, 9.1, 90.5, 5400.0, 5401.0, 1e6])
def test_a_duration_for_an_option_is_at_least_what_is_needed_and_not_much_more(seconds: float) -> None:
    assert seconds <= parse_duration_s(compact(seconds), "budget") <= 1.4 * seconds + 1


def test_memory_is_shown_in_gibibytes() -> None:
    assert gibibytes(3 * 2**29) == "1.5 GiB"


def test_a_duration_with_a_comma_gets_a_hint() -> None:
    with pytest.raises(TunerError, match=r"⟦budget⟧ 1,5m: write it with a point: 1\.5m"):
        parse_duration_s("1,5m", "budget")


def test_a_number_without_a_unit_is_no_duration() -> None:
    with pytest.raises(TunerError, match="⟦budget⟧ 5: a duration needs a unit"):
        parse_duration_s("5", "budget")


@pytest.mark.parametrize(
    ("usd", "text"),
    [(20, "$20.00"), (1234.5, "$1,234.50"), (0.5, "$0.50"), (0.0012345, "$0.0012"), (0.01, "$0.01"), (0.0, "$0.00")],
)
def test_little_money_has_as_many_digits_as_it_needs(usd: float, text: str) -> None:
    assert dollars(usd) == text
