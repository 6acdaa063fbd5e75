"""`hpltune import`: outputs of HPL become studies that every other command can read."""

import gzip
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from as_user import Run

from hpl.dat import HplDat, render
from hpl.params import HplParams
from results.columns import flat
from results.errors import ResultsError
from results.export.json_lines import from_json_lines
from results.plain import time_text
from results.record import IMPORTED_FROM, Kind, TrialState
from results.report.model import Report, Sentence
from results.store.store import Store
from tuner.asks.compare import CompareAsk
from tuner.commands.stored.best import BestRequest, best_of_study
from tuner.commands.stored.compare import compare
from tuner.commands.stored.export import ExportRequest, export_study
from tuner.commands.stored.import_outputs import ImportRequest, ImportResult, UnprintedFacts, import_outputs
from tuner.commands.stored.show import StudiesRequest, TrialRequest, show_studies, show_trial
from tuner.errors import UsageError
from tuner.messages.trials import TrialModel
from tuner.replay.csv_table import read_csv
from tuner.tuning.warm_start import read_source

HPL_OUTPUTS = Path(__file__).parents[3] / "hpl/data"
EXCERPT = "WR11C2R4        6000   192     1     2               2.00              7.2e+01\n"


@pytest.fixture
def store(home: Path) -> Iterator[Store]:
    with Store.open(home / "data/hpltune.db") as opened:
        yield opened


@pytest.fixture
def outputs(home: Path) -> Path:
    """A folder of outputs that HPL really printed: two whole ones, one whose check failed, one that was cut off."""
    folder = home / "runs"
    folder.mkdir()
    for name in ("passed", "several", "failed", "truncated", "no-memory"):
        shutil.copy(HPL_OUTPUTS / f"{name}.txt", folder / f"{name}.out")
    cut_off = folder / "truncated.out"
    cut_off.write_text(cut_off.read_text().replace("4.051e+01", "4.062e+01"))
    (folder / "notes.txt").write_text("not an output\n")
    (folder / "core").write_bytes(b"\x7fELF\0")
    return folder


def sentences(report: Report) -> str:
    return "\n".join(part.text for part in report.parts if isinstance(part, Sentence))


def imported(store: Store, *paths: Path, study: str | None = None, facts: UnprintedFacts | None = None) -> ImportResult:
    return import_outputs(store, ImportRequest(paths, facts or UnprintedFacts(), study))


def test_a_folder_becomes_a_study_whose_trials_say_where_they_are_from(store: Store, outputs: Path) -> None:
    facts = UnprintedFacts(machine="2 x EPYC", blas="openblas", rpeak_gflops=100.0, price_usd=5000.0)
    (study,) = imported(store, outputs, facts=facts).studies
    assert study.name == "import-runs-1"
    records = store.records(study.name, outputs=True)
    assert {record.kind for record in records} == {Kind.IMPORTED}
    assert {record.versions[IMPORTED_FROM] for record in records} == {
        "failed.out", "passed.out", "several.out", "truncated.out",
    }  # fmt: skip
    assert all(record.blas == record.params["blas"] == "openblas" for record in records)
    assert all(record.hpl and record.hpl_dat and not record.command for record in records)
    assert all("T/V" in record.output for record in records)
    assert store.study(study.name).host["cpu_model"] == "2 x EPYC"
    assert study.counting == sum(record.ranked for record in records) < len(records)


def test_what_failed_or_was_not_checked_is_stored_with_the_reason_and_not_ranked(store: Store, home: Path) -> None:
    shutil.copy(HPL_OUTPUTS / "failed.txt", home / "failed.txt")
    (home / "excerpt.txt").write_text(EXCERPT)
    (study,) = imported(store, home / "failed.txt", home / "excerpt.txt").studies
    reasons = {record.versions[IMPORTED_FROM]: record.reason for record in store.records(study.name)}
    assert reasons["failed.txt"].startswith("the residual check FAILED")
    assert "no residual check" in reasons["excerpt.txt"]
    assert {record.state for record in store.records(study.name)} == {TrialState.FAILED}
    assert study.counting == 0


def test_what_was_left_out_or_cut_off_is_said(store: Store, outputs: Path) -> None:
    said = sentences(imported(store, outputs).report())
    assert "truncated.out ends before HPL's last line" in said
    assert "no-memory.out has no result. HPL says:" in said
    assert "notes.txt" not in said
    assert "`hpltune best import-runs-1`" in said


