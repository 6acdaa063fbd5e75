"""Restores the original settings of nodes, as far as they answer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..errors import RefusedError, RunnerError, UnreachableError
from ..hosts.transport import Transport
from .journal import Original, place, reach_of
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
        left: for each node with other settings the sentence why.
        unreachable: the nodes of these that do not answer.
    """

    done: tuple[Original, ...]
    left: Mapping[str, str]
    unreachable: frozenset[str] = frozenset()


def put_back(reach: Transport, originals: Sequence[Original]) -> PutBack:
    """Restore every node, and check it."""
    hosts = tuple(dict.fromkeys(original.host for original in originals))
    found = outcome_of_each(hosts, lambda host: _try(reach, host, [each for each in originals if each.host == host]))
    done: list[Original] = []
    left: dict[str, str] = {}
    for host, outcome in found.items():
        own = [each for each in originals if each.host == host]
        pending, why = (own, str(outcome)) if isinstance(outcome, RunnerError) else outcome
        done += [each for each in own if each not in pending]
        if pending or why:
            left[host] = why or f"{place(*pending[0].key)} does not go back to {pending[0].value}"
    return PutBack(
        tuple(done), left, frozenset(host for host, told in found.items() if isinstance(told, UnreachableError))
    )


def put_all_back(originals: Sequence[Original]) -> PutBack:
    """Restore nodes with several transports, which the originals name."""
    ways = dict.fromkeys(original.ssh for original in originals)
    outcomes = [put_back(reach_of(way), [each for each in originals if each.ssh == way]) for way in ways]
    done = [original for outcome in outcomes for original in outcome.done]
    left = {host: why for outcome in outcomes for host, why in outcome.left.items()}
    return PutBack(tuple(done), left, frozenset(host for outcome in outcomes for host in outcome.unreachable))


def _try(reach: Transport, host: str, originals: Sequence[Original]) -> tuple[list[Original], str]:
    """Restore a node in some rounds; return the originals that still do not hold, and the last messages."""
    known = host_settings()
    ordered = sorted(originals, key=lambda each: list(known).index(setting(each.setting).name))
    root, pending, why = _pending(reach, host, ordered)
    for _ in range(ROUNDS):
        if not pending:
            break
        commands = [writing(known[each.setting], each.interface, each.value, root=root) for each in pending]
        said = [
            f"{place(host, each.interface, each.setting, each.value)}: {failure(told)}"
            for each, told in zip(pending, converse(reach, host, commands), strict=True)
            if not told.taken
        ]
        root, pending, why = _pending(reach, host, ordered)
        why = next(iter(said), why)
    return pending, why


def _pending(reach: Transport, host: str, originals: Sequence[Original]) -> tuple[bool, list[Original], str]:
    """Return whether we are root on a node, its originals that do not hold, and why a value cannot be read."""
    known = host_settings()
    who, *answers = converse(reach, host, [WHO, *[known[each.setting].show(each.interface) for each in originals]])
    pending, why = [], ""
    for each, told in zip(originals, answers, strict=True):
        try:
            same = known[each.setting].read(told.printed).value == each.value
        except RefusedError as error:
            same, why = False, f"{place(host, each.interface, each.setting)}: {error}"
        if not same:
            pending.append(each)
    return who.printed.strip() == "0", pending, why
