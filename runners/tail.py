"""Reads a growing file line by line."""

from pathlib import Path


class Tail:
    """A reader that returns each complete line of a file once; an incomplete line waits for its end."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._at = 0
        self._rest = b""

    def lines(self) -> list[str]:
        """Return the lines completed since the last call; none while the file is missing."""
        try:
            with self._path.open("rb") as file:
                file.seek(self._at)
                new = file.read()
        except OSError:
            return []
        self._at += len(new)
        *complete, self._rest = (self._rest + new).split(b"\n")
        return [line.decode("utf-8", errors="replace") for line in complete]
