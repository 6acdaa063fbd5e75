"""What tests need to behave like a user: the installed program, and executables of their own."""

import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HPLTUNE = Path(sys.executable).with_name("hpltune")
Done = subprocess.CompletedProcess[str]


@dataclass(frozen=True)
class Run:
    """Runs the command line with the arguments of a user."""

    call: Callable[..., Done]

    def __call__(self, *arguments: str, **more: float) -> Done:
        return self.call(*arguments, **more)

    def well(self, *arguments: str) -> Done:
        """What a command said that must end well."""
        done = self.call(*arguments)
        assert done.returncode == 0, done.stdout + done.stderr
        return done

    def refused(self, *arguments: str, code: int = 2) -> str:
        """What a command said that must be refused."""
        done = self.call(*arguments)
        assert done.returncode == code, done.stdout + done.stderr
        assert "Traceback" not in done.stderr
        return done.stderr

    def told(self, *arguments: str) -> Any:
        """What a command that must end well tells scripts."""
        return json.loads(self.well(*arguments, "--json").stdout)


def tree(root: Path, files: Mapping[str, str]) -> Path:
    """A folder with small files below it, as kernels have them."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def program(path: Path, text: str) -> Path:
    """A real executable that behaves as a test wants."""
    path.write_text(text)
    path.chmod(0o755)
    return path