def test_importing_again_stores_nothing_twice_and_adds_what_is_new(store: Store, outputs: Path) -> None:
    (first,) = imported(store, outputs).studies
    (again,) = imported(store, outputs).studies
    assert (again.name, again.new, len(again.records)) == (first.name, False, 0)
    shutil.copy(outputs / "passed.out", outputs / "a-copy.out")
    (outputs / "later.out").write_text((outputs / "passed.out").read_text().replace("3.377e+01", "3.388e+01"))
    result = imported(store, outputs)
    assert result.studies[0].name == first.name
    assert [record.versions[IMPORTED_FROM] for record in result.studies[0].records] == ["later.out"]
    assert "passed.out is the same file as a-copy.out" in sentences(result.report())
    numbers = [record.number for record in store.records(first.name)]
    assert numbers == list(range(1, len(numbers) + 1))


def printed(rate: str = "4.2691e+01", at: str = "10:00", residual: str = "4.10000000e-03", dated: bool = True) -> str:  # noqa: FBT001, FBT002
    """What HPL prints from the head of its table on; a clock time stands for a run."""
    stamps = (
        f"HPL_pdgesv() start time Mon Mar  3 {at}:00 2025\n\nHPL_pdgesv() end time   Mon Mar  3 {at}:01 2025\n\n"
        if dated
        else ""
    )
    return f"""
T/V                N    NB     P     Q               Time                 Gflops
--------------------------------------------------------------------------------
WR11C2R4        4000   128     1     2               1.00             {rate}
{stamps}--------------------------------------------------------------------------------
||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)=   {residual} ...... PASSED
"""


HEAD = "HPLinpack 2.3  --  High-Performance Linpack benchmark\nT/V    : Wall time / encoded variant.\n"
END = "\nEnd of Tests.\n"
ROWS = """WR11C2R4        4000   128     1     2               1.00             4.2691e+01
||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)=   4.10000000e-03 ...... PASSED
"""


@pytest.mark.parametrize(
    "text",
    [
        HEAD + printed() + END + HEAD + printed() + END,
        HEAD + printed() + END + "--- SUMMARY ---\n" + ROWS,
        HEAD + printed() + END + printed(),
        ROWS.splitlines()[0] + "\n" + HEAD + printed() + END,
        HEAD + printed() + END + HEAD + printed(dated=False) + END,
        HEAD + printed(dated=False) + END + printed(dated=False),
    ],
    ids=["written twice", "with a summary", "from its head", "with rows alone", "without stamps", "never with stamps"],
)
def test_a_run_that_a_file_prints_twice_counts_once(store: Store, home: Path, text: str) -> None:
    (home / "tee.out").write_text(text)
    (study,) = imported(store, home / "tee.out").studies
    assert (len(study.records), study.counting) == (1, 1)
    assert "repeats a run that is printed elsewhere" in " ".join(study.sentences)
    (again,) = imported(store, home / "tee.out").studies
    assert not again.records


def test_runs_of_the_same_figures_at_other_times_are_runs_of_their_own(store: Store, home: Path) -> None:
    (home / "two.out").write_text(HEAD + printed() + END + HEAD + printed(at="10:05") + END)
    (home / "other.out").write_text(HEAD + printed(residual="9.9e-03", at="11:00") + END)
    (study,) = imported(store, home / "two.out", home / "other.out").studies
    assert study.counting == 3


def test_a_launch_prints_each_of_its_runs_once_even_without_time_stamps(store: Store, home: Path) -> None:
    (home / "two.out").write_text(HEAD + printed(dated=False) + printed(dated=False) + END)
    (study,) = imported(store, home / "two.out").studies
    assert study.counting == 2
    assert study.remarks == ()


def test_of_a_log_that_grew_only_what_is_new_is_added(store: Store, home: Path) -> None:
    (home / "a.out").write_text(HEAD + printed())
    (first,) = imported(store, home / "a.out").studies
    (home / "a.out").write_text(HEAD + printed() + printed("4.3e+01", "10:01") + END)
    (grown,) = imported(store, home / "a.out").studies
    assert (grown.name, grown.counting) == (first.name, 1)
    assert f"1 more result was stored before, in {first.name}." in grown.remarks
    assert len(store.records(first.name)) == 2


