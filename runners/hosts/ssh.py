"""Runs jobs on nodes over ssh: the launcher runs here, and its daemons run there."""

import re
import shlex
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path

from ..base import JobId, JobState, JobStatus
from ..errors import SubmitError
from ..forwarded import plain
from ..job import Job
from ..launchers.base import Launcher
from ..local import LocalRunner, Running
from ..paths import AGENT, RunPaths
from ..process_tree import MARK
from .copies import Copies
from .host_names import launcher_name
from .node_facts import no_way_back
from .transport import Ssh, for_any_shell, silent

GRACE_S = 30
"""Seconds after a job's walltime when the lease on each node ends the job, if nothing else has ended it."""
LOOK_S = 10
"""Seconds between two checks of the lease for processes of its job."""
TOLERATED = 2
"""Checks in a row that a node may miss, because a busy node can be slow to answer."""

FIND = f"""grep -lsz "^{MARK}=$1\\$" /proc/[0-9]*/environ"""
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
exit 0
"""

_BOX = re.compile(r"^-{20,}$.*?^-{20,}$", re.MULTILINE | re.DOTALL)
"""What a daemon of Open MPI writes to the standard output."""


class SshRunner(LocalRunner):
    """Runs jobs as the local runner does, but with ranks on the nodes that a job names.

    Processes on a node carry a mark and have a lease. After a failure, a time limit or a cancel, every node is swept.
    If this process dies or a node is cut off, the node itself ends the job when its time is over.
    """

    def __init__(self, launcher: Launcher, reach: Ssh, check_s: float, copies: Copies | None = None) -> None:
        """Make a runner.

        Args:
            check_s: seconds between two checks that the nodes of a running job still answer.
            copies: brings programs to nodes that share no folder with this host; None where they do.
        """
        super().__init__(launcher)
        self._reach = reach
        self._check_s = check_s
        self._copies = copies
        self._watches: dict[JobId, NodeWatch] = {}

    def submit(self, job: Job) -> JobId:
        """Start a job.

        Raises:
            UnreachableError: a node to which its files must be copied does not answer.
        """
        if not job.nodes:
            return super().submit(job)
        agent = job.directory / AGENT
        if not plain(agent):
            agent = _plain_folder() / AGENT
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
        watch = self._watches.setdefault(job_id, NodeWatch(self._reach, nodes, self._check_s))
        if watch.silent():
            self._end(job_id, JobState.FAILED, "a node stopped answering")
        return self._jobs[job_id].status

    def _clear(self, running: Running, job_id: JobId) -> None:
        super()._clear(running, job_id)
        self._watches.pop(job_id, None)
        if running.job.agent is not None:
            _remove(running.job.agent, running.job)
        status = running.status
        if status.state is JobState.COMPLETED or not running.job.nodes:
            return
        lost = self.sweep_nodes(running.job.nodes, job_id)
        if self._copies is not None:
            self._copies.doubt(running.job.nodes)
        message = "; ".join(filter(None, (status.message, *lost.values(), self._why_none_began(running, lost))))
        running.status = replace(status, lost_nodes=tuple(lost), message=message)

    def _why_none_began(self, running: Running, lost: Collection[str]) -> str:
        """Return the sentence why no rank of a job printed anything; "" where some did, and where nobody knows."""
        failed = running.status.state in {JobState.FAILED, JobState.TIMEOUT}
        if lost or not failed or _BOX.sub("", RunPaths(running.job.directory).read_stdout()).strip():
            return ""
        return no_way_back(self._reach, running.job.nodes, running.job.interfaces)

    def sweep_nodes(self, nodes: tuple[str, ...], job_id: JobId) -> Mapping[str, str]:
        """End processes that a job left on nodes; return the nodes that do not answer, each with the sentence why."""
        return silent(self._reach, nodes, ("sh", "-c", SWEEP, "hpltune-sweep", job_id), timeout_s=60.0)


class NodeWatch:
    """Checks from time to time, without blocking, that the nodes of a running job answer.

    MPI does not notice a cut link: its ranks would wait until their time limit.
    """

    def __init__(self, reach: Ssh, nodes: tuple[str, ...], check_s: float) -> None:
        self._reach = reach
        self._nodes = nodes
        self._check_s = check_s
        self._next_s = time.monotonic() + check_s
        self._asking: Future[bool] | None = None
        self._missed = 0

    def silent(self) -> bool:
        """Whether a node has missed TOLERATED checks in a row."""
        if self._asking is not None and self._asking.done():
            self._missed = 0 if self._asking.result() else self._missed + 1
            self._asking = None
        if self._asking is None and time.monotonic() > self._next_s:
            self._next_s = time.monotonic() + self._check_s
            self._asking = _in_background(lambda: not silent(self._reach, self._nodes))
        return self._missed >= TOLERATED


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


def _in_background(work: Callable[[], bool]) -> Future[bool]:
    """Run a function in a thread that does not prevent this program from ending."""
    future: Future[bool] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:  # noqa: BLE001 - whoever asks for the result gets it
            future.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return future


def agent_text(
    reach: Ssh, job_id: str, walltime_s: float, nodes: Sequence[str] = (), absent: Path | None = None
) -> str:
    """Write the script that an MPI launcher calls as `agent [options] node command…` to start its daemon on a node.

    Args:
        nodes: the nodes of the job; the script translates the launcher's names back to theirs.
        absent: the agent's path if nodes do not have it. Open MPI's daemons look whether their agent is there, even if
            they start no further daemon, so they are told of another program.
    """
    command = "$*"
    if absent is not None:
        command = f"$(printf '%s\\n' \"$*\" | sed 's|{absent}|/bin/sh|g')"
    names = "".join(
        f"{launcher_name(node)}) node={shlex.quote(node)} ;;\n" for node in nodes if launcher_name(node) != node
    )
    lease_s = int(walltime_s) + GRACE_S
    remote = for_any_shell(("sh", "-c", START, "hpltune-start", job_id, str(lease_s)))
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
