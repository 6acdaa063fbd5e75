"""What somebody may do with the service."""

from enum import StrEnum


class AccessScope(StrEnum):
    """What somebody may do; each one may do what those before it may, too."""

    READ = "read"
    RUN = "run"
    ADMIN = "admin"

    def covers(self, needed: "AccessScope") -> bool:
        """Return whether somebody with this scope may do what needs another."""
        order = list(AccessScope)
        return order.index(self) >= order.index(needed)