def test_the_same_log_in_other_folders_counts_once(store: Store, home: Path) -> None:
    for folder, more in (("a", ""), ("b", "\n"), ("c", printed("4.3e+01", "10:01"))):
        (home / "runs" / folder).mkdir(parents=True)
        (home / "runs" / folder / "a.out").write_text(HEAD + printed() + more + END)
    studies = imported(store, home / "runs").studies
    assert [(study.name, study.counting) for study in studies] == [
        ("import-a-1", 1), ("import-a-1", 0), ("import-c-1", 1),
    ]  # fmt: skip
    assert [study.counting for study in imported(store, home / "runs", study="mine").studies] == [1, 0, 1]


def test_the_same_log_under_a_name_of_its_own_is_stored_and_told(store: Store, home: Path) -> None:
    (home / "a.out").write_text(HEAD + printed() + END)
    imported(store, home / "a.out", study="one")
    (other,) = imported(store, home / "a.out", study="other").studies
    assert (other.name, other.counting) == ("other", 1)
    assert other.remarks == ("Some of these runs are in one, too: what is said of both counts them twice.",)


def test_a_row_that_was_stored_alone_counts_when_its_residual_is_found(store: Store, home: Path) -> None:
    (home / "rows.out").write_text(ROWS.splitlines()[0] + "\n")
    (study,) = imported(store, home / "rows.out").studies
    assert study.counting == 0
    (home / "whole.out").write_text(HEAD + printed() + END)
    assert imported(store, home / "whole.out").studies[0].counting == 1
    assert not imported(store, home / "rows.out").studies[0].records


def test_each_folder_gets_a_study_of_its_own(store: Store, outputs: Path) -> None:
    below = outputs / "epyc"
    below.mkdir()
    (outputs / "several.out").rename(below / "several.out")
    names = {study.name for study in imported(store, outputs, study="old").studies}
    assert names == {"old-runs", "old-epyc"}
    assert {record.versions[IMPORTED_FROM] for record in store.records("old-epyc")} == {"epyc/several.out"}


def test_runs_with_different_numbers_of_ranks_in_one_folder_are_told(store: Store, home: Path) -> None:
    text = (HPL_OUTPUTS / "passed.txt").read_text()
    (home / "two.out").write_text(text)
    (home / "four.out").write_text(
        text.replace("    1     2  ", "    2     2  ").replace("P      :       1", "P      :       2")
    )
    (study,) = imported(store, home / "two.out", home / "four.out").studies
    assert study.remarks[0].startswith("The runs had 2 and 4 ranks")


def test_an_hpl_dat_beside_an_excerpt_says_what_it_does_not(store: Store, home: Path) -> None:
    (home / "old").mkdir()
    (home / "old/excerpt.txt").write_text(EXCERPT)
    params = HplParams(6000, 192, 1, 2, alignment=16)
    (home / "old/HPL.dat").write_text(render(HplDat.of(params)))
    (study,) = imported(store, home / "old").studies
    assert store.get(study.name, 1).hpl == params


def test_without_all_parameters_the_size_is_still_in_every_table(store: Store, home: Path) -> None:
    (home / "excerpt.txt").write_text(EXCERPT)
    (study,) = imported(store, home / "excerpt.txt").studies
    header, row = export_study(store, ExportRequest("csv", study.name)).text().splitlines()
    cells = dict(zip(header.split(","), row.split(","), strict=False))
    assert store.get(study.name, 1).hpl is None
    with pytest.raises(ResultsError, match="no residual check"):
        export_study(store, ExportRequest("dat", study.name, 1))
    line = json.loads(export_study(store, ExportRequest("jsonl", study.name)).text())
    assert (line["N"], line["NB"], line["grid"], line["SWAP"]) == (6000, 192, "1x2", None)
    assert "6000,192,1x2" in row
    assert cells["kind"] == "imported"


def test_mixed_precision_is_no_result_of_hpl(store: Store, home: Path) -> None:
    (home / "mxp.txt").write_text("HPL-MxP 24.9.0 -- NVIDIA\n" + (HPL_OUTPUTS / "passed.txt").read_text())
    with pytest.raises(UsageError, match="HPL-MxP left out: mixed precision is not HPL"):
        imported(store, home / "mxp.txt")
    assert store.studies() == []


OUT_OF_MEMORY = "HPL ERROR: CUDART Error: cudaMalloc(A) = 2 (out of memory) on n1 at (../HPL_pdtest.c:422)\n"


