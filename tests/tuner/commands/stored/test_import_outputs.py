"""`hpltune import`: outputs of HPL become studies that every other command can read."""

import gzip
import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest
from as_user import Run
from golden import hold_scene
from report_reading import printed as printed_report

from hpl.dat import HplDat, render
from hpl.params import HplParams
from results.columns import flat
from results.errors import ResultsError
from results.export.json_lines import from_json_lines
from results.plain import time_text
from results.record import IMPORTED_FROM, Kind
from results.store.store import Store
from tuner.asks.compare import CompareAsk
from tuner.commands.stored.best import best_of_study
from tuner.commands.stored.compare import compare
from tuner.commands.stored.export import export_study
from tuner.commands.stored.import_outputs import ImportResult, UnprintedFacts, import_outputs
from tuner.commands.stored.show import show_studies, show_trial
from tuner.errors import UsageError
from tuner.messages.trials import TrialModel
from tuner.replay.csv_table import read_csv
from tuner.study.warm_start import read_source

HPL_OUTPUTS = Path(__file__).parents[3] / "hpl/data"
EXCERPT = "WR11C2R4        6000   192     1     2               2.00              7.2e+01\n"


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


def imported(store: Store, *paths: Path, study: str | None = None, facts: UnprintedFacts | None = None) -> ImportResult:
    return import_outputs(store, paths, facts or UnprintedFacts(), study)


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
    header, row = "".join(export_study(store, "csv", study.name)).splitlines()
    cells = dict(zip(header.split(","), row.split(","), strict=False))
    assert store.get(study.name, 1).hpl is None
    with pytest.raises(ResultsError, match="no residual check"):
        export_study(store, "dat", study.name, 1)
    line = json.loads("".join(export_study(store, "jsonl", study.name)))
    assert (line["N"], line["NB"], line["grid"], line["SWAP"]) == (6000, 192, "1x2", None)
    assert "6000,192,1x2" in row
    assert cells["kind"] == "imported"


OUT_OF_MEMORY = "HPL ERROR: CUDART Error: cudaMalloc(A) = 2 (out of memory) on n1 at (../HPL_pdtest.c:422)\n"


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
        table.write_text("".join(export_study(store, "csv", name)))
        lines = "".join(export_study(store, "jsonl", name))
        assert [one.params for one in from_json_lines(lines)] == [one.params for one in records]
        assert [one.hpl for one in from_json_lines(lines)] == [one.hpl for one in records]
        counting = {record.key for record in records if record.ranked}
        if counting:
            assert sum(place.gflops is not None for place in read_csv(table).places) == len(counting), name


BEGUN = HEAD + "N      :    4000\nThe following parameter values will be used:\n"
COLUMNS = "Column=000000128 Fraction= 3.2% Gflops=4.013e+01\nColumn=000002000 Fraction=50.0% Gflops=4.2e+01\n"
ENDINGS = (
    "mpirun noticed that process rank 1 with PID 0 on node n01 exited on signal 9 (Killed).",
    "slurmstepd: error: Detected 2 oom-kill event(s) in step 1.batch cgroup.",
    "slurmstepd: error: *** JOB 7 ON n01 CANCELLED AT 2025-03-03T10:00:00 DUE TO TIME LIMIT ***",
    "slurmstepd: error: *** STEP 7.0 ON n01 CANCELLED AT 2025-03-03T10:00:00 ***",
    "[n01:123] Signal: Illegal instruction (4)",
    "[n01:123] Signal: Segmentation fault (11)",
    "===   EXIT CODE: 9",
    "MPI_ABORT was invoked on rank 3 in communicator MPI_COMM_WORLD",
    "run.sh: line 3:  4711 Killed                  ./xhpl",
    "run.sh: line 3:  4711 Illegal instruction     (core dumped) ./xhpl",
)


NOTHING_RAN = (
    "./xhpl: error while loading shared libraries: libmkl_rt.so.2: cannot open",
    "bash: mpirun: command not found",
    "sh: 1: mpirun: not found",
    "bash: line 1: ./xhpl: Permission denied",
    "bash: ./xhpl: No such file or directory",
    "There are not enough slots available in the system: ./xhpl",
    "srun: error: Unable to create step: More processors requested than permitted",
    "[proxy:0:0@n01] HYDU_create_process: execvp error on file ./xhpl (No such file or directory)",
)


