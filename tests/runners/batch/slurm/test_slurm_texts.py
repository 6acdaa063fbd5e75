"""What is said to Slurm and what is read from it; no Slurm is needed."""

import math
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from as_user import program
from hypothesis import given
from hypothesis import strategies as st

from runners.base import JobState
from runners.batch.allocation import AllocationTerms
from runners.batch.base import BatchJob, BatchNode, JobPhase, OwnLauncher
from runners.batch.slurm.client import mpi_types, nodes_of
from runners.batch.slurm.nodes import parse_nodes, parse_partitions, parse_span_s
from runners.batch.slurm.states import parse_squeue
from runners.batch.slurm.submit import minutes, refusal, salloc_command, sbatch_command, too_much
from runners.batch.slurm.system import Slurm
from runners.errors import InvalidJobError, SubmitError
from runners.job import Job
from runners.launchers.openmpi import OpenMpi
from runners.toml_file import ClusterFileError, validated

TABLE = Slurm(nodes=2)
OfSlurm = Callable[[str, str], Path]


def asked(**changed: object) -> Slurm:
    return TABLE.model_copy(update=changed)


@pytest.fixture
def of_slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> OfSlurm:
    """Puts a program of Slurm on PATH that runs a line of a shell."""
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    return lambda name, line: program(tmp_path / name, f"#!/bin/sh\n{line}\n")


def seen(state: str, reason: str, nodes: str = "") -> BatchJob:
    """What is known of job 7 once squeue has told of it."""
    return parse_squeue(f"7|{state}|{reason}|{nodes}|N/A\n")["7"]


class TestOptions:
    @pytest.mark.parametrize(
        ("changed", "words"),
        [
            ({"nodes": 0}, "nodes = 0: write 1 or more"),
            ({"nods": 2}, "nods is not known here"),
            ({"time_limit_s": 30.0}, "time_limit_s = 30.0, expected at least 60"),
            ({"time_limit_s": math.nan}, "time_limit_s"),
            ({"queue_limit_s": 0.0}, "queue_limit_s"),
            ({"partition": "a b"}, "partition = 'a b'"),
            ({"account": "-x"}, "account"),
            ({"mpi": "pmi2"}, 'mpi is an option of srun: add launcher = "srun"'),
            ({"mpi": "pmi1", "launcher": "srun"}, "mpi = pmi1"),
            ({"qos": "a;b"}, "qos"),
            ({"constraint": "$(x)"}, "constraint"),
            ({"nodelist": "n1 n2"}, "nodelist"),
            ({"exclude": ""}, "exclude"),
            ({"further": ("gres=gpu:1",)}, "'gres=gpu:1' is not of the form"),
            ({"further": ("--gres=a\nb",)}, "not of the form"),
            ({"further": ("--partition=x",)}, "set it as partition"),
            ({"further": ("--out=x",)}, "--out=x: hpltune sets --output itself, for which sbatch may take --out"),
            ({"further": ("--chd=/",)}, "hpltune sets --chdir itself"),
            ({"further": ("--wra=true",)}, "hpltune sets --wrap itself"),
            ({"further": ("--par=x",)}, "set it as partition"),
            ({"further": ("--excl=n1",)}, "set it as exclusive"),
        ],
    )
    def test_a_value_that_slurm_could_not_take_is_refused(self, changed: dict[str, object], words: str) -> None:
        with pytest.raises(ClusterFileError, match=words):
            validated(Slurm, "the table [slurm]", {"nodes": 2, **changed})

    @pytest.mark.parametrize(("cores", "lease_s", "words"), [(0, 120.0, "cores_per_node"), (64, 0.1, "lease_s")])
    def test_terms_on_which_nothing_could_run_are_refused(self, cores: int, lease_s: float, words: str) -> None:
        with pytest.raises(InvalidJobError, match=words):
            AllocationTerms(TABLE, cores, 600.0, lease_s)

    def test_what_sites_really_write_is_taken(self) -> None:
        Slurm(
            nodes=1,
            partition="cpu,cpu-long",
            account="proj_12",
            constraint="[rack1*2&rack2*4]|ib",
            nodelist="n[001-032,40],login-1.example.org",
            further=("--gres=gpu:a100:4", "--reservation=maint", "--contiguous", "--comment=for the list of June"),
        )


