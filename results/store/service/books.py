"""What a store has for the service beside studies; each book is imported when it is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..database import Database
    from ..outbox import Outbox
    from .audit import AuditLog
    from .queue import CampaignQueue, QueueFacts, UntoldEnds
    from .tokens import TokenBook


class ServiceBooks:
    """The part of a store that keeps what the service needs."""

    _database: Database

    @property
    def outbox(self) -> Outbox:
        """The methods for those who are told what happens in campaigns."""
        from ..outbox import Outbox  # noqa: PLC0415 - only the service needs it

        return Outbox(self._database.reading, self._database.writing, self._database.alive)

    @property
    def queue(self) -> CampaignQueue:
        """The methods for campaigns that are handed in to the service."""
        from .queue import CampaignQueue  # noqa: PLC0415 - only the service needs it

        database = self._database
        return CampaignQueue(database.reading, database.writing, database.alone, database.alive)

    def queue_facts(self) -> QueueFacts:
        """Count the campaigns that were handed in."""
        from .queue import queue_facts  # noqa: PLC0415 - only the service needs it

        return queue_facts(self._database.reading)

    @property
    def tokens(self) -> TokenBook:
        """The methods for tokens that open the service."""
        from .tokens import TokenBook  # noqa: PLC0415 - only the service needs it

        return TokenBook(self._database.reading, self._database.writing, self._database.alone)

    @property
    def audit(self) -> AuditLog:
        """The methods for what was done through the service."""
        from .audit import AuditLog  # noqa: PLC0415 - only the service needs it

        return AuditLog(self._database.reading, self._database.writing)

    @property
    def untold(self) -> UntoldEnds:
        """The methods for ends of campaigns that are still to be told."""
        from .queue import UntoldEnds  # noqa: PLC0415 - only the service needs it

        return UntoldEnds(self._database.reading, self._database.writing, self._database.alone)
