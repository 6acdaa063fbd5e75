"""Tables to replay: what is read of them, what is refused, and which space they are."""

import json
import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from results.record import Invalidity
from search_spaces.errors import SpaceError
from tuner.engines.outcomes import FULL, Fidelity, Rung
from tuner.errors import UsageError
from tuner.replay.table import ReplayTable
from tuner.trial.plan import PlanError

HEAD = "N,NB,grid,gflops,state,reason,cost_s,kind,BCAST"
ROWS = (
    "5000,64,1x2,20.5,complete,,5,search,1rg",
    "5000,64,1x2,21.5,complete,,5,confirmation,1rg",
    "5000,128,1x2,25,complete,,4,search,1rg",
    "5000,128,2x1,,failed,it broke,9,search,1rg",
    "1792,128,1x2,9,complete,,1,small,1rg",
    "5000,128,1x2,,running,,,search,1rg",
)


def table(folder: Path, *rows: str, head: str = HEAD) -> ReplayTable:
    path = folder / "table.csv"
    path.write_text("\n".join((head, *rows)) + "\n")
    return ReplayTable.read(path)


def landscape(folder: Path, **changes: object) -> Path:
    space = 'parameters = { NB = [64, 128], layout = "2x1", grid = "1x2", blas = "openblas", N = 5000 }'
    points = [
        {
            "params": {"NB": NB, "layout": "2x1", "grid": "1x2", "blas": "openblas", "N": 5000},
            "full": [{"gflops": 20.0, "time_s": 4.17, "cost_s": 5.0, "panels": [[512, 1.2], [2560, 3.6]]}],
        }
        for NB in (64, 128)
    ]
    machine = {"cores": 2, "memory_bytes": 2**34, "N": 5000, "blas": {"openblas": {"kernels": [], "threaded": True}}}
    told = {"name": "mine", "description": "two cores", "space": space, "machine": machine, "N": 5000, "points": points}
    path = folder / "mine.json"
    path.write_text(json.dumps({**told, **changes}))
    return path


def gflops(replayed: ReplayTable, params: Mapping[str, object], rung: Rung = FULL) -> set[float | None]:
    """What a configuration is told to reach, whatever chance decides."""
    point = replayed.space("all").complete(dict(params))  # type: ignore[arg-type]
    return {replayed.run(point, rung, seed).gflops for seed in range(20)}


def test_the_space_of_a_csv_is_its_full_runs(tmp_path: Path) -> None:
    replayed = table(tmp_path, *ROWS)
    points = [(point["NB"], point["grid"]) for point in replayed.space("all")]
    assert sorted(points) == [(64, "1x2"), (128, "1x2"), (128, "2x1")]
    assert replayed.space("all").first["N"] == 5000
    assert (replayed.landscape.machine.cores, replayed.landscape.nodes, replayed.noisy) == (2, 1, True)


def test_each_of_the_runs_of_a_configuration_answers_once_in_the_order_of_the_seed(tmp_path: Path) -> None:
    replayed = table(tmp_path, *ROWS)
    assert gflops(replayed, {"NB": 64, "grid": "1x2"}) == {20.5, 21.5}
    assert gflops(replayed, {"NB": 128, "grid": "1x2"}) == {25.0}
    point = replayed.space("all").complete({"NB": 64, "grid": "1x2"})
    taken = [replayed.run(point, FULL, 7, repeat).gflops for repeat in range(4)]
    assert taken[:2] == taken[2:]
    assert set(taken) == {20.5, 21.5}, "each is taken once before any is taken again"


def test_a_run_that_failed_fails_for_the_reason_of_the_table(tmp_path: Path) -> None:
    late = "5000,64,2x1,,failed,too late,30,search,1rg,timeout"
    replayed = table(tmp_path, *(f"{row}," for row in ROWS), late, head=f"{HEAD},invalidity")
    run = replayed.run(replayed.space("all").complete({"NB": 64, "grid": "2x1"}), FULL, 0)
    assert (run.gflops, run.reason, run.cost_s, run.stage) == (None, "too late", 30.0, Invalidity.TIMEOUT)
    run = replayed.run(replayed.space("all").complete({"NB": 128, "grid": "2x1"}), FULL, 0)
    assert (run.gflops, run.reason, run.cost_s, run.stage) == (None, "it broke", 9.0, Invalidity.RUNTIME)


