"""The one loop, as a search and a list use it."""

from dataclasses import dataclass, field

from tuner.stopping import StopRequest
from tuner.trial.ask_and_tell import ask_and_tell


@dataclass
class Two:
    """Runs two at a time, and ends what began last first."""

    under_way: list[int] = field(default_factory=list)
    most: int = 0
    closed: bool = False

    @property
    def free(self) -> bool:
        return len(self.under_way) < 2

    def start(self, number: int) -> None:
        self.under_way.append(number)
        self.most = max(self.most, len(self.under_way))

    def next(self) -> int:
        return self.under_way.pop()

    def close(self) -> None:
        self.closed = True


def test_a_list_fills_what_is_free_and_after_a_stop_what_runs_ends() -> None:
    runs, stop, told = Two(), StopRequest(), list[int]()

    def tell(number: int) -> None:
        told.append(number)
        if len(told) == 2:
            stop.ask()

    ask_and_tell(runs, stop, ask=iter(range(9)), start=runs.start, tell=tell)
    assert (told, runs.most, runs.closed) == ([1, 2, 0], 2, True)


def test_one_who_waits_is_asked_again_when_something_has_ended() -> None:
    runs, told = Two(), list[int]()
    ask_and_tell(
        runs,
        StopRequest(),
        ask=lambda: len(told) if not runs.under_way and len(told) < 3 else None,
        start=runs.start,
        tell=told.append,
    )
    assert (told, runs.most) == ([0, 1, 2], 1)
