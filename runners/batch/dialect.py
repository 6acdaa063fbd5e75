"""Batch systems that are asked for little: to run a job, to say how it stands, and to end it. Each is a file of texts.

PSI/J (psij-python 0.9.11), which speaks to PBS, LSF and Flux, too, was not taken: it holds psutil at 7.0 and packaging
at 25.0, asks in a thread of its own, writes into ~/.psij, knows no Grid Engine, and tells neither which nodes there are
nor why a job waits or ended.
"""

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Annotated, ClassVar, Literal, Self

from pydantic import create_model, model_validator

from ..base import JobState
from ..errors import InvalidJobError, Mishap, SubmitError
from ..forwarded import SECRET
from ..hosts.hearing import CommandResult
from ..hosts.host_lists import expanded
from ..job import Job
from ..launchers.base import Launcher
from ..toml_file import Part, Positive, matching, parse_table, validated
from .base import AS_SSH, BatchFacts, BatchJob, BatchNode, BatchQueue, BatchSystem, BatchWords, JobPhase, ask
from .registry import outside

Word = Annotated[str, matching(r"[\w][\w.,:/@+-]*", "one word of letters, digits and _ . , : / @ + -")]
PLACE = "hpltune-node-{:04d}"
"""Stands for a node in the command of a launcher until the job knows its nodes."""
START = """
SHELL=/bin/sh
export SHELL
wanted=$1
shift
names=$({nodes} | awk '!seen[$0]++')
count=$(echo "$names" | grep -c .)
[ "$count" -eq "$wanted" ] || {{
    echo "{title} gave the job "$names", and nodes = $wanted was asked for: look at [{name}] of the cluster file" >&2
    exit 1
}}
number=0 edit=
for name in $names; do
    number=$((number + 1))
    edit="$edit;s/hpltune-node-$(printf %04d $number)/$name/g"
done
[ ! -e order ] || sed -i "$edit" order
left=$#
while [ $((left -= 1)) -ge 0 ]; do
    token=$1
    shift
    case $token in *hpltune-node-*) token=$(printf %s "$token" | sed "$edit") ;; esac
    set -- "$@" "$token"
done
exec "$@"
"""
"""Starts a launcher inside a job: with the names of the job's nodes in place of those that stand for them.

Open MPI writes the line that starts a daemon for the shell of the user's account, or where it does not know that one,
for the shell of SHELL.
"""
END_STEPS = "end_steps() {{ [ \"$({nodes} | awk '!seen[$0]++' | grep -c .)\" = 1 ]; }}"
"""What a launcher left on other nodes ends with the job, so a worker that may have left something ends the job."""
LISTED = r"(?:\[[^\]]*\]|[^,\[])+"
"""A name or a range in a list with commas."""
MIB = {"": 2**-20, "K": 2**-10, "M": 1.0, "G": 2**10, "T": 2**20}
"""MiB in each unit of memory."""
PHASES = {"runs": JobPhase.RUNNING, "paused": JobPhase.PAUSED, "ends": JobPhase.ENDING}
ENDS: Mapping[str, tuple[JobState, str, Mishap | None]] = {
    "done": (JobState.FAILED, "{title} job {number} ended before the run did", None),
    "failed": (JobState.FAILED, "{title} job {number} failed", None),
    "cancelled": (JobState.CANCELLED, "{title} job {number} was cancelled, and not by hpltune", None),
    "killed": (JobState.CANCELLED, "a signal that hpltune did not send ended {title} job {number}", None),
    "late": (JobState.TIMEOUT, "{title} ended job {number} at its time limit", Mishap.TIME_LIMIT),
    "memory": (JobState.FAILED, "{title} ended job {number} for using more memory than it may", Mishap.KILLED),
    "preempted": (JobState.FAILED, "{title} gave the nodes of job {number} to another", Mishap.PREEMPTED),
    "lost": (JobState.FAILED, "{title} lost job {number}: `{look}` may tell more", Mishap.DAEMON_LOST),
}
"""How a job may have ended, in the words of the files."""


