"""What reached the ranks is held against the plan: variables, CPUs and what carries their messages."""

import json
import os
import re
import shlex
from pathlib import Path

import pytest
from as_user import Run, program
from record_builders import finished

from hpl.dat import HplDat, render
from hpl.params import HplParams
from hpl.witness import RankSight
from tuner.reports.ranks_got import ranks_got, ranks_got_table
from tuner.trial.judge import unlike_the_plan

PLANNED = {"OMP_NUM_THREADS": "2", "HPLTUNE_SENSORS": "sensors", "btl": "tcp"}


def sight(rank: int, cpus: set[int], host: str = "n1", **variables: str) -> RankSight:
    return RankSight(rank, host, frozenset(cpus), {"OMP_NUM_THREADS": "2", **variables})


def test_ranks_that_got_what_was_planned_are_not_spoken_of() -> None:
    ranks = [sight(0, {0, 1}), sight(1, {2, 3}), sight(2, {0, 1}, "n2"), sight(3, {2, 3}, "n2")]
    assert unlike_the_plan(ranks, PLANNED, 2, bound=True) == ()
    assert unlike_the_plan((), PLANNED, 2, bound=True) == (), "no rank told anything"


def test_a_variable_that_did_not_reach_a_rank_or_has_another_value_there_is_named() -> None:
    lost = RankSight(1, "n2", frozenset({2, 3}), {})
    other = sight(1, {2, 3}, "n2", OMP_NUM_THREADS="64")
    said = "on rank 1 of n2, not 2 as planned, as on 1 of 2 ranks"
    assert unlike_the_plan([sight(0, {0, 1}), lost], PLANNED, 2, bound=True) == (f"OMP_NUM_THREADS is not set {said}",)
    assert unlike_the_plan([sight(0, {0, 1}), other], PLANNED, 2, bound=True) == (f"OMP_NUM_THREADS is 64 {said}",)


def test_what_nobody_planned_must_be_the_same_on_all_ranks() -> None:
    alike = [sight(0, {0, 1}, UCX_TLS="tcp"), sight(1, {2, 3}, UCX_TLS="tcp")]
    assert unlike_the_plan(alike, PLANNED, 2, bound=True) == ()
    unlike = [sight(0, {0, 1}), sight(1, {2, 3}, "n2", UCX_TLS="tcp")]
    assert unlike_the_plan(unlike, PLANNED, 2, bound=True) == (
        "UCX_TLS differs between ranks: not set on rank 0 of n1 and tcp on rank 1 of n2",
    )


@pytest.mark.parametrize(
    ("ranks", "cores", "bound", "said"),
    [
        ([{0}, {1}], 2, True, "rank 0 of n1 may run on 1 CPU only, and has 2 threads"),
        ([{0, 1}, {1, 2}], 2, True, "ranks 0 and 1 of n1 share a CPU, and each was to have its own"),
        ([{0, 1}, {0, 1}], 2, False, "the 2 ranks of n1 may run on 2 CPUs only, and have 4 threads"),
        ([{0, 1, 2, 3}, {0, 1, 2, 3}], 2, False, ""),
        ([{0}, {0}], 0, True, ""),
        ([set(), set()], 2, True, ""),
    ],
)
def test_cores_that_ranks_lack_or_share_are_said(ranks: list[set[int]], cores: int, *, bound: bool, said: str) -> None:
    sights = [sight(number, cpus) for number, cpus in enumerate(ranks)]
    assert unlike_the_plan(sights, PLANNED, cores, bound=bound) == ((said,) if said else ())


def told(rank: int, variables: dict[str, str]) -> str:
    sight = {"rank": rank, "host": f"n{rank}", "cpus": f"0-2,{rank + 4}", "variables": variables}
    return f"hpltune-saw {json.dumps(sight)}\n"


