"""Skipped tests: a new one fails, because a test that never runs holds nothing.

CI runs the tests on a bare machine, once as an ordinary user and once as root (`.ci/run`). `--skips PLACE`, or
HPLTUNE_SKIPS=PLACE, names the place; `tests/skips.json` holds the tests that may be skipped there, each with its
reason, and `--update` writes them. In a place that the file does not name, skipped tests are only listed.
"""

import json
from collections import Counter
from pathlib import Path

import pytest

SKIPS = Path(__file__).parents[1] / "skips.json"
NEW_SKIPS = 8
"""The exit code of a run that skipped a test which may not be skipped; no second try mends that."""


class SkippedTests:
    """The tests that were skipped in a run of pytest, held against those that may be.

    Args:
        place: where the tests run, as `tests/skips.json` names it.
        update: whether to write what was skipped instead.
    """

    def __init__(self, place: str, *, update: bool) -> None:
        self.place = place
        self.update = update
        self.reasons: dict[str, str] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note a test that was skipped."""
        if report.skipped and isinstance(report.longrepr, tuple):
            self.reasons[name_of(report.nodeid)] = report.longrepr[2].removeprefix("Skipped: ")

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Fail a run that skipped a test which may not be skipped here."""
        if self.update:
            kept = {**held(), self.place: self.reasons}
            SKIPS.write_text(f"{json.dumps(kept, indent=1, sort_keys=True, ensure_ascii=False)}\n", "utf-8")
        elif self.new() and session.exitstatus <= pytest.ExitCode.TESTS_FAILED:
            session.exitstatus = NEW_SKIPS

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """List the reasons with the number of tests that each skips, and name the tests that may not be skipped."""
        terminalreporter.section(f"skipped tests, {self.place}")
        for reason, number in Counter(self.reasons.values()).most_common():
            terminalreporter.line(f"{number:4} {reason}")
        for name, reason in self.new().items():
            terminalreporter.line(f"NEW  {name}: {reason}", red=True)

    def new(self) -> dict[str, str]:
        """The tests that were skipped and may not be."""
        may_be = held().get(self.place, self.reasons)
        return {name: reason for name, reason in self.reasons.items() if name not in may_be}


def held() -> dict[str, dict[str, str]]:
    """The tests that may be skipped in each place, with their reasons."""
    found: dict[str, dict[str, str]] = json.loads(SKIPS.read_text("utf-8"))
    return found


def name_of(nodeid: str) -> str:
    """The name of a test without its parameters, and without the group that xdist puts behind it."""
    return nodeid.partition("[")[0].partition("@")[0]
