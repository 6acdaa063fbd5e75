"""A small batch system behind the contract: real executables that queue a script for two nodes, start and cancel it.

Both nodes are this machine. It has no daemon: each job waits by itself until it can take its nodes.
"""

import os
import subprocess
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar, Self

import psutil
import pytest
from as_user import program
from waiting import until

from runners.base import JobState
from runners.batch.base import BatchFacts, BatchJob, BatchNode, BatchQueue, BatchSystem, BatchWords, JobPhase
from runners.batch.registry import BATCH_SYSTEMS, outside
from runners.errors import InvalidJobError, SubmitError
from runners.hosts.transport import Local

NODES = ("s1", "s2")
PUT = """\
#!/bin/sh
root={root} nodes=$1 time=$2 log=$3
shift 3
[ "$nodes" -le 2 ] || {{ echo "there are 2 nodes" >&2; exit 1; }}
job=1
until mkdir "$root/$job" 2>/dev/null; do job=$((job + 1)); done
echo waits >"$root/$job/state"
STAND_IN_JOB="$root/$job" setsid "$root/bin/sirun" "$job" "$nodes" "$time" "$@" >"$log" 2>&1 </dev/null &
echo "$job"
"""
RUN = """\
#!/bin/sh
root={root} job=$1 nodes=$2 time=$3
shift 3
state() {{ echo "$1" >"$root/$job/new"; mv "$root/$job/new" "$root/$job/state"; }}
give_back() {{ for node in $held; do rm "$root/$node"; done; held=; }}
held=
while [ "$(cat "$root/$job/state")" = waits ]; do
    for node in s1 s2; do
        [ "$(echo $held | wc -w)" -eq "$nodes" ] || {{ ln -sn "$job" "$root/$node" 2>/dev/null && held="$held $node"; }}
    done
    [ "$(echo $held | wc -w)" -lt "$nodes" ] || break
    give_back
    sleep 0.1
done
[ -n "$held" ] || exit 1
echo $held >"$root/$job/nodes"
state runs
timeout "$time" "$@"
case $? in 0) end=done ;; 124) end=late ;; *) end=failed ;; esac
give_back
state "$end"
"""
LIST = """\
#!/bin/sh
for job; do
    [ ! -d "{root}/$job" ] || echo "$job $(cat "{root}/$job/state") $(cat "{root}/$job/nodes" 2>/dev/null)"
done
"""
END = """\
#!/bin/sh
for job; do
    case $(cat "{root}/$job/state" 2>/dev/null) in waits | runs) ;; *) continue ;; esac
    for signal in TERM KILL; do
        left=50
        while found=$(grep -lzxF "STAND_IN_JOB={root}/$job" /proc/[0-9]*/environ 2>/dev/null); [ -n "$found" ]; do
            for file in $found; do file=${{file#/proc/}}; kill -"$signal" "${{file%/environ}}" 2>/dev/null; done
            [ $((left -= 1)) -gt 0 ] || break
            sleep 0.1
        done
    done
    for node in s1 s2; do [ "$(readlink "{root}/$node")" != "$job" ] || rm "{root}/$node"; done
    echo ended >"{root}/$job/state"
done
"""
AS_SSH = """\
#!/bin/sh
while [ "${1#-}" != "$1" ]; do
    [ "$1" != -o ] || shift
    shift
done
shift
[ "$1" != -- ] || shift
exec sh -c "$*"
"""
PHASES = {"waits": JobPhase.WAITING, "runs": JobPhase.RUNNING}
ENDS = {
    "done": (JobState.FAILED, "its script ended before the run did"),
    "failed": (JobState.FAILED, "its script failed"),
    "late": (JobState.TIMEOUT, "it came to its time limit"),
    "ended": (JobState.CANCELLED, "somebody ended it"),
}


class StandInNode(BatchNode):
    at_work: ClassVar[frozenset[str]] = frozenset({"free", "busy"})