def test_a_trial_shows_what_its_ranks_told() -> None:
    lines = [told(0, {"OMP_NUM_THREADS": "2"}), told(1, {"OMP_NUM_THREADS": "2", "UCX_TLS": "tcp"})]
    moves = 'hpltune-moves {"rank": 0, "host": "n0", "parts": "mca_pml_ob1 mca_btl_tcp libuct_ib"}\n'
    table = ranks_got_table(finished(1, errors_text="".join([*lines, moves])))
    assert table is not None
    assert table.rows == (
        ("CPUs", "rank 0 of n0: 0-2,4; rank 1 of n1: 0-2,5"),
        ("variables of all ranks", "OMP_NUM_THREADS=2"),
        ("variables that differ", "UCX_TLS is not set on 1 rank and is tcp on 1 rank"),
        ("loaded for messages", "pml ob1, btl tcp, libuct_ib"),
    )
    said = (
        'hpltune-unlike {"sentences": ["UCX_TLS differs between ranks: not set on rank 0 of n0 and tcp on rank 1"]}\n'
    )
    record = finished(1, errors_text="".join([*lines, moves, said]))
    unlike = ranks_got_table(record)
    assert unlike is not None
    sentence = "UCX_TLS differs between ranks: not set on rank 0 of n0 and tcp on rank 1"
    assert unlike.rows[-1] == ("not as planned", sentence)
    assert ranks_got(record) == {
        "ranks": [
            {"rank": 0, "host": "n0", "cpus": "0-2,4", "variables": {"OMP_NUM_THREADS": "2"}},
            {"rank": 1, "host": "n1", "cpus": "0-2,5", "variables": {"OMP_NUM_THREADS": "2", "UCX_TLS": "tcp"}},
        ],
        "loaded_for_messages": ["mca_pml_ob1", "mca_btl_tcp", "libuct_ib"],
        "not_as_planned": [sentence],
    }
    assert ranks_got(finished(1)) == {}
    crowd = ranks_got_table(finished(1, errors_text="".join(told(rank, {}) for rank in range(40))))
    assert crowd is not None
    assert crowd.rows[0] == ("CPUs", "4 CPUs on 40 ranks")
    assert ranks_got_table(finished(1)) is None


@pytest.mark.usefixtures("real_hpl")
def test_a_program_that_changes_what_its_ranks_get_is_cautioned(hpltune: Run, home: Path) -> None:
    (home / "HPL.dat").write_text(render(HplDat.of(HplParams(500, 64, 1, 2))))
    first = hpltune.well("run", "HPL.dat", "--blas", "openblas")
    assert "OMP_DYNAMIC" not in first.stdout
    shown = hpltune("show", "run-HPL-1", "1").stdout
    assert "What reached the ranks" in shown
    assert "OMP_NUM_THREADS=1" in shown
    (command,) = (home / "data/runs").glob("*/*/command")
    real = shlex.split(command.read_text())[-1]
    changed = "export OMP_DYNAMIC=TRUE UCX_TLS=a$OMPI_COMM_WORLD_RANK; unset MKL_DYNAMIC"
    mine = program(home / "mine", f'#!/bin/sh\n{changed}\nexec taskset -c 0 {real} "$@"\n')
    told = hpltune.well("run", "HPL.dat", "--xhpl", str(mine))
    said = re.sub(r"\s+", " ", told.stdout)
    host = os.uname().nodename
    assert f"Caution: OMP_DYNAMIC is TRUE on rank 0 of {host}, not FALSE as planned, as on 2 of 2 ranks." in said
    assert f"Caution: MKL_DYNAMIC is not set on rank 0 of {host}, not FALSE as planned" in said
    assert f"Caution: UCX_TLS differs between ranks: a0 on rank 0 of {host} and a1 on rank 1 of {host}." in said
    assert f"Caution: ranks 0 and 1 of {host} share a CPU, and each was to have its own." in said
    study = "run-HPL-2"
    kept = hpltune.told("show", study, "1")["reached"]
    assert f"ranks 0 and 1 of {host} share a CPU, and each was to have its own" in kept["not_as_planned"]
    assert kept["ranks"][1]["variables"]["UCX_TLS"] == "a1"
    hpltune("report", study, "-o", "page.html")
    page = (home / "page.html").read_text()
    assert "What reached the ranks" in page
    assert "not as planned" in page
