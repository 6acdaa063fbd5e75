import json
from dataclasses import replace
from pathlib import Path

import pytest

from hpl.blas.catalogue import BlasLibrary, Threading
from hpl.dat import HplDat, render
from hpl.params import Bcast, HplParams
from hpl.sizing import flop_count
from hpl.variant import encode
from results.record import Invalidity
from runners.base import JobState, JobStatus
from tuner.trial.judge import judge
from tuner.trial.plan import TrialPlan

LIBRARY = BlasLibrary("openblas", "openblas", "0.3", Path("/lib/libopenblas.so"), Threading.SERIAL, "", "test")
ASKED = HplParams(N=2000, NB=128, P=1, Q=2)
DONE = JobStatus(JobState.COMPLETED, 0)


def plan(*runs: HplParams, kernel: str = "Haswell") -> TrialPlan:
    asked = runs or (ASKED,)
    return TrialPlan(asked, render(HplDat.of(asked[0])), "openblas", LIBRARY, kernel, 2, 1, {})


def output(params: HplParams = ASKED, *, passed: str = "PASSED", time_s: float = 0.10, ended: bool = True) -> str:
    rate = flop_count(params.N) / 0.10 / 1e9
    line = f"{encode(params)} {params.N} {params.NB} {params.P} {params.Q} {time_s:.2f} {rate:.4e}\n"
    check = f"||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)=        0.0039 ...... {passed}\n" if passed else ""
    return line + check + ("End of Tests.\n" if ended else "")


def report(**changed: object) -> str:
    said = {
        "rank": 0,
        "host": "node1",
        "pid": 1,
        "cpus": "0",
        "library": "/lib/libopenblas.so",
        "version": "0.3",
        "kernel": "Haswell",
        "threads": 1,
    }
    return "hpltune-rank " + json.dumps({**said, **changed}) + "\n"


def fault(stdout: str, stderr: str = "", status: JobStatus = DONE, asked: TrialPlan | None = None) -> tuple[str, str]:
    found = judge(asked or plan(), status, stdout, stderr or report()).faults[0]
    assert found is not None
    return found.invalidity, found.reason


def test_a_full_run_whose_residual_passed_counts() -> None:
    verdict = judge(plan(), DONE, output(), report())
    assert verdict.faults == (None,)
    assert verdict.observed is not None
    assert verdict.observed.kernel == "Haswell"


def test_a_failed_residual_keeps_its_rate_but_does_not_count() -> None:
    verdict = judge(plan(), DONE, output(passed="FAILED"), report())
    assert verdict.results[0].gflops > 0
    assert verdict.faults[0] is not None
    assert verdict.faults[0].invalidity is Invalidity.CORRECTNESS


def test_an_unchecked_result_does_not_count() -> None:
    assert fault(output(passed="")) == ("correctness", "HPL printed a result, but no residual check")
    unchecked = replace(ASKED, threshold=0.0)
    kind, reason = fault(output(passed=""), asked=plan(unchecked))
    assert kind == "correctness"
    assert reason == "the residual was not checked: the threshold of HPL.dat is 0, not above 0"


@pytest.mark.parametrize(
    ("state", "kind", "message"),
    [
        (JobState.FAILED, "runtime", "node h2 does not answer any more: the run on it was ended"),
        (JobState.TIMEOUT, "timeout", "stopped at its time limit of 6 s"),
    ],
)
def test_a_run_that_was_cut_off_between_result_and_residual_ended_for_its_own_reason(
    state: JobState, kind: str, message: str
) -> None:
    cut_off = output(passed="", ended=False)
    assert fault(cut_off, status=JobStatus(state, 1, message)) == (kind, message)


def test_what_hpl_prints_above_its_results_is_not_told_as_its_last_words() -> None:
    whole = (Path(__file__).parents[2] / "hpl/data/passed.txt").read_text()
    head = whole[: whole.index("T/V                N", whole.index("EQUIL"))]
    ended = JobStatus(JobState.FAILED, 137, "a rank was killed (signal 9): often by the kernel for want of memory")
    assert "EQUIL" in head
    assert fault(head, status=ended)[1] == ended.message
    assert fault(f"{head}no licence\n", status=ended)[1] == f"{ended.message}; its last words: no licence"


def test_a_rate_that_does_not_fit_its_time_does_not_count() -> None:
    assert "do not fit" in fault(output(time_s=0.37))[1]


def test_a_code_that_tells_no_variant_is_held_against_n_nb_and_grid_alone() -> None:
    short = output().replace(encode(ASKED), "WC0")
    assert judge(plan(), DONE, short, report()).faults == (None,)
    assert "a configuration that was not asked for" in fault(short.replace(" 128 ", " 192 "))[1]


