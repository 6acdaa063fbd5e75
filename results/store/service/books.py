"""What a store has for the service beside studies; each book is imported when it is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from ..database import Database
    from ..outbox import Outbox
    from .audit import AuditLog
    from .campaign_entry import QueueState
    from .queue import CampaignQueue, UntoldEnds
    from .tokens import TokenBook


class ServiceBooks:
    """The part of a store that keeps what the service needs."""

    _database: Database

    @property
    def outbox(self) -> Outbox:
        """The methods for those who are told what happens in campaigns."""
        from ..outbox import Outbox  # noqa: PLC0415 - only the service needs it

        return Outbox(self._database)

    @property
    def queue(self) -> CampaignQueue:
        """The methods for campaigns that are handed in to the service."""
        from .queue import CampaignQueue  # noqa: PLC0415 - only the service needs it

        return CampaignQueue(self._database)

    def queue_counts(self) -> tuple[Mapping[QueueState, int], datetime | None]:
        """Count campaigns by their states, and read when the one was handed in that waits longest; None without one."""
        from .queue import queue_counts  # noqa: PLC0415 - only the service needs it

        return queue_counts(self._database)

    @property
    def tokens(self) -> TokenBook:
        """The methods for tokens that open the service."""
        from .tokens import TokenBook  # noqa: PLC0415 - only the service needs it

        return TokenBook(self._database)

    @property
    def audit(self) -> AuditLog:
        """The methods for what was done through the service."""
        from .audit import AuditLog  # noqa: PLC0415 - only the service needs it

        return AuditLog(self._database)

    @property
    def untold(self) -> UntoldEnds:
        """The methods for ends of campaigns that are still to be told."""
        from .queue import UntoldEnds  # noqa: PLC0415 - only the service needs it

        return UntoldEnds(self._database)
