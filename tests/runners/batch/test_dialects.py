"""PBS, LSF and Flux, none of which runs here: programs on PATH print what theirs do, by public records and manuals."""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
from as_user import program

from runners.base import JobState
from runners.batch.base import JobPhase
from runners.batch.dialect import Flux, GridEngine, Lsf, Pbs, PlainBatch
from runners.errors import InvalidJobError, Mishap, SubmitError
from runners.hosts.cluster import load_real_cluster
from runners.job import Job
from runners.launchers.base import befell
from runners.toml_file import ClusterFileError

PBS_JOBS = """\
Job Id: 42634.head
    Job_Name = hpltune
    job_state = Q
    queue = regular
    Error_Path = login1:/scratch/someone/results/e1/benc
\thfs-e1-v2.e42634
    Resource_List.ncpus = 48
    substate = 10
    comment = Not Running: Not enough free nodes avail
\table

Job Id: 42635.head
    Job_Name = hpltune
    job_state = R
    exec_host = node12/0*48+node13/0*48
    resources_used.walltime = 01:12:44

Job Id: 42636.head
    Job_Name = hpltune
    job_state = F
    substate = 92
    comment = Job run at Thu Aug 10 at 16:10 on (k242:ncpus=1:mem=1048576kb:ngp
\tus=0) and finished
    Exit_status = 0

Job Id: 42637.head
    job_state = F
    Exit_status = 271
    substate = 91

Job Id: 42638.head
    job_state = F
    substate = 93
    Exit_status = -29

Job Id: 42639.head
    job_state = F
    substate = 92
    Exit_status = 1

Job Id: 42640.head
    job_state = F
    substate = 93
    Exit_status = -27

Job Id: 42641.head
    job_state = F
    substate = 92
    Exit_status = 265
"""
"""Of `qstat -x -f`, OpenPBS 20 to 23: long values go on in the next line, behind a tab."""
PBS_NODES = """\
node01
     Mom = node01.local
     ntype = PBS
     state = free
     pcpus = 24
     jobs = 25224.head/0, 25224.head/1
     resources_available.arch = linux
     resources_available.host = node01
     resources_available.mem = 264568300kb
     resources_available.ncpus = 24
     resources_available.vnode = node01
     resources_assigned.ncpus = 20
     sharing = default_shared

node02
     Mom = node02.local
     ntype = PBS
     state = state-unknown,down
     resources_available.host = node02
     resources_available.vnode = node02

node03
     Mom = node03.local
     ntype = PBS
     state = state-unknown,offline
     pcpus = 24
     resources_available.mem = 131659892kb
     resources_available.ncpus = 20
     resources_available.vnode = node03

gpu_01[0]
     Mom = gpu_01.local
     ntype = PBS
     state = free
     resources_available.mem = 131659892kb
     resources_available.ncpus = 24
     resources_available.vnode = gpu_01[0]

1234
     Mom = 1234.local
     ntype = PBS
     state = free
     resources_available.mem = 131659892kb
     resources_available.ncpus = 0
     resources_available.vnode = 1234
"""
LSF_JOBS = """\
3864|PEND|-|-|New job is waiting for scheduling;
3865|RUN|-|-|-
3866|DONE|-|-|-
3867|EXIT|140|TERM_RUNLIMIT: job killed after reaching LSF run time limit|-
3868|EXIT|130|TERM_OWNER: job killed by owner|-
3869|EXIT|3|-|-
3870|SSUSP|-|-|-
3871|UNKWN|-|-|-
"""
"""Made from the command reference."""
LSF_HOSTS = """\
HOST_NAME      type    model  cpuf ncpus maxmem maxswp server RESOURCES
c485         X86_64   PC1133  23.1     8 16046M 16378M    Yes (mpich2)
amc-uriel.c  X86_64 Intel_EM  60.0    12    63G    49G    Yes (mvapich mpich2 mg openmpi)
ip-10-0-101 UNKNOWN UNKNOWN_   1.0     -      -      -     No ()
"""
FLUX_JOBS = """\
ƒ3ETxsR9H|SCHED||||
ƒ38rBqEWT|RUN||node[1-2]||
ƒ3ghmgCpw|INACTIVE|COMPLETED|node[1-2]||
ƒ3dSybfQ3|INACTIVE|TIMEOUT|node[1-2]|timeout|resource allocation expired
ƒ3dSybfQ4|INACTIVE|CANCELED||cancel|
ƒ3dSybfQ5|INACTIVE|FAILED|node1||
"""
"""Made from flux-jobs(1)."""
FLUX_NODES = """\
    free 3 96 node[1-3]
allocated 1 32 node4
    down 0 0
    down 2 64 node5,n_[6-6]
    free 1 0 node7
"""
WAITS, RUNS, ENDED = JobPhase.WAITING, JobPhase.RUNNING, JobPhase.ENDED
Told = tuple[JobPhase, str, Mishap | None]


