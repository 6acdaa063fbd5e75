"""Sentences for people elsewhere: without the folders of the service's machine."""

import re

_PATH = re.compile(r"(?<![\w:/.])(?!/api/)(?:~|/[^\s/:;,()'\"`])[^\s:;,()'\"`]*/([^\s/:;,()'\"`]*)")


def without_paths(text: str) -> str:
    """A text in which absolute paths are only the names of their files: /home/ada/HPL.dat becomes …/HPL.dat."""
    return _PATH.sub(lambda found: f"…/{found[1]}", text)