@pytest.mark.parametrize(("out", "err"), [("job.out", "job.err"), ("job.o12", "job.e12"), ("stdout.out", "stdout.err")])
def test_the_errors_of_a_job_are_read_with_its_output(store: Store, home: Path, out: str, err: str) -> None:
    (home / out).write_text(HEAD)
    (home / err).write_text(f"{OUT_OF_MEMORY}mpirun detected\n  Exit code:    1\n")
    for paths in ([home], [home / out]):
        with pytest.raises(
            UsageError, match=f"{out} has no result. HPL says: the memory of a GPU is too small"
        ) as error:
            imported(store, *paths)
        assert err not in str(error.value)
    with pytest.raises(UsageError, match=f"{err} has no result. HPL says: the memory of a GPU"):
        imported(store, home / err)


def test_an_error_beside_a_result_is_said(store: Store, home: Path) -> None:
    said = "HPL ERROR from process # 0, on line 170 of function HPL_pdtest:\n>>> [0,0] Allocation failed. Skip. <<<\n"
    (home / "two.out").write_text(HEAD + printed() + said + END)
    (study,) = imported(store, home / "two.out").studies
    assert study.counting == 1
    assert "two.out: HPL says: [0,0] Allocation failed. Skip. (HPL_pdtest)." in study.remarks


@pytest.mark.parametrize(
    "text",
    [
        " ****** HPL MxP Result    ******\n    N = 9, NB = 3, NPROW = 1, NPCOL = 1\n    GFLOPS = 1.1, per GPU = 1.1\n",
        "=" * 80 + "\n                        HPL-AI Mixed-Precision Benchmark              \n",
        "HPL-AI Mixed-Precision Benchmark v2.3d  --  April 23, 2021\nT/V    : Wall time / encoded variant.\n",
    ],
    ids=["NVIDIA", "reference", "without a row"],
)
def test_mixed_precision_without_a_row_is_named(store: Store, home: Path, text: str) -> None:
    (home / "mxp.out").write_text(text)
    with pytest.raises(UsageError, match=r"HPL-MxP.*mixed precision is not HPL"):
        imported(store, home / "mxp.out")


def test_configurations_of_every_output_are_the_same_in_csv_json_lines_and_replay(store: Store, home: Path) -> None:
    extract = "".join(
        printed(rate, dated=False).replace("WR11C2R4", code)
        for code, rate in (("WC00C2R2", "4.2691e+01"), ("WC13C2R2", "4.2692e+01"))
    )
    fork = HEAD + printed().replace("WR11C2R4", "WR0XR8C48") + printed("4.2692e+01", "11:00").replace("WR11C2R4", "WC0")
    texts = {"extract": extract, "fork": fork}
    texts |= {path.stem: path.read_text(errors="replace") for path in HPL_OUTPUTS.glob("*.txt")}
    for name, text in texts.items():
        (home / f"{name}.log").write_text(text)
        try:
            imported(store, home / f"{name}.log", study=name)
        except UsageError:
            continue
        records = store.records(name)
        table = home / f"{name}.csv"
        table.write_text(export_study(store, ExportRequest("csv", name)).text())
        lines = export_study(store, ExportRequest("jsonl", name)).text()
        assert [one.params for one in from_json_lines(lines)] == [one.params for one in records]
        assert [one.hpl for one in from_json_lines(lines)] == [one.hpl for one in records]
        counting = {record.key for record in records if record.ranked}
        if counting:
            assert sum(place.gflops is not None for place in read_csv(table).places) == len(counting), name


def test_a_folder_without_outputs_and_a_path_that_is_not_there_are_refused_in_one_sentence(
    store: Store, home: Path
) -> None:
    (home / "empty").mkdir()
    with pytest.raises(UsageError, match="no result of HPL is in there"):
        imported(store, home / "empty")
    with pytest.raises(UsageError, match="there is no such file or folder"):
        imported(store, home / "nowhere")


