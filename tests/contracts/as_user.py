"""What tests need to behave like a user: the installed program, and executables of their own."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

HPLTUNE = Path(sys.executable).with_name("hpltune")
Run = Callable[..., subprocess.CompletedProcess[str]]


def program(path: Path, text: str) -> Path:
    """A real executable that behaves as a test wants."""
    path.write_text(text)
    path.chmod(0o755)
    return path
