"""Changes settings of nodes: a node that is cut off restores itself, and changed links are tested afterwards."""

import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil

from ..errors import RefusedError, RunnerError, UnreachableError
from ..hosts.transport import AT_ONCE, Transport, for_each
from .journal import IDENTITY, identity_in, place
from .registry import host_settings
from .script import Timer, Told, change, converse, failure, outcome_of_each, writing
from .setting import Command
from .survey import Interface, Node

APPLY_S = 2.0
"""Seconds that a driver has to take a value, many times the usual."""
CONFIRM_S = 20.0
"""Seconds that a node has to answer after a change."""
COME_BACK_S = 30.0
"""Seconds that a node has to answer after it has undone a change."""
MTU = "net.mtu"

Key = tuple[str, str]
"""The interface ("" for the whole node) and the name of a setting."""
Place = tuple[str, str, str]
"""The host, and the key of a setting there."""

HEADERS = 28
"""Bytes of an IPv4 header (20, RFC 791) and an ICMP header (8, RFC 792)."""

_PING = (
    'end=$(($(date +%s) + $4)); until said=$(ping -c 1 -W 1 -M do -I "$1" -s "$2" "$3" 2>&1); do code=$?; '
    '[ $code -ne 127 ] && [ "$(date +%s)" -lt $end ] || { echo "$said"; exit $code; }; sleep 0.2; done'
)


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
        return host_settings()[self.setting].moves_link


@dataclass(frozen=True)
class Patience:
    """How long a control waits after a change.

    Attributes:
        grace_s: seconds after which a node that was cut off by a change undoes it, as often as AT_ONCE nodes change; a
            NIC needs a few to come up.
        link_s: seconds until all nodes have changed, and until a link that went down carries packets again.
    """

    grace_s: float = 30.0
    link_s: float = 10.0


USUAL_PATIENCE = Patience()


@dataclass(frozen=True)
class PathTest:
    """A test to run on a node.

    Attributes:
        mtu: bytes of the packet, which must not be split on its way.
        source: address of the sending interface; `target` is the address of the next node.
    """

    interface: str
    mtu: int
    source: str
    target: str
    peer: str
    timeout_s: float

    @property
    def command(self) -> Command:
        """Return the command that pings until an answer comes or the time is over."""
        size = str(max(0, self.mtu - HEADERS))
        return ("sh", "-c", _PING, "path-test", self.source, size, self.target, f"{self.timeout_s:.0f}")

    def sentence(self, host: str, told: Told) -> str:
        """Return the sentence why the test failed."""
        if told.exit_code == 127:
            return f"node {host}: ping is missing, so an MTU cannot be tested: install iputils-ping there"
        return (
            f"net.mtu = {self.mtu}: packets of that size do not get from {host} to {self.peer} over {self.interface}; "
            f"the switch or a NIC drops them ({failure(told)})"
        )