BEGUN = HEAD + "N      :    4000\nThe following parameter values will be used:\n"
COLUMNS = "Column=000000128 Fraction= 3.2% Gflops=4.013e+01\nColumn=000002000 Fraction=50.0% Gflops=4.2e+01\n"
ENDINGS = {
    "mpirun noticed that process rank 1 with PID 0 on node n01 exited on signal 9 (Killed).": "a rank was killed",
    "slurmstepd: error: Detected 2 oom-kill event(s) in step 1.batch cgroup.": "for want of memory",
    "slurmstepd: error: *** JOB 7 ON n01 CANCELLED AT 2025-03-03T10:00:00 DUE TO TIME LIMIT ***": "its time limit",
    "slurmstepd: error: *** STEP 7.0 ON n01 CANCELLED AT 2025-03-03T10:00:00 ***": "the job was cancelled",
    "[n01:123] Signal: Illegal instruction (4)": "an instruction this CPU lacks",
    "[n01:123] Signal: Segmentation fault (11)": "ended by signal 11 (Segmentation fault)",
    "===   EXIT CODE: 9": "a rank was killed (signal 9)",
    "MPI_ABORT was invoked on rank 3 in communicator MPI_COMM_WORLD": "rank 3 aborted the run",
    "run.sh: line 3:  4711 Killed                  ./xhpl": "a rank was killed (signal 9)",
    "run.sh: line 3:  4711 Illegal instruction     (core dumped) ./xhpl": "an instruction this CPU lacks",
}


@pytest.mark.parametrize(("printed_last", "said"), ENDINGS.items(), ids=list(ENDINGS.values()))
def test_why_an_output_has_no_result_and_how_far_it_came_is_said(
    store: Store, home: Path, printed_last: str, said: str
) -> None:
    (home / "hpl.out").write_text(f"{BEGUN}{COLUMNS}{printed_last}\n")
    with pytest.raises(
        UsageError, match=r"its last line of progress is of column 2,000 .88 % of the operations."
    ) as told:
        imported(store, home / "hpl.out")
    assert said in str(told.value)
    assert "\n" not in str(told.value)


def test_why_an_output_with_results_is_not_whole_is_said(store: Store, home: Path) -> None:
    (home / "hpl.out").write_text(f"{HEAD}{printed()}{COLUMNS}{next(iter(ENDINGS))}\n")
    (study,) = imported(store, home / "hpl.out").studies
    assert "1 result (its last line of progress is of column 2,000" in study.remarks[0]
    assert "a rank was killed" in study.remarks[0]


NOTHING_RAN = {
    "./xhpl: error while loading shared libraries: libmkl_rt.so.2: cannot open": "a library: libmkl_rt.so.2",
    "bash: mpirun: command not found": "did not find the command mpirun",
    "sh: 1: mpirun: not found": "did not find the command mpirun",
    "bash: line 1: ./xhpl: Permission denied": "could not start ./xhpl (Permission denied)",
    "bash: ./xhpl: No such file or directory": "could not start ./xhpl (No such file or directory)",
    "There are not enough slots available in the system: ./xhpl": "mpirun sees fewer cores than ranks",
    "srun: error: Unable to create step: More processors requested than permitted": "srun sees fewer cores than ranks",
    "[proxy:0:0@n01] HYDU_create_process: execvp error on file ./xhpl (No such file or directory)": "./xhpl cannot be",
}


@pytest.mark.parametrize(("line", "said"), NOTHING_RAN.items(), ids=list(NOTHING_RAN.values()))
def test_why_nothing_ran_is_said_alone_and_beside_other_outputs(
    store: Store, home: Path, outputs: Path, line: str, said: str
) -> None:
    (home / "job.log").write_text(f"loading modules\n{line}\n")
    with pytest.raises(UsageError) as told:
        imported(store, home / "job.log")
    assert "job.log has no result: " in str(told.value)
    assert said in str(told.value)
    shutil.copy(home / "job.log", outputs)
    assert said in sentences(imported(store, outputs).report())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("HPCG-Benchmark version=3.1\nFinal Summary::GFLOP/s rating of=12.5\n", "HPCG, not of HPL"),
        ("HPCG result is VALID\n", "HPCG, not of HPL"),
        (HEAD + "HPL_AI   WR11C2R4  4000 128 1 2 1.00 4.269e+01 1.2 3.1e+01\n", "HPL-MxP left out: mixed precision"),
        ("Intel(R) Optimized LINPACK Benchmark data\n", "Intel's Optimized LINPACK Benchmark"),
        ("STREAM version $Revision: 5.10 $\n", "bandwidth of the memory"),
    ],
)  # fmt: skip
def test_outputs_of_other_benchmarks_are_named(store: Store, outputs: Path, text: str, said: str) -> None:
    (outputs / "other.out").write_text(text)
    assert said in sentences(imported(store, outputs).report())
    with pytest.raises(UsageError, match=r"left out: (?:it is an output of|mixed precision)"):
        imported(store, outputs / "other.out")


