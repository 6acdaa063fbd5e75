"""Runs the installed program on the first host of a lab, as a user logged in there would."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

from as_user import HPLTUNE
from net_lab import HostsLab

Done = subprocess.CompletedProcess[str]
OnHead = Callable[..., Done]


def on_head(lab: HostsLab, home: Path) -> OnHead:
    """Return what runs the program there with its arguments, in a home folder."""

    def run(*arguments: str, timeout_s: float = 240) -> Done:
        return subprocess.run(
            [*lab.enter("h1"), str(HPLTUNE), *arguments],
            capture_output=True,
            text=True,
            timeout=timeout_s,
            cwd=home,
            env=os.environ,
            stdin=subprocess.DEVNULL,
            check=False,
        )

    return run