class TestSbatch:
    def test_each_option_is_one_token(self) -> None:
        table = asked(partition="cpu", account="a1", further=("--switches=1",))
        assert sbatch_command(table, 64, 90.0, Path("/s/w.log"), ("/s/worker.sh", "/s", "100", "0")) == [
            "sbatch", "--parsable", "--job-name=hpltune", "--no-requeue", "--export=ALL", "--input=/dev/null",
            "--output=/s/w.log", "--chdir=/s", "--time=2", "--nodes=2", "--ntasks-per-node=64", "--partition=cpu",
            "--account=a1", "--exclusive", "--mem=0", "--switches=1", "/s/worker.sh", "/s", "100", "0",
        ]  # fmt: skip

    def test_the_users_own_memory_wins(self) -> None:
        found = sbatch_command(asked(further=("--mem=100G",)), 64, 60.0, Path("/l"), ("/w",))
        assert [token for token in found if token.startswith("--mem")] == ["--mem=100G"]

    def test_a_folder_with_a_percent_sign_is_no_pattern(self) -> None:
        assert "--output=/a%%j/log" in sbatch_command(TABLE, 64, 60.0, Path("/a%j/log"), ("/w",))

    @pytest.mark.parametrize("text", ["12", "12;cluster", "Welcome!\n12"])
    def test_the_number_of_the_job_is_read(self, of_slurm: OfSlurm, text: str) -> None:
        of_slurm("sinfo", "exit 1")
        of_slurm("sbatch", f"echo '{text}'")
        assert TABLE.submit(64, 60.0, Path("/s/w.log"), ("/s/worker.sh",)) == "12"

    @pytest.mark.parametrize("text", ["", "no"])
    def test_without_a_number_there_is_no_job(self, of_slurm: OfSlurm, text: str) -> None:
        of_slurm("sinfo", "exit 1")
        of_slurm("sbatch", f"echo '{text}'")
        with pytest.raises(SubmitError, match="sbatch does not say why"):
            TABLE.submit(64, 60.0, Path("/s/w.log"), ("/s/worker.sh",))

    @pytest.mark.parametrize(
        ("said", "words"),
        [
            ("Batch job submission failed: Invalid partition name specified", "there is no partition cpu"),
            (
                "Batch job submission failed: Invalid account or account/partition combination specified",
                "account a1 is not valid for partition cpu",
            ),
            ("Batch job submission failed: Invalid qos specification", "quality of service .default. is not valid"),
            ("Batch job submission failed: Requested time limit is invalid (missing or exceeds some limit)",
             "a time limit of 2 min is more than partition cpu gives"),
            ("Batch job submission failed: Node count specification invalid", "2 nodes are not to be had"),
            ("Batch job submission failed: Invalid feature specification", "no node has the features"),
            ("Memory specification can not be satisfied", "no 2 nodes that are what was asked for"),
            ("Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)",
             "the limits of your account do not allow it"),
            ("User's group not permitted to use this partition", "you may not use partition cpu"),
        ],
    )  # fmt: skip
    def test_what_sbatch_refuses_for_ever_is_explained(self, said: str, words: str) -> None:
        error = refusal(asked(partition="cpu", account="a1"), 64, 90.0, f"sbatch: error: {said}\n")
        assert isinstance(error, InvalidJobError)
        with pytest.raises(InvalidJobError, match=words):
            raise error

    def test_what_nobody_has_seen_is_passed_on(self) -> None:
        error = refusal(TABLE, 64, 90.0, "sbatch: error: The moon is full\n")
        assert isinstance(error, SubmitError)
        assert str(error).endswith("The moon is full")
        assert not error.transient

    @pytest.mark.parametrize(
        "said",
        [
            "Socket timed out on send/recv operation",
            "Resource temporarily unavailable",
            "I/O error writing script/output to file",
        ],
    )
    def test_what_passes_by_itself_may_be_asked_again(self, said: str) -> None:
        error = refusal(TABLE, 64, 90.0, f"sbatch: error: Batch job submission failed: {said}\n")
        assert isinstance(error, SubmitError)
        assert error.transient


