"""Writes `schema-1.db` beside itself: run once with the version that had schema 1, and kept for ever.

From the top folder: PYTHONPATH=.:tests/contracts python tests/results/data/make_schema_1.py
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

from record_builders import START, a_study, begun, finished

from hpl.dat import HplDat, render
from hpl.params import HplParams
from results.record import BlasObservation, Invalidity, Kind, TrialRecord, TrialState
from results.store.store import Store

ATLAS = BlasObservation("/usr/lib/libatlas.so", "3.7.8", "", 1, ("kronos", "node-1"))


def kronos(hpl: HplParams, gflops: float, key: str) -> TrialRecord:
    """A trial as the authors of the Kronos cluster could have stored it."""
    params = {"N": hpl.N, "NB": hpl.NB, "grid": "2x4", "blas": "atlas", "memory_fraction": 0.8}
    time_s = round(hpl.N**3 * 2 / 3 / gflops / 1e9, 2)
    output = f"WR11C2R4 {hpl.N:12d} {hpl.NB:5d}     2     4 {time_s:18.2f} {gflops:18.4e}\n"
    facts: dict[str, Any] = {"params": params, "key": key, "blas": "atlas", "kernel": "auto", "ranks": 8}
    return finished(
        0,
        gflops,
        "kronos",
        **facts,
        hpl=hpl,
        time_s=time_s,
        observed=ATLAS,
        output=output,
        hpl_dat=render(HplDat.of(hpl)),
    )


def main() -> None:
    path = Path(__file__).with_name("schema-1.db")
    path.unlink(missing_ok=True)
    best = kronos(HplParams(12300, 180, 2, 4), 14.53, "b")
    wrong = replace(
        best, gflops=15.9, residual=1.2e6, passed=False, state=TrialState.FAILED, invalidity=Invalidity.CORRECTNESS,
        reason="the residual 1.2e+06 is not below the threshold 16",
    )  # fmt: skip
    slow = replace(
        begun("kronos", key="b", kind=Kind.CONFIRMATION), state=TrialState.FAILED, invalidity=Invalidity.TIMEOUT,
        reason="it was ended after 600 s", ended_at=START,
    )  # fmt: skip
    with Store.open(path) as store:
        store.create_study(
            a_study("kronos", engine="one-at-a-time", rpeak_gflops=28.1, price_usd=2490.0, power_w=900.0)
        )
        for record in (kronos(HplParams(11500, 240, 2, 4), 12.74, "a"), best, wrong, slow):
            store.finish(replace(record, number=store.begin(begun("kronos", key=record.key, kind=record.kind))))
        store.begin(begun("kronos", key="c"))
        store.end_study("kronos", "interrupted")


if __name__ == "__main__":
    main()
