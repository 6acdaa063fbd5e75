"""Holds the settings of a trial's hosts for a study, applies those of the trial, and restores them at the end."""

import math
import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from threading import Lock
from types import TracebackType

from ..errors import HeldError, RefusedError, RunnerError
from ..hosts.transport import Transport, for_each
from .changing import USUAL_PATIENCE, Change, Key, NodeChanger, Patience, value_of
from .journal import IDENTITY, Holder, Journal, Original, Whereabouts, identity_in, in_words, place, tokens_of
from .mark import remove, settle, write
from .registry import host_settings, setting, subject
from .restore import another_machine, put_back
from .script import converse, failure, outcome_of_each, writing
from .setting import CHOICE, SettingValue, interfaces_of
from .survey import Node, look_at, require_interfaces, require_right


class SettingsControl(AbstractContextManager["SettingsControl"]):
    """The settings of some nodes for the duration of a study.

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
        self._machines: dict[str, tuple[str, str]] = {}

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.restore()

    def prepare(self, wanted: Mapping[str, Sequence[SettingValue]]) -> None:
        """Before the first trial, check that all nodes have the interfaces of the trials, and hold their settings.

        Args:
            wanted: all values of the trials by setting.

        Raises:
            RefusedError: a node lacks an interface; the sentence lists those it has. Or it lacks a setting of the whole
                node, does not take a value, or does not let this user write it; links are tried by the trials.
            HeldError: somebody else has a node's settings; the sentence names the holder.
            RunnerError: a node does not answer, or the changes of a killed hpltune cannot be undone there.
        """
        chosen = [name for value in wanted.get(CHOICE, ()) for name in interfaces_of(value)]
        with self._lock:
            if chosen:
                self._require(self._nodes, chosen)
            if wanted.keys() & host_settings().keys():
                self._take(self._nodes)
                self._require_settings(wanted, {CHOICE: ",".join(chosen)} if chosen else {})

    def apply(
        self,
        wanted: Mapping[str, SettingValue],
        nodes: Sequence[str] | None = None,
        may_wait_s: Callable[[], float] = lambda: math.inf,
    ) -> None:
        """Give the nodes the settings of a trial; only differing values are changed.

        Args:
            wanted: values by setting; those of a launch are left to it.
            nodes: the nodes of the trial; None for all.
            may_wait_s: tells the seconds that one may wait for a silent node from now on.

        Raises:
            RefusedError: a value is refused; the nodes are restored then, or the sentence names those that are not.
            HeldError: somebody else has a node's settings.
            RunnerError: a node does not answer.
        """
        targets, hosts = self._targets(wanted), tuple(nodes or self._nodes)
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
                    found = {host: replace(self._found[host], boot=self._machines[host][1]) for host in hosts}
                    self._now |= NodeChanger(self._reach, found, self._now, self._patience, self._say, may_wait_s).make(
                        changes
                    )
            except RunnerError as error:
                if left := self._put_back(self._originals_of(hosts), error.lost_nodes):
                    error.args = (f"{error}; not put back yet: {'; '.join(left.values())}",)
                raise

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
                what = subject(name for _, name in keys)
                were = "it was" if what == "network" else "they were"
                return f"whether the {what} stayed as {were} set cannot be told: {error}"

    def restore(self) -> Mapping[str, str]:
        """Restore every node.

        Returns:
            For each node that could not be restored the sentence why; its originals stay in the journal.
        """
        with self._lock:
            left = self._put_back(tuple(self._originals.values()))
            self._hold.release([original.host for original in self._originals.values()])
            return left

    def _take(self, hosts: Sequence[str], anew: Collection[str] = ()) -> None:
        for host, found in self._hold.take(hosts, anew).items():
            self._say(f"Put back on {host}: {in_words(found)}; a hpltune that has ended had left it changed.")

    def _put_back(self, originals: Sequence[Original], silent: Collection[str] = ()) -> Mapping[str, str]:
        """Restore originals but those of silent nodes, which are asked again at the end."""
        if not originals:
            return {}
        outcome = put_back(self._reach, [each for each in originals if each.host not in silent])
        self._forget((*outcome.done, *outcome.outdated))
        for sentence in outcome.notices:
            self._say(sentence)
        for original in originals:
            self._now.pop(original.key, None)
        return outcome.left

    def _forget(self, originals: Sequence[Original]) -> None:
        self._journal.forget(originals)
        for original in originals:
            del self._originals[original.key]

    def _originals_of(self, hosts: Sequence[str]) -> tuple[Original, ...]:
        return tuple(original for original in self._originals.values() if original.host in hosts)

    def _targets(self, wanted: Mapping[str, SettingValue]) -> dict[Key, str]:
        interfaces = interfaces_of(wanted[CHOICE]) if CHOICE in wanted else self._interfaces
        targets: dict[Key, str] = {}
        known = {name: one for name, one in host_settings().items() if name in wanted}
        for name, one in known.items():
            text = one.text(wanted[name])
            if one.per_interface and not interfaces:
                raise RefusedError(f"{name}: no interface was named that it could be applied to")
            targets.update({(interface, name): text for interface in (interfaces if one.per_interface else ("",))})
        for name in wanted:
            setting(name)
        return targets

    def _require_settings(
        self, wanted: Mapping[str, Sequence[SettingValue]], chosen: Mapping[str, SettingValue]
    ) -> None:
        """Make sure that each node has the settings of a whole node, and lets us write them: it writes what it has.

        Of those between nodes sudo is only asked.

        Args:
            chosen: the interfaces that trials name.
        """
        known = {name: one for name, one in host_settings().items() if wanted.get(name)}
        asked = [one for one in known.values() if not (one.per_interface or one.between_nodes)]
        links = self._targets({name: wanted[name][0] for name in known if known[name] not in asked} | {**chosen})
        writes = {key: known[key[1]].apply(key[0], value) for key, value in links.items()}
        for_each(self._nodes if writes else (), lambda host: require_right(self._reach, host, writes))
        if not asked:
            return
        self._require(self._nodes, ())

        def tried(host: str) -> None:
            for one, told in zip(asked, converse(self._reach, host, [one.show("") for one in asked]), strict=True):
                now = value_of(host, ("", one.name), told)
                choices = one.read(told.printed).choices
                for value in map(one.text, wanted[one.name]):
                    if choices and value not in choices:
                        raise RefusedError(
                            f"{place(host, '', one.name, value)}: its kernel takes {', '.join(choices)}", one.name
                        )
                (written,) = converse(self._reach, host, [writing(one, "", now, root=self._found[host].root)])
                if not written.taken:
                    raise RefusedError(f"{place(host, '', one.name)} cannot be set: {failure(written)}", one.name)

        for_each(self._nodes, tried)

    def _learn(self, hosts: Sequence[str], targets: Mapping[Key, str]) -> None:
        """Read the current values, and record those that will change on the nodes and in the journal."""
        self._require(hosts, [interface for interface, _ in targets if interface])
        keys = tuple(dict.fromkeys((*targets, *(original.key[1:] for original in self._originals_of(hosts)))))
        for sentence in self._looked_at(hosts, keys):
            self._say(f"{sentence}; it is put right.")
        if anew := self._found_on(hosts, "restarted"):
            self._forget(anew)
            self._take(hosts, {each.host for each in anew})
            self._looked_at(hosts, keys)
        first = [
            Original(host, *key, self._now[(host, *key)], tokens_of(self._reach), *self._machines[host])
            for host in hosts
            for key in targets
            if (host, *key) not in self._originals
        ]
        if not first:
            return
        self._originals.update({each.key: each for each in self._journal.remember(first)})
        changed, by = tuple(dict.fromkeys(each.host for each in first)), (self._hold.token, self._journal.holder)
        for_each(changed, lambda host: write(self._reach, host, *by, self._originals_of([host])))

    def _require(self, hosts: Sequence[str], interfaces: Sequence[str]) -> None:
        """Survey nodes that are still unknown, and make sure that they have these interfaces."""
        named = bool(interfaces)
        new = [host for host in hosts if host not in self._found or (named and not self._found[host].interfaces)]
        self._found = {**self._found, **for_each(new, lambda host: look_at(self._reach, host, interfaces=named))}
        require_interfaces({host: self._found[host] for host in hosts}, dict.fromkeys(interfaces))

    def _looked_at(self, hosts: Sequence[str], keys: Sequence[Key]) -> list[str]:
        """Read settings, and return a sentence for each that has changed since.

        Raises:
            HeldError: another machine answers than the one whose originals are kept.
            RefusedError: a setting cannot be read.
            RunnerError: a node does not answer.
        """
        shows = [host_settings()[name].show(interface) for interface, name in keys]
        read = for_each(hosts, lambda host: converse(self._reach, host, [IDENTITY, *shows]))
        self._machines.update({host: identity_in(ids.printed) for host, (ids, *_) in read.items()})
        if strange := self._found_on(hosts, "elsewhere"):
            raise HeldError(another_machine(strange[0].host, strange))
        anew = {each.host for each in self._found_on(hosts, "restarted")}
        now = {
            (host, *key): value_of(host, key, told)
            for host, (_, *answers) in read.items()
            for key, told in zip(keys, answers, strict=True)
        }
        differs = [
            f"{place(*key)} is {value}, though it was set to {self._now[key]}: "
            + ("the node was started anew" if key[0] in anew else "somebody else changed it")
            for key, value in now.items()
            if key in self._originals and self._now.get(key, value) != value
        ]
        self._now.update(now)
        return differs

    def _found_on(self, hosts: Sequence[str], where: Whereabouts) -> tuple[Original, ...]:
        """Return the originals of hosts that stand so on the machines that answered last."""
        return tuple(each for each in self._originals_of(hosts) if each.found_on(*self._machines[each.host]) == where)

    def _changes(self, hosts: Sequence[str], targets: Mapping[Key, str]) -> dict[str, list[Change]]:
        """List the changes for each node, in the order of the settings."""
        order = list(host_settings())
        changes: dict[str, list[Change]] = {}
        for host in hosts:
            goal = {**{original.key[1:]: original.value for original in self._originals_of([host])}, **targets}
            differs = [
                Change(*key, self._originals[(host, *key)].value, text)
                for key, text in goal.items()
                if self._now[(host, *key)] != text
            ]
            if differs:
                changes[host] = sorted(differs, key=lambda each: order.index(each.setting))
        return changes


class Hold:
    """The notes that a study leaves on its nodes (see `mark`)."""

    def __init__(self, reach: Transport, holder: Holder) -> None:
        self._reach, self._holder, self.token = reach, holder, uuid.uuid4().hex
        self._held: set[str] = set()

    def take(self, hosts: Sequence[str], anew: Collection[str] = ()) -> Mapping[str, Sequence[Original]]:
        """Leave our note on nodes before anything is changed there; on all of them or on none.

        If two processes do this at the same moment, at least one sees the other, because each first writes, then looks.

        Args:
            anew: those that were started anew since, so that a note of ours there counts no more.

        Returns:
            For each node the changes that ended hpltune processes had left, which are now undone.

        Raises:
            HeldError: somebody else holds a node's settings; the sentence names the holder.
            RefusedError: a note cannot be written, or an old change cannot be undone.
            RunnerError: a node does not answer.
        """
        self._held.difference_update(anew)
        new = tuple(host for host in hosts if host not in self._held)
        try:
            for_each(new, lambda host: write(self._reach, host, self.token, self._holder, ()))
            left = outcome_of_each(new, lambda host: settle(self._reach, host, self._holder, self.token))
            for failed in (outcome for outcome in left.values() if isinstance(outcome, RunnerError)):
                raise failed
        except BaseException:
            self._remove(new)
            raise
        self._held.update(new)
        return {host: found for host, found in left.items() if found and not isinstance(found, RunnerError)}

    def release(self, changed: Sequence[str]) -> None:
        """Remove our notes, except from nodes that are still changed."""
        done = tuple(host for host in self._held if host not in changed)
        self._remove(done)
        self._held.difference_update(done)

    def _remove(self, hosts: Sequence[str]) -> None:
        """Remove our note from nodes; on a silent node the note becomes invalid when this process ends."""
        outcome_of_each(hosts, lambda host: remove(self._reach, host, [self.token]))
