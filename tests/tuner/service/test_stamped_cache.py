import threading
from concurrent.futures import Future, ThreadPoolExecutor

import pytest
from waiting import PATIENCE_S

from tuner.service.cache import StampedCache


class Made:
    """Makes values and counts them; each waits until it is let, where somebody lets it."""

    def __init__(self, let: threading.Event | None = None) -> None:
        self.count, self.begun, self._let = 0, threading.Event(), let

    def __call__(self) -> str:
        self.count += 1
        number = self.count
        self.begun.set()
        assert self._let is None or self._let.wait(PATIENCE_S), "nobody let the value be made"
        return f"value {number}"


def test_a_value_is_made_again_when_its_stamp_changes() -> None:
    kept, made = StampedCache[str](10), Made()
    assert [kept.get("a", stamp, made) for stamp in (1, 1, 2)] == ["value 1", "value 1", "value 2"]


def test_many_who_ask_at_once_wait_for_one() -> None:
    let, together = threading.Event(), threading.Barrier(9)
    kept, made = StampedCache[str](10), Made(let)

    def ask() -> str:
        together.wait(PATIENCE_S)
        return kept.get("a", 1, made)

    with ThreadPoolExecutor(8) as pool:
        asked = [pool.submit(ask) for _ in range(8)]
        together.wait(PATIENCE_S)
        let.set()
        assert {answer.result(PATIENCE_S) for answer in asked} == {"value 1"}
    assert made.count == 1


def test_an_error_is_told_to_all_who_wait_and_not_kept() -> None:
    kept = StampedCache[str](10)

    def fail() -> str:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        kept.get("a", 1, fail)
    assert kept.get("a", 1, Made()) == "value 1"


def test_who_asks_with_a_new_stamp_while_a_value_is_made_gets_the_next_one_made_once_for_all() -> None:
    let = threading.Event()
    kept, made = StampedCache[str](10), Made(let)
    with ThreadPoolExecutor(4) as pool:
        first: Future[str] = pool.submit(kept.get, "a", 1, made)
        assert made.begun.wait(PATIENCE_S), "the first value was not begun"
        later = [pool.submit(kept.get, "a", 2, made) for _ in range(3)]
        let.set()
        assert first.result(PATIENCE_S) == "value 1"
        assert {answer.result(PATIENCE_S) for answer in later} == {"value 2"}
    assert made.count == 2


def test_what_was_asked_for_longest_ago_goes_first() -> None:
    kept = StampedCache[str](10, len)
    for key in ("a", "b"):
        kept.get(key, 1, lambda: "four")
    kept.get("a", 1, lambda: "lost")
    kept.get("c", 1, lambda: "four")
    assert [kept.peek(key, 1) for key in ("a", "b", "c")] == ["four", None, "four"]
