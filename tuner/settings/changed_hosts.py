"""Hosts whose settings a study or a probe changes: what they had before is stored, and put back, also after a kill."""

import platform
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

from results.errors import ResultsError
from results.store.lease import Lease
from results.store.networks import NetworkOriginal
from results.store.store import Store
from runners.errors import HeldError, RunnerError
from runners.settings.journal import Holder, Original, in_words, reach_of
from runners.settings.mark import settle
from runners.settings.registry import full_name, recorded_name, subject
from runners.settings.restore import put_back
from runners.settings.script import outcome_of_each

from ..errors import TunerError

MayReach = Callable[[tuple[str, ...]], bool]
"""Whether this user has named a program, with its options, that reaches hosts."""
AGAIN = "`hpltune net restore` tries again"


@dataclass(frozen=True)
class StoreJournal:
    """Keeps the original values of settings in a store.

    Attributes:
        study: the study for which they are changed, or None.
    """

    store: Store
    study: str | None

    @property
    def holder(self) -> Holder:
        """The process that changes settings: this one."""
        return Holder(str(Lease.mine()), self.study or "", may_still_run)

    def remember(self, originals: Sequence[Original]) -> Sequence[Original]:
        """Store originals; one that is stored already stays, but if its machine was started anew since."""
        mine, now = str(Lease.mine()), datetime.now(UTC)
        rows = {
            _key(each): NetworkOriginal(
                *_key(each)[:3], each.value, each.ssh, self.study, mine, now, machine=each.machine, boot=each.boot
            )
            for each in originals
        }
        self.store.network.forget(
            row.key
            for row in self.store.network.originals()
            if row.busy is None and original_of(row).found_on(row.machine, rows.get(row.key, row).boot) == "restarted"
        )
        try:
            return [original_of(row) for row in self.store.network.remember([*rows.values()])]
        except ResultsError as error:
            raise HeldError(str(error)) from error

    def forget(self, originals: Sequence[Original]) -> None:
        """Remove originals from the store."""
        self.store.network.forget(map(_key, originals))


def _key(original: Original) -> tuple[str, str, str, str]:
    """The identity of an original in the store."""
    return (original.host, original.interface, recorded_name(original.setting), original.machine)


def original_of(row: NetworkOriginal) -> Original:
    """Make the original that runners know of a stored one."""
    return Original(row.host, row.interface, full_name(row.setting), row.value, row.ssh, row.machine, row.boot)


def put_back_changed_hosts(
    store: Store, may_reach: MayReach, *, force: bool = False, hosts: Sequence[str] = (), ssh: tuple[str, ...] = ()
) -> tuple[list[str], list[str]]:
    """Put back the hosts that a killed hpltune left changed, as far as they answer.

    The store tells what was changed, and so do notes on the hosts.

    Args:
        may_reach: whether the user has named a way to reach hosts; what others recorded is only told.
        force: also put back what a process changed that may still run.
        hosts: also look for notes on these, whichever database and user they were changed with; `ssh` reaches them.

    Returns:
        Sentences about what was put back, and about what is still changed.
    """
    recorded = store.network.originals()
    strange = {way for way in {row.ssh for row in recorded} - {ssh} if way and not may_reach(way)}
    rows = [row for row in recorded if row.ssh not in strange]
    busy = [row for row in rows if _not_ours(row) and not (force and row.ssh)]
    free = [row for row in rows if row not in busy]
    done: list[Original] = []
    left: list[str] = []
    forgotten: list[str] = []
    for way in dict.fromkeys((*(row.ssh for row in free), *((ssh,) if hosts else ()))):
        asked = (*(row.host for row in free if row.ssh == way), *(hosts if way == ssh else ()))
        settled = partial(_settled, way, hosts, force=force)
        for host, found in outcome_of_each(tuple(dict.fromkeys(asked)), settled).items():
            if isinstance(found, RunnerError):
                left.append(f"Not put back: {found}; it stays recorded, {AGAIN}.")
                free = [row for row in free if (row.host, row.ssh) != (host, way)]
            else:
                done += found
        outcome = put_back(reach_of(way), [original_of(row) for row in free if row.ssh == way])
        store.network.forget(map(_key, (*outcome.done, *outcome.outdated)))
        done += outcome.done
        forgotten += outcome.notices
        left += [f"Not put back: {why}; it stays recorded, {AGAIN}." for why in outcome.left.values()]
    left += [
        f"Host {row.host} was left changed, and would be reached by `{shlex.join(row.ssh)}`, which you have not named: "
        f"`hpltune net restore ⟦hosts⟧ {row.host}` reaches it as you do, `hpltune net restore ⟦forget⟧ {row.host}` "
        "forgets it."
        for row in recorded
        if row.ssh in strange  # somebody else's way to the host is told, not run
    ]
    done = list({(each.key, each.value): each for each in done}.values())
    sentences = [
        f"Put back on {host}: {in_words(each for each in done if each.host == host)}."
        for host in dict.fromkeys(one.host for one in done)
    ]
    return [*sentences, *forgotten], list(dict.fromkeys((*left, *(_owned(row) for row in busy))))


def _settled(way: tuple[str, ...], named: Sequence[str], host: str, *, force: bool) -> Sequence[Original]:
    """Put back what the notes of a host tell."""
    holder = Holder(str(Lease.mine()), "", lambda owner: may_still_run(owner, force=force))
    return settle(reach_of(way), host, holder, of_all_users=host in named)


def may_still_run(owner: str, *, force: bool = False) -> bool:
    """Whether another process that changed a network may still run.

    Args:
        force: a process on another machine counts as ended.
    """
    lease = Lease.parse(owner)
    if lease is None:
        return not force
    return lease.alive and (lease.of_this_host or not force)


def forget_host(store: Store, host: str) -> str:
    """Remove what is recorded of a host, but for what a process of this machine needs still, and say what that was.

    Raises:
        TunerError: nothing is recorded of it, or only what such a process needs.
    """
    recorded = [row for row in store.network.originals() if row.host == host]
    rows = [row for row in recorded if row.busy is None or not row.busy.of_this_host]
    if not rows:
        raise TunerError(_owned(recorded[0]) if recorded else f"nothing is recorded of {host}")
    store.network.forget([row.key for row in rows])
    return f"Forgotten: {host}: {in_words(map(original_of, rows))}."


def _not_ours(row: NetworkOriginal) -> bool:
    """Whether a setting is in use, or its host can only be reached from another machine."""
    lease = Lease.parse(row.owner)
    return row.busy is not None or (not row.ssh and lease is not None and lease.host != platform.node())


def _owned(row: NetworkOriginal) -> str:
    lease = Lease.parse(row.owner)
    who = f"process {lease.pid} on {lease.host}" if lease else "another process"
    if subject([full_name(row.setting)]) == "network":
        return f"The network of {row.host} is changed by {who}, which puts it back."
    return f"Settings of {row.host} are changed by {who}, which puts them back."
