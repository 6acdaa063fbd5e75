"""Real nodes over real ssh: two namespaces of this machine, which share no folder of programs with it that is used."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from as_user import program
from hypothesis import given
from hypothesis import strategies as st
from needs import skip_without
from net_lab import HostsLab

from hpl.blas.registry import discover
from hpl.build.node_programs import build_node_bench, build_solo
from hpl.build.toolchain import ToolchainError
from hpl.errors import HplError
from hpl.programs.registry import obtain
from hpl.search_paths import SearchPaths
from results.node_check import BENCHMARKS, NodeCheck, Severity
from runners.hosts.hearing import CommandResult
from runners.hosts.transport import Local, Ssh
from tuner.nodes.measuring import MeasuringPlan, measure
from tuner.nodes.statistics.verdict import verdict_of
from tuner.nodes.steps.hpl_runs import Hpl, SoloHpl, run_of
from tuner.nodes.steps.node_bench import Dgemm, Stream, parse_runs
from tuner.nodes.steps.step import NodesTarget
from tuner.stopping import StopRequest


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs for this machine itself are copied to a folder of the test; nodes of the lab use /tmp."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> MeasuringPlan:
    search = SearchPaths(None, tmp_path_factory.mktemp("cache"))
    try:
        built = build_node_bench(search)
    except ToolchainError:
        skip_without("mpicc")
    program = search.cache / "own"
    program.write_bytes(built.read_bytes() + str(search.cache).encode())  # other tests copy theirs at the same time
    program.chmod(0o755)
    found = {blas.name: blas for blas in discover(search, {})}
    stream = Stream(program, repeats=2, array_bytes=2_000_000)
    if "openblas" not in found:
        return MeasuringPlan((stream,))
    blas = found["openblas"].library(1).path
    return MeasuringPlan((stream, Dgemm(program, blas, repeats=2, n=200)), same_files=(blas,))


def test_all_nodes_are_asked_and_measured_and_keep_nothing(lab: HostsLab, plan: MeasuringPlan) -> None:
    target = NodesTarget("lab", ("h1", "h2", "gone"), Ssh((*lab.enter("h1"), *lab.ssh)))
    measured = measure(target, plan, lambda _: None, StopRequest())
    check = measured.check
    assert list(check.silent) == ["gone"]
    expected = {name for name in BENCHMARKS if name.startswith(("stream", "dgemm") if plan.same_files else "stream")}
    assert {run.benchmark for run in check.runs} == expected
    assert {run.node for run in check.runs} == {"h1", "h2"}
    assert all(run.counts for run in check.runs)
    assert len([run for run in check.runs if run.node == "h1" and run.benchmark == "stream-copy-1"]) == 2
    told = [run.measurements for run in check.runs]
    assert all(own["solve_s"] > 0.0 and own["cpu_s"] >= 0.0 for own in told)
    assert not any("foreign_cpu_s" in own for own in told), "h1 and h2 run on one machine"
    assert check.facts["cpu_model"]["h1"] == check.facts["cpu_model"]["h2"]
    own = plan.steps[0].files({})["node_bench"].read_bytes()
    kept = Path("/tmp").glob("hpltune-nodes.*/node_bench")  # noqa: S108 - where the nodes keep them
    assert own not in [found.read_bytes() for found in kept]
    verdict = verdict_of(check)
    assert verdict.out == ("gone",)
    assert any("Fewer than 5 nodes" in sentence for sentence in verdict.cannot)


def test_a_node_that_takes_no_files_is_out_and_the_others_are_measured(lab: HostsLab, plan: MeasuringPlan) -> None:
    refuses = '[ "$(uname -n)" = h2 ] || exec /usr/bin/mktemp "$@"; echo "Permission denied" >&2; exit 1'
    with lab.planted("mktemp", f"#!/bin/sh\n{refuses}\n"):
        target = NodesTarget("lab", ("h1", "h2"), Ssh((*lab.enter("h1"), *lab.ssh)))
        check = measure(target, plan, lambda _: None, StopRequest()).check
    assert {run.node for run in check.runs if run.counts} == {"h1"}
    (finding, *_) = verdict_of(check).findings
    assert finding.sentence == (
        "h2 is out: files cannot be copied to its /tmp (Permission denied): make room or set TMPDIR there"
    )


def test_a_wrong_result_does_not_count() -> None:
    text = (
        "run\tstream-copy-1\t9000.5\tok\t\nrun\tdgemm-1\t80\twrong\tresidual 3e5\nrun\tunknown\t1\tok\t\nrun\tx\nend\n"
    )
    right, wrong = parse_runs("h1", CommandResult(0, text, ""))
    assert (right.value, right.counts) == (9000.5, True)
    assert (wrong.counts, wrong.reason) == (False, "residual 3e5")


def test_a_stopped_check_measures_nothing_more(lab: HostsLab, plan: MeasuringPlan) -> None:
    stop = StopRequest()
    stop.ask()
    target = NodesTarget("lab", ("h1",), Ssh((*lab.enter("h1"), *lab.ssh)))
    measured = measure(target, plan, lambda _: None, stop)
    assert measured.check.runs == ()
    assert measured.check.facts["cpu_model"]["h1"]


@pytest.fixture
def second_name(lab: HostsLab) -> Iterator[None]:
    """On h1 host h2 is known as "spare", too."""
    names = Path("/etc/netns") / lab.namespace("h1") / "hosts"
    before, known = names.read_text(), (lab.folder / "known_hosts").read_text()
    names.write_text(f"{before}10.77.0.2 spare\n")
    (lab.folder / "known_hosts").write_text(known + known.splitlines()[1].replace("h2", "spare", 1) + "\n")
    yield
    names.write_text(before)
    (lab.folder / "known_hosts").write_text(known)


@pytest.mark.usefixtures("second_name")
def test_a_host_with_two_names_is_measured_once_and_both_are_told(lab: HostsLab) -> None:
    target = NodesTarget("lab", ("h1", "h2", "spare"), Ssh((*lab.enter("h1"), *lab.ssh)))
    measured = measure(target, MeasuringPlan(), lambda _: None, StopRequest())
    assert measured.check.silent == {"spare": "it is the same machine as h2: name it once in hosts"}
    assert set(measured.check.facts["kernel"]) == {"h1", "h2"}
    assert "h1, h2 run on one machine, whose cores and memory they share." in measured.notes
    verdict = verdict_of(measured.check)
    assert [finding.sentence for finding in verdict.findings if finding.severity is Severity.OUT] == [
        "spare is out: it is the same machine as h2: name it once in hosts"
    ]


def local(tmp_path: Path, text: str) -> NodeCheck:
    """Measure this machine with a program that behaves as a test wants."""
    fake = program(tmp_path / "fake", text)
    target = NodesTarget("here", ("here",), Local())
    return measure(
        target, MeasuringPlan((Stream(fake), Dgemm(fake, Path("libblas.so")))), lambda _: None, StopRequest()
    ).check


BUSY = """#!/bin/sh
echo "cpu 9000 0 100 5000 50 0 0 10 0 0
cpu0 1 0 0 1
cpu1 1 0 0 1" >"$HPLTUNE_SYSTEM_ROOT/proc/stat"
sleep 0.7
printf 'run\tdgemm-%s\t80\tok\t\n' "$([ "$2" = 1 ] && echo 1 || echo all)"
"""


def test_what_others_took_of_a_node_is_kept_with_its_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HPLTUNE_SYSTEM_ROOT", str(tmp_path / "root"))
    (tmp_path / "root/proc").mkdir(parents=True)
    (tmp_path / "root/proc/stat").write_text("cpu 10 0 100 5000 50 0 0 10\ncpu0 1 0 0 1\ncpu1 1 0 0 1\n")
    fake = program(tmp_path / "fake", BUSY)
    plan = MeasuringPlan((Dgemm(fake, Path("libblas.so"), repeats=1),))
    check = measure(NodesTarget("here", ("here",), Local()), plan, lambda _: None, StopRequest()).check
    one, every = check.runs
    assert (one.benchmark, every.benchmark) == ("dgemm-1", "dgemm-all")
    assert one.disturbed is not None
    assert str(one.disturbed).startswith("others took 2 of 2 cores")
    assert every.disturbed is None


def test_a_program_that_dies_is_a_failed_run_with_its_reason(tmp_path: Path) -> None:
    check = local(tmp_path, '#!/bin/sh\necho "bad board" >&2\nexit 9\n')
    assert {run.reason for run in check.runs} == {"bad board"}
    assert not any(run.counts for run in check.runs)
    verdict = verdict_of(check)
    assert verdict.out == ("here",)
    assert verdict.findings[0].sentence == "here is out: STREAM copy, one core gave no result there (bad board)"


def test_a_node_that_hangs_is_given_up_and_asked_nothing_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tuner.nodes.steps.step.LIMIT_S", 3.0)
    count = tmp_path / "count"
    check = local(tmp_path, f"#!/bin/sh\necho x >>{count}\nexec sleep 600\n")
    assert "hung there, and was ended after 3 s" in check.silent["here"]
    assert count.read_text() == "x\n"


@pytest.fixture(scope="module")
def solo(tmp_path_factory: pytest.TempPathFactory) -> SoloHpl:
    search = SearchPaths(None, tmp_path_factory.mktemp("solo"))
    try:
        program = build_solo(obtain(search), search)
    except HplError:
        skip_without("the source of HPL")
    found = {blas.name: blas for blas in discover(search, {})}
    if "openblas" not in found:
        skip_without("OpenBLAS")
    return SoloHpl(program, found["openblas"].library(1).path)


@pytest.mark.real
def test_hpl_runs_on_nodes_that_have_no_mpi_of_ours_and_its_residual_is_checked(lab: HostsLab, solo: SoloHpl) -> None:
    target = NodesTarget("lab", ("h1", "h2"), Ssh((*lab.enter("h1"), *lab.ssh)))
    plan = MeasuringPlan((Hpl(solo, repeats=1, target_s=0.5),), same_files=(solo.blas,))
    check = measure(target, plan, lambda _: None, StopRequest()).check
    assert {(run.benchmark, run.node) for run in check.runs} == {("hpl", "h1"), ("hpl", "h2")}
    assert all(run.counts for run in check.runs), check.runs


@pytest.mark.heavy
def test_a_blas_that_cannot_be_opened_makes_a_node_unready(solo: SoloHpl) -> None:
    broken = SoloHpl(solo.program, Path("/no/such/libblas.so"))
    plan = MeasuringPlan((Hpl(broken, repeats=1, target_s=0.1),))
    verdict = verdict_of(measure(NodesTarget("here", ("here",), Local()), plan, lambda _: None, StopRequest()).check)
    assert verdict.out == ("here",)
    assert "HPL on the node gave no result there (/no/such/libblas.so: cannot open" in verdict.findings[0].sentence


def test_a_failed_residual_is_a_wrong_result_with_the_advice_that_fits() -> None:
    failed = Path(__file__).parents[2] / "hpl/data/failed.txt"
    run = run_of("node483", CommandResult(0, failed.read_text(encoding="utf-8"), ""))
    assert not run.accurate
    assert "FAILED" in run.reason


@given(st.text(alphabet=st.sampled_from("run\tstream-copy-1dgemk.e+58wrong\n "), max_size=300))
def test_any_output_of_the_program_is_read_without_an_error(text: str) -> None:
    for run in parse_runs("h1", CommandResult(0, text, "")):
        assert run.benchmark in BENCHMARKS
        assert run.accurate or run.reason
        assert run.value is None or run.value > 0