def test_another_configuration_than_asked_does_not_count() -> None:
    assert "a configuration that was not asked for" in fault(output(replace(ASKED, BCAST=Bcast.LONG)))[1]


@pytest.mark.parametrize(
    ("head", "told"),
    [
        ("SWAP   : Spread-roll (long)", "SWAP=long"), ("L1     : no-transposed form", "L1=notransposed"),
        ("EQUIL  : no", "EQUIL=no"), ("ALIGN  : 16 double precision words", "alignment=16"),
        ("SWAP   : Mix (threshold = 600)", "swap_threshold=600"),
    ],
)  # fmt: skip
def test_a_head_that_tells_other_values_than_were_asked_does_not_count(head: str, told: str) -> None:
    assert fault(f"{head}\n{output()}") == (
        "runtime", f"HPL ran a configuration that was not asked for: the head of its output says {told}"
    )  # fmt: skip
    several = plan(ASKED, replace(ASKED, NB=2 * ASKED.NB))
    assert judge(several, DONE, f"{head}\n{output()}", report()).faults[0] is None, "the file may list several"


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"library": "/lib/libblas.so"}, "the program loaded /lib/libblas.so"),
        ({"library": ""}, "the program loaded no BLAS"),
        ({"kernel": "Prescott"}, "for kernel Haswell, but it runs"),
        ({"threads": 8}, "uses 8"),
    ],
)
def test_another_blas_than_asked_does_not_count(changed: dict[str, object], words: str) -> None:
    kind, reason = fault(output(), report(**changed))
    assert kind == "runtime"
    assert words in reason
    assert "rank 0 on node1" in reason


def test_a_run_that_does_not_say_its_blas_cannot_be_attributed() -> None:
    assert "no rank reported" in fault(output(), "nothing\n")[1]


def test_a_program_that_never_started_is_told_by_its_own_error() -> None:
    status = JobStatus(JobState.FAILED, 127, "the program cannot load a library: libgfortran.so.5")
    assert "libgfortran" in fault("", "error\n", status)[1]


def test_a_timeout_says_how_far_it_came() -> None:
    status = JobStatus(JobState.TIMEOUT, 1, "stopped at its time limit of 6 s")
    stderr = report() + 'hpltune-panel {"N": 2000, "column": 1000, "time_s": 3.0}\n'
    assert fault("", stderr, status) == ("timeout", "stopped at its time limit of 6 s after 88% of its operations")


def test_hpl_says_itself_what_it_cannot_do() -> None:
    stderr = report() + (
        "HPL ERROR from process # 0, on line 419 of function HPL_pdinfo:\n"
        ">>> Need at least 4 processes for these tests <<<\n"
    )
    assert "Need at least 4 processes" in fault("", stderr, JobStatus(JobState.FAILED, 1, "mpirun ended"))[1]


BOX = "-" * 74


@pytest.mark.parametrize(
    ("stdout", "stderr", "status", "told"),
    [
        (
            "",
            f"cannot open hpcg.dat: no licence\n{BOX}\nPrimary job  terminated\n{BOX}\nmpirun detected an end\n",
            JobStatus(JobState.FAILED, 4, "a rank ended with code 4"),
            "a rank ended with code 4; its last words: cannot open hpcg.dat: no licence",
        ),
        ("hello\n", "", DONE, "HPL printed 0 of 1 results; its last words: hello"),
        ("hello\n", "\x1b[1mno\x07\tway\x1b[0m\n", DONE, "HPL printed 0 of 1 results; its last words: no way"),
        ("", "", DONE, "HPL printed 0 of 1 results"),
        ("", "libx.so: gone\n", JobStatus(JobState.FAILED, 1, "the disk is full"), "the disk is full"),
    ],
)
def test_a_program_that_failed_is_told_with_its_own_last_words(
    stdout: str, stderr: str, status: JobStatus, told: str
) -> None:
    assert fault(stdout, report() + stderr, status) == ("runtime", told)


def test_the_last_words_of_a_program_are_bounded() -> None:
    reason = fault("", report() + "too long " * 1000, DONE)[1]
    assert reason.endswith(" ...")
    assert len(reason) < 300


def test_results_printed_before_a_crash_still_count() -> None:
    later = replace(ASKED, NB=256)
    verdict = judge(
        plan(ASKED, later), JobStatus(JobState.FAILED, 1, "a rank was killed"), output(ended=False), report()
    )
    assert verdict.faults[0] is None
    assert verdict.faults[1] is not None
    assert verdict.faults[1].reason == "a rank was killed"