@dataclass(frozen=True)
class Spoken:
    """What the programs of a system print, and what is understood.

    Attributes:
        asks: the program that tells of jobs.
        lists: the program that tells of nodes.
        known: of each node its name, cores and whole GiB, and whether it can be used.
        asked: what a job asks of the batch besides two nodes.
        words: the last words by which it is submitted.
        refuses: what it prints of a job that it never takes.
        forgets: what it prints of a job that it does not know.
        silent: what it prints of a server that does not answer a job.
    """

    batch: PlainBatch
    asks: str
    jobs: str
    told: list[Told]
    lists: str
    nodes: str
    known: list[tuple[str, int, int, bool]]
    submits: str
    asked: dict[str, object]
    answer: str
    number: str
    words: str
    refuses: str
    forgets: str
    silent: str


SYSTEMS = (
    Spoken(
        Pbs(nodes=2),
        asks="qstat",
        jobs=PBS_JOBS,
        told=[
            (WAITS, "PBS job 42634.head waits: Not Running: Not enough free nodes avail able", None),
            (RUNS, "", None),
            (ENDED, "PBS job 42636.head ended before the run did", None),
            (ENDED, "PBS job 42637.head was cancelled, and not by hpltune", None),
            (ENDED, "PBS ended job 42638.head at its time limit", Mishap.TIME_LIMIT),
            (ENDED, "PBS job 42639.head failed", None),
            (ENDED, "PBS ended job 42640.head for using more memory than it may", Mishap.KILLED),
            (ENDED, "PBS lost job 42641.head: `qstat -x -f 42641.head` may tell more", Mishap.DAEMON_LOST),
        ],
        lists="pbsnodes",
        nodes=PBS_NODES,
        known=[("node01", 24, 252, True), ("node03", 20, 125, False), ("gpu_01[0]", 24, 125, True)],
        submits="qsub",
        asked={"queue": "regular", "account": "hpc"},
        answer="42634.head\n",
        number="42634.head",
        words="select=2:ncpus=48:mpiprocs=48 -l walltime=601 -q regular -A hpc -l place=scatter:excl -- /bin/sh",
        refuses="qsub: Unknown queue",
        forgets="qstat: Unknown Job Id 9.head",
        silent="Connection refused\nqsub: cannot connect to server head (errno=15010)",
    ),
    Spoken(
        Lsf(nodes=2),
        asks="bjobs",
        jobs=LSF_JOBS,
        told=[
            (WAITS, "LSF job 3864 waits: New job is waiting for scheduling;", None),
            (RUNS, "", None),
            (ENDED, "LSF job 3866 ended before the run did", None),
            (ENDED, "LSF ended job 3867 at its time limit", Mishap.TIME_LIMIT),
            (ENDED, "LSF job 3868 was cancelled, and not by hpltune", None),
            (ENDED, "LSF job 3869 failed", None),
            (JobPhase.PAUSED, "", None),
            (JobPhase.PAUSED, "", None),
        ],
        lists="lshosts",
        nodes=LSF_HOSTS,
        known=[("c485", 8, 15, True), ("amc-uriel.c", 12, 63, True)],
        submits="bsub",
        asked={"queue": "normal", "further": ("-U", "reserved")},
        answer="Job <3864> is submitted to queue <normal>.\n",
        number="3864",
        words="-n 96 -R span[ptile=48] -W 11 -o LOG -cwd FOLDER -q normal -x -U reserved /bin/sh",
        refuses="nix: No such queue. Job not submitted.",
        forgets="Job <9> is not found",
        silent="LSF is down. Please wait ...",
    ),
    Spoken(
        Flux(nodes=2, memory_gib=64.0),
        asks="flux",
        jobs=FLUX_JOBS,
        told=[
            (WAITS, "Flux job ƒ3ETxsR9H waits: `flux jobs -a` tells more", None),
            (RUNS, "", None),
            (ENDED, "Flux job ƒ3ghmgCpw ended before the run did", None),
            (ENDED, "Flux ended job ƒ3dSybfQ3 at its time limit", Mishap.TIME_LIMIT),
            (ENDED, "Flux job ƒ3dSybfQ4 was cancelled, and not by hpltune", None),
            (ENDED, "Flux job ƒ3dSybfQ5 failed", None),
        ],
        lists="flux",
        nodes=FLUX_NODES,
        known=[*((f"node{at}", 32, 64, at < 5) for at in range(1, 6)), ("n_6", 32, 64, False)],
        submits="flux",
        asked={"exclusive": False},
        answer="ƒ3ETxsR9H\n",
        number="ƒ3ETxsR9H",
        words="--nodes=2 --nslots=2 --cores-per-slot=48 --time-limit=11m --output=LOG --cwd=FOLDER",
        refuses="flux-batch: ERROR: [Errno 22] unsatisfiable request",
        forgets="flux-jobs: ERROR: JobID ƒ9 unknown",
        silent="flux-batch: ERROR: Unable to connect to Flux: broker socket /run/flux/local was not found",
    ),
)


