"""Runs jobs on nodes over ssh: the launcher runs here, and its daemons run there."""

import re
import shlex
import shutil
import tempfile
import threading
import time
from collections.abc import Collection, Mapping, MutableMapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from ..base import JobId, JobState, JobStatus
from ..errors import Mishap, RunnerError, SubmitError, UnreachableError
from ..forwarded import plain
from ..job import Job
from ..launchers.base import Launcher, ended_on
from ..local import LocalRunner, Running
from ..paths import AGENT, RunPaths
from ..process_tree import FIND, MARK
from ..readiness.networks import ways_between
from .copies import Copies
from .hearing import CommandResult
from .host_names import launcher_name
from .transport import CONNECT_S, Ssh, for_any_shell, say_all

GRACE_S = 30
"""Seconds after a job's walltime when the lease on each node ends the job, if nothing else has ended it."""
LOOK_S = 10
"""Seconds between two checks of the lease for processes of its job."""
TOLERATED = 2
"""Checks in a row that a node may miss, because a busy node can be slow to answer."""

KILL = f"""for file in $({FIND}); do file=${{file#/proc/}}; kill -9 "${{file%/environ}}" 2>/dev/null; done"""
LEASE = f"""
left=$2
while [ "$left" -gt 0 ]; do
    sleep {LOOK_S}
    [ -n "$({FIND})" ] || exit 0
    left=$((left - {LOOK_S}))
done
{KILL}
"""
"""Waits on a node until job $1 has no process there, or kills it after $2 seconds, even if hpltune has died."""
START = f"""
command=$(cat)
setsid sh -c {shlex.quote(LEASE)} hpltune-lease "$1" "$2" </dev/null >/dev/null 2>&1 &
export {MARK}="$1"
exec sh -c "$command" </dev/null
"""
"""Starts the command that it reads on a node, with the mark of job $1 and a lease of $2 seconds."""
GATE = """\
case "$*" in
*'`'* | *'$('* | *'
'*) echo "hpltune: an MPI launcher's command that runs another command is not sent to $node: $*" >&2; exit 1 ;;
esac
"""
"""Part of the agent: a last check of the line for a node's shell, which also contains the user's OMPI_MCA_*."""
SWEEP = f"""
tries=0
while [ -n "$({FIND})" ] && [ "$tries" -lt 20 ]; do
    {KILL}
    tries=$((tries + 1))
    sleep 0.1
done
"""
FULL_KIB = 1024
"""Less is no room for what MPI keeps in a folder for temporary files."""
STATE = rf"""
boot=$(cat /proc/sys/kernel/random/boot_id)
kills=$(sed -n 's/^oom_kill //p' /proc/vmstat)
free=$(df -Pk "${{TMPDIR:-/tmp}}" | sed -n '2s/.* \([0-9][0-9]*\)  *[0-9-]*%.*/\1/p')
echo "${{boot:--}} ${{kills:-0}} ${{free:-{FULL_KIB}}}"
"""
"""Tells of a node what changes if it is to blame: boot, processes that its kernel killed for want of memory, and KiB
that are free for temporary files."""
AWAY = "a node stopped answering"
State = tuple[str, ...]

_BOX = re.compile(r"^-{20,}$.*?^-{20,}$", re.MULTILINE | re.DOTALL)
"""What a daemon of Open MPI writes to the standard output."""