SINFO = "main*|up|infinite|2|1-infinite\nshort|up|1:00|2|1-infinite\nshut|down|2-00:00:00|2|1-1\n"


class TestPartitions:
    def test_real_output_is_read(self) -> None:
        main, short, shut = parse_partitions(SINFO)
        assert (main.name, main.default, main.up, main.limit_s, main.nodes) == ("main", True, True, math.inf, 2)
        assert (short.limit_s, short.nodes_per_job) == (60.0, None)
        assert (shut.up, shut.limit_s, shut.nodes_per_job) == (False, 172800.0, 1)

    @pytest.mark.parametrize(
        ("changed", "time_s", "words"),
        [
            ({}, 3600.0, None),
            ({"partition": "short"}, 60.0, None),
            ({"partition": "short"}, 61.0, "partition short gives at most 60 s"),
            ({"partition": "none"}, 60.0, "no partition none"),
            ({"partition": "shut"}, 60.0, "gives at most 1: lower nodes"),
            ({"partition": "a,b"}, 60.0, None),
        ],
    )
    def test_what_a_partition_does_not_give_is_said(
        self, changed: dict[str, object], time_s: float, words: str | None
    ) -> None:
        found = too_much(asked(**changed), time_s, parse_partitions(SINFO))
        assert found is None if words is None else words in (found or "")


class TestNodes:
    def test_real_output_is_read(self) -> None:
        text = (
            "n1|2|1|4000|idle|ib,fast|none\nn1|2|1|4000|idle|ib,fast|none\n"
            "n2|2|32|515000|down*|(null)|Not responding\nn3|1|8|1000|drained|x|bad disk|really\n"
        )
        first, second, third = parse_nodes(text)
        assert first == BatchNode("n1", 2, 4000, "idle", ("ib", "fast"))
        assert (second.cores, second.state, second.responds, second.features) == (64, "down", False, ())
        assert third.reason == "bad disk|really"
        assert [node.usable for node in (first, second, third)] == [True, False, False]

    def test_a_partition_is_one_token(self, of_slurm: OfSlurm) -> None:
        of_slurm("sinfo", 'echo "n1|1|1|1|idle|$1,$2,$3|none"')
        assert nodes_of("cpu")[0].features == ("--noheader", "--Node", "--partition=cpu")

    def test_what_runs_no_jobs_may_have_failed(self, of_slurm: OfSlurm) -> None:
        of_slurm("sinfo", "printf 'n1|1|1|1|idle|x|none\\nn2|1|1|1|idle*|x|none\\nn3|1|1|1|down|x|burnt\\n'")
        assert TABLE.failed_nodes("n[1-3]", "") == ("n2", "n3")
        assert TABLE.failed_nodes("n[1-3]", "srun: error: Node failure on n1") == ("n1",)


class TestDurations:
    @pytest.mark.parametrize(
        ("text", "seconds"),
        [("4:56", 296.0), ("1:00:00", 3600.0), ("2-03:00:01", 183601.0), ("UNLIMITED", math.inf), ("N/A", None)],
    )
    def test_real_ones_are_read(self, text: str, seconds: float | None) -> None:
        assert parse_span_s(text) == seconds

    @given(st.integers(0, 10**7))
    def test_what_slurm_writes_is_what_it_meant(self, seconds: int) -> None:
        days, rest = divmod(seconds, 86400)
        hours, rest = divmod(rest, 3600)
        short = f"{rest // 60}:{rest % 60:02d}"
        text = (
            f"{days}-{hours:02d}:{rest // 60:02d}:{rest % 60:02d}" if days else f"{hours}:{short}" if hours else short
        )
        assert parse_span_s(text) == seconds

    @given(st.floats(0.1, 1e7))
    def test_a_limit_is_never_shorter_than_what_was_asked(self, seconds: float) -> None:
        assert 0 <= minutes(seconds) * 60 - seconds < 60 or seconds < 60