def test_a_configuration_that_the_table_lacks_has_no_run(tmp_path: Path) -> None:
    replayed = table(tmp_path, *ROWS)
    with pytest.raises(PlanError, match=r"table.csv has no run with .*NB=64 grid=2x1"):
        replayed.run(replayed.space("all").complete({"NB": 64, "grid": "2x1"}), FULL, 0)


def test_values_that_hpl_does_not_tell_apart_are_one_configuration(tmp_path: Path) -> None:
    rows = [f"600,32,1x2,{rate},complete,,1,search,1rg,{swap}" for rate, swap in ((5, "bin"), (6, "long"))]
    replayed = table(tmp_path, *rows, head=f"{HEAD},SWAP")
    assert gflops(replayed, {"NB": 32, "grid": "1x2", "SWAP": "bin"}) == {5.0, 6.0}


def test_another_space_keeps_what_the_table_has(tmp_path: Path) -> None:
    replayed = table(tmp_path, *ROWS)
    space = replayed.space("mine", {"NB": ["128", "192"]}, 'parameters = { grid = ["1x2"], BCAST = ["1rg", "2rM"] }')
    assert [(point["NB"], point["BCAST"]) for point in space] == [(128, "1rg")]


def test_where_nothing_is_in_common_the_parameter_is_named(tmp_path: Path) -> None:
    with pytest.raises(SpaceError) as refused:
        table(tmp_path, *ROWS).space("table", {"NB": ["96"]})
    assert str(refused.value) == "table.csv has no such run: NB is 64 and 128 in the table, and 96 in the space"


def test_a_large_table_in_a_huge_space_costs_only_its_rows(tmp_path: Path) -> None:
    rows = [
        f"5000,{NB},{grid},{20 + NB / 100},complete,,5,search,{bcast}"
        for NB in range(32, 352, 32)
        for grid in ("1x2", "2x1")
        for bcast in ("1rg", "1rM", "2rM")
    ]
    replayed = table(tmp_path, *rows)
    wanted = {name: ["left", "crout", "right"] for name in ("PFACT", "RFACT")}
    asked = {**wanted, "NB": [str(NB) for NB in range(8, 400, 8)], "NBMIN": [str(one) for one in range(1, 9)]}
    assert len(replayed.space("huge", asked)) == len(rows)


def test_a_landscape_offers_what_it_has_of_cheaper_runs(tmp_path: Path) -> None:
    replayed = ReplayTable.read(landscape(tmp_path))
    assert [rung.fidelity for rung in replayed.ladder] == [Fidelity.PREFIX, Fidelity.FULL]
    assert [rung.fidelity for rung in table(tmp_path, *ROWS).ladder] == [Fidelity.FULL]
    assert not replayed.noisy


def test_a_csv_without_a_layout_has_a_rank_for_each_place_of_the_grid(tmp_path: Path) -> None:
    replayed = table(tmp_path, "100000,64,4x240,500", head="N,NB,grid,gflops")
    assert replayed.space("all").first["layout"] == "960x1"


def test_a_csv_of_others_may_have_p_and_q_and_the_names_of_hpls_own_table(tmp_path: Path) -> None:
    replayed = table(tmp_path, "100000,64,4,240,1333.35,500", head="N,NB,P,Q,Time,Gflops")
    assert replayed.space("all").first["grid"] == "4x240"