class SshRunner(LocalRunner):
    """Runs jobs as the local runner does, but with ranks on the nodes that a job names.

    Processes on a node carry a mark and have a lease. After a failure, a time limit or a cancel, every node is swept.
    If this process dies or a node is cut off, the node itself ends the job when its time is over.
    """

    def __init__(
        self, launcher: Launcher, reach: Ssh, check_s: float, copies: Copies | None = None, met: Collection[str] = ()
    ) -> None:
        """Make a runner.

        Args:
            check_s: seconds between two checks that the nodes of a running job still answer.
            copies: brings programs to nodes that share no folder with this host; None where they do.
            met: nodes between which nobody need look for a way after a failure.
        """
        super().__init__(launcher)
        self._reach = reach
        self._check_s = check_s
        self._copies = copies
        self._watches: dict[JobId, NodeWatch] = {}
        self._known: dict[str, State] = {}
        self._met = frozenset(met)

    def submit(self, job: Job) -> JobId:
        """Start a job.

        Raises:
            UnreachableError: a node to which its files must be copied does not answer.
        """
        if not job.nodes:
            return super().submit(job)
        agent = (job.directory if plain(job.directory / AGENT) else _plain_folder()) / AGENT
        environment = {**job.launcher_environment, "SHELL": "/bin/sh"}
        try:
            return super().submit(replace(job, agent=agent, launcher_environment=environment))
        except BaseException:
            _remove(agent, job)
            raise

    def close(self) -> None:
        """End all jobs, and remove what was copied to nodes."""
        super().close()
        if self._copies is not None:
            self._copies.remove()

    def _prepare(self, job: Job, job_id: JobId) -> Job:
        if job.agent is None:
            return job
        agent = job.agent
        if self._copies is not None:
            job = self._copies.bring(job)
        absent = None if agent.parent == job.rank_directory else agent
        agent.write_text(agent_text(self._reach, job_id, job.walltime_s, job.nodes, absent), encoding="utf-8")
        agent.chmod(0o755)
        return job

    def _look(self, job_id: JobId) -> JobStatus:
        status = super()._look(job_id)
        nodes = self._jobs[job_id].job.nodes
        if status.state.final or not nodes:
            return status
        if job_id not in self._watches:
            self._watches[job_id] = NodeWatch(self._reach, nodes, self._check_s, self._known)
        if self._watches[job_id].away():
            self._end(job_id, JobState.FAILED, AWAY)
        return self._jobs[job_id].status

    def _clear(self, running: Running, job_id: JobId) -> None:
        super()._clear(running, job_id)
        watch = self._watches.pop(job_id, None)
        if running.job.agent is not None:
            _remove(running.job.agent, running.job)
        status = running.status
        if status.state is JobState.COMPLETED or not running.job.nodes:
            return
        missed = watch.missed if watch else {}
        if watch and status.event is Mishap.DAEMON_LOST:
            watch.hear(CONNECT_S)
        known = dict(self._known)
        said = say_all(
            self._reach, running.job.nodes, ("sh", "-c", SWEEP + STATE, "hpltune-sweep", job_id), timeout_s=60.0
        )
        self._known |= {node: state for node, own in said.items() if (state := _state(own))}
        if self._copies is not None:
            self._copies.doubt(running.job.nodes)
        running.status = self._blamed(running, known, missed, said)

    def _blamed(
        self,
        running: Running,
        known: Mapping[str, State],
        missed: Mapping[str, int],
        said: Mapping[str, CommandResult | UnreachableError],
    ) -> JobStatus:
        """Return the status of a job that failed, with what befell it and with the nodes that are to blame.

        Args:
            known: what nodes told of themselves before.
            missed: checks in a row that they missed.
            said: what they tell now.
        """
        status, event = running.status, running.status.event
        lost = {node: str(own) for node, own in said.items() if isinstance(own, UnreachableError)}
        now = {node: state for node, own in said.items() if (state := _state(own))}
        anew = [node for node, state in now.items() if state[0] != known.get(node, state)[0]]
        enough = 1 if event is Mishap.DAEMON_LOST else TOLERATED
        away = [node for node, count in missed.items() if count >= enough and node not in (*lost, *anew)]
        back = {node: f"node {node} was started anew" for node in anew}
        back |= {node: f"node {node} stopped answering in the middle of the run, and answers again" for node in away}
        if lost or back:
            own = "" if event is Mishap.DAEMON_LOST or status.message == AWAY else status.message
            return replace(
                status,
                event=Mishap.NODE_LOST if lost else Mishap.NODE_BACK,
                lost_nodes=(*lost, *back),
                message="; ".join(filter(None, (*lost.values(), *back.values(), own))),
            )
        if status.state in {JobState.FAILED, JobState.TIMEOUT}:
            event, why = self._why_here(running, known, now)
            return replace(status, event=event, message="; ".join(filter(None, (why, status.message))))
        return status

    def _why_here(
        self, running: Running, known: Mapping[str, State], now: Mapping[str, State]
    ) -> tuple[Mishap | None, str]:
        """Return what befell a job whose nodes all answer, and the sentence that names the one that is to blame."""
        event, paths = running.status.event, RunPaths(running.job.directory)
        began = bool(_BOX.sub("", paths.read_stdout()).strip())
        short = [node for node, state in now.items() if int(state[1]) > int(known.get(node, state)[1])]
        full = [node for node, state in now.items() if int(state[2]) < FULL_KIB]
        if short and event in {Mishap.KILLED, Mishap.DAEMON_LOST}:
            return Mishap.KILLED, f"the kernel of node {', '.join(short)} killed a process for want of memory"
        if full and (event is Mishap.DISK_FULL or not began):
            return Mishap.DISK_FULL, f"the folder for temporary files is full on node {', '.join(full)}"
        if event is Mishap.KILLED:
            return event, f"node {node}" if (node := ended_on(paths.last_words())) else ""
        nodes, interfaces = running.job.nodes, running.job.interfaces
        if self._met.issuperset(nodes):
            return event, ""
        shut, narrow, _ = ways_between(self._reach, nodes, nodes, interfaces)
        by_tcp = not began or {*interfaces}.issuperset(running.job.ucx_devices)
        closed = "; ".join(filter(None, (shut if by_tcp else "", *narrow)))
        return (Mishap.NO_WAY, closed) if closed else (event, "")


