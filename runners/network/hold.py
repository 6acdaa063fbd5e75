"""The hold of a study on the network of its nodes, so that nobody else changes it."""

import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress

from ..errors import RunnerError
from ..hosts.transport import Transport
from .journal import Holder, Original
from .mark import remove, settle, write
from .script import for_each, outcome_of_each


class Hold:
    """The notes that a study leaves on its nodes (see `mark`)."""

    def __init__(self, reach: Transport, holder: Holder) -> None:
        self._reach, self._holder, self._token = reach, holder, uuid.uuid4().hex
        self._held: set[str] = set()

    def take(self, hosts: Sequence[str]) -> Mapping[str, Sequence[Original]]:
        """Leave our note on nodes before anything is changed there; on all of them or on none.

        If two processes do this at the same moment, at least one sees the other, because each first writes, then looks.

        Returns:
            For each node the changes that ended hpltune processes had left, which are now undone.

        Raises:
            HeldError: somebody else holds a node's network; the sentence names the holder.
            RefusedError: a note cannot be written, or an old change cannot be undone.
            RunnerError: a node does not answer.
        """
        new = tuple(host for host in hosts if host not in self._held)
        try:
            for_each(new, lambda host: self.note(host, ()))
            left = self._settled(new)
        except BaseException:
            for_each(new, self._remove)
            raise
        self._held.update(new)
        return {host: found for host, found in left.items() if found}

    def _settled(self, hosts: Sequence[str]) -> Mapping[str, Sequence[Original]]:
        """Undo what ended hpltune processes have left changed on each node, and return it."""
        left: dict[str, Sequence[Original]] = {}
        told = outcome_of_each(hosts, lambda host: settle(self._reach, host, self._holder, self._token))
        for host, outcome in told.items():
            if isinstance(outcome, RunnerError):
                raise outcome
            left[host] = outcome
        return left

    def note(self, host: str, originals: Sequence[Original]) -> None:
        """Record changes in our note on a node.

        Raises:
            RefusedError: the note cannot be written.
            RunnerError: the node does not answer.
        """
        write(self._reach, host, self._token, self._holder, originals)

    def release(self, changed: Sequence[str]) -> None:
        """Remove our notes, except from nodes that are still changed."""
        done = tuple(host for host in self._held if host not in changed)
        for_each(done, self._remove)
        self._held.difference_update(done)

    def _remove(self, host: str) -> None:
        """Remove our note from a node; on a silent node the note becomes invalid when this process ends."""
        with suppress(RunnerError):
            remove(self._reach, host, [self._token])
