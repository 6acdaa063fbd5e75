"""Applies a trial's network settings to its nodes, and restores them at the end."""

import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from threading import Lock
from types import TracebackType
from typing import Self

from ..errors import RefusedError, RunnerError, UnreachableError
from ..hosts.transport import Transport
from .hold import Hold
from .journal import Journal, Original, place, tokens_of
from .path_test import PATIENCE_S, PathTest, path_tests
from .registry import CHOICE, SETTINGS, setting
from .restore import put_back
from .script import Timer, Told, as_root, change, converse, failure, for_each
from .setting import PREFIX, Command, SettingValue, interfaces_of
from .survey import Node, look_at, require_interfaces

GRACE_S = 60.0
"""Seconds after which a node undoes an unconfirmed change; a NIC needs a few seconds to come up."""
APPLY_S = 2.0
"""Seconds that a driver has to take a value, many times the usual."""
CONFIRM_S = 20.0
"""Seconds that a node has to answer after a change."""
COME_BACK_S = 30.0
"""Seconds that a node has to answer after it has undone a change."""
MTU = "mtu"

Key = tuple[str, str]
"""The interface ("" for the whole node) and the name of a setting."""


@dataclass(frozen=True)
class Change:
    """A change on a node: to `after`, and back to `original` if that fails."""

    interface: str
    setting: str
    original: str
    after: str

    @property
    def moves_link(self) -> bool:
        """Whether the connection to other nodes must be tested afterwards."""
        return SETTINGS[self.setting].moves_link


@dataclass(frozen=True)
class Patience:
    """How long a control waits after a change.

    Attributes:
        grace_s: seconds after which a node that was cut off by a change undoes it.
        link_s: seconds for a link that was touched to carry packets again.
    """

    grace_s: float = GRACE_S
    link_s: float = PATIENCE_S


USUAL_PATIENCE = Patience()