def test_a_note_that_speaks_of_benchmarks_is_no_output_of_them(store: Store, outputs: Path) -> None:
    (outputs / "notes.md").write_text(
        "After HPL-MxP and rocHPL we tried HPCG, STREAM and Intel's Optimized LINPACK Benchmark.\n"
    )
    assert "notes.md" not in sentences(imported(store, outputs).report())


def counted_by_hpl(passed: int, failed: int = 0) -> str:
    """HPL's last lines."""
    return f"""Finished      {passed + failed} tests with the following results:
              {passed} tests completed and passed residual checks,
              {failed} tests completed and failed residual checks,
              0 tests skipped because of illegal input values.
{END}"""


def eps_of(text: str) -> str:
    return f"- The relative machine precision (eps) is taken to be               {text}\n"


THREE = printed() + printed(at="10:05") + printed(at="10:07")
CONTRADICTIONS = {
    "are 600 s apart": HEAD + printed().replace("10:00:01", "10:10:00") + counted_by_hpl(1),
    "ended before it started": HEAD + printed().replace("10:00:01", "09:58:10") + counted_by_hpl(1),
    "that of single precision": HEAD + eps_of("5.960464e-08") + printed() + END,
    "1 result passes in this output, but its last lines say that 0 passed": HEAD + printed() + counted_by_hpl(0, 1),
    "is of a day that is still to come": HEAD + printed().replace("2025", "2100") + END,
    "it is of N=4000, and the head of its output says N : 3800": HEAD + "N      :    3800\n" + printed() + END,
    "and the head of its output says Q : 4 8": HEAD + "P      :       1\nQ      :       4        8\n" + printed() + END,
    "3 results pass in this output, but its last lines say that 1 passed": HEAD + THREE + counted_by_hpl(1),
}


@pytest.mark.parametrize("why", CONTRADICTIONS)
def test_an_output_that_contradicts_itself_is_stored_and_does_not_count(store: Store, home: Path, why: str) -> None:
    (home / "edited.out").write_text(CONTRADICTIONS[why])
    (study,) = imported(store, home / "edited.out").studies
    assert study.counting == 0
    assert why in " ".join(study.sentences)


def test_a_rate_far_above_the_peak_that_was_stated_does_not_count(store: Store, home: Path) -> None:
    (home / "emulated.out").write_text(HEAD + printed() + END)
    (study,) = imported(store, home / "emulated.out", facts=UnprintedFacts(rpeak_gflops=20.0)).studies
    assert study.counting == 0
    assert "42.69 GFLOPS are 2.13 times Rpeak (20 GFLOPS)" in " ".join(study.sentences)
    (home / "near.out").write_text(HEAD + printed(at="11:00") + END)
    (near,) = imported(store, home / "near.out", study="near", facts=UnprintedFacts(rpeak_gflops=40.0)).studies
    assert near.counting == 1, "a clock may rise above the one of which Rpeak is"


def test_runs_of_one_launch_that_went_on_at_once_do_not_count(store: Store, home: Path) -> None:
    def slow(rate: str, at: str, end: str) -> str:
        return printed(rate, at).replace("  1.00", "100.00").replace(f"{at}:01", end)

    first, second = slow("4.2691e-01", "10:00", "10:01:40"), slow("4.2690e-01", "10:01", "10:02:40")
    (home / "edited.out").write_text(HEAD + first + second + counted_by_hpl(2))
    (study,) = imported(store, home / "edited.out").studies
    assert study.counting == 0
    assert "one started 60 s after another that took 100.00 s" in " ".join(study.sentences)


def test_the_output_of_a_run_counts_beside_an_edited_one_that_has_it_too(store: Store, home: Path) -> None:
    (home / "a-edited.out").write_text(HEAD + THREE + counted_by_hpl(1))
    (home / "b-whole.out").write_text(HEAD + printed() + counted_by_hpl(1))
    (study,) = imported(store, home / "a-edited.out", home / "b-whole.out").studies
    assert [record.versions[IMPORTED_FROM] for record in study.records if record.ranked] == ["b-whole.out"]
    assert len(study.records) == 3