class StandIn(BatchSystem):
    """What the table [stand-in] of a cluster file asks of it."""

    name: ClassVar[str] = "stand-in"
    words: ClassVar[BatchWords] = BatchWords(
        "Stand-in", "queue", "limit", "siput", "silist", "silist", "leave hosts out"
    )
    end_steps: ClassVar[str] = "end_steps() { :; }"

    queue: str | None = None
    avoid: tuple[str, ...] = ()
    only: tuple[str, ...] = ()

    @property
    def excluded(self) -> tuple[str, ...]:
        return self.avoid

    @property
    def nodes_named_by(self) -> str:
        return "only" if self.only else ""

    def without(self, nodes: Sequence[str]) -> Self:
        return self.model_copy(update={"avoid": (*self.avoid, *nodes)})

    def on(self, nodes: Sequence[str]) -> Self:
        return self.model_copy(update={"nodes": len(nodes), "only": tuple(nodes)})

    def submit(self, cores_per_node: int, time_s: float, log: Path, script: Sequence[str]) -> str:
        del cores_per_node
        done = ask("siput", str(self.nodes), str(time_s), str(log), "sh", *script)
        if done.returncode != 0:
            raise InvalidJobError(f"Stand-in: {done.stderr.strip()}")
        return done.stdout.strip()

    def status(self, jobs: Collection[str]) -> Mapping[str, BatchJob]:
        found = (line.split() for line in ask("silist", *jobs).stdout.splitlines())
        return {job: told(job, state, " ".join(nodes)) for job, state, *nodes in found}

    def cancel(self, jobs: Collection[str]) -> None:
        ask("siend", *jobs)

    @contextmanager
    def hold(
        self, cores_per_node: int, time_s: float, waiting: Callable[[str], None], stopped: Callable[[], bool]
    ) -> Iterator[str | None]:
        watch = ("-c", f"while kill -0 {os.getpid()} 2>/dev/null; do sleep 0.1; done")
        job = self.submit(cores_per_node, time_s, Path("/dev/null"), watch)
        try:
            until(lambda: stopped() or self.status([job])[job].phase is JobPhase.RUNNING)
            waiting(f"Stand-in job {job} waits no longer")
            yield None if stopped() else job
        finally:
            self.cancel([job])

    def facts(self) -> BatchFacts:
        everything = BatchQueue("all", default=True, up=True, limit_s=None, nodes=len(NODES), nodes_per_job=None)
        cores, memory_mib = psutil.cpu_count(logical=False) or 1, psutil.virtual_memory().available // 2**20
        names = [name for name in self.only or NODES if name not in self.avoid]
        nodes = tuple(StandInNode(name, cores, memory_mib, "free") for name in names)
        return BatchFacts((everything,), (everything,), nodes)

    def hosts(self, job: str) -> tuple[str, ...]:
        return tuple(self.status([job])[job].nodes.split())

    def failed_nodes(self, nodes: str, said: str) -> tuple[str, ...]:
        del said
        return tuple(nodes.split())

    def steps(self, job: str) -> Local:
        del job
        return Local()

    def as_ssh(self, job: str, file: Path) -> tuple[str, ...]:
        del job
        program(file, AS_SSH)
        return (str(file),)


def told(job: str, state: str, nodes: str) -> BatchJob:
    if state in ENDS:
        how, sentence = ENDS[state]
        own = state in {"done", "failed"}
        return BatchJob(job, JobPhase.ENDED, nodes, None, f"Stand-in job {job}: {sentence}", None, how, own)
    return BatchJob(job, PHASES[state], nodes, None, f"Stand-in job {job} waits: its nodes are busy")


def ask(*command: str) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False, env=outside(), timeout=60)
    except OSError as error:
        raise SubmitError(f"{command[0]} is not on PATH", transient=False) from error


def install(folder: Path, patch: pytest.MonkeyPatch) -> None:
    """Put its programs on PATH, and its one line into the registry."""
    (folder / "bin").mkdir(parents=True)
    for name, text in {"siput": PUT, "sirun": RUN, "silist": LIST, "siend": END}.items():
        program(folder / "bin" / name, text.format(root=folder))
    patch.setenv("PATH", f"{folder / 'bin'}:{os.environ['PATH']}")
    patch.setitem(BATCH_SYSTEMS, StandIn.name, f"{__name__}:StandIn")


def under_way(folder: Path) -> list[str]:
    """The jobs of an installation that wait or run."""
    return [file.parent.name for file in folder.glob("*/state") if file.read_text().strip() in PHASES]
