"""Names of a study's own folders: launchers, shells and `ls` take them as they are."""

import re
from hashlib import sha256
from pathlib import Path

_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")
_KEPT = 60
"""Letters of a name that a folder keeps where it cannot keep all."""


def study_folder(name: str) -> str:
    """What the folder of a study's runs, or of its best files, is called.

    A name of at most 100 letters, digits and _ . - stays as it is; in others, every other sign is an underscore, and a
    part of the name's hash, after a + that stands in no plain name, keeps studies apart. Trials store their folder, so
    those of a study that was begun under another rule are still found.
    """
    if _PLAIN.fullmatch(name):
        return name
    like = re.sub(r"[^A-Za-z0-9_-]+", "_", name)[:_KEPT].lstrip("-")
    return f"{like}+{sha256(name.encode(errors='surrogatepass')).hexdigest()[:8]}"


def trial_folder(runs: Path, study: str, number: int) -> Path:
    """Where a trial of a study runs, below the folder of all runs."""
    return runs / study_folder(study) / f"{number:05d}"