class Dialect(Part):
    """What is said to a batch system and how its answers are read, from a file of `dialects/`.

    Attributes:
        words: for sentences.
        shell: lines for a shell: `nodes` lists the nodes of its job, `reach` runs "$*" on "$node".
        commands: tokens, with values in braces; `past` tells of a job that `jobs` does not list any more.
        choices: tokens for keys of the table in a cluster file.
        patterns: regular expressions for the answers: `silent` and `unknown` for errors, for which the system does not
            answer or does not know a job; `past` for what `past` says of a job; `names` in `machine` is a list.
        states: what a text about a job means, by expressions of which the first that matches counts: a word of `PHASES`
            or `ENDS`, "waits" or "never".
        needs: keys without which the system can give no nodes.
    """

    words: BatchWords
    shell: Mapping[str, str]
    commands: Mapping[str, tuple[str, ...]]
    choices: Mapping[str, tuple[str, ...]]
    patterns: Mapping[str, str]
    states: Mapping[str, str]
    needs: tuple[str, ...] = ()


class PlainBatch(BatchSystem):
    """A batch system with a dialect, and with what a cluster file asks of it.

    Attributes:
        queue, account: None for the site's default.
        exclusive: whether the nodes run no other jobs, where that can be asked for.
        parallel_environment: of Grid Engine: one that gives a job all slots of a host.
        memory_gib: of a node, in place of what the system tells.
    """

    dialect: ClassVar[Dialect]

    launcher: Literal["mpirun"] = "mpirun"
    queue: Word | None = None
    account: Word | None = None
    exclusive: bool = True
    parallel_environment: Word | None = None
    memory_gib: Positive | None = None

    @model_validator(mode="after")
    def _possible(self) -> Self:
        """Refuse what the system does not know, and require what it needs."""
        if missing := [key for key in self.dialect.needs if getattr(self, key) is None]:
            raise ValueError(f"{self.words.title} needs {missing[0]} = …, as docs/clusters.md shows")
        if self.parallel_environment and "parallel_environment" not in self.dialect.choices:
            raise ValueError(f"{self.words.title} knows no parallel_environment: leave it out")
        return self

    def submit(self, cores_per_node: int, time_s: float, log: Path, script: Sequence[str]) -> str:
        """Submit it; the system says now if it never takes such a job, as far as it looks."""
        asked = {
            "nodes": self.nodes,
            "cores": cores_per_node,
            "slots": self.nodes * cores_per_node,
            "seconds": math.ceil(time_s),
            "minutes": math.ceil(time_s / 60),
            "log": log,
            "folder": log.parent,
            "memory": "".join(self.dialect.choices.get("memory_gib", ())).format(int(self.memory_gib * 2**10))
            if self.memory_gib
            else "",
        }
        values = self.model_dump(include={"queue", "account", "parallel_environment"}, exclude_none=True)
        values |= {"exclusive" if self.exclusive else "shared": ""}
        form = [(token, "") for token in self.dialect.commands["submit"]]
        form += [(token, value) for key, value in values.items() for token in self.dialect.choices.get(key, ())]
        said = self._ask(
            *[token.format(value, **asked) for token, value in form],
            *self.further,
            *self.dialect.commands.get("script", ()),
            *script,
        )
        match = re.search(self.dialect.patterns["number"], said.stdout)
        if said.exit_code == 0 and match:
            return match[1]
        raise InvalidJobError(f"{self.words.title} refuses the job: {said.words()}", Mishap.NO_NODES)

    def status(self, jobs: Collection[str]) -> Mapping[str, BatchJob]:
        """Ask about jobs that wait or run, and, where these are others, about those that ended."""
        patterns, past = self.dialect.patterns, self.dialect.commands.get("past")
        said = self._ask(
            *(
                one
                for word in self.dialect.commands["jobs"]
                for one in (jobs if word == "{jobs}" else (word.format(),))
            ),
            may_refuse=False,
        )
        found = {match["number"]: match["told"] for match in re.finditer(patterns["job"], said.stdout)}
        for number in [number for number in jobs if number not in found]:
            if past and (ended := re.search(patterns["past"], self._ask(*past, number).stdout)):
                found[number] = ended[0]
        return {number: self._told(number, found[number]) for number in jobs if number in found}

    def cancel(self, jobs: Collection[str]) -> None:
        """End them."""
        if jobs:
            self._ask(*self.dialect.commands["cancel"], *jobs)

    def facts(self) -> BatchFacts:
        """Ask for its nodes, and whether there is such a queue."""
        if self.queue is not None:
            tokens = self.dialect.commands["queue"]
            named = () if any("{}" in token for token in tokens) else (self.queue,)
            said = self._ask(*(token.format(self.queue) for token in tokens), *named)
            if said.exit_code != 0:
                raise InvalidJobError(f"{self.words.title} has no queue {self.queue}: {said.words()}")
        said = self._ask(*(token.format() for token in self.dialect.commands["machines"]), may_refuse=False)
        nodes = []
        for match in re.finditer(self.dialect.patterns["machine"], said.stdout):
            told = match.groupdict(default="")
            own_mib = float(told.get("memory") or 0) * MIB[told.get("unit", "").upper()]
            memory_mib = int(self.memory_gib * 2**10 if self.memory_gib else own_mib)
            cores = int(told["cores"]) // int(told.get("number", 1))
            down = told["state"] if re.search(self.dialect.patterns["down"], told["state"]) else ""
            nodes += [
                BatchNode(name, cores, memory_mib, "down" if down else "up", reason=down)
                for part in re.findall(LISTED, told.get("names", "")) or (told["name"],)
                for name in ("names" in told and expanded(part)) or (part,)
                if cores
            ]
        asked = BatchQueue(
            self.queue or "(default)", self.queue is None, up=True, limit_s=None, nodes=len(nodes), nodes_per_job=None
        )
        return BatchFacts((asked,), (asked,), tuple(nodes))

    def command(self, launcher: Launcher, job: Job, folder: Path) -> list[str]:
        """Return what starts the launcher with names that stand for the job's nodes, and puts the right ones there."""
        agent = folder / f"{self.name}-agent"
        agent.parent.mkdir(parents=True, exist_ok=True)
        agent.touch(mode=0o700)
        agent.write_text(f"{AS_SSH}exec {self.dialect.shell['reach']}\n", encoding="utf-8")
        placed = replace(job, nodes=tuple(PLACE.format(at + 1) for at in range(self.nodes)), agent=agent)
        start = START.format(nodes=self.dialect.shell["nodes"], title=self.words.title, name=self.name)
        return ["sh", "-c", start, "sh", str(self.nodes), *launcher.command(placed)]

    def _ask(self, *argv: str, may_refuse: bool = True) -> CommandResult:
        """Ask it.

        Args:
            may_refuse: whether other errors than those of a silent system are answers, too.

        Raises:
            SubmitError: it does not answer.
        """
        said = ask(argv, self.words.title, {name: own for name, own in outside().items() if not SECRET.fullmatch(name)})
        silent = re.search(self.dialect.patterns["silent"], said.stdout + said.stderr)
        unknown = re.search(self.dialect.patterns.get("unknown", "(?!)"), said.stderr)
        if said.exit_code != 0 and (silent if may_refuse else not unknown):
            raise SubmitError(f"{self.words.title} does not answer: {said.words()}", transient=True)
        return said

    def _told(self, number: str, text: str) -> BatchJob:
        """Say what a text of the system means for a job."""
        title, commands = self.words.title, self.dialect.commands
        look = " ".join((*commands["past"], number)) if "past" in commands else self.words.look
        how = next((how for pattern, how in self.dialect.states.items() if re.search(pattern, text)), "paused")
        if how in ENDS:
            state, form, event = ENDS[how]
            sentence = form.format(title=title, number=number, look=look)
            return BatchJob(number, JobPhase.ENDED, "", None, sentence, None, state, how in {"done", "failed"}, event)
        if how in PHASES:
            return BatchJob(number, PHASES[how])
        match = re.search(self.dialect.patterns.get("why", "(?!)"), text)
        why = " ".join(match[1].split()) if match else f"`{self.words.look}` tells more"
        return BatchJob(
            number, JobPhase.WAITING, "", None, f"{title} job {number} waits: {why}", why if how == "never" else None
        )


def speaking(name: str, class_name: str) -> type[PlainBatch]:
    """Make the class of the batch system whose dialect is in the file of this name.

    Raises:
        ClusterFileError: the file is wrong.
    """
    file = f"dialects/{name}.toml"
    text = files(__package__).joinpath(file).read_text(encoding="utf-8")
    dialect = validated(Dialect, file, parse_table(file, text), text)
    made = create_model(class_name, __base__=PlainBatch, __module__=__name__, __doc__=PlainBatch.__doc__)
    made.name, made.words, made.dialect = name, dialect.words, dialect
    made.end_steps = END_STEPS.format(**dialect.shell)
    return made


Pbs, Lsf, Flux, GridEngine = (
    speaking(name, class_name)
    for name, class_name in (("pbs", "Pbs"), ("lsf", "Lsf"), ("flux", "Flux"), ("gridengine", "GridEngine"))
)