def test_an_output_that_tells_of_more_tests_than_it_has_counts_what_it_has(store: Store, home: Path) -> None:
    (home / "cut.out").write_text(HEAD + printed() + counted_by_hpl(4, 2))
    (study,) = imported(store, home / "cut.out").studies
    assert study.counting == 1
    assert "cut.out: its last lines count 5 tests more than it has results: these are not in it." in study.remarks


def alone(rate: str, at: str = "10:00") -> str:
    return printed(rate, at).replace("    1     2  ", "    1     1  ")


def test_ranks_that_ran_alone_are_told_however_their_lines_are_mixed(store: Store, home: Path) -> None:
    ranks = [HEAD + alone(f"4.26{rank}e+01") + END for rank in range(4)]
    at_once = zip(*map(str.splitlines, ranks), strict=True)
    forms = {
        "one after the other": "".join(ranks),
        "line by line": "".join(f"{line}\n" for lines in at_once for line in lines),
        "with labels": "".join(f"{rank}: {line}\n" for rank, text in enumerate(ranks) for line in text.splitlines()),
    }  # fmt: skip
    for number, (form, text) in enumerate(forms.items()):
        (home / f"{number}").mkdir()
        (home / f"{number}/hpl.out").write_text(text)
        (study,) = imported(store, home / f"{number}/hpl.out", study=f"s{number}").studies
        assert "4 runs of one rank went on at once" in " ".join(study.remarks), form


def test_runs_of_one_rank_that_followed_each_other_are_not_called_ranks_that_ran_alone(
    store: Store, home: Path
) -> None:
    (home / "hpl.out").write_text(
        HEAD + alone("4.2e+01") + alone("4.21e+01", "10:01") + END + HEAD + alone("4.2e+01") + END
    )
    (study,) = imported(store, home / "hpl.out").studies
    assert "at once" not in " ".join(study.sentences)


def test_rates_of_one_configuration_that_are_far_apart_are_told(store: Store, home: Path) -> None:
    slow = printed("3.5576e+01", "10:05").replace("  1.00  ", "  1.20  ")
    (home / "a.out").write_text(HEAD + printed() + END)
    (home / "b.out").write_text(HEAD + slow + END)
    (study,) = imported(store, home / "a.out", home / "b.out").studies
    assert study.counting == 2
    assert study.remarks[-1].startswith("2 runs of one configuration differ by 20.0 %. HPL prints no machine")


def test_an_output_that_a_program_labelled_and_packed_is_imported(store: Store, home: Path) -> None:
    text = "".join(f"0: {line}\n" for line in (HEAD + printed() + END).splitlines())
    (home / "hpl.out.gz").write_bytes(gzip.compress(text.encode("utf-16")))
    (study,) = imported(store, home / "hpl.out.gz").studies
    assert study.counting == 1
    assert "\n0: " not in store.records(study.name, outputs=True)[0].output


def test_the_time_of_a_run_is_unknown_where_its_output_does_not_say_it(store: Store, home: Path) -> None:
    (home / "a.out").write_text(HEAD + printed(dated=False) + printed("4.3e+01") + END)
    imported(store, home / "a.out", study="s")
    undated, dated = (str(show_trial(store, TrialRequest("s", number)).report().parts) for number in (1, 2))
    assert "unknown: the output does not say it; its file is of" in undated
    assert "as HPL printed it without a time zone" in dated
    first, second = store.records("s")
    assert flat(first)["started_at"] is None
    assert flat(second)["started_at"] == time_text(second.started_at)
    assert TrialModel.of(first).started_at is None


def test_a_name_of_a_study_that_was_not_imported_is_refused(store: Store, outputs: Path) -> None:
    imported(store, outputs, study="old")
    store.imports.add(store.study("old").__class__(**{**vars(store.study("old")), "name": "own", "engine": "hpl"}), [])
    with pytest.raises(ResultsError, match="was not imported"):
        imported(store, outputs, study="own")


def test_the_other_commands_read_an_imported_study(store: Store, outputs: Path) -> None:
    imported(store, outputs, study="old", facts=UnprintedFacts(rpeak_gflops=1000.0))
    listed = show_studies(store, StudiesRequest())
    assert [line.study.name for line in listed.lines] == ["old"]
    ranking = best_of_study(store, BestRequest("old")).report()
    assert ranking.parts
    table = show_trial(store, TrialRequest("old", 1)).report()
    assert "imported from" in str(table.parts)
    assert compare(store, CompareAsk(("old",), by="NB")).report().parts
    assert "imported at" in export_study(store, ExportRequest("md", "old")).text()
    assert export_study(store, ExportRequest("dat", "old")).text().startswith("HPLinpack")
    assert read_source(store, "old").known


