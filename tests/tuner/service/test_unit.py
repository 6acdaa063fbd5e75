import configparser
import shutil
import subprocess
from pathlib import Path

from needs import skip_without

UNIT = Path(__file__).parents[3] / "docs/hpltune.service"


def test_systemd_takes_the_unit() -> None:
    if shutil.which("systemd-analyze") is None:
        skip_without("systemd-analyze")
    done = subprocess.run(["systemd-analyze", "verify", str(UNIT)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_campaigns_survive_a_restart_of_the_unit() -> None:
    unit = configparser.ConfigParser(interpolation=None, strict=False)
    unit.read(UNIT)
    assert unit["Service"]["KillMode"] == "process"