@pytest.fixture(params=SYSTEMS, ids=lambda spoken: spoken.batch.name)
def system(request: pytest.FixtureRequest) -> Spoken:
    found: Spoken = request.param
    return found


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder before all others on PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return folder


def prints(folder: Path, name: str, text: str, code: int = 0, errors: str = "") -> Path:
    """A program that notes its words and prints a text."""
    (folder / f"{name}.out").write_text(text)
    (folder / f"{name}.err").write_text(errors)
    noted = folder / f"{name}.words"
    program(
        folder / name,
        f'#!/bin/sh\nprintf "%s\\n" "$@" >{noted}\ncat {folder / name}.out\ncat {folder / name}.err >&2\nexit {code}\n',
    )
    return noted


def test_what_a_system_prints_of_jobs_is_told(programs: Path, system: Spoken) -> None:
    prints(programs, system.asks, system.jobs)
    lines = [line for line in system.jobs.splitlines() if line[0:1].strip()]
    found = system.batch.status([line.removeprefix("Job Id: ").partition("|")[0] for line in lines])
    assert [(job.phase, job.told(), job.event) for job in found.values()] == system.told
    limits = [job for job in found.values() if job.event is Mishap.TIME_LIMIT]
    assert [job.state for job in limits] == [JobState.TIMEOUT]


