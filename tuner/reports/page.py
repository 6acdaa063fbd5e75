"""Pages of long lists, with the line that says what more there is."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Page:
    """Which of many are shown.

    Attributes:
        number: from 1, which has the newest.
        count: how many a page has; None for the usual number.
    """

    number: int = 1
    count: int | None = None

    def window(self, usual: int) -> tuple[int, int]:
        """Count what is shown and the newer ones that are left out; `usual` are shown where the user gave no count."""
        count = self.count or usual
        return count, count * (self.number - 1)

    def rest(self, what: str, shown: int, before: int, whole: int) -> str | None:
        """Say in a line what more there is; None where all is shown."""
        if shown == whole:
            return None
        last = whole - before
        these = f"{what} {last - shown + 1:,} to {last:,} of {whole:,}" if shown else f"{what}: {whole:,} and no more"
        older = f"«page» {self.number + 1} has those before, " if last > shown else ""
        return f"{these}; {older}«count» {whole} has all."


NEWEST = Page()
