"""Programs that are heard at the same time, each up to a limit."""

import resource
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from needs import skip_without

from runners.errors import RunnerError
from runners.hosts.hearing import MOST_BYTES, Call, CommandResult, Unheard, hear

PATIENCE_S = 300.0


@pytest.fixture
def open_files() -> Iterator[None]:
    """Puts the limit of open files back."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def test_all_that_programs_print_and_their_codes_come_back(tmp_path: Path) -> None:
    (tmp_path / "input").write_text("from a file")
    heard = hear(
        {
            "fails": Call(("sh", "-c", "echo hi; echo bad >&2; exit 3"), PATIENCE_S),
            "reads": Call(("cat",), PATIENCE_S, b"x" * 300_000),
            "reads a file": Call(("cat",), PATIENCE_S, tmp_path / "input"),
            "reads nothing": Call(("true",), PATIENCE_S, b"y" * 3_000_000),
            "is not there": Call((str(tmp_path / "nonesuch"),), PATIENCE_S),
        }
    )
    assert heard["fails"] == CommandResult(3, "hi\n", "bad\n")
    assert heard["reads"] == CommandResult(0, "x" * 300_000, "")
    assert heard["reads a file"] == CommandResult(0, "from a file", "")
    assert heard["reads nothing"] == CommandResult(0, "", "")
    assert isinstance(heard["is not there"], FileNotFoundError)


@pytest.mark.parametrize("stream", [1, 2])
def test_who_prints_without_an_end_is_ended(stream: int) -> None:
    heard = hear(
        {"endless": Call(("sh", "-c", f"yes >&{stream}"), PATIENCE_S), "sound": Call(("echo", "1"), PATIENCE_S)}
    )
    assert heard == {"endless": Unheard.LOUD, "sound": CommandResult(0, "1\n", "")}


def test_what_is_just_allowed_comes_whole() -> None:
    code = f"print('x' * {MOST_BYTES - 1})"
    heard = hear({"long": Call((sys.executable, "-c", code), PATIENCE_S)})["long"]
    assert isinstance(heard, CommandResult)
    assert len(heard.stdout) == MOST_BYTES


@pytest.mark.parametrize("given", [b"", None], ids=["input ended", "input held"])
def test_who_is_late_is_ended(given: bytes | None) -> None:
    assert hear({"late": Call(("sleep", "600"), 0.2, given)}) == {"late": Unheard.LATE}


def test_the_end_of_a_held_input_tells_a_program_to_end(tmp_path: Path) -> None:
    ended = tmp_path / "ended"
    heard = hear({"waits": Call(("sh", "-c", f"cat; touch {ended}"), PATIENCE_S, None)}, lambda: True)
    assert heard == {"waits": Unheard.STOPPED}
    assert ended.exists()


@pytest.mark.usefixtures("open_files")
def test_six_hundred_programs_fit_where_a_shell_allows_fewer_files() -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 4096:
        skip_without("more open files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (1024, hard))
    heard = hear({str(number): Call(("echo", str(number)), PATIENCE_S) for number in range(600)})
    assert heard == {str(number): CommandResult(0, f"{number}\n", "") for number in range(600)}


def test_too_many_programs_for_this_host_are_one_sentence_before_any_starts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1024, 1024))
    monkeypatch.setattr(resource, "setrlimit", lambda *_: None)  # else the whole worker keeps the small limit
    calls = {str(number): Call(("touch", str(tmp_path / "started")), PATIENCE_S) for number in range(600)}
    with pytest.raises(RunnerError, match=r"600 programs at once need 2,656 open files, and this host allows 1,024"):
        hear(calls)
    assert not (tmp_path / "started").exists()
    assert len(hear(calls, at_once=32)) == 600
