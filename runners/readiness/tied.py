"""Runs a program on a node that ends when nobody waits for it any more: a stop, a lost connection, a killed hpltune."""

from collections.abc import Callable, Mapping, Sequence

from ..errors import UnreachableError
from ..hosts.hearing import Call, CommandResult, Unheard, hear
from ..hosts.transport import Transport, answer, marked

SPARE_S = 20.0
"""Seconds after its time limit at which a node that does not end a program itself is given up."""
TIMED_OUT = frozenset({124, 137})
"""Exit codes of `timeout`, where the program ended and where it had to be killed."""
_TIED = r"""
cd "$1" || exit 125
limit=$2; shift 2
exec 3<&0
timeout -k 5 "$limit" env "$@" </dev/null 3<&- & program=$!
{ while read -r _ <&3; do :; done; kill "$program"; } >/dev/null 2>&1 & watch=$!
exec 3<&-
wait "$program"; code=$?
kill "$watch" 2>/dev/null
kill -s KILL -- "-$program" 2>/dev/null
exit "$code"
"""
"""The input ends when this process, or the connection, does; `timeout` passes the signal on to all that it started.

If the signal comes when `timeout` has started the program but does not know its number yet, only `timeout` ends. So
what is left of its process group is killed at the end.
"""


def run_all_tied(
    reach: Transport,
    folders: Mapping[str, str],
    commands: Mapping[str, Sequence[str]],
    limit_s: float,
    stop: Callable[[], bool],
) -> dict[str, CommandResult | UnreachableError]:
    """Run a program on each node, all at the same time; the node itself ends it after the time limit.

    Args:
        folders: by node the folder in which its program runs.
        commands: by node; each may begin with variables, as "A=b".
        stop: whether somebody wants to end them now.

    Returns:
        What each node said, with a code of TIMED_OUT after the time limit; none of a node that was stopped.

    Raises:
        InvalidJobError: a node is no host name.
        RunnerError: this host is short of files, memory or processes.
    """
    most_s = limit_s + SPARE_S
    calls = {
        node: Call(
            tuple(marked(reach, node, ("sh", "-c", _TIED, "sh", folders[node], f"{limit_s:.0f}", *command))),
            most_s,
            given=None,
        )
        for node, command in commands.items()
    }
    return {
        node: answer(reach, node, outcome, most_s)
        for node, outcome in hear(calls, stop).items()
        if outcome is not Unheard.STOPPED
    }