def test_what_a_system_prints_of_its_nodes_is_known(programs: Path, system: Spoken) -> None:
    prints(programs, system.lists, system.nodes)
    facts = system.batch.facts()
    assert [(node.name, node.cores, node.memory_mib // 1024, node.usable) for node in facts.nodes] == system.known
    assert system.batch.without(["node01"]) == system.batch, "it cannot be asked to leave nodes out"


def test_a_job_asks_for_whole_nodes_and_its_number_is_read(programs: Path, tmp_path: Path, system: Spoken) -> None:
    noted = prints(programs, system.submits, system.answer)
    batch = system.batch.model_copy(update=system.asked)
    assert batch.submit(48, 600.5, tmp_path / "log", ("/spool/worker.sh", "/spool", "12000", "0")) == system.number
    said = " ".join(noted.read_text().splitlines())
    said = said.replace(str(tmp_path / "log"), "LOG").replace(str(tmp_path), "FOLDER")
    assert said.endswith(f"{system.words} /spool/worker.sh /spool 12000 0")


def test_a_refused_job_is_one_sentence_and_no_fault_of_its_configuration(
    programs: Path, tmp_path: Path, system: Spoken
) -> None:
    prints(programs, system.submits, "", 1, f"{system.refuses}\n")
    with pytest.raises(InvalidJobError) as refused:
        system.batch.submit(48, 600.0, tmp_path / "log", ("/spool/worker.sh",))
    assert str(refused.value) == f"{system.batch.words.title} refuses the job: {system.refuses}"
    assert refused.value.event is Mishap.NO_NODES


def test_a_job_that_a_system_has_forgotten_is_not_told_of_and_a_silent_system_is_an_error(
    programs: Path, system: Spoken
) -> None:
    prints(programs, system.asks, "", 1, system.forgets)
    assert system.batch.status(["9"]) == {}
    prints(programs, system.asks, "", 1, "cannot connect to the server (errno=111)")
    with pytest.raises(SubmitError, match="does not answer: cannot connect to the server") as silent:
        system.batch.status(["9"])
    assert silent.value.transient


OF_GRID_ENGINE = 'Unable to run job: unable to send message to qmaster using port 6444 on host "head": got send error.'


@pytest.mark.parametrize(
    ("batch", "submits", "errors"),
    [
        *((each.batch, each.submits, each.silent) for each in SYSTEMS),
        (GridEngine(nodes=2, parallel_environment="mpi"), "qsub", OF_GRID_ENGINE),
    ],
)
def test_a_silent_system_refuses_no_job(
    programs: Path, tmp_path: Path, batch: PlainBatch, submits: str, errors: str
) -> None:
    prints(programs, submits, "", 1, f"{errors}\n")
    with pytest.raises(SubmitError, match=f"{batch.words.title} does not answer: ") as silent:
        batch.submit(48, 600.0, tmp_path / "log", ("/spool/worker.sh",))
    assert silent.value.transient


@pytest.mark.parametrize("batch", [Pbs(nodes=1), Lsf(nodes=1)], ids=["PBS", "LSF"])
def test_a_system_whose_programs_are_missing_says_which(batch: PlainBatch, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    title = batch.words.title
    with pytest.raises(
        SubmitError, match=f"is not on PATH: {title}'s programs are needed .*`module load {title.lower()}`"
    ):
        batch.facts()


def test_a_system_that_holds_no_nodes_says_what_does(tmp_path: Path) -> None:
    del tmp_path
    with pytest.raises(
        InvalidJobError, match=r"hpltune cannot hold nodes of PBS for this: start it inside a job of yours"
    ):
        Pbs(nodes=1).hold(1, 1.0, lambda _: None, lambda: False)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('backend = "torque"\n', "should be 'ssh', 'slurm', 'pbs', 'lsf', 'flux' or 'gridengine'"),
        ('backend = "gridengine"\n[gridengine]\nnodes = 2\n', "Grid Engine needs parallel_environment = …"),
        ('backend = "flux"\n[flux]\nnodes = 2\n', "Flux needs memory_gib = …"),
        ('backend = "pbs"\n[pbs]\nnodes = 2\nparallel_environment = "mpi"\n', "PBS knows no parallel_environment"),
        ('backend = "pbs"\n[pbs]\nnodes = 2\nqueue = "a b"\n', "expected one word of letters"),
        ('backend = "lsf"\n[lsf]\nnodes = 2\npartition = "a"\n', "partition is not known here"),
        ('backend = "pbs"\nhosts = ["n1"]\n[pbs]\nnodes = 2\n', "PBS chooses the hosts: leave hosts out"),
    ],
)
def test_a_mistake_in_a_cluster_file_is_one_sentence(tmp_path: Path, text: str, sentence: str) -> None:
    file = tmp_path / "site.toml"
    file.write_text(f'name = "site"\n{text}')
    with pytest.raises(ClusterFileError) as error:
        load_real_cluster(file)
    assert sentence in str(error.value)


def test_a_cluster_file_of_each_system_is_read(tmp_path: Path) -> None:
    file = tmp_path / "site.toml"
    for system, more in (
        (Pbs, ""),
        (Lsf, ""),
        (Flux, "memory_gib = 4\n"),
        (GridEngine, 'parallel_environment = "mpi"\n'),
    ):
        file.write_text(f'name = "site"\nbackend = "{system.name}"\n[{system.name}]\nnodes = 2\n{more}')
        assert isinstance(load_real_cluster(file).batch, system)


class Shown:
    """A launcher that prints what it is told of nodes, a word on each line."""

    def command(self, job: Job) -> list[str]:
        return ["printf", "%s\\n", *(f"{node}:{job.ranks_per_node}" for node in job.nodes), str(job.agent), "a  b$x"]

    def explain(self, job: Job, exit_code: int, said: str) -> str:
        raise NotImplementedError


def started(folder: Path, nodes: int, listed: str) -> subprocess.CompletedProcess[str]:
    (folder / "run").mkdir()
    (folder / "nodes").write_text(listed)
    job = Job(program=("/bin/true",), ranks=2 * nodes, directory=folder / "run")
    argv = Pbs(nodes=nodes).command(Shown(), job, folder / "spool")
    variables = {**os.environ, "PBS_NODEFILE": str(folder / "nodes")}
    return subprocess.run(argv, cwd=folder / "run", env=variables, capture_output=True, text=True, check=False)


def test_a_launcher_in_a_job_gets_the_nodes_of_the_job_each_once_and_in_order(tmp_path: Path) -> None:
    done = started(tmp_path, 3, "n7\nn7\nn03.site\nn03.site\nn1\n")
    agent = tmp_path / "spool/pbs-agent"
    assert done.stdout == f"n7:2\nn03.site:2\nn1:2\n{agent}\na  b$x\n"
    assert os.access(agent, os.X_OK)


def test_an_agent_reads_the_arguments_of_ssh(programs: Path, tmp_path: Path) -> None:
    noted = prints(programs, "pbs_tmrsh", "done\n")
    started(tmp_path, 1, "n7\n")
    agent = str(tmp_path / "spool/pbs-agent")
    assert (
        subprocess.run((agent, "-x", "-o", "A=b", "n7", "orted", "-mca", "x"), check=True, timeout=60).returncode == 0
    )
    assert noted.read_text().splitlines() == ["n7", "/bin/sh", "-c", "orted -mca x"]


def test_a_job_with_other_nodes_than_were_asked_for_says_so(tmp_path: Path) -> None:
    done = started(tmp_path, 2, "n7\nn7\n")
    assert done.returncode == 1
    assert done.stderr == "PBS gave the job n7, and nodes = 2 was asked for: look at [pbs] of the cluster file\n"
    assert befell(1, done.stderr) is Mishap.NO_NODES


def test_memory_of_a_node_is_asked_of_pbs_where_the_file_tells_it(programs: Path, tmp_path: Path) -> None:
    noted = prints(programs, "qsub", "42634.head\n")
    Pbs(nodes=2, memory_gib=62.5).submit(48, 600.0, tmp_path / "log", ("/spool/worker.sh",))
    assert "select=2:ncpus=48:mpiprocs=48:mem=64000mb" in noted.read_text().splitlines()


def test_a_job_of_pbs_that_ended_is_known_where_the_server_keeps_a_history(programs: Path) -> None:
    program(
        programs / "qstat",
        f"#!/bin/sh\nif [ $1 = -x ]; then cat {programs}/past; else echo 'qstat: 42639.head Job has finished, use -x "
        "or -H to obtain historical job information' >&2; exit 35; fi\n",
    )
    (programs / "past").write_text("Job Id: 42639.head\n    job_state = F\n    Exit_status = 1\n")
    assert Pbs(nodes=1).status(["42639.head"])["42639.head"].told() == "PBS job 42639.head failed"
    (programs / "past").write_text("PBS is not configured to maintain job history\n")
    assert Pbs(nodes=1).status(["42639.head"]) == {}


def test_nodes_that_a_system_cannot_list_are_no_nodes_but_an_error(programs: Path) -> None:
    prints(programs, "pbsnodes", "", 1, "pbsnodes: Server has no node list")
    with pytest.raises(SubmitError, match="PBS does not answer: pbsnodes: Server has no node list"):
        Pbs(nodes=1).facts()


def test_a_variable_whose_name_says_that_it_is_secret_is_not_told_to_a_system(
    programs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(programs / "qsub", f"#!/bin/sh\nenv >{tmp_path / 'environment'}\necho 1.head\n")
    monkeypatch.setenv("MY_API_TOKEN", "1")
    monkeypatch.setenv("MY_OTHER", "1")
    Pbs(nodes=1).submit(1, 60.0, tmp_path / "log", ("/spool/worker.sh",))
    told = (tmp_path / "environment").read_text()
    assert "MY_OTHER=1" in told
    assert "MY_API_TOKEN" not in told


def test_each_host_of_a_job_of_lsf_is_named_before_its_slots() -> None:
    listed = subprocess.run(
        ("sh", "-c", Lsf.dialect.shell["nodes"]),
        env={**os.environ, "LSB_MCPU_HOSTS": "h1 48 h2 48"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert listed.stdout == "h1\nh2\n"


def test_of_what_grid_engine_kept_of_a_job_the_last_record_is_the_jobs_own(programs: Path) -> None:
    record = "{0}\nhostname     {1}\njobnumber    7\nslots        2\nfailed       {2}\nexit_status  {3}\n"
    prints(programs, "qstat", "")
    line = "=" * 62
    prints(
        programs,
        "qacct",
        record.format(line, "n2", "100 : assumedly after job", 129) + record.format(line, "n1", "0    ", "5   "),
    )
    job = GridEngine(nodes=2, parallel_environment="mpi").status(["7"])["7"]
    assert (job.told(), job.by_its_script) == ("Grid Engine job 7 failed", True)
