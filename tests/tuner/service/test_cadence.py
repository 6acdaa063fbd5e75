from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuner.errors import UsageError
from tuner.service.schedules import DAYS, parse_cadence

MONDAY = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
BERLIN = ZoneInfo("Europe/Berlin")


def after(text: str, moment: datetime = MONDAY, zone: str = "UTC") -> datetime:
    return parse_cadence(text, zone)[1].after(moment)


@pytest.mark.parametrize(
    ("text", "due"),
    [
        ("every monday at 06:00", datetime(2026, 12, 7, 6, 0)),
        ("every Monday at 13:30", datetime(2026, 11, 30, 13, 30)),
        ("every day at 22:30", datetime(2026, 11, 30, 22, 30)),
        ("every weekday at 6:00", datetime(2026, 12, 1, 6, 0)),
        ("every monday at 13:30 Europe/Berlin", datetime(2026, 11, 30, 12, 30)),
        ("every 6h", datetime(2026, 11, 30, 18, 0)),
        ("every 1h30m", datetime(2026, 11, 30, 13, 30)),
        ("Every Monday at 13:30 CET", datetime(2026, 11, 30, 12, 30)),
    ],
)
def test_the_next_time_is_what_the_words_say(text: str, due: datetime) -> None:
    assert after(text) == due.replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("monday", "write for example"),
        ("every someday at 06:00", "write for example"),
        ("every monday at 25:00", "write for example"),
        ("every monday at 06:00 Mars/Olympus", "there is no time zone Mars/Olympus"),
        ("every monday at 06:00 ../../etc/passwd", "write for example"),
        ("every 1m", "at least 10 minutes"),
        ("every day at 06:00 localtime", "there is no time zone localtime"),
        ("", "write for example"),
    ],
)
def test_other_words_get_a_sentence(text: str, sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        parse_cadence(text, "UTC")


@pytest.mark.parametrize("day", ["2026-03-29", "2026-10-25"])
def test_a_day_with_a_change_of_the_clock_has_one_time(day: str) -> None:
    """At 02:30 the clock of Berlin jumps in spring, and is there twice in autumn."""
    start = datetime.fromisoformat(day).replace(tzinfo=BERLIN).astimezone(UTC)
    first = after("every day at 02:30 Europe/Berlin", start)
    second = after("every day at 02:30 Europe/Berlin", first)
    assert first.astimezone(BERLIN).date().isoformat() == day
    assert second.astimezone(BERLIN).date() == first.astimezone(BERLIN).date() + timedelta(days=1)


@pytest.mark.heavy
@given(
    st.datetimes(datetime(2020, 1, 1), datetime(2035, 1, 1), timezones=st.just(UTC)),
    st.sampled_from([*DAYS, "day", "weekday"]),
    st.times(),
    st.sampled_from(["UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Japan", "CET"]),
)
def test_the_next_time_is_later_and_within_eight_days(moment: datetime, day: str, at: object, zone: str) -> None:
    text = f"every {day} at {at:%H:%M} {zone}"
    written, cadence = parse_cadence(text, "UTC")
    due = cadence.after(moment)
    assert moment < due <= moment + timedelta(days=8)
    assert parse_cadence(written, "UTC")[0] == written
    assert cadence.after(due) > due


def test_a_day_is_named_after_the_clock_of_its_zone() -> None:
    cadence = parse_cadence("every day at 00:30 Europe/Berlin", "UTC")[1]
    stamps, due = [], datetime(2027, 3, 26, 12, tzinfo=UTC)
    for _ in range(4):
        due = cadence.after(due)
        stamps.append(cadence.stamp(due))
    assert stamps == ["2027-03-27", "2027-03-28", "2027-03-29", "2027-03-30"]
