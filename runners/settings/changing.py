"""Changes settings of nodes: a node that is cut off restores itself, and changed links are tested afterwards."""

import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil

from ..errors import Mishap, RefusedError, RunnerError, UnreachableError
from ..hosts.transport import AT_ONCE, Transport, for_each
from .journal import IDENTITY, identity_in, place
from .registry import host_settings
from .script import Timer, Told, change, converse, failure, outcome_of_each, writing
from .setting import Command
from .survey import Node

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

SMALL = 64
"""Bytes of a packet that any link takes (RFC 791: 68)."""
NARROW, MISSING = 3, 127
"""What a test exits with where only large packets are dropped, and where there is no ping."""
AGAIN_S = 4.0
"""Seconds for small and large packets in turn, once the time for the large one is over."""

_PING = (
    'passes() { said=$(ping -c 1 -W 1 -M do -I "$source" -s "$1" "$target" 2>&1); }; '
    'source=$1 size=$2 target=$3 why= end=$(($(date +%s) + $4)); until passes "$size"; do code=$?; '
    f'[ $code -ne {MISSING} ] || {{ echo "$said"; exit $code; }}; '
    '[ "$(date +%s)" -ge $end ] || { sleep 0.2; continue; }; for again in 1 2 3; do '
    f'passes {SMALL - HEADERS} || {{ echo "$said"; exit 1; }}; [ $again = 3 ] || ! passes "$size" || exit 0; '
    f'why=${{why:-$said}}; done; echo "$why"; exit {NARROW}; done'
)
"""Pings with a large packet until it gets through or the time is over. Then small and large ones go in turn: only where
each small one gets through, and no large one, is the size to blame, and not the link."""


@dataclass(frozen=True)
class Change:
    """A change on a node: to `after`, and back to `original` if that fails."""

    interface: str
    setting: str
    original: str
    after: str


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

    def failed(self, host: str, told: Told, *, resized: bool) -> RunnerError:
        """Return why the test failed: an MTU is refused only where small packets pass and large ones do not.

        Args:
            resized: whether the size is a value of the trial.
        """
        way = f"from {host} to {self.peer} over {self.interface}"
        if told.exit_code == MISSING:
            return RefusedError(f"node {host}: ping is missing, so an MTU cannot be tested: install iputils-ping there")
        if told.exit_code != NARROW:
            return RunnerError(f"no packets get {way} ({failure(told)})", Mishap.LINK_LOST)
        drops = f"the switch or a NIC drops them ({failure(told)})"
        if resized:
            return RefusedError(f"{MTU} = {self.mtu}: packets of that size do not get {way}; {drops}", MTU)
        return RunnerError(f"packets of {self.mtu} bytes do not get {way}, and small ones do; {drops}", Mishap.NO_WAY)


