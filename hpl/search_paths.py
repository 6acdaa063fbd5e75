"""Where hpltune looks for what it did not find on the system, and where it keeps what it made."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class SearchPaths:
    """The two folders of hpltune's own, beside the system's.

    Attributes:
        prefix: private prefix made by `hpltune setup`, or None where it was never needed. Debian packages are
            unpacked under `prefix/debs` like a root file system, wheels under `prefix/wheels/<distribution>`.
        cache: root of what can be made again: builds, downloaded sources, probe results.
    """

    prefix: Path | None
    cache: Path

    @property
    def debs(self) -> Path | None:
        """The root of the unpacked Debian packages, or None without a private prefix."""
        return None if self.prefix is None else self.prefix / "debs"

    def wheel(self, distribution: str) -> Path | None:
        """Return the folder of one PyPI distribution in the private prefix, or None without a prefix."""
        return None if self.prefix is None else self.prefix / "wheels" / distribution