class TestStates:
    def test_real_output_of_squeue_is_read(self) -> None:
        found = parse_squeue(
            "11|COMPLETED|None|n[1-2]|4:56\n10|PENDING|Priority||5:00\n"
            "14|PENDING|ReqNodeNotAvail, UnavailableNodes:n2||1-00:00:00\nslurm_load_jobs error: something\n"
        )
        ended = found["11"]
        assert (ended.number, ended.phase, ended.nodes, ended.left_s) == ("11", JobPhase.ENDED, "n[1-2]", 296.0)
        assert (ended.by_its_script, found["10"].nodes) == (True, "")
        assert found["14"].sentence.endswith("(ReqNodeNotAvail, UnavailableNodes:n2)")

    def test_squeue_is_asked_about_all_jobs_at_once(self, of_slurm: OfSlurm) -> None:
        of_slurm(
            "squeue", """case $3 in --jobs=1,2) printf '1|RUNNING|None|n1|1:00\\n2|PENDING|Priority||1:00\\n' ;; esac"""
        )
        phases = {number: job.phase for number, job in TABLE.status(["1", "2"]).items()}
        assert phases == {"1": JobPhase.RUNNING, "2": JobPhase.WAITING}

    @pytest.mark.parametrize(
        ("state", "expected", "words"),
        [
            ("TIMEOUT", JobState.TIMEOUT, "time limit"),
            ("CANCELLED", JobState.CANCELLED, "not by hpltune"),
            ("NODE_FAIL", JobState.FAILED, "node n2 failed"),
            ("PREEMPTED", JobState.FAILED, "preempted"),
            ("OUT_OF_MEMORY", JobState.FAILED, "smaller N"),
            ("BOOT_FAIL", JobState.FAILED, "node n2 did not boot"),
            ("FAILED", JobState.FAILED, "NonZeroExitCode"),
            ("DEADLINE", JobState.TIMEOUT, "deadline"),
        ],
    )
    def test_each_end_is_told_as_it_was(self, state: str, expected: JobState, words: str) -> None:
        job = seen(state, "NonZeroExitCode", "n[1-2]")
        assert (job.phase, job.state) == (JobPhase.ENDED, expected)
        assert words in job.told(["n2"])

    @pytest.mark.parametrize("state", ["PENDING", "CONFIGURING", "RUNNING", "COMPLETING", "SUSPENDED", "STAGE_OUT"])
    def test_before_its_end_nothing_is_said_of_it(self, state: str) -> None:
        phase = seen(state, "None").phase
        assert phase is not JobPhase.ENDED
        assert (phase is JobPhase.WAITING) is (state in {"PENDING", "CONFIGURING"})

    @pytest.mark.parametrize(
        ("reason", "words"),
        [
            ("PartitionNodeLimit", "change nodes"),
            ("PartitionTimeLimit", "lower time_limit_s"),
            ("AssocGrpCPUMinutesLimit", "the account has used up its time"),
            ("AssocMaxNodePerJobLimit", "more than the account may ask for"),
            ("QOSMaxWallDurationPerJobLimit", "quality of service"),
            ("InvalidAccount", "the account is not valid"),
            ("BadConstraints", "no nodes of the partition"),
        ],
    )
    def test_what_time_alone_does_not_cure_will_never_start(self, reason: str, words: str) -> None:
        found = seen("PENDING", reason).never
        assert found is not None
        assert words in found
        assert reason in found

    @pytest.mark.parametrize(
        ("reason", "words"),
        [
            ("Resources", "busy"),
            ("Priority", "others come first"),
            ("None", "not looked at it yet"),
            ("AssocGrpNodeLimit", "a limit on all jobs"),
            ("QOSMaxJobsPerUserLimit", "a limit on all jobs"),
            ("ReqNodeNotAvail, May be reserved for other job", "reserved"),
            ("ReqNodeNotAvail, UnavailableNodes:n[2-3]", "not available (ReqNodeNotAvail, UnavailableNodes:n[2-3])"),
            ("ReqNodeNotAvail(Unavailable:n2)", "not available (ReqNodeNotAvail(Unavailable:n2))"),
            ("PartitionDown", "the partition is down"),
            ("JobHeldAdmin", "scontrol release"),
            ("SomethingNew", "SomethingNew"),
        ],
    )
    def test_what_time_may_cure_waits_with_its_reason(self, reason: str, words: str) -> None:
        job = seen("PENDING", reason)
        assert job.never is None
        assert words in job.sentence


