import configparser
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from as_user import Run
from needs import skip_without
from replayed import OFFERED, replaying_service
from running_service import RunningService

from tuner.asks.check import FAILABLE, CheckVerdict
from tuner.cli.check import CODES

DOCS = Path(__file__).parents[3] / "docs"
UNITS = sorted(file.name for pattern in ("*.service", "*.timer") for file in DOCS.glob(pattern))
CRON = re.compile(
    r"^```crontab\n(?P<minute>\d+) (?P<hour>\d+) \* \* (?P<day>[0-7])  HPLTUNE_DATA=\S+ (?P<call>.+)\n```$",
    re.MULTILINE,
)
STUDY = ("--study", "first", "--space", "quick", "--set", "N=400", "--set", "NB=32", "--trials", "1")


@pytest.fixture
def service(home: Path) -> Iterator[RunningService]:
    """The process of a service whose program only prints what HPL would."""
    assert home
    with replaying_service() as running:
        yield running


def unit(name: str) -> configparser.ConfigParser:
    read = configparser.ConfigParser(interpolation=None, strict=False)
    read.read(DOCS / name)
    return read


def cron() -> re.Match[str]:
    """The line for cron that the page has."""
    found = CRON.search((DOCS / "service-operation.md").read_text(encoding="utf-8"))
    assert found
    return found


@pytest.mark.parametrize("name", UNITS)
def test_systemd_takes_the_unit(name: str) -> None:
    if shutil.which("systemd-analyze") is None:
        skip_without("systemd-analyze")
    done = subprocess.run(["systemd-analyze", "verify", str(DOCS / name)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_campaigns_survive_a_restart_of_the_unit() -> None:
    assert unit("hpltune.service")["Service"]["KillMode"] == "process"


def test_cron_and_the_timer_check_at_the_same_time_and_only_slower_fails_the_unit() -> None:
    at = cron()
    days = ("Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
    written = f"{days[int(at['day'])]} {int(at['hour']):02d}:{int(at['minute']):02d}"
    assert unit("hpltune-check.timer")["Timer"]["OnCalendar"] == written
    passes = {str(CODES[verdict]) for verdict in FAILABLE if verdict is not CheckVerdict.SLOWER}
    assert set(unit("hpltune-check.service")["Service"]["SuccessExitStatus"].split()) == passes


@pytest.mark.usefixtures("mpirun")
def test_the_program_takes_the_calls_of_cron_and_of_the_unit(hpltune: Run, service: RunningService) -> None:
    calls = [cron()["call"], unit("hpltune-check.service")["Service"]["ExecStart"].removeprefix("/usr/bin/env ")]
    words, others = map(shlex.split, calls)
    assert words[1:] == others[1:], "both ask for the same"
    assert [Path(call[0]).name for call in (words, others)] == ["hpltune", "hpltune"]
    url = str(service.client.base_url)
    asked = [url if word == "http://127.0.0.1:8475" else word for word in words[1:]]
    assert url in asked
    hpltune.well("--server", url, "tune", "--xhpl", OFFERED, *STUDY)
    ran = hpltune(*asked)
    assert ran.returncode in {0, *(CODES[verdict] for verdict in FAILABLE)}, ran.stderr
    assert "Handed in campaign check-first-1 at " in ran.stdout
