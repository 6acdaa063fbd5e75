"""A note on a node that tells all its users who has changed its settings.

A database belongs to a user or a group, but a node belongs to all. So before hpltune changes settings of a node, it
leaves a file there that any user may read and only its owner and root may remove: in /run/lock, or in /tmp where that
is not open to all users. The file names the process, the study, the boot, and each setting with its original value. So
the changes of a killed hpltune can be undone without its database. A note of an earlier boot is ignored, because a
reboot undoes all changes. The file's name contains the node's network namespace, because containers may share a file
system.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ..errors import HeldError, RefusedError, UnreachableError
from ..hosts.transport import Transport
from ..job import INTERFACE
from .journal import Holder, Original, tokens_of
from .registry import full_name, host_settings, recorded_name, subject
from .restore import put_back
from .script import converse, failure

LONGEST = 100
"""Most characters of a word in a note that are shown, because other users may write anything there."""
FORMAT = "hpltune network 1"

_PLACE = (
    "dir=/tmp; [ -k /run/lock ] && dir=/run/lock; "
    "base=$dir/hpltune-net-$(readlink /proc/self/ns/net | tr -dc 0-9); boot=$(cat /proc/sys/kernel/random/boot_id); "
)
_WRITE = (
    _PLACE + 'umask 022; new=$base-$1; rm -f "$new"; set -C; '
    'printf "%s\\nboot %s\\n%s\\n" "$3" "$boot" "$2" >"$new" && mv -f "$new" "$base.$1" || { rm -f "$new"; exit 1; }'
)
_READ = (
    _PLACE + 'echo "boot $boot"; echo "uid $(id -u)"; for mark in "$base".*; do '
    '[ -f "$mark" ] && [ ! -L "$mark" ] || continue; '
    'printf "\\n@ %s %s\\n" "${mark##*.}" "$(stat -c "%u %U" "$mark")"; head -c 65536 "$mark"; done'
)
_REMOVE = _PLACE + 'rm -f "$base.$1"'
_TOKEN = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True)
class Mark:
    """A note that was found on a node.

    Attributes:
        token: the identity of the note.
        uid: number of the user who owns the file; `user` is the name on the node.
        originals: the changed settings with their original values.
    """

    token: str
    uid: int
    user: str
    boot: str
    owner: str
    study: str
    originals: tuple[Original, ...]

    @property
    def who(self) -> str:
        """The holder, as a phrase."""
        what = f"study {self.study}" if self.study else "hpltune"
        host, _, pid = [*self.owner.split("|"), "", "", ""][:3]
        return f"{what} of {self.user or self.uid}{f', process {pid} on {host}' if pid else ''}"

    @property
    def what(self) -> str:
        """The changed settings, as a phrase."""
        return ", ".join(f"{each.interface} {each.setting}".lstrip() for each in self.originals)


def write(reach: Transport, host: str, token: str, holder: Holder, originals: Sequence[Original]) -> None:
    """Write or replace a note.

    Args:
        originals: the settings that are changed there.

    Raises:
        RefusedError: the note cannot be written.
        RunnerError: the node does not answer.
    """
    lines = [f"owner {holder.owner}", f"study {_plain(holder.study)}"]
    lines += [f"was {each.interface or '-'} {recorded_name(each.setting)} {each.value}" for each in originals]
    (told,) = converse(reach, host, [("sh", "-c", _WRITE, "note", token, "\n".join(lines), FORMAT)])
    if not told.taken:
        what = subject(each.setting for each in originals)
        raise RefusedError(
            f"node {host}: who changes its {what} cannot be noted there, so nothing is changed: {failure(told)}"
        )


def remove(reach: Transport, host: str, tokens: Sequence[str]) -> None:
    """Remove notes; notes of other users stay unless we are root.

    Raises:
        RunnerError: the node does not answer.
    """
    converse(reach, host, [("sh", "-c", _REMOVE, "remove", token) for token in tokens])


def marks_on(reach: Transport, host: str) -> tuple[int, list[Mark]]:
    """Read the notes on a node.

    Returns:
        The number of our user on the node, and the notes of this boot.

    Raises:
        RunnerError: the node does not answer.
    """
    (told,) = converse(reach, host, [("sh", "-c", _READ, "read")])
    head, *parts = re.split(r"^@ ", told.printed, flags=re.MULTILINE)
    known = dict(line.split(" ", 1) for line in head.splitlines() if " " in line)
    found = [_mark(reach, host, part) for part in parts]
    return int(known.get("uid", "-1")), [mark for mark in found if mark is not None and mark.boot == known.get("boot")]


def settle(
    reach: Transport, host: str, holder: Holder, mine: str = "", *, of_all_users: bool = False
) -> tuple[Original, ...]:
    """Undo the changes of ended hpltune processes on a node by their notes, and remove the notes.

    Args:
        mine: the token of our own note.
        of_all_users: also undo changes of other users if we are root there; their notes may contain anything.

    Returns:
        The originals that are restored.

    Raises:
        HeldError: a living hpltune holds this node's settings, or another user left it changed; nothing is restored.
        RefusedError: a change cannot be undone.
        RunnerError: the node does not answer.
    """
    uid, found = marks_on(reach, host)
    marks = [mark for mark in found if mark.token != mine]
    for mark in marks:
        if holder.lives(mark.owner):
            what = subject(each.setting for each in mark.originals)
            raise HeldError(
                f"node {host}: its {what} {'is' if what == 'network' else 'are'} in use by {mark.who}"
                + (f", which has changed {mark.what}" if mark.what else "")
                + ": wait until that has ended, or end it"
            )
    for mark in marks:
        if mark.originals and mark.uid != uid and not (of_all_users and uid == 0):
            raise HeldError(
                f"node {host}: {mark.who}, which has ended, left {mark.what} changed: {mark.user or mark.uid} or root "
                f"puts that back with `hpltune net restore ⟦hosts⟧ {host}`"
            )
    outcome = put_back(reach, tuple({each.key: each for mark in marks for each in mark.originals}.values()))
    for why in outcome.left.values():
        sentence = f"what {marks[0].who} left changed does not go back: {why}"
        raise UnreachableError(sentence, host) if outcome.unreachable else RefusedError(sentence)
    if marks:
        remove(reach, host, [mark.token for mark in marks])
    return outcome.done


def _mark(reach: Transport, host: str, text: str) -> Mark | None:
    """Parse a note; unknown lines are skipped. None for a file that is no note."""
    first, *lines = text.splitlines()
    words = first.split()
    if len(words) != 3 or not _TOKEN.fullmatch(words[0]) or not words[1].isdecimal() or FORMAT not in lines[:1]:
        return None
    values = {name: value for name, _, value in (line.partition(" ") for line in lines) if name != "was"}
    was = [line.split(" ", 3)[1:] for line in lines if line.startswith("was ") and line.count(" ") >= 3]
    return Mark(
        token=words[0],
        uid=int(words[1]),
        user=_plain(words[2]),
        boot=values.get("boot", ""),
        owner=_plain(values.get("owner", "")),
        study=_plain(values.get("study", "")),
        originals=tuple(filter(None, (_original(reach, host, *words) for words in was))),
    )


def _original(reach: Transport, host: str, interface: str, name: str, value: str) -> Original | None:
    """Return the original that a line of a note tells; None where it is no legal value of a known setting."""
    one, interface = host_settings().get(full_name(name)), interface.removeprefix("-")
    text = one.values.text(value) if one and one.per_interface == bool(interface) else None
    if one is None or text is None or (interface and not INTERFACE.fullmatch(interface)):
        return None
    return Original(host, interface, one.name, text, tokens_of(reach))


def _plain(text: str) -> str:
    """Make text of another user safe to show."""
    return "".join(letter for letter in text if letter.isprintable())[:LONGEST]
