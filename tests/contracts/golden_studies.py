"""Six stored studies of which files of tests/golden hold what is told."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

from made_study import point
from record_builders import DISTURBED, START, a_study, begun, finished

from hpl.params import HplParams
from results.record import IMPORT, SIMULATOR, Invalidity, Kind, StudyNotes, TrialRecord, TrialState
from results.store.store import Store
from search_spaces.load import space_text
from tuner.options import TuneOptions

SIMULATED = {SIMULATOR: "SimGrid 4.0"}
NODES = {"nodes": 2, "physical_cores": 2, "memory_total_bytes": 2**37, "cpu_model": "AMD EPYC"}
FROM_RUNS = StudyNotes(imported_from="runs")
STUDIES: dict[str, dict[str, Any]] = {
    "plain": {},
    "disturbed": {},
    "cluster": {
        "host": NODES,
        "notes": StudyNotes(nodes_lost=("n2",), nodes_left=1),
        "rpeak_gflops": 3200.0,
        "space_name": "host",
    },
    "simulated": {"host": NODES, "versions": SIMULATED, "rpeak_gflops": 3200.0},
    "imported": {"engine": IMPORT, "options": {}, "space_name": "", "space_text": "", "notes": FROM_RUNS},
    "failures": {},
}
"""In what the studies differ from each other."""
RUNS: dict[str, dict[str, Any]] = {
    "disturbed": {"measurements": DISTURBED},
    "simulated": {"versions": SIMULATED, "measurements": {}},
    "imported": {"measurements": {}},
}
"""In what their runs differ."""
NONE = {"gflops": None, "passed": None, "residual": None}
FAILED = {"state": TrialState.FAILED}
ENDS: dict[int, dict[str, Any]] = {
    2: {**FAILED, "invalidity": Invalidity.RUNTIME, "reason": "rank 1 ended with code 139", **NONE},
    3: {**FAILED, "invalidity": Invalidity.CORRECTNESS, "reason": "the residual FAILED", "passed": False},
    4: {"state": TrialState.CANCELLED, "reason": "the run was cancelled", **NONE},
    5: {"measurements": {}},
    6: {"measurements": DISTURBED},
    7: {**FAILED, "invalidity": Invalidity.TIMEOUT, "reason": "stopped at its time limit of 9 s", **NONE},
}
"""What came of the runs of the study of failures that do not count, or not for sure."""


def trials(study: str) -> Iterator[TrialRecord]:
    """Four configurations with two runs each; of failures one run that counts, and one of each end."""
    rates = {(192, "openblas"): 70.0, (128, "openblas"): 64.0, (192, "blis"): 75.0, (128, "blis"): 61.0}
    common: dict[str, Any] = {"study": study, "output": "", "hpl_dat": ""}
    common |= RUNS.get(study, {})
    for number, ((NB, blas), rate) in enumerate([*rates.items(), *rates.items()], 1):
        params = point(NB=NB, blas=blas, N=6000, **({"net.mtu": 15 * NB} if study == "cluster" else {}))
        kind = Kind.SEARCH if number <= len(rates) else Kind.CONFIRMATION
        hpl, gflops, key = HplParams(6000, NB, 1, 2), rate + 0.3 * (7 * number % 5 - 2), f"{NB}|{blas}"
        ended = ENDS.get(number, {}) if study == "failures" else {}
        yield finished(
            number,
            **{
                "gflops": gflops,
                "key": key,
                "params": params,
                "hpl": hpl,
                "blas": blas,
                "kind": kind,
                **common,
                **ended,
            },
        )


def write_studies(database: Path) -> None:
    """Store them all."""
    with Store.open(database) as store:
        for name, changes in STUDIES.items():
            store.create_study(
                a_study(name, **{"space_text": space_text("quick"), "options": TuneOptions().to_json(), **changes})
            )
            for record in trials(name):
                store.begin(begun(name, record.key, record.kind, params=record.params))
                store.finish(record)
            store.end_study(name, "complete")


def add_studies_without_answers(database: Path) -> None:
    """Store two older ones: `empty` has no valid run, and `small` no full one."""
    with Store.open(database) as store:
        for name, kind, ended in (("empty", Kind.SEARCH, ENDS[2]), ("small", Kind.PILOT, {})):
            store.create_study(
                a_study(name, created_at=START - timedelta(days=1), space_text="", options=TuneOptions().to_json())
            )
            number = store.begin(begun(name, kind=kind))
            store.finish(finished(number, study=name, kind=kind, **ended))
            store.end_study(name, "interrupted")
