"""Runs commands on nodes: over ssh, or directly where the node is this machine.

A remote shell reads one text. We always make it from tokens with `for_any_shell`, and check host names (`host_named`).
"""

import os
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

from ..errors import InvalidJobError, ProcessError, UnreachableError
from ..forwarded import on_nodes
from .hearing import MOST_BYTES, Call, CommandResult, Outcome, Unheard, hear
from .host_names import EXPECTED, host_named

CONNECT_S = 10
"""Seconds that a node has to answer."""
SSH_FAILED = 255
"""Exit code of ssh for its own errors; otherwise ssh returns that of the remote command."""
AT_ONCE = 32
"""How many nodes are contacted at the same time."""
SHOWN = 60
"""Characters of an answer that cannot be read."""

Found = TypeVar("Found")
"""What a parser makes of an answer."""
ANSWER = "hpltune-answer"
"""Marks the beginning of a command's output, because a login shell's files may print too."""
_MARKED = ("sh", "-c", f'echo {ANSWER}; exec "$@"', "sh")
_PLAIN = re.compile(rb"[\w@%+=:,./ -]")
"""Bytes that every shell takes literally."""

_CHANGED = (
    "its host key has changed: it was installed anew, or another machine answers; where you know why, forget the old "
    "key with `ssh-keygen {forget}`, then log in once with `{{ssh}} {{node}}`"
)
_SAYINGS: tuple[tuple[str, str], ...] = (
    (r"Could not resolve hostname|Name or service not known", "its name is not known: check the host list"),
    (r"(?s)REMOTE HOST IDENTIFICATION HAS CHANGED.*Offending \S+ key in (?P<file>.+?):\d+\s",
     _CHANGED.format(forget="-f {file} -R {node}")),
    (r"REMOTE HOST IDENTIFICATION HAS CHANGED",
     _CHANGED.format(forget="-R {node}")),
    (r"REVOKED HOST KEY|marked as revoked", "its host key is revoked: ask who runs it for a new one"),
    (r"Host key verification failed|host key is known for",
     "its host key is not known here yet: log in once with `{ssh} {node}`, and compare the key that it shows"),
    (r"Permission denied", "it wants a password: set up a key with `ssh-copy-id {node}`"),
    (r"Connection refused", "nothing listens for ssh there: is sshd running?"),
    (r"timed out|No route to host|Network is unreachable|Host is down|not responding",
     "it does not answer: see whether it is on and `ping {node}` works"),
    (r"[Cc]onnection (?:closed|reset)|Broken pipe", "it closed the connection"),
)  # fmt: skip
"""Messages of OpenSSH and their meaning; the first that matches counts."""


class Transport(Protocol):
    """A way to run commands on nodes."""

    def argv(self, node: str, command: Sequence[str]) -> list[str]:
        """Return the local command line that runs a command on a node."""
        ...


@dataclass(frozen=True)
class Local:
    """Runs commands directly, where the node is this machine."""

    def argv(self, node: str, command: Sequence[str]) -> list[str]:  # noqa: ARG002 - the contract's
        """Return the command itself."""
        return list(command)


@dataclass(frozen=True)
class Ssh:
    """Runs commands through OpenSSH without questions: with keys only, and a silent node is an error within seconds.

    Attributes:
        program: ssh and the user's options for it.
    """

    program: tuple[str, ...] = ("ssh",)

    def argv(self, node: str, command: Sequence[str]) -> list[str]:
        """Return the local ssh command line.

        Raises:
            InvalidJobError: the node is no host name.
        """
        return [*self.start(), checked(node), "--", for_any_shell(command)]

    def start(self) -> list[str]:
        """Return the tokens before the host's name in a command line."""
        options = ("BatchMode=yes", f"ConnectTimeout={CONNECT_S}", "ServerAliveInterval=5", "ServerAliveCountMax=3")
        return [*self.program, "-x", "-T", *(token for option in options for token in ("-o", option))]


def for_any_shell(command: Sequence[str]) -> str:
    """Write a line that runs a command under any login shell: csh and fish read quotes differently.

    The command has the variables of the modules that this process has loaded.
    """
    text = os.fsencode(shlex.join([*on_nodes(), *command]))
    coded = "".join(chr(byte) if _PLAIN.match(bytes([byte])) else f"\\0{byte:03o}" for byte in b"exec " + text)
    return f"""exec sh -c 'eval "$(printf %b "{coded}")"'"""


def anchored(program: Sequence[str], folder: Path) -> tuple[str, ...]:
    """Make file names in a command for ssh absolute, because MPI starts the command in another folder."""
    return (
        *program[:1],
        *(
            str((folder / token).absolute()) if not token.startswith("-") and (folder / token).is_file() else token
            for token in program[1:]
        ),
    )


def checked(node: str) -> str:
    """Return the name of a node in a safe form for a command line; an IPv6 address has no brackets.

    Raises:
        InvalidJobError: the node is no host name.
    """
    host = host_named(node)
    if host is None:
        raise InvalidJobError(f"{node!r} is not the name of a host: expected {EXPECTED}")
    return host


def say(
    reach: Transport, node: str, command: Sequence[str], *, timeout_s: float = 60.0, stdin: str | Path = ""
) -> CommandResult:
    """Run a command on a node and wait for its answer, whatever its exit code.

    Args:
        stdin: the text for the command's standard input, or the file that holds it.

    Raises:
        UnreachableError: the node does not answer or refuses the login; the sentence says why.
        InvalidJobError: the node is no host name.
    """
    return raised(say_all(reach, [node], command, timeout_s=timeout_s, stdin=stdin)[node])


