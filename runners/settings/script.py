"""Runs several commands on a node in one conversation: `sh` reads them as text and answers each with its output."""

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from ..errors import ProcessError, RunnerError, UnreachableError
from ..hosts.transport import Transport, ask, for_each
from .net import last_words
from .setting import Command, HostSetting

CODE = "hpltune-code"
PRELUDE = "PATH=$PATH:/usr/sbin:/sbin\nLC_ALL=C\nexport PATH LC_ALL\n"
"""Many systems have `ip` and `ethtool` in folders that are not on the PATH of users."""
SUDO: Command = ("sudo", "-n")
NEEDS_RULE = "it needs root, or sudo with a rule for it: `hpltune net sudoers` prints the rules"
PADDING = "x" * 65_536
"""Text that fills many packets of any size, to detect a connection that drops large packets."""
UNTIL_GIVEN_UP_S = 60.0

_NEEDS_PASSWORD = re.compile(
    r"^sudo: .*(password is required|not allowed|not in the sudoers|terminal is required)|\bsudo: (command )?not found",
    re.MULTILINE,
)

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Told:
    """The answer of a command; `printed` is its standard output and standard error."""

    exit_code: int
    printed: str

    @property
    def taken(self) -> bool:
        """Whether the command succeeded; sysctl of procps 4.0 returns 0 even if the kernel refuses a value."""
        return self.exit_code == 0 and not self.printed.startswith("sysctl: ")


@dataclass(frozen=True)
class Timer:
    """A timer that runs on the node itself and undoes a change there.

    Attributes:
        mark: letters and digits that identify the timer.
        after_s: seconds until it acts.
    """

    node: str
    mark: str
    after_s: float

    @property
    def name(self) -> str:
        """The name of its process on the node."""
        return f"hpltune-timer-{self.node}-{self.mark}"

    def start(self, undo: str) -> Command:
        """Return the command that starts it in its own session; it prints a line once `stop` can find it."""
        waits = 'echo; exec >/dev/null; sleep "$1"; exec sh -c "$2"'
        return ("setsid", "sh", "-c", waits, self.name, f"{self.after_s:g}", undo)

    def stop(self, *, others: bool = False) -> Command:
        """Return the command that stops it; the command fails if the timer has already acted.

        Args:
            others: stop timers of a killed hpltune instead, so that they do not undo the next change.
        """
        return ("sh", "-c", _STOP, "stop", f"hpltune-timer-{self.node}-" if others else self.name)


_STOP = (
    'stopped=1; here=$(readlink /proc/self/ns/net); for told in $(grep -lsF -- "$1" /proc/[0-9]*/cmdline); do '
    r'timer=${told#/proc/}; timer=${timer%/cmdline}; case $(tr "\0" " " 2>/dev/null <"$told") in '
    r'sh\ -c\ echo*|/*/sh\ -c\ echo*) [ "$(readlink "/proc/$timer/ns/net")" = "$here" ] && '
    'kill -- "-$timer" && stopped=0 ;; esac; done; exit $stopped'
)
"""Stops only timers of the same network, since hosts in containers may share their processes and even their names.

It reads /proc itself: small systems lack pgrep.
"""


def converse(
    reach: Transport, node: str, commands: Sequence[Command], timeout_s: float = UNTIL_GIVEN_UP_S, *, wide: bool = False
) -> list[Told]:
    """Run commands on a node one after the other, even if some fail.

    Args:
        wide: whether to send and receive 64 KiB of padding.

    Raises:
        UnreachableError: the node does not answer.
        ProcessError: the conversation broke off.
    """
    padding = [f"# {PADDING}", f"head -c {len(PADDING)} /dev/zero | tr '\\0' x"] if wide else []
    return _answers(reach, node, commands, "\n".join([*map(step, commands), *padding]) + "\n", timeout_s)


def change(
    reach: Transport, node: str, commands: Sequence[Command], undo: Sequence[Command], timer: Timer, timeout_s: float
) -> list[Told]:
    """Run commands on a node until one fails; the node then undoes them at once by itself.

    It also undoes them when the timer ends, unless `Timer.stop` comes first. So a node that was cut off comes back.

    Returns:
        The answers of the commands, up to the one that failed.

    Raises:
        UnreachableError: the node does not answer.
        ProcessError: the conversation broke off.
    """
    back = "; ".join(shlex.join(command) for command in undo) or ":"
    undone = f"{{ {back}; }} </dev/null >/dev/null 2>&1; {shlex.join(timer.stop())}"
    lines = [
        f"{shlex.join(timer.stop(others=True))} </dev/null >/dev/null 2>&1",
        f"{{ {shlex.join(timer.start(back))} </dev/null 2>/dev/null & }} | read started",
        *(f"{step(command)}\n[ $code -eq 0 ] || {{ {undone}; exit 0; }}" for command in commands),
    ]
    return _answers(reach, node, None, "\n".join(lines) + "\n", timeout_s)


def step(command: Command) -> str:
    """Write a script line that runs a command and prints its exit code."""
    return f'{shlex.join(command)} </dev/null 2>&1; code=$?; echo; echo "{CODE} $code"'


def outcome_of_each(nodes: Sequence[str], ask_one: Callable[[str], Answer]) -> Mapping[str, Answer | RunnerError]:
    """Speak to all nodes at the same time, and once more to those that did not answer while others did.

    While the MTU of this machine becomes smaller, what a node sends in a conversation that began before is dropped, and
    ssh gives up; by then the change is over, and a new conversation succeeds.

    Returns:
        What each node answered, or the error of one that did not.
    """

    def one(node: str) -> Answer | RunnerError:
        try:
            return ask_one(node)
        except RunnerError as error:
            return error

    found = for_each(nodes, one)
    silent = tuple(node for node, answer in found.items() if isinstance(answer, UnreachableError))
    return {**found, **for_each(silent, one)} if 0 < len(silent) < len(nodes) else found


def writing(setting: HostSetting, interface: str, value: str, *, root: bool) -> Command:
    """Return the command that sets a value, with sudo where that needs root and the user is not."""
    command = setting.apply(interface, value)
    return command if root or not setting.needs_root else (*SUDO, *command)


def failure(told: Told) -> str:
    """Return why a command failed, on one line."""
    if _NEEDS_PASSWORD.search(told.printed):
        return NEEDS_RULE
    return last_words(told.printed) if told.printed.strip() else f"it failed with code {told.exit_code}"


def _answers(
    reach: Transport, node: str, commands: Sequence[Command] | None, text: str, timeout_s: float
) -> list[Told]:
    printed = ask(reach, node, ("sh", "-s"), timeout_s=timeout_s, stdin=PRELUDE + text)
    parts = re.split(rf"^{CODE} (\d+)\n", printed, flags=re.MULTILINE)
    answers = [Told(int(code), said.strip("\n")) for said, code in zip(parts[::2], parts[1::2], strict=False)]
    if not answers or (commands is not None and len(answers) != len(commands)):
        raise ProcessError(f"node {node}: the conversation broke off after {len(answers)} answers")
    return answers