@pytest.mark.parametrize(
    ("said", "types"),
    [
        (
            "MPI plugin types are...\n\tpmix\n\tnone\n\tpmi2\nspecific pmix plugin versions available: pmix_v4\n",
            ("pmix", "none", "pmi2", "pmix_v4"),
        ),
        ("srun: MPI types are...\nsrun: none\nsrun: pmi2\nsrun: openmpi\n", ("none", "pmi2", "openmpi")),
        ("", ()),
    ],
)
def test_the_ways_to_start_mpi_are_read_of_srun(of_slurm: OfSlurm, said: str, types: tuple[str, ...]) -> None:
    of_slurm("srun", f"printf %s '{said}' >&2")
    assert mpi_types() == types


def test_the_switches_of_the_lowest_level_have_the_nodes(of_slurm: OfSlurm) -> None:
    text = (
        "SwitchName=s0 Level=0 LinkSpeed=1 Nodes=n[1-4]\n"
        "SwitchName=s1 Level=0 LinkSpeed=1 Nodes=n[5-8],m1\n"
        "SwitchName=core Level=1 LinkSpeed=1 Nodes=n[1-8],m1 Switches=s[0-1]\n"
    )
    of_slurm("scontrol", f"[ $2 = hostnames ] && echo $3 | tr , ' ' || printf %s '{text}'")
    assert TABLE.switches() == {"n[1-4]": "s0", "n[5-8]": "s1", "m1": "s1"}
    of_slurm("scontrol", "echo 'scontrol: error: No topology information available'")
    assert TABLE.switches() == {}


def test_nodes_are_held_with_the_same_wishes_as_jobs_are_submitted_with(tmp_path: Path) -> None:
    table = asked(nodelist="n[1-2]")
    held = salloc_command(table, 64, 600, ("cat",))
    assert (held[0], held[-1], "--nodelist=n[1-2]" in held) == ("salloc", "cat", True)
    submitted = sbatch_command(table, 64, 600, tmp_path / "log", ("job.sh",))
    assert set(held) - {"salloc", "--no-kill", "--wait-all-nodes=1", "cat"} <= set(submitted)


def test_the_way_of_srun_is_that_of_the_library_unless_the_table_says_another() -> None:
    own = OpenMpi(Path("/usr/bin/mpirun"), 4, as_root=False)
    usual, told = (Slurm(nodes=1, launcher="srun", mpi=way).launcher_of("openmpi", own) for way in (None, "pmi2"))
    job = Job(program=("/xhpl",), ranks=1, directory=Path("/data"))
    assert "--mpi=pmix" in usual.command(job)
    assert "--mpi=pmi2" in told.command(job)


@pytest.mark.parametrize(("way", "starts"), [("pmix", True), ("pmix_v4", True), ("pmix_v5", False), ("pmi2", False)])
def test_srun_starts_ranks_only_in_ways_that_it_lists(way: str, starts: bool) -> None:  # noqa: FBT001
    srun = OwnLauncher("srun", "--mpi", "srun --mpi=list", ("none", "pmix_v4"), {"openmpi": way})
    assert srun.starts("openmpi") is starts


def test_a_squeue_that_answers_late_does_not_end_the_wait_for_nodes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked_now = tmp_path / "asked"
    program(
        tmp_path / "salloc",
        f"#!/bin/sh\necho 'salloc: Pending job allocation 7'\nuntil [ -e {asked_now} ]; do sleep 0.1; done\n"
        "sleep 1\necho hpltune-job 7\nexec cat >/dev/null\n",
    )
    program(tmp_path / "squeue", f"#!/bin/sh\ntouch {asked_now}\nexec sleep 60\n")
    program(tmp_path / "scancel", "#!/bin/sh\n")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr("runners.batch.base.ANSWER_S", 0.5)
    monkeypatch.setattr("runners.batch.slurm.hold.LOOK_S", 0.0)
    with TABLE.hold(1, 60.0, lambda _: None, lambda: False) as job:
        assert job == "7"