def raised(said: CommandResult | UnreachableError) -> CommandResult:
    """Return an answer, or raise the error that stands in its place."""
    if isinstance(said, UnreachableError):
        raise said
    return said


def marked(reach: Transport, node: str, command: Sequence[str]) -> list[str]:
    """Return the local command line that runs a command on a node and marks where its output begins.

    Raises:
        InvalidJobError: the node is no host name.
    """
    return reach.argv(node, (*_MARKED, *command) if isinstance(reach, Ssh) else command)


def answer(reach: Transport, node: str, heard: Outcome, limit_s: float) -> CommandResult | UnreachableError:
    """Return what a node's command printed, without what else its shell did; an error that names the node otherwise.

    Args:
        heard: of the command line of `marked`.
        limit_s: seconds that the node had.
    """
    match heard:
        case CommandResult():
            return _without_greeting(reach, node, heard)
        case Unheard.LOUD:
            return UnreachableError(
                f"node {node}: it prints more than {MOST_BYTES >> 20} MiB, and was not heard out", node
            )
        case Unheard():
            return UnreachableError(f"node {node}: no answer within {limit_s:.0f} s", node)
        case OSError():
            program = reach.argv(node, ("true",))[0]
            return UnreachableError(f"node {node}: cannot start {program}: {heard.strerror}", node)


def _without_greeting(reach: Transport, node: str, done: CommandResult) -> CommandResult | UnreachableError:
    if not isinstance(reach, Ssh):
        return done
    if done.exit_code == SSH_FAILED:
        return UnreachableError(f"node {node}: {_why(node, done.stderr, reach)}", node)
    before, mark, printed = done.stdout.partition(f"{ANSWER}\n")
    if not mark:
        last = (before + done.stderr).strip().splitlines()[-1:]
        return UnreachableError(
            f"node {node}: its login shell runs no commands: {' '.join(last) or 'it just ends'}", node
        )
    return CommandResult(done.exit_code, printed, done.stderr)


def parsed(node: str, parse: Callable[[str], Found], printed: str) -> Found:
    """Parse what a node printed. Whatever the parser stumbles over is told as that node's, by its name.

    Raises:
        UnreachableError: it cannot be read.
    """
    try:
        return parse(printed)
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        first = next(iter(printed.splitlines()), "")[:SHOWN]
        raise UnreachableError(f"node {node}: its answer cannot be read: it begins with {first!r}", node) from error


def ask(reach: Transport, node: str, command: Sequence[str], *, timeout_s: float = 60.0, stdin: str = "") -> str:
    """Run a command on a node and return its standard output.

    Raises:
        ProcessError: the command failed; the sentence contains its last line.
        UnreachableError, InvalidJobError: as `say`.
    """
    said = say(reach, node, command, timeout_s=timeout_s, stdin=stdin)
    if said.exit_code != 0:
        words = (said.stderr.strip() or said.stdout.strip() or f"code {said.exit_code}").splitlines()[-1]
        raise ProcessError(f"node {node}: {command[0]} failed: {words}")
    return said.stdout


def say_all(
    reach: Transport,
    nodes: Sequence[str],
    command: Sequence[str],
    *,
    timeout_s: float = 60.0,
    stdin: str | Path = "",
) -> Mapping[str, CommandResult | UnreachableError]:
    """Run a command on all nodes at the same time; those that do not answer give their error instead.

    Raises:
        InvalidJobError: a node is no host name.
        RunnerError: this host is short of files, memory or processes.
    """
    return say_each(reach, dict.fromkeys(nodes, command), timeout_s=timeout_s, stdin=stdin)


def say_each(
    reach: Transport, commands: Mapping[str, Sequence[str]], *, timeout_s: float = 60.0, stdin: str | Path = ""
) -> Mapping[str, CommandResult | UnreachableError]:
    """Run a command of its own on each node at the same time, as `say_all` does."""
    given = stdin if isinstance(stdin, Path) else stdin.encode()
    calls = {node: Call(tuple(marked(reach, node, command)), timeout_s, given) for node, command in commands.items()}
    return {node: answer(reach, node, said, timeout_s) for node, said in hear(calls, at_once=AT_ONCE).items()}


def silent(
    reach: Transport, nodes: Sequence[str], command: Sequence[str] = ("true",), *, timeout_s: float = 2.0 * CONNECT_S
) -> dict[str, str]:
    """Return the nodes on which a command gets no answer, each with the sentence why."""
    return {
        node: str(answer)
        for node, answer in say_all(reach, nodes, command, timeout_s=timeout_s).items()
        if isinstance(answer, UnreachableError)
    }


def _why(node: str, stderr: str, reach: Ssh) -> str:
    ssh = shlex.join(reach.program)
    for pattern, sentence in _SAYINGS:
        if match := re.search(pattern, stderr):
            named = {name: shlex.quote(text) for name, text in match.groupdict().items()}
            return sentence.format(node=node, ssh=ssh, **named)
    lines = stderr.strip().splitlines()
    return f"ssh says: {lines[-1]}" if lines else "ssh failed and did not say why"


def for_each(nodes: Sequence[str], ask_one: Callable[[str], Found]) -> Mapping[str, Found]:
    """Ask all nodes at the same time; when all have answered, raise the first error."""
    with ThreadPoolExecutor(min(AT_ONCE, max(1, len(nodes)))) as pool:
        return dict(zip(nodes, pool.map(ask_one, nodes), strict=True))