@pytest.mark.parametrize(
    ("head", "rows", "sentence"),
    [
        ("", [], "row 1: there is no column N; a table to replay has at least N, NB, grid, gflops"),
        ("N,NB,grid", [], "row 1: there is no column gflops"),
        ("N,NB,grid,gflops,NB", [], "row 1: column NB is there twice"),
        ("N,NB,grid,gflops,BCSAT", [], "row 1, column BCSAT: unknown parameter BCSAT: did you mean BCAST?"),
        ("N,NB,grid,gflops", [], "has no row below its head"),
        ("N,NB,grid,gflops", ["1000,64,1x2"], "row 2: it has 3 cells, and the head has 4"),
        ("N,NB,grid,gflops", ["1000,64,1x2,5", "1000,64,1x2,x"], "row 3, column gflops: x: expected a number"),
        ("N,NB,grid,gflops", ["1000,64,1x2,0"], "row 2, column gflops: 0: expected a rate above 0"),
        ("N,NB,grid,gflops", ["1000,64,1x2,inf"], "row 2, column gflops: inf: expected a number"),
        ("N,NB,grid,gflops", ["1000,64,1x2,1e400"], "row 2, column gflops: 1e400: expected a number"),
        ("N,NB,grid,gflops", ["1000,64,1x2,1e-320"], "row 2, column gflops: 1e-320: no run of N=1000"),
        ("N,NB,grid,gflops", [f"{10**30},64,1x2,5"], "row 2, column N: 1000000000000000000000000000000: expected a"),
        ("N,NB,grid,gflops", ["1000,,1x2,5"], "row 2, column NB: nothing: expected a whole number"),
        ("N,NB,grid,gflops", ["1000,64,2,5"], "row 2, column grid: 2: expected P x Q as 2x4"),
        ("N,NB,grid,gflops,BCAST", ["1000,64,1x2,5,1rq"], "row 2, column BCAST: 1rq: expected one of 1rg"),
        ("N,NB,grid,gflops,time_s", ["1000,64,1x2,5,12"], "row 2, column time_s: 12: 5 GFLOPS at N=1000 take 0.13 s"),
        ("N,NB,grid,gflops,cost_s", ["1000,64,1x2,5,-1"], "row 2, column cost_s: -1: expected a number of at least 0"),
        ("N,NB,grid,gflops", ['1000,64,1x2,"5'], "row 2: a quotation mark opens a cell and none closes it"),
        ("N,NB,grid,gflops", ["1000,64,1x2,5", '1000,64,1x2,"5'], "row 3: a quotation mark opens a cell and none"),
        ("N,NB,grid,gflops", ["1000,64,1x2,1e300"], "row 2, column gflops: 1e300: no machine has such a rate"),
        (
            "N,NB,grid,gflops,state",
            ["1000,64,1x2,5,complete", "1000,64,1x2,5,done"],
            "row 3, column state: done: expected one of running, complete, failed, cancelled, or nothing",
        ),
        (
            "N,NB,grid,gflops,kind",
            ["1000,64,1x2,5,pilots"],
            "row 2, column kind: pilots: expected one of search, small",
        ),
        (
            "N,NB,grid,gflops,invalidity",
            ["1000,64,1x2,5,crash"],
            "row 2, column invalidity: crash: expected one of constr",
        ),
        ("N,NB,grid,gflops,passed", ["1000,64,1x2,5,ok"], "row 2, column passed: ok: expected one of True, False, yes"),
        (
            "N,NB,grid,gflops,residual,passed",
            ["1000,64,1x2,5,99,True"],
            "row 2, column residual: 99: HPL's check passes below 16, and column passed is True",
        ),
        ("N,NB,grid,gflops,threshold", ["1000,64,1x2,5,low"], "row 2, column threshold: low: expected a number"),
        (
            "N,NB,grid,gflops,layout",
            ["1000,64,1x2,5,2x1", "1000,64,2x2,5,2x1"],
            "row 3: the grid 2x2 needs 4 ranks, but the layout 2x1 starts 2",
        ),
        (
            "N,NB,grid,gflops",
            ["1000,64,1x2,5", "1000,4000,1x2,5"],
            "row 3: N = 1000 leaves some of 2 process columns without a panel of NB = 4000",
        ),
        ("N;NB;grid;gflops", ["1000;64;1x2;5"], "row 1: its cells are separated by semicolons"),
        ("N\tNB\tgrid\tgflops", ["1000\t64\t1x2\t5"], "row 1: its cells are separated by tabs"),
        ("N,NB,grid,gflops,mpi.btl", ["1000,64,1x2,5,tcp", "1000,64,1x2,6,"], "row 3, column mpi.btl: nothing"),
        ("N,NB,grid,gflops,kind", ["1000,64,1x2,5,pilot"], "no row is a full run with a rate above 0"),
        ("N,NB,grid,gflops,measurements", ["1000,64,1x2,5,[1]"], "column measurements: [1]: expected a JSON object of"),
        (
            "N,NB,grid,gflops,measurements",
            ['1000,64,1x2,5,"{""a"": 1e999}"'],
            '{"a": 1e999}: expected a JSON',
        ),
        ("N,NB,grid,gflops,reason", [f"1000,64,1x2,5,{'x' * 30_000}"], "row 2: a cell has more than 20,000 characters"),
    ],
)
def test_a_bad_csv_is_one_sentence_with_row_and_column(
    tmp_path: Path, head: str, rows: list[str], sentence: str
) -> None:
    with pytest.raises(UsageError) as refused:
        table(tmp_path, *rows, head=head)
    assert sentence in str(refused.value)
    assert str(refused.value).startswith(str(tmp_path / "table.csv"))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"points": 3}, "mine.json is no landscape: points"),
        ({"N": 0}, "mine.json is no landscape: N"),
        ({"points": []}, "2 points of its space are missing"),
        ({"description": "x" * 2000}, "mine.json is no landscape: description"),
        ({"space": "parameters = { NB = [64] }"}, "mine.json: point 2"),
    ],
)
def test_a_bad_landscape_is_one_sentence(tmp_path: Path, changes: dict[str, object], sentence: str) -> None:
    with pytest.raises(UsageError) as refused:
        ReplayTable.read(landscape(tmp_path, **changes))
    assert sentence in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_run_whose_check_did_not_pass_is_wrong_and_not_broken(tmp_path: Path) -> None:
    rows = ["5000,64,1x2,20,99,False,16", "5000,96,1x2,20,99,,16", "5000,128,1x2,20,99,,0", "5000,160,1x2,20,9,True,16"]
    replayed = table(tmp_path, *rows, head="N,NB,grid,gflops,residual,passed,threshold")
    runs = [replayed.run(replayed.space("all").complete({"NB": NB}), FULL, 0) for NB in (64, 96, 128, 160)]
    why = (None, "HPL's check did not pass: residual 99", Invalidity.CORRECTNESS)
    assert [(run.gflops, run.reason, run.stage) for run in runs[:2]] == [why, why]
    assert [run.gflops for run in runs[2:]] == [20, 20], "with a threshold of 0 HPL does not check"


