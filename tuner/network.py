"""The network of a study: originals in its store, and hosts that a killed hpltune left changed."""

import platform
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from results.errors import ResultsError
from results.lease import Lease
from results.network import NetworkOriginal
from results.store import Store
from runners.errors import RefusedError
from runners.network.control import NetworkControl
from runners.network.journal import Original
from runners.network.restore import put_all_back

from .errors import TunerError
from .events import Listener, Notice
from .workshop import Workshop

AGAIN = "`hpltune net restore` tries again"


@dataclass(frozen=True)
class StoreJournal:
    """Keeps originals in a store.

    Attributes:
        study: the study they are changed for, or None.
    """

    store: Store
    study: str | None

    def remember(self, originals: Sequence[Original]) -> Sequence[Original]:
        """Commit originals, or find older ones."""
        mine, now = str(Lease.mine()), datetime.now(UTC)
        rows = [
            NetworkOriginal(each.host, each.interface, each.setting, each.value, each.ssh, self.study, mine, now)
            for each in originals
        ]
        try:
            return [original_of(row) for row in self.store.network.remember(rows)]
        except ResultsError as error:
            raise RefusedError(str(error)) from error

    def forget(self, originals: Sequence[Original]) -> None:
        """Drop originals."""
        self.store.network.forget([each.key for each in originals])


def original_of(row: NetworkOriginal) -> Original:
    """A stored original as runners know it."""
    return Original(row.host, row.interface, row.setting, row.value, row.ssh)


@contextmanager
def networked(workshop: Workshop, store: Store, study: str, listener: Listener) -> Iterator[Workshop]:
    """The workshop with its evaluators in charge of the nodes' network; everything is put back at the end."""
    nodes = (workshop.whole or workshop.site).nodes
    if nodes is None or not nodes.names:
        yield workshop
        return
    cluster = nodes.cluster
    control = NetworkControl(cluster.reach, nodes.names, cluster.interfaces, StoreJournal(store, study))
    first, *others = (replace(each, network=control) for each in (workshop.evaluator, *workshop.others))
    try:
        yield replace(workshop, evaluator=first, others=tuple(others))
    finally:
        for why in control.restore().values():
            listener(Notice(f"Caution: a network setting is not put back: {why}; {AGAIN}."))


def recover(store: Store, *, force: bool = False) -> tuple[list[str], list[str]]:
    """Put back the hosts that a killed hpltune left changed, those that answer.

    Args:
        force: also what a process changed that may still be living.

    Returns:
        Sentences about what was put back, and about what is still changed.
    """
    rows = store.network.originals()
    if not rows:
        return [], []
    busy = [row for row in rows if _not_ours(row) and not (force and row.ssh)]
    outcome = put_all_back([original_of(row) for row in rows if row not in busy])
    store.network.forget([each.key for each in outcome.done])
    done = [f"Put back on {host}: {_values(outcome.done, host)}." for host in dict.fromkeys(_hosts(outcome.done))]
    left = [f"Not put back: {why}; it stays recorded, {AGAIN}." for why in outcome.left.values()]
    return done, left + list(dict.fromkeys(_owned(row) for row in busy))


def forget_host(store: Store, host: str) -> str:
    """Drop what is recorded of a host, and say what that was.

    Raises:
        TunerError: nothing is recorded of it.
    """
    rows = [row for row in store.network.originals() if row.host == host]
    if not rows:
        raise TunerError(f"nothing is recorded of {host}")
    store.network.forget([row.key for row in rows])
    return f"Forgotten: {host}: {_values([original_of(row) for row in rows], host)}."


def recover_at_start(store: Store, listener: Listener) -> None:
    """Put back what can be put back, and say so."""
    done, left = recover(store)
    for sentence in (*done, *left):
        listener(Notice(sentence))


def _not_ours(row: NetworkOriginal) -> bool:
    """It is in use, or can only be reached from another machine."""
    lease = Lease.parse(row.owner)
    return row.busy is not None or (not row.ssh and lease is not None and lease.host != platform.node())


def _owned(row: NetworkOriginal) -> str:
    lease = Lease.parse(row.owner)
    who = f"process {lease.pid} on {lease.host}" if lease else "another process"
    return f"The network of {row.host} is changed by {who}, which puts it back."


def _hosts(originals: Sequence[Original]) -> list[str]:
    return [each.host for each in originals]


def _values(originals: Sequence[Original], host: str) -> str:
    return ", ".join(
        f"{each.interface + ' ' if each.interface else ''}{each.setting} = {each.value}"
        for each in originals
        if each.host == host
    )