OTHERS = (
    "HPCG-Benchmark version=3.1\nFinal Summary::GFLOP/s rating of=12.5\n",
    "HPCG result is VALID\n",
    HEAD + "HPL_AI   WR11C2R4  4000 128 1 2 1.00 4.269e+01 1.2 3.1e+01\n",
    "Intel(R) Optimized LINPACK Benchmark data\n",
    "STREAM version $Revision: 5.10 $\n",
)


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


def alone(rate: str, at: str = "10:00") -> str:
    return printed(rate, at).replace("    1     2  ", "    1     1  ")


def slow(rate: str, at: str, end: str) -> str:
    return printed(rate, at).replace("  1.00", "100.00").replace(f"{at}:01", end)


Files = Mapping[str, str]
RANKS = [HEAD + alone(f"4.26{rank}e+01") + END for rank in range(4)]
PASSED = (HPL_OUTPUTS / "passed.txt").read_text()
FOUR = PASSED.replace("    1     2  ", "    2     2  ").replace("P      :       1", "P      :       2")
MXP = " ****** HPL MxP Result    ******\n    N = 9, NB = 3, NPROW = 1, NPCOL = 1\n    GFLOPS = 1.1, per GPU = 1.1\n"
MXP_HEAD = "=" * 80 + "\n                        HPL-AI Mixed-Precision Benchmark              \n"
MXP_ALONE = "HPL-AI Mixed-Precision Benchmark v2.3d  --  April 23, 2021\nT/V    : Wall time / encoded variant.\n"
NO_ROOM = "HPL ERROR from process # 0, on line 170 of function HPL_pdtest:\n>>> [0,0] Allocation failed. Skip. <<<\n"
ONE = HEAD + printed() + END
SCENES: Mapping[str, Sequence[Files]] = {
    "a file prints a run twice": [{"a.out": ONE + ONE}, {}],
    "a file prints a summary of its run": [{"a.out": ONE + "--- SUMMARY ---\n" + ROWS}, {}],
    "a file prints its run again from its head": [{"a.out": ONE + printed()}, {}],
    "a file prints a row of its run before it": [{"a.out": ROWS.splitlines()[0] + "\n" + ONE}, {}],
    "a file prints its run again without time stamps": [{"a.out": ONE + HEAD + printed(dated=False) + END}, {}],
    "a file prints its run twice and never time stamps": [
        {"a.out": HEAD + printed(dated=False) + END + printed(dated=False)},
        {},
    ],
    "runs of the same figures at other times are runs of their own": [
        {
            "two.out": ONE + HEAD + printed(at="10:05") + END,
            "other.out": HEAD + printed(residual="9.9e-03", at="11:00") + END,
        }
    ],
    "a launch prints each of its runs once even without time stamps": [
        {"two.out": HEAD + printed(dated=False) + printed(dated=False) + END}
    ],
    "of a log that grew only what is new is added": [
        {"a.out": HEAD + printed()},
        {"a.out": HEAD + printed() + printed("4.3e+01", "10:01") + END},
    ],
    "the same log in other folders counts once": [
        {
            "a/a.out": ONE,
            "b/a.out": HEAD + printed() + "\n" + END,
            "c/a.out": HEAD + printed() + printed("4.3e+01", "10:01") + END,
        }
    ],
    "a row that was stored alone counts when its residual is found": [
        {"rows.out": ROWS.splitlines()[0] + "\n"},
        {"whole.out": ONE},
        {},
    ],
    "a copy is told, and what is new is added": [
        {"a.out": ONE},
        {"b.out": ONE, "later.out": ONE.replace("4.2691e+01", "4.2801e+01")},
    ],
    "what failed or was not checked has its reason": [
        {"failed.txt": (HPL_OUTPUTS / "failed.txt").read_text(), "excerpt.txt": EXCERPT}
    ],
    "what was left out or cut off is said": [
        {f"{name}.out": (HPL_OUTPUTS / f"{name}.txt").read_text() for name in ("several", "truncated", "no-memory")}
        | {"notes.txt": "not an output\n"}
    ],
    "runs with different numbers of ranks in one folder": [{"two.out": PASSED, "four.out": FOUR}],
    "mixed precision with rows of HPL": [{"mxp.txt": "HPL-MxP 24.9.0 -- NVIDIA\n" + PASSED}],
    "mixed precision of NVIDIA": [{"mxp.out": MXP}],
    "mixed precision of the reference": [{"mxp.out": MXP_HEAD}],
    "mixed precision without a row": [{"mxp.out": MXP_ALONE}],
    **{
        f"the errors of a job are read with its output {out}": [
            {out: HEAD, err: f"{OUT_OF_MEMORY}mpirun detected\n  Exit code:    1\n"}
        ]
        for out, err in (("job.out", "job.err"), ("job.o12", "job.e12"), ("stdout.out", "stdout.err"))
    },
    "errors of a job alone": [{"job.err": f"{OUT_OF_MEMORY}mpirun detected\n  Exit code:    1\n"}],
    "an error beside a result is said": [{"two.out": HEAD + printed() + NO_ROOM + END}],
    "a folder without outputs": [{"notes.md": "After HPL-MxP and rocHPL we tried HPCG, STREAM and Intel's LINPACK.\n"}],
    **{f"ended by: {line}": [{"hpl.out": f"{BEGUN}{COLUMNS}{line}\n"}] for line in ENDINGS},
    "an output with results that is not whole": [{"hpl.out": f"{HEAD}{printed()}{COLUMNS}{ENDINGS[0]}\n"}],
    **{f"nothing ran: {line}": [{"job.log": f"loading modules\n{line}\n"}] for line in NOTHING_RAN},
    "why nothing ran is said beside other outputs": [{"job.log": f"{NOTHING_RAN[1]}\n", "a.out": ONE}],
    **{f"of another benchmark: {text.splitlines()[0][:40]}": [{"other.out": text}] for text in OTHERS},
    "outputs of other benchmarks beside one of HPL": [
        {
            "a.out": ONE,
            "notes.md": "HPCG and STREAM\n",
            **{f"other-{place}.out": one for place, one in enumerate(OTHERS)},
        }
    ],
    **{why: [{"edited.out": text}] for why, text in CONTRADICTIONS.items()},
    "runs of one launch that went on at once do not count": [
        {
            "edited.out": HEAD
            + slow("4.2691e-01", "10:00", "10:01:40")
            + slow("4.2690e-01", "10:01", "10:02:40")
            + counted_by_hpl(2)
        }
    ],
    "the output of a run counts beside an edited one that has it too": [
        {"a-edited.out": HEAD + THREE + counted_by_hpl(1), "b-whole.out": HEAD + printed() + counted_by_hpl(1)}
    ],
    "an output that tells of more tests than it has": [{"cut.out": HEAD + printed() + counted_by_hpl(4, 2)}],
    "ranks that ran alone, one after the other": [{"hpl.out": "".join(RANKS)}],
    "ranks that ran alone, line by line": [
        {"hpl.out": "".join(f"{line}\n" for lines in zip(*map(str.splitlines, RANKS), strict=True) for line in lines)}
    ],
    "ranks that ran alone, with labels": [
        {"hpl.out": "".join(f"{rank}: {line}\n" for rank, text in enumerate(RANKS) for line in text.splitlines())}
    ],
    "runs of one rank that followed each other": [
        {"hpl.out": HEAD + alone("4.2e+01") + alone("4.21e+01", "10:01") + END + HEAD + alone("4.2e+01") + END}
    ],
    "rates of one configuration that are far apart": [
        {"a.out": ONE, "b.out": HEAD + printed("3.5576e+01", "10:05").replace("  1.00  ", "  1.20  ") + END}
    ],
    "each folder gets a study of its own": [{"a.out": ONE, "epyc/b.out": HEAD + printed("4.3e+01", "10:01") + END}],
}
"""Files that are written and imported, step by step."""