@dataclass(frozen=True)
class NodeChanger:
    """Changes settings of some nodes.

    Attributes:
        nodes: what was found on each of them.
        values: the current values of their settings, as far as they were read.
        patience: how long it waits after a change.
        say: called with a sentence about each wait for a silent node.
        may_wait_s: tells the seconds that one may wait from now on; after the first question to a node each wait ends
            with them.
    """

    reach: Transport
    nodes: Mapping[str, Node]
    values: Mapping[Place, str]
    patience: Patience
    say: Callable[[str], None]
    may_wait_s: Callable[[], float]

    def make(self, changes: Mapping[str, list[Change]]) -> dict[Place, str]:
        """Change nodes, test their links, and read the changed settings again.

        A value is refused only where all nodes answer afterwards, and none was started anew: else the node is to blame.

        Args:
            changes: of each node, in the order in which they are made.

        Returns:
            The new values.

        Raises:
            RefusedError: a value is refused, or a node was cut off.
            UnreachableError: a node does not answer, or was started anew meanwhile.
            RunnerError: a conversation with a node broke off.
        """
        tests, grace_s = self._tests(changes), self.patience.grace_s * ceil(len(changes) / AT_ONCE)
        limits_s = {
            host: self.patience.link_s * (1 + len(tests.get(host, ()))) + APPLY_S * len(own)
            for host, own in changes.items()
        }
        timers = {host: Timer(host, uuid.uuid4().hex, grace_s + limit_s) for host, limit_s in limits_s.items()}
        try:
            refused = for_each(
                tuple(changes),
                lambda host: self._change(host, changes[host], tests.get(host, ()), timers[host], limits_s[host]),
            )
            if refusal := next(filter(None, refused.values()), None):
                named = _named(next(iter(changes.values())))
                for_each(tuple(self.nodes), lambda host: self._require_alive(host, named, COME_BACK_S))
                raise refusal
            verified = for_each(tuple(changes), lambda host: self._confirm(host, changes[host], timers[host]))
        except BaseException as error:
            stop = {host: [one.stop()] for host, one in timers.items() if host not in getattr(error, "lost_nodes", ())}
            outcome_of_each(tuple(stop), lambda host: converse(self.reach, host, stop[host], timeout_s=CONFIRM_S))
            raise
        return {key: value for values in verified.values() for key, value in values.items()}

    def _tests(self, changes: Mapping[str, list[Change]]) -> dict[str, list[PathTest]]:
        """Make each node's tests to the next node in a ring, so that packets pass every switch port both ways."""
        after = {
            (host, each.interface): int(each.after) for host in changes for each in changes[host] if each.setting == MTU
        }

        def mtu(host: str, found: Interface) -> int:
            return after.get((host, found.name), int(self.values.get((host, found.name, MTU)) or found.mtu))

        tests: dict[str, list[PathTest]] = {}
        names = list(self.nodes)
        for host in changes:
            following = [*names[names.index(host) + 1 :], *names[: names.index(host)]]
            for name in dict.fromkeys(each.interface for each in changes[host] if each.moves_link):
                source = self.nodes[host].interface(name)
                others = ((peer, self.nodes[peer].interface(name)) for peer in following)
                usable = ((peer, own) for peer, own in others if own and own.address and not own.loopback)
                peer, target = next(usable, ("", None))
                if source and source.address and target:
                    size = min(mtu(host, source), mtu(peer, target))
                    tests.setdefault(host, []).append(
                        PathTest(name, size, source.address, target.address, peer, self.patience.link_s)
                    )
        return tests

    def _change(
        self, host: str, changes: Sequence[Change], tests: Sequence[PathTest], timer: Timer, limit_s: float
    ) -> RefusedError | None:
        root, known = self.nodes[host].root, host_settings()
        commands = [writing(known[each.setting], each.interface, each.after, root=root) for each in changes]
        undo = [writing(known[each.setting], each.interface, each.original, root=root) for each in changes]
        commands += [test.command for test in tests]
        try:
            told = change(self.reach, host, commands, undo, timer, limit_s)
        except UnreachableError as error:
            return self._cut_off(host, changes, error, timer)
        for each, said in zip(changes, told, strict=False):
            if not said.taken:
                where = place(host, each.interface, each.setting, each.after)
                return RefusedError(f"{where} was refused: {failure(said)}", each.setting)
        if told[-1].taken:
            return None
        sentence = tests[len(told) - 1 - len(changes)].sentence(host, told[-1])
        return RefusedError(sentence, _only([each.setting for each in changes if each.moves_link], MTU))

    def _confirm(self, host: str, changes: Sequence[Change], timer: Timer) -> dict[Place, str]:
        """Connect to a node again, stop its timer, and check that the change holds."""
        shows = [host_settings()[each.setting].show(each.interface) for each in changes]
        try:
            stopped, *answers = converse(self.reach, host, [timer.stop(), *shows], timeout_s=CONFIRM_S, wide=True)
        except UnreachableError as error:
            raise self._cut_off(host, changes, error, timer) from error
        if stopped.exit_code != 0:
            raise RefusedError(f"node {host}: {_named(changes)} was undone by the node, which was not reached in time")
        for each, told in zip(changes, answers, strict=True):
            found = value_of(host, (each.interface, each.setting), told)
            if found != each.after:
                where = place(host, each.interface, each.setting, each.after)
                raise RefusedError(f"{where} was accepted, but the node made it {found}", each.setting)
        return {(host, each.interface, each.setting): each.after for each in changes}

    def _cut_off(self, host: str, changes: Sequence[Change], error: Exception, timer: Timer) -> RefusedError:
        """Wait until a silent node has undone its change, and return the error that this cut it off.

        Raises:
            UnreachableError: the node itself is to blame.
        """
        wait_s = min(timer.after_s + COME_BACK_S, self.may_wait_s())
        self.say(f"Node {host} does not answer since {_named(changes)} was set: waiting {wait_s:.0f} s for it.")
        self._require_alive(host, _named(changes), wait_s)
        return RefusedError(
            f"node {host}: {_named(changes)} cut it off ({error}); it has come back",
            _only([each.setting for each in changes]),
        )

    def _require_alive(self, host: str, changed: str, wait_s: float) -> None:
        """Make sure that a node answers within so many seconds, and was not started anew: a change does neither.

        Args:
            changed: what was set, in words.

        Raises:
            UnreachableError: it does not, or was.
        """
        until_s = time.monotonic() + wait_s
        while True:
            try:
                (told,) = converse(self.reach, host, [IDENTITY], timeout_s=CONFIRM_S)
                break
            except RunnerError as error:
                if time.monotonic() > until_s or self.may_wait_s() <= 0:
                    raise UnreachableError(f"node {host}: it does not answer since {changed} was set", host) from error
                time.sleep(1.0)
        if identity_in(told.printed)[1] not in ("", self.nodes[host].boot):
            raise UnreachableError(f"node {host}: it was started anew while {changed} was set", host)


def value_of(host: str, key: Key, told: Told) -> str:
    """Return the value of a setting that a node has printed.

    Raises:
        RefusedError: it cannot be set there.
    """
    try:
        return host_settings()[key[1]].read(told.printed).value
    except RefusedError as error:
        raise RefusedError(f"{place(host, *key)} cannot be set: {error}", key[1]) from error


def _only(settings: Sequence[str], likely: str = "") -> str:
    """Name the setting at fault: the only one, or the likely one if it is among them; else ""."""
    found = set(settings)
    return likely if likely in found else found.pop() if len(found) == 1 else ""


def _named(changes: Sequence[Change]) -> str:
    return ", ".join(f"{each.setting} = {each.after}" for each in changes)
