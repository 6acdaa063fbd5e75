"""What stands between a launcher and the program of each rank, checked before anything else is done."""

import os
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from typing import TYPE_CHECKING

from runners.hosts.hearing import CommandResult

from ..errors import TunerError, UsageError

if TYPE_CHECKING:
    from runners.hosts.cluster import Cluster

STARTED, SAYS = ("/usr/bin/env", "expr", "20261", "+", "17"), "20278"
"""What a wrapper shall start, and what it then says: a sum, which no wrapper prints that only repeats these words."""
LIMIT_S = 60.0
"""For a wrapper that starts it."""


def require_wrap(words: Sequence[str], cluster: "Cluster | None") -> None:
    """Make sure that words before a program start it: on all nodes that ssh reaches, else on this machine.

    Nodes of a batch system are not known now: there the first run shows it.

    Raises:
        TunerError: they start nothing, or their program is not there.
    """
    if cluster is not None and cluster.batch:
        return
    command = (*words, *STARTED)
    if cluster is None:
        wrong = _wrong(words, _started(words[0], command))
    else:
        from runners.hosts.transport import say_all  # noqa: PLC0415 - only a cluster needs it

        answers = say_all(cluster.reach, cluster.hosts, command, timeout_s=LIMIT_S)
        told = {node: _wrong(words, said) for node, said in answers.items() if isinstance(said, CommandResult)}
        wrong = next((f"{why} on {node}" for node, why in told.items() if why), "")
    if wrong and cluster is not None and tuple(words) == cluster.wrap:
        raise TunerError(f"wrap of cluster {cluster.name}: {wrong}")
    if wrong:
        raise UsageError(wrong, field="wrap", given=shlex.join(words))


def _started(program: str, command: Sequence[str]) -> CommandResult | str:
    """Start a command on this machine, and return what it said, or the sentence why it cannot be started."""
    if shutil.which(program) is None:
        if os.path.exists(program):  # noqa: PTH110 - a word may be no path
            return f"{program} cannot be executed"
        return f"{program} is not a program on this machine: install it, or name its whole path"
    try:
        said = subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=LIMIT_S,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired:
        return f"a program behind {program} does not end within {LIMIT_S:.0f} s"
    except OSError as error:
        return f"{program} cannot be started ({error.strerror})"
    return CommandResult(said.returncode, said.stdout, said.stderr)


def _wrong(words: Sequence[str], said: CommandResult | str) -> str:
    """Return the sentence that words do not start the program behind them; "" where they do."""
    if isinstance(said, str):
        return said
    if said.exit_code == 0 and SAYS in said.stdout.split():
        return ""
    lines = [line.strip() for line in (said.stderr or said.stdout).splitlines() if line.strip()]
    told = f" ({lines[-1]})" if lines and not any(word in lines[-1] for word in (SAYS, STARTED[2])) else ""
    how = f"ends with code {said.exit_code}" if said.exit_code else "does not start the program behind it"
    return f"{words[0]} {how}{told}"
