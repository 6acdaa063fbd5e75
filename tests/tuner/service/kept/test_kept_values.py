import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from tuner.service.kept import values
from tuner.service.kept.values import Kept


class Made:
    """Makes values, counts them, and takes its time."""

    def __init__(self, seconds: float = 0.0) -> None:
        self.count, self._seconds = 0, seconds

    def __call__(self) -> str:
        self.count += 1
        time.sleep(self._seconds)
        return f"value {self.count}"


def test_a_value_is_made_again_when_its_stamp_changes() -> None:
    kept, made = Kept[str](10), Made()
    assert [kept.get("a", stamp, made) for stamp in (1, 1, 2)] == ["value 1", "value 1", "value 2"]


def test_many_who_ask_at_once_wait_for_one() -> None:
    kept, made, together = Kept[str](10), Made(0.2), threading.Barrier(8)

    def ask() -> str:
        together.wait()
        return kept.get("a", 1, made)

    with ThreadPoolExecutor(8) as pool:
        answers = [asked.result() for asked in [pool.submit(ask) for _ in range(8)]]
    assert set(answers) == {"value 1"}
    assert made.count == 1


def test_an_error_is_told_to_all_who_wait_and_not_kept() -> None:
    kept = Kept[str](10)

    def fail() -> str:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        kept.get("a", 1, fail)
    assert kept.get("a", 1, Made()) == "value 1"


def test_a_costly_value_is_told_late_instead_of_made_all_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr(values, "monotonic", lambda: clock[0])
    kept, made = Kept[str](10), Made()

    def made_in_a_second() -> str:
        clock[0] += 1
        return made()

    assert [kept.get("a", stamp, made_in_a_second) for stamp in range(5)] == ["value 1"] * 5
    clock[0] += values.LATE
    assert kept.get("a", 6, made_in_a_second) == "value 2"


def test_what_was_asked_for_longest_ago_goes_first() -> None:
    kept = Kept[str](10, len)
    for key in ("a", "b"):
        kept.get(key, 1, lambda: "four")
    kept.get("a", 1, lambda: "lost")
    kept.get("c", 1, lambda: "four")
    assert [kept.peek(key, 1) for key in ("a", "b", "c")] == ["four", None, "four"]
