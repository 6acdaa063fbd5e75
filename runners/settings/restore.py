"""Restores the original settings of nodes, as far as they answer."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..errors import RefusedError, RunnerError, UnreachableError
from ..hosts.transport import Transport
from .journal import IDENTITY, Original, identity_in, in_words, place
from .registry import host_settings, setting
from .script import converse, failure, outcome_of_each, writing
from .survey import WHO

ROUNDS = 2
"""Rounds of restoring, because a value may depend on another that must be set first."""


@dataclass(frozen=True)
class PutBack:
    """The result of restoring.

    Attributes:
        done: originals that the nodes have again, by their own answer.
        outdated: originals of nodes that were started anew since, which has undone the change: nothing was written.
        left: for each node with other settings the sentence why.
        unreachable: the nodes of these that do not answer.
    """

    done: tuple[Original, ...]
    left: Mapping[str, str]
    unreachable: frozenset[str] = frozenset()
    outdated: tuple[Original, ...] = ()

    @property
    def notices(self) -> list[str]:
        """A sentence about each node that was started anew."""
        return [
            f"{host} was started anew since hpltune changed it, and has the values of that start: nothing is written, "
            f"and what it had before is forgotten ({in_words(each for each in self.outdated if each.host == host)})."
            for host in dict.fromkeys(each.host for each in self.outdated)
        ]


def put_back(reach: Transport, originals: Sequence[Original]) -> PutBack:
    """Restore every node, and check it."""
    hosts = tuple(dict.fromkeys(original.host for original in originals))
    found = outcome_of_each(hosts, lambda host: _try(reach, host, [each for each in originals if each.host == host]))
    states: dict[Original, str] = {}
    left: dict[str, str] = {}
    for host, outcome in found.items():
        if isinstance(outcome, RunnerError):
            left[host] = str(outcome)
            continue
        states |= outcome[0]
        strange = [each for each, state in outcome[0].items() if state == "elsewhere"]
        pending = [each for each, state in outcome[0].items() if state == "here"]
        why = outcome[1] or (f"{place(*pending[0].key)} does not go back to {pending[0].value}" if pending else "")
        if why or strange:
            left[host] = "; ".join(filter(None, (why, another_machine(host, strange) if strange else "")))
    silent = frozenset(host for host, told in found.items() if isinstance(told, UnreachableError))
    done, outdated = (tuple(each for each in originals if states.get(each) == state) for state in ("same", "restarted"))
    return PutBack(done, left, silent, outdated)


def another_machine(host: str, originals: Iterable[Original]) -> str:
    """Return the sentence that a host's name leads to another machine than when its originals were kept."""
    own = in_words(each for each in originals if each.host == host)
    return (
        f"node {host}: another machine answers by that name than the one of which {own} is kept, "
        f"so nothing is written there, and that one may still be changed: let the name (DNS, /etc/hosts, ssh's "
        f"configuration) lead to it again; if it is gone, `hpltune net restore ⟦forget⟧ {host}` forgets it"
    )


def _try(reach: Transport, host: str, originals: Sequence[Original]) -> tuple[Mapping[Original, str], str]:
    """Restore a node in some rounds; return how each original stands, and the last messages."""
    known = host_settings()
    ordered = sorted(originals, key=lambda each: list(known).index(setting(each.setting).name))
    root, states, why = _states(reach, host, ordered)
    for _ in range(ROUNDS):
        pending = [each for each in ordered if states[each] == "here"]
        if not pending:
            break
        commands = [writing(known[each.setting], each.interface, each.value, root=root) for each in pending]
        said = [
            f"{place(host, each.interface, each.setting, each.value)}: {failure(told)}"
            for each, told in zip(pending, converse(reach, host, commands), strict=True)
            if not told.taken
        ]
        root, states, why = _states(reach, host, ordered)
        why = next(iter(said), why)
    return states, why


def _states(reach: Transport, host: str, originals: Sequence[Original]) -> tuple[bool, dict[Original, str], str]:
    """Return whether we are root on a node, how each original stands, and why a value cannot be read.

    It is "same" where the node has the value, or else what `Original.found_on` says.
    """
    shows = [host_settings()[each.setting].show(each.interface) for each in originals]
    who, ids, *answers = converse(reach, host, [WHO, IDENTITY, *shows])
    states: dict[Original, str] = {each: each.found_on(*identity_in(ids.printed)) for each in originals}
    why = ""
    for each, told in zip(originals, answers, strict=True):
        try:
            if states[each] == "here" and host_settings()[each.setting].read(told.printed).value == each.value:
                states[each] = "same"
        except RefusedError as error:
            why = f"{place(host, each.interface, each.setting)}: {error}"
    return who.printed.strip() == "0", states, why