def test_rows_that_are_left_out_are_counted(tmp_path: Path) -> None:
    replayed = table(tmp_path, *ROWS, ",,,,failed,no MPI,,search,")
    told = "4 runs of 3 configurations; 3 further rows left out (1 small, 1 running, 1 never started)"
    assert replayed.landscape.description == told
    assert table(tmp_path, ROWS[0]).landscape.description == "1 run of 1 configuration"


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "latin-1"])
def test_another_encoding_is_named(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "table.csv").write_text("N,NB,grid,gflops,größe\n1000,64,1x2,5,1\n", encoding=encoding)
    named = "Latin-1" if encoding == "latin-1" else "UTF-16"
    with pytest.raises(UsageError, match=f"is not in UTF-8, perhaps in {named}: save it as a CSV in UTF-8"):
        ReplayTable.read(tmp_path / "table.csv")


def test_what_is_no_regular_file_is_said(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    for path in (tmp_path, tmp_path / "pipe.csv", Path("/dev/null")):
        with pytest.raises(UsageError, match=f"⟦replay⟧ {path}: it is not a regular file"):
            ReplayTable.read(path)


@pytest.mark.parametrize(("name", "text"), [("deep.json", "[" * 10**5), ("nul.csv", "\0\1"), ("latin.json", "\xff")])
def test_what_is_no_table_at_all_is_said(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text, encoding="latin-1")
    with pytest.raises(UsageError, match=name):
        ReplayTable.read(tmp_path / name)


def test_a_file_that_is_not_there_or_too_large_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no such file"):
        ReplayTable.read(tmp_path / "gone.csv")
    for name in ("large.csv", "large.json"):
        with (tmp_path / name).open("wb") as file:
            file.truncate(65 * 2**20)
        with pytest.raises(UsageError, match="larger than 64 MiB"):
            ReplayTable.read(tmp_path / name)
