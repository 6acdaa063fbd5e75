"""The folders in which hpltune searches besides the system's, and in which it keeps its builds."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class SearchPaths:
    """The two folders of hpltune's own, besides the system's.

    Attributes:
        prefix: the private prefix that `hpltune setup` made, or None without one. `prefix/debs` holds unpacked Debian
            packages, like a root file system, and `prefix/wheels/<distribution>` holds wheels.
        cache: the folder of files that can be made again: builds, downloaded sources, probe results.
        system: the root of the system's own folders.
    """

    prefix: Path | None
    cache: Path
    system: Path = Path("/")

    @property
    def debs(self) -> Path | None:
        """The root of the unpacked Debian packages, or None without a private prefix."""
        return None if self.prefix is None else self.prefix / "debs"

    def wheel(self, distribution: str) -> Path | None:
        """Return the folder of a PyPI distribution in the private prefix, or None without a prefix."""
        return None if self.prefix is None else self.prefix / "wheels" / distribution