@dataclass(frozen=True)
class NodeChanger:
    """Changes settings of some nodes.

    Attributes:
        nodes: what was found on each of them.
        values: the current values of their settings, as far as they were read.
        patience: how long it waits after a change.
        say: called with a sentence about each wait for a silent node.
        may_wait_s: tells the seconds that one may wait from now on; no later wait for a node is longer.
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
        Nor is it where a link carries nothing: that may be a cable that was out.

        Args:
            changes: of each node, in the order in which they are made.

        Returns:
            The new values.

        Raises:
            RefusedError: a value is refused.
            UnreachableError: a node does not answer, or was started anew meanwhile.
            RunnerError: a conversation with a node broke off, or was cut off for a while; or a link carries nothing.
        """
        tests, grace_s = self._tests(changes), self.patience.grace_s * ceil(len(changes) / AT_ONCE)
        limits_s = {
            host: self.patience.link_s
            + (self.patience.link_s + AGAIN_S) * len(tests.get(host, ()))
            + APPLY_S * len(own)
            for host, own in changes.items()
        }
        timers = {host: Timer(host, uuid.uuid4().hex, grace_s + limit_s) for host, limit_s in limits_s.items()}
        try:
            refused = for_each(
                tuple(changes),
                lambda host: self._change(host, changes[host], tests.get(host, ()), timers[host], limits_s[host]),
            )
            if refusal := min(filter(None, refused.values()), key=lambda error: error.event is not None, default=None):
                named = _named(next(iter(changes.values())))
                for_each(tuple(self.nodes), lambda host: self._require_alive(host, named, COME_BACK_S))
                if refusal.event is Mishap.LINK_LOST:
                    for_each(tuple(tests), lambda host: self._require_links(host, tests[host]))
                raise refusal
            verified = for_each(tuple(changes), lambda host: self._confirm(host, changes[host], timers[host]))
        except BaseException as error:
            stop = {host: [one.stop()] for host, one in timers.items() if host not in getattr(error, "lost_nodes", ())}
            outcome_of_each(tuple(stop), lambda host: converse(self.reach, host, stop[host], timeout_s=CONFIRM_S))
            raise
        return {key: value for values in verified.values() for key, value in values.items()}

    def _tests(self, changes: Mapping[str, list[Change]]) -> dict[str, list[PathTest]]:
        """Make each node's tests to the next node in a ring, so that packets pass every switch port both ways."""
        mtus = {place[:2]: int(value) for place, value in self.values.items() if place[2] == MTU}
        mtus |= {
            (host, each.interface): int(each.after) for host in changes for each in changes[host] if each.setting == MTU
        }
        tests: dict[str, list[PathTest]] = {}
        names = list(self.nodes)
        for host in changes:
            following = [*names[names.index(host) + 1 :], *names[: names.index(host)]]
            for name in dict.fromkeys(
                each.interface for each in changes[host] if host_settings()[each.setting].moves_link
            ):
                source = self.nodes[host].interface(name)
                others = ((peer, self.nodes[peer].interface(name)) for peer in following)
                usable = ((peer, own) for peer, own in others if own and own.address and not own.loopback)
                peer, target = next(usable, ("", None))
                if source and source.address and target:
                    size = min(mtus.get((host, name), source.mtu), mtus.get((peer, name), target.mtu))
                    tests.setdefault(host, []).append(
                        PathTest(name, size, source.address, target.address, peer, self.patience.link_s)
                    )
        return tests

    def _change(
        self, host: str, changes: Sequence[Change], tests: Sequence[PathTest], timer: Timer, limit_s: float
    ) -> RunnerError | None:
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
        test = tests[len(told) - 1 - len(changes)]
        return test.failed(
            host,
            told[-1],
            resized=any(
                (each.setting, each.interface) == (MTU, test.interface) and each.after != each.original
                for each in changes
            ),
        )

    def _confirm(self, host: str, changes: Sequence[Change], timer: Timer) -> dict[Place, str]:
        """Connect to a node again, stop its timer, and check that the change holds."""
        shows = [host_settings()[each.setting].show(each.interface) for each in changes]
        try:
            stopped, *answers = converse(self.reach, host, [timer.stop(), *shows], timeout_s=CONFIRM_S, wide=True)
        except UnreachableError as error:
            raise self._cut_off(host, changes, error, timer) from error
        if stopped.exit_code != 0:
            raise RunnerError(
                f"node {host}: {_named(changes)} was undone by the node, which was not reached in time",
                Mishap.LINK_LOST,
            )
        for each, told in zip(changes, answers, strict=True):
            found = value_of(host, (each.interface, each.setting), told)
            if found != each.after:
                where = place(host, each.interface, each.setting, each.after)
                raise RefusedError(f"{where} was accepted, but the node made it {found}", each.setting)
        return {(host, each.interface, each.setting): each.after for each in changes}

    def _cut_off(self, host: str, changes: Sequence[Change], error: Exception, timer: Timer) -> RunnerError:
        """Wait until a silent node has undone its change, and return the error that this cut it off.

        Raises:
            UnreachableError: the node itself is to blame.
        """
        wait_s = min(timer.after_s + COME_BACK_S, self.may_wait_s())
        self.say(f"Node {host} does not answer since {_named(changes)} was set: waiting {wait_s:.0f} s for it.")
        self._require_alive(host, _named(changes), wait_s)
        return RunnerError(
            f"node {host}: it was cut off when {_named(changes)} was set ({error}); it answers again",
            Mishap.LINK_LOST,
        )

    def _require_links(self, host: str, tests: Sequence[PathTest]) -> None:
        """Wait until links carry small packets again, now that what was set is undone.

        Raises:
            RunnerError: one does not.
        """
        wait_s = max(1.0, min(COME_BACK_S, self.may_wait_s()))
        small = [replace(test, mtu=SMALL, timeout_s=wait_s) for test in tests]
        limit_s = CONFIRM_S + (wait_s + AGAIN_S) * len(small)
        told = converse(self.reach, host, [test.command for test in small], timeout_s=limit_s)
        for test, said in zip(small, told, strict=True):
            if not said.taken:
                raise RunnerError(
                    f"{test.failed(host, said, resized=False)}, though the change is undone", Mishap.NO_WAY
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


def _named(changes: Sequence[Change]) -> str:
    return ", ".join(f"{each.setting} = {each.after}" for each in changes)