def stored(store: Store) -> Iterator[str]:
    """All trials of all studies, each a line."""
    for study in store.studies():
        for record in store.records(study.name):
            counts = "counts" if record.ranked else "does not count"
            place = f"{study.name}#{record.number} of {record.versions[IMPORTED_FROM]}"
            yield f"{place}: {record.state}, {record.gflops} GFLOPS, {counts}. {record.reason}"


@pytest.mark.parametrize("scene", SCENES)
def test_what_becomes_of_outputs_is_what_it_was(
    store: Store, home: Path, request: pytest.FixtureRequest, scene: str
) -> None:
    said = []
    for files in SCENES[scene]:
        for name, text in files.items():
            (home / "runs" / name).parent.mkdir(parents=True, exist_ok=True)
            (home / "runs" / name).write_text(text)
        try:
            said.append(printed_report(imported(store, home / "runs").report()))
        except UsageError as refused:
            said.append(f"refused: {str(refused)!r}\n")
    hold_scene(request, "import", SCENES, scene, "".join([*said, "\n".join(stored(store))]).replace(str(home), "HOME"))


def test_the_same_log_under_a_name_of_its_own_is_stored_and_told(store: Store, home: Path) -> None:
    (home / "a.out").write_text(ONE)
    imported(store, home / "a.out", study="one")
    (other,) = imported(store, home / "a.out", study="other").studies
    assert (other.name, other.counting) == ("other", 1)
    assert other.remarks == ("Some of these runs are in one, too: what is said of both counts them twice.",)