class NodeWatch:
    """Checks from time to time, without blocking, that the nodes of a running job answer, and were not started anew.

    MPI does not notice a cut link: its ranks would wait until their time limit.

    Attributes:
        missed: by node how many checks in a row it missed.
    """

    def __init__(self, reach: Ssh, nodes: tuple[str, ...], check_s: float, known: MutableMapping[str, State]) -> None:
        """Begin; nodes of which nothing is known yet are asked at once.

        Args:
            known: what nodes told of themselves, to which this adds those that told nothing yet.
        """
        self.missed: dict[str, int] = {}
        self._reach = reach
        self._nodes = nodes
        self._check_s = check_s
        self._known = known
        self._next_s = time.monotonic() + (check_s if set(nodes) <= known.keys() else 0.0)
        self._asking: threading.Thread | None = None
        self._said: Mapping[str, CommandResult | UnreachableError] = {}
        self._anew = False

    def away(self) -> bool:
        """Whether a node has missed TOLERATED checks in a row, or was started anew."""
        self.hear()
        away = self._anew or any(count >= TOLERATED for count in self.missed.values())
        if not away and self._asking is None and time.monotonic() > self._next_s:
            self._next_s = time.monotonic() + self._check_s
            self._asking = threading.Thread(target=self._ask, daemon=True)
            self._asking.start()
        return away

    def hear(self, wait_s: float = 0.0) -> None:
        """Take in what the last check told, if it ends within so many seconds."""
        if self._asking is not None:
            self._asking.join(wait_s)
        if self._asking is None or self._asking.is_alive():
            return
        self._asking = None
        for node, own in self._said.items():
            self.missed[node] = self.missed.get(node, 0) + 1 if isinstance(own, UnreachableError) else 0
            if state := _state(own):
                self._anew |= self._known.setdefault(node, state)[0] != state[0]

    def _ask(self) -> None:
        """Ask all nodes, in a thread that does not prevent this program from ending."""
        self._said = {}
        with suppress(RunnerError):
            self._said = say_all(self._reach, self._nodes, ("sh", "-c", STATE), timeout_s=20.0)


def _state(said: CommandResult | UnreachableError) -> State:
    """Return what a node tells of itself; nothing where it does not answer, or not as we ask."""
    words = () if isinstance(said, UnreachableError) else tuple(said.stdout.split())
    return words if len(words) == 3 and all(word.isdecimal() for word in words[1:]) else ()


def _plain_folder() -> Path:
    """Make a folder on this machine with a path that launchers may repeat on the command lines of nodes.

    Raises:
        SubmitError: the folder cannot be made.
    """
    parents = [Path(tempfile.gettempdir()), Path("/tmp"), Path("/var/tmp")]  # noqa: S108 - mkdtemp makes it ours
    for parent in filter(plain, parents):
        try:
            return Path(tempfile.mkdtemp(prefix="hpltune-", dir=parent))
        except OSError:
            continue
    raise SubmitError("no folder for the agent that starts MPI's daemons: /tmp cannot be written", transient=False)


def _remove(agent: Path, job: Job) -> None:
    """Remove an agent that is outside of its job's own folder."""
    if agent.parent != job.directory:
        shutil.rmtree(agent.parent, ignore_errors=True)


def agent_text(
    reach: Ssh, job_id: str, walltime_s: float, nodes: Sequence[str] = (), absent: Path | None = None
) -> str:
    """Write the script that an MPI launcher calls as `agent [options] node command…` to start its daemon on a node.

    Args:
        nodes: the nodes of the job; the script translates the launcher's names back to theirs.
        absent: the agent's path if nodes do not have it. Open MPI's daemons look whether their agent is there, even if
            they start no further daemon, so they are told of another program.
    """
    command = f"$(printf '%s\\n' \"$*\" | sed 's|{absent}|/bin/sh|g')" if absent else "$*"
    names = "".join(
        f"{launcher_name(node)}) node={shlex.quote(node)} ;;\n" for node in nodes if launcher_name(node) != node
    )
    remote = for_any_shell(("sh", "-c", START, "hpltune-start", job_id, str(int(walltime_s) + GRACE_S)))
    return (
        "#!/bin/sh\n"
        "# The MPI launcher calls this to start its daemon on a node: agent [options] node command…\n"
        'while [ "${1#-}" != "$1" ]; do shift; done\n'
        "node=$1\n"
        "shift\n"
        f"{f'case $node in{chr(10)}{names}esac{chr(10)}' if names else ''}"
        f"{GATE}"
        f'exec {shlex.join(reach.start())} "$node" -- {shlex.quote(remote)} <<END\n'
        f"{command}\n"
        "END\n"
    )
