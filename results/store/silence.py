"""A connection with a time limit: a frozen server keeps its connections open but does not answer."""

import time
from typing import Any, TypeVar

import psycopg
from psycopg.abc import PQGen

T = TypeVar("T")
SILENT_S = 30.0
"""Seconds of silence after which the server counts as lost; the limit for locks is shorter."""


class ImpatientConnection(psycopg.Connection[Any]):
    """A connection that closes itself when the server has been silent for too long."""

    def wait(self, gen: PQGen[T], *arguments: Any, **options: Any) -> T:
        """Wait as psycopg does.

        Raises:
            psycopg.OperationalError: the server is silent.
        """
        return super().wait(self._heard(gen), *arguments, **options)

    def _heard(self, answers: PQGen[T]) -> PQGen[T]:
        give_up_at = time.monotonic() + SILENT_S
        try:
            wanted = next(answers)
            while True:
                ready = yield wanted
                if ready:
                    give_up_at = time.monotonic() + SILENT_S
                elif time.monotonic() > give_up_at:
                    self.pgconn.finish()
                    raise psycopg.OperationalError(f"the connection is lost: no answer within {SILENT_S:.0f} s")
                wanted = answers.send(ready)
        except StopIteration as done:
            found: T = done.value
            return found