def test_no_rate_of_an_imported_study_is_called_rmax_measured_or_of_this_machine(hpltune: Run, home: Path) -> None:
    (home / "a.out").write_text(HEAD + printed() + printed("4.2690e+01", "10:05") + END)
    hpltune("import", "a.out", "--study", "theirs")
    best = json.loads(hpltune("best", "theirs", "--json").stdout)
    assert (best["rates"], best["fastest_run"]["called"]) == ("imported", "imported rate at N=4,000")
    assert hpltune("report", "theirs", "--out", "page.html", "--static").returncode == 0
    page = " ".join(re.sub(r"<[^>]*>", " ", (home / "page.html").read_text()).split())
    assert "HPL on a machine that is not known: study theirs" in page
    assert "imported rate at N=4,000 in GFLOPS 42.69 (trial 1, of no. 1)" in page
    assert "nothing tells the memory of its machine" in page
    told = [page, *(hpltune(*words, "theirs").stdout for words in (["best"], ["show"], ["export", "csv"]))]
    assert not [text for text in told if "Rmax, the fastest" in text or "this machine" in text or "measured," in text]
    sheet = json.loads(hpltune("export", "sheet", "theirs", "--json").stdout)
    assert sheet["top500"]["Rmax in GFLOPS"] is None
    assert sum("cannot tell whether N is large enough" in one for one in sheet["objections"]) == 1
    assert hpltune("show", "--all", "--json").stdout.count('"rates": "imported"') == 1
    trials = [json.loads(line) for line in hpltune("export", "jsonl", "theirs").stdout.splitlines()]
    assert all(trial.get("simulated", False) is False for trial in trials)


@pytest.mark.parametrize("copy", ["utf16", "labelled"])
def test_a_run_is_not_compared_with_its_own_copy(hpltune: Run, home: Path, copy: str) -> None:
    text = HEAD + printed() + END
    copies = {
        "utf16": text.encode("utf-16"),
        "labelled": "".join(f"0: {line}\n" for line in text.splitlines()).encode(),
    }
    (home / "a.out").write_text(text)
    (home / "b.out").write_bytes(copies[copy])
    for name in ("a", "b"):
        hpltune("import", f"{name}.out", "--study", name)
    done = hpltune("compare", "a", "b")
    assert done.returncode != 0
    assert "studies a and b: the run is the same (same row, residual and time stamps), so" in " ".join(
        done.stderr.split()
    )


def test_runs_that_two_studies_share_are_told_where_they_are_compared(hpltune: Run, home: Path) -> None:
    (home / "a.out").write_text(HEAD + printed() + END)
    (home / "b.out").write_text(HEAD + printed() + printed("4.2680e+01", "10:05") + END)
    (home / "c.out").write_text(HEAD + printed(dated=False) + END)
    for name in ("a", "b", "c"):
        hpltune("import", f"{name}.out", "--study", name)
    shared = " ".join(hpltune("compare", "a", "b").stdout.split())
    assert "Of a and b 1 run is on both sides, so they differ by less than runs of their own would." in shared
    undated = " ".join(hpltune("compare", "a", "c").stdout.split())
    assert "unless two runs without time stamps printed the same figures" in undated


def test_no_repeat_is_advised_of_runs_that_hpltune_did_not_start(store: Store, home: Path) -> None:
    text = (HPL_OUTPUTS / "passed.txt").read_text()
    (home / "two.out").write_text(text)
    (home / "four.out").write_text(
        text.replace("    1     2  ", "    2     2  ").replace("P      :       1", "P      :       2")
    )
    imported(store, home / "two.out", home / "four.out", study="runs")
    said = sentences(best_of_study(store, BestRequest("runs")).report())
    assert "No configuration ran twice, so the confidence is unknown." in said
    assert "⟦confirm⟧" not in said


def test_a_user_imports_and_looks_at_the_best(hpltune: Run, outputs: Path) -> None:
    done = hpltune("import", str(outputs), "--json", "--blas", "openblas")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["studies"][0]["study"] == "import-runs-1"
    assert hpltune("report", "-o", "page.html").returncode == 0
    nothing = hpltune("import", "data")
    assert nothing.returncode == 2
    assert nothing.stderr.count("\n") == 1
