"""Puts nodes back to their originals, as far as they answer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..errors import RefusedError, RunnerError, UnreachableError
from ..hosts.transport import Transport
from .journal import Original, place, reach_of
from .registry import SETTINGS, setting
from .script import as_root, converse, failure, outcome_of_each
from .survey import WHO

ROUNDS = 2
"""A value that depends on another may be set only after that one."""


@dataclass(frozen=True)
class PutBack:
    """What came of it.

    Attributes:
        done: originals that hold again, as the nodes themselves say.
        left: per node the sentence why some do not.
        unreachable: the nodes of these that do not answer.
    """

    done: tuple[Original, ...]
    left: Mapping[str, str]
    unreachable: frozenset[str] = frozenset()


def put_back(reach: Transport, originals: Sequence[Original]) -> PutBack:
    """Put every node back and look whether it is."""
    hosts = tuple(dict.fromkeys(original.host for original in originals))
    found = outcome_of_each(hosts, lambda host: _try(reach, host, [each for each in originals if each.host == host]))
    done: list[Original] = []
    left: dict[str, str] = {}
    for host, outcome in found.items():
        if isinstance(outcome, RunnerError):
            left[host] = str(outcome)
            continue
        pending, why = outcome
        done += [each for each in originals if each.host == host and each not in pending]
        if pending:
            where = place(host, pending[0].interface, pending[0].setting)
            left[host] = why or f"{where} does not go back to {pending[0].value}"
        elif why:
            left[host] = why
    return PutBack(
        tuple(done), left, frozenset(host for host, told in found.items() if isinstance(told, UnreachableError))
    )


def put_all_back(originals: Sequence[Original]) -> PutBack:
    """Put nodes back that are reached in several ways, as the originals themselves say."""
    ways = dict.fromkeys(original.ssh for original in originals)
    outcomes = [put_back(reach_of(way), [each for each in originals if each.ssh == way]) for way in ways]
    done = [original for outcome in outcomes for original in outcome.done]
    left = {host: why for outcome in outcomes for host, why in outcome.left.items()}
    return PutBack(tuple(done), left, frozenset(host for outcome in outcomes for host in outcome.unreachable))


def _try(reach: Transport, host: str, originals: Sequence[Original]) -> tuple[list[Original], str]:
    """Those of one node that do not hold after some rounds, and what was said about it last."""
    ordered = sorted(originals, key=lambda each: list(SETTINGS).index(setting(each.setting).name))
    root, pending, why = _pending(reach, host, ordered)
    for _ in range(ROUNDS):
        if not pending:
            break
        commands = [as_root(SETTINGS[each.setting].apply(each.interface, each.value), root=root) for each in pending]
        said = [
            f"{place(host, each.interface, each.setting, each.value)}: {failure(told)}"
            for each, told in zip(pending, converse(reach, host, commands), strict=True)
            if not told.taken
        ]
        root, pending, why = _pending(reach, host, ordered)
        why = next(iter(said), why)
    return pending, why


def _pending(reach: Transport, host: str, originals: Sequence[Original]) -> tuple[bool, list[Original], str]:
    """Whether we are root there, what is not as it was, and why something cannot be told."""
    shows = [SETTINGS[each.setting].show(each.interface) for each in originals]
    who, *answers = converse(reach, host, [WHO, *shows])
    pending, why = [], ""
    for each, told in zip(originals, answers, strict=True):
        try:
            same = SETTINGS[each.setting].read(told.printed).value == each.value
        except RefusedError as error:
            same, why = False, f"{place(host, each.interface, each.setting)}: {error}"
        if not same:
            pending.append(each)
    return who.printed.strip() == "0", pending, why