def test_a_rate_far_above_the_peak_that_was_stated_does_not_count(store: Store, home: Path) -> None:
    (home / "emulated.out").write_text(ONE)
    (study,) = imported(store, home / "emulated.out", facts=UnprintedFacts(rpeak_gflops=20.0)).studies
    assert study.counting == 0
    assert "42.69 GFLOPS are 2.13 times Rpeak (20 GFLOPS)" in " ".join(study.sentences)
    (home / "near.out").write_text(HEAD + printed(at="11:00") + END)
    (near,) = imported(store, home / "near.out", study="near", facts=UnprintedFacts(rpeak_gflops=40.0)).studies
    assert near.counting == 1, "a clock may rise above the one of which Rpeak is"


def test_an_output_that_a_program_labelled_and_packed_is_imported(store: Store, home: Path) -> None:
    text = "".join(f"0: {line}\n" for line in (HEAD + printed() + END).splitlines())
    (home / "hpl.out.gz").write_bytes(gzip.compress(text.encode("utf-16")))
    (study,) = imported(store, home / "hpl.out.gz").studies
    assert study.counting == 1
    assert "\n0: " not in store.records(study.name, outputs=True)[0].output


def test_the_time_of_a_run_is_unknown_where_its_output_does_not_say_it(store: Store, home: Path) -> None:
    (home / "a.out").write_text(HEAD + printed(dated=False) + printed("4.3e+01") + END)
    imported(store, home / "a.out", study="s")
    undated, dated = (str(show_trial(store, "s", number).report().parts) for number in (1, 2))
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
    listed = show_studies(store)
    assert [line.study.name for line in listed.lines] == ["old"]
    ranking = best_of_study(store, "old").report()
    assert ranking.parts
    table = show_trial(store, "old", 1).report()
    assert "imported from" in str(table.parts)
    assert compare(store, CompareAsk(("old",), by="NB")).report().parts
    assert "imported at" in "".join(export_study(store, "md", "old"))
    assert "".join(export_study(store, "dat", "old")).startswith("HPLinpack")
    assert read_source(store, "old").known


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


def test_a_user_imports_and_looks_at_the_best(hpltune: Run, outputs: Path) -> None:
    done = hpltune.well("import", str(outputs), "--json", "--blas", "openblas")
    assert json.loads(done.stdout)["studies"][0]["study"] == "import-runs-1"
    assert hpltune("report", "-o", "page.html").returncode == 0
    assert hpltune.refused("import", "data").count("\n") == 1