class NetworkControl:
    """The network settings of some nodes for the duration of a study.

    Applied values stay until another trial asks for others; a setting that a trial does not name has its original
    value. Parallel trials on separate nodes share one control, which makes their changes one after the other.
    Before anything is changed, a note on each node and the journal hold the originals. Before each trial the settings
    are read again, and changes by somebody else are reported and corrected. Use it as a context manager: leaving it
    restores everything.

    Args:
        interfaces: the interfaces to set, unless a trial names `interface`.
        say: called with a sentence for each change by somebody else.
        patience: how long the control waits after a change.
    """

    def __init__(
        self,
        reach: Transport,
        nodes: Sequence[str],
        interfaces: Sequence[str],
        journal: Journal,
        patience: Patience = USUAL_PATIENCE,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._reach, self._nodes, self._interfaces = reach, tuple(nodes), tuple(interfaces)
        self._journal, self._patience, self._say = journal, patience, say
        self._hold = Hold(reach, journal.holder)
        self._lock = Lock()
        self._found: Mapping[str, Node] = {}
        self._originals: dict[tuple[str, str, str], Original] = {}
        self._now: dict[tuple[str, str, str], str] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.restore()

    def prepare(self, wanted: Mapping[str, Sequence[SettingValue]]) -> None:
        """Before the first trial, check that all nodes have the settings of the trials, and hold their network.

        Args:
            wanted: all values of the trials by setting, without "net.".

        Raises:
            RefusedError: a node lacks an interface; the sentence lists those it has.
            HeldError: somebody else has a node's network; the sentence names the holder.
            RunnerError: a node does not answer, or the changes of a killed hpltune cannot be undone there.
        """
        chosen = [name for value in wanted.get(CHOICE, ()) for name in interfaces_of(value)]
        with self._lock:
            if chosen:
                self._require(self._nodes, chosen)
            if wanted.keys() & SETTINGS.keys():
                self._take(self._nodes)

    def apply(self, wanted: Mapping[str, SettingValue], nodes: Sequence[str] | None = None) -> None:
        """Give the nodes the settings of a trial; only differing values are changed.

        Args:
            wanted: values by setting, without "net.".
            nodes: the nodes of the trial; None for all.

        Raises:
            RefusedError: a value is refused; the nodes are restored then, or the sentence names those that are not.
            HeldError: somebody else has a node's network.
            RunnerError: a node does not answer.
        """
        targets = self._targets(wanted)
        hosts = tuple(nodes or self._nodes)
        with self._lock:
            if CHOICE in wanted:
                self._require(hosts, interfaces_of(wanted[CHOICE]))
            if not targets and not self._originals_of(hosts):
                return
            try:
                self._take(hosts)
                self._learn(hosts, targets)
                changes = self._changes(hosts, targets)
                if changes:
                    self._make(hosts, changes)
            except RunnerError as error:
                left = self._put_back(self._originals_of(hosts))
                if not left:
                    raise
                raise _with(error, f"not put back yet: {'; '.join(left.values())}") from error

    def disturbed(self, nodes: Sequence[str] | None = None) -> str:
        """Check after a trial whether the settings are still as they were applied.

        Returns:
            The sentence about a change by somebody else, or that this is not known; "" without a change.
        """
        hosts = tuple(nodes or self._nodes)
        with self._lock:
            keys = tuple(dict.fromkeys(original.key[1:] for original in self._originals_of(hosts)))
            if not keys:
                return ""
            try:
                return "; ".join(self._looked_at(hosts, keys))
            except RunnerError as error:
                return f"whether the network stayed as it was set cannot be told: {error}"

    def restore(self) -> Mapping[str, str]:
        """Restore every node.

        Returns:
            For each node that could not be restored the sentence why; its originals stay in the journal.
        """
        with self._lock:
            left = self._put_back(tuple(self._originals.values()))
            self._hold.release([original.host for original in self._originals.values()])
            return left

    def _take(self, hosts: Sequence[str]) -> None:
        for host, found in self._hold.take(hosts).items():
            names = ", ".join(f"{each.interface} {each.setting} = {each.value}".strip() for each in found)
            self._say(f"Put back on {host}: {names}; a hpltune that has ended had left it changed.")

    def _put_back(self, originals: Sequence[Original]) -> Mapping[str, str]:
        if not originals:
            return {}
        outcome = put_back(self._reach, originals)
        self._journal.forget(outcome.done)
        for original in outcome.done:
            del self._originals[original.key]
        for original in originals:
            self._now.pop(original.key, None)
        return outcome.left

    def _originals_of(self, hosts: Sequence[str]) -> tuple[Original, ...]:
        return tuple(original for original in self._originals.values() if original.host in hosts)

    def _targets(self, wanted: Mapping[str, SettingValue]) -> dict[Key, str]:
        interfaces = interfaces_of(wanted[CHOICE]) if CHOICE in wanted else self._interfaces
        targets: dict[Key, str] = {}
        for name in SETTINGS:
            if name not in wanted:
                continue
            one, text = SETTINGS[name], SETTINGS[name].text(wanted[name])
            if one.per_interface and not interfaces:
                raise RefusedError(f"{PREFIX}{name}: no interface was named that it could be applied to")
            targets.update({(interface, name): text for interface in (interfaces if one.per_interface else ("",))})
        for name in wanted:
            if name != CHOICE:
                setting(name)
        return targets

    def _learn(self, hosts: Sequence[str], targets: Mapping[Key, str]) -> None:
        """Read the current values, and record those that will change on the nodes and in the journal."""
        self._require(hosts, [interface for interface, _ in targets if interface])
        keys = tuple(dict.fromkeys((*targets, *(original.key[1:] for original in self._originals_of(hosts)))))
        for sentence in self._looked_at(hosts, keys):
            self._say(f"{sentence}; it is put right.")
        first = [
            Original(host, *key, self._now[(host, *key)], tokens_of(self._reach))
            for host in hosts
            for key in targets
            if (host, *key) not in self._originals
        ]
        if not first:
            return
        self._originals.update({each.key: each for each in self._journal.remember(first)})
        changed = tuple(dict.fromkeys(each.host for each in first))
        for_each(changed, lambda host: self._hold.note(host, self._originals_of([host])))

    def _require(self, hosts: Sequence[str], interfaces: Sequence[str]) -> None:
        """Survey nodes that are still unknown, and make sure that they have these interfaces."""
        new = [host for host in hosts if host not in self._found]
        self._found = {**self._found, **for_each(new, lambda host: look_at(self._reach, host))}
        require_interfaces(self._present(hosts), dict.fromkeys(interfaces))

    def _looked_at(self, hosts: Sequence[str], keys: Sequence[Key]) -> list[str]:
        """Read settings, and return a sentence for each that somebody else changed."""
        read = for_each(hosts, lambda host: self._read(host, keys))
        now = {(host, *key): value for host, values in read.items() for key, value in values.items()}
        differs = [
            f"{place(*key)} is {value}, though it was set to {self._now[key]}: somebody else changed it"
            for key, value in now.items()
            if key in self._originals and self._now.get(key, value) != value
        ]
        self._now.update(now)
        return differs

    def _present(self, hosts: Sequence[str]) -> dict[str, Node]:
        return {host: self._found[host] for host in hosts}

    def _read(self, host: str, keys: Sequence[Key]) -> dict[Key, str]:
        answers = converse(self._reach, host, [SETTINGS[name].show(interface) for interface, name in keys])
        return {key: self._value(host, key, told) for key, told in zip(keys, answers, strict=True)}

    def _value(self, host: str, key: Key, told: Told) -> str:
        try:
            return SETTINGS[key[1]].read(told.printed).value
        except RefusedError as error:
            raise RefusedError(f"{place(host, *key)} cannot be set: {error}", key[1]) from error

    def _changes(self, hosts: Sequence[str], targets: Mapping[Key, str]) -> dict[str, list[Change]]:
        """List the changes for each node, in the order of the settings."""
        order = list(SETTINGS)
        changes: dict[str, list[Change]] = {}
        for host in hosts:
            goal = {original.key[1:]: original.value for original in self._originals_of([host])}
            goal.update(targets)
            differs = [
                Change(*key, self._originals[(host, *key)].value, text)
                for key, text in goal.items()
                if self._now[(host, *key)] != text
            ]
            if differs:
                changes[host] = sorted(differs, key=lambda each: order.index(each.setting))
        return changes

    def _make(self, hosts: Sequence[str], changes: Mapping[str, list[Change]]) -> None:
        timers = {host: Timer(host, uuid.uuid4().hex, self._patience.grace_s) for host in changes}
        try:
            refused = for_each(tuple(changes), self._changing(hosts, changes, timers))
            for refusal in filter(None, refused.values()):
                raise refusal
            verified = for_each(tuple(changes), lambda host: self._confirm(host, changes[host], timers[host]))
        except BaseException:
            for_each(tuple(changes), lambda host: self._stop(host, timers[host]))
            raise
        for values in verified.values():
            self._now.update(values)

    def _changing(
        self, hosts: Sequence[str], changes: Mapping[str, list[Change]], timers: Mapping[str, Timer]
    ) -> Callable[[str], RefusedError | None]:
        """Make a function that changes a node and tests its connection to the next; it returns an error or None."""
        after = {
            (host, each.interface): int(each.after) for host in changes for each in changes[host] if each.setting == MTU
        }

        def mtu(host: str, interface: str) -> int:
            found = self._found[host].interface(interface)
            now = self._now.get((host, interface, MTU)) or (found.mtu if found else 0)
            return after.get((host, interface), int(now))

        moved = {host: dict.fromkeys(each.interface for each in changes[host] if each.moves_link) for host in changes}
        tests = path_tests(self._present(hosts), moved, mtu, self._patience.link_s)
        return lambda host: self._change(host, changes[host], tests.get(host, ()), timers[host])

    def _change(
        self, host: str, changes: Sequence[Change], tests: Sequence[PathTest], timer: Timer
    ) -> RefusedError | None:
        root = self._found[host].root
        commands = [_setting(each.interface, each.setting, each.after, root=root) for each in changes]
        undo = [_setting(each.interface, each.setting, each.original, root=root) for each in changes]
        commands += [test.command for test in tests]
        limit_s = self._patience.link_s * (1 + len(tests)) + APPLY_S * len(changes)
        later = replace(timer, after_s=timer.after_s + limit_s)
        try:
            told = change(self._reach, host, commands, undo, later, limit_s)
        except UnreachableError as error:
            return self._cut_off(host, changes, error, later)
        for each, said in zip(changes, told, strict=False):
            if not said.taken:
                where = place(host, each.interface, each.setting, each.after)
                return RefusedError(f"{where} was refused: {failure(said)}", each.setting)
        if told[-1].taken:
            return None
        sentence = tests[len(told) - 1 - len(changes)].sentence(host, told[-1])
        return RefusedError(sentence, _only([each.setting for each in changes if each.moves_link], MTU))

    def _confirm(self, host: str, changes: Sequence[Change], timer: Timer) -> dict[tuple[str, str, str], str]:
        """Connect to a node again, stop its timer, and check that the change holds."""
        shows = [SETTINGS[each.setting].show(each.interface) for each in changes]
        try:
            stopped, *answers = converse(self._reach, host, [timer.stop(), *shows], timeout_s=CONFIRM_S, wide=True)
        except UnreachableError as error:
            raise self._cut_off(host, changes, error, timer) from error
        if stopped.exit_code != 0:
            raise RefusedError(f"node {host}: {_named(changes)} was undone by the node, which was not reached in time")
        values = {}
        for each, told in zip(changes, answers, strict=True):
            found = self._value(host, (each.interface, each.setting), told)
            if found != each.after:
                where = place(host, each.interface, each.setting, each.after)
                raise RefusedError(f"{where} was accepted, but the node made it {found}", each.setting)
            values[(host, each.interface, each.setting)] = found
        return values

    def _cut_off(self, host: str, changes: Sequence[Change], error: Exception, timer: Timer) -> RefusedError:
        """Wait until a silent node has undone its change, and return the error."""
        until_s = time.monotonic() + timer.after_s + COME_BACK_S
        while time.monotonic() < until_s:
            try:
                converse(self._reach, host, [("true",)], timeout_s=CONFIRM_S)
            except RunnerError:
                time.sleep(1.0)
            else:
                sentence = f"node {host}: {_named(changes)} cut it off ({error}); it has come back"
                return RefusedError(sentence, _only([each.setting for each in changes]))
        return RefusedError(f"node {host}: {_named(changes)} cut it off ({error}), and it has not come back")

    def _stop(self, host: str, timer: Timer) -> None:
        """Stop a node's timer, if the node answers and the timer has not acted."""
        with suppress(RunnerError):
            converse(self._reach, host, [timer.stop()], timeout_s=CONFIRM_S)


def _with(error: RunnerError, more: str) -> RunnerError:
    """Return a copy of an error with a longer sentence."""
    if isinstance(error, UnreachableError):
        return UnreachableError(f"{error}; {more}", error.node)
    if isinstance(error, RefusedError):
        return RefusedError(f"{error}; {more}", error.setting)
    return RunnerError(f"{error}; {more}")


def _setting(interface: str, name: str, value: str, *, root: bool) -> Command:
    return as_root(SETTINGS[name].apply(interface, value), root=root)


def _only(settings: Sequence[str], likely: str = "") -> str:
    """Name the setting at fault: the only one, or the likely one if it is among them; else ""."""
    found = set(settings)
    return likely if likely in found else found.pop() if len(found) == 1 else ""


def _named(changes: Sequence[Change]) -> str:
    return ", ".join(f"{PREFIX}{each.setting} = {each.after}" for each in changes)
