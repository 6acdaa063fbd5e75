"""How often the order of libraries that `hpltune blas` claims is wrong, and how often it finds one that is there.

    python benchmarks/shootouts.py
    python benchmarks/shootouts.py --games 50 --seed 7

A game draws repeated runs of the searches, which show the noise, and then the rates of each round around the true ones.
It stops as `hpltune blas` does: when the order is known, or after 12 rounds. Any claim about equal libraries is wrong.
"""

import argparse
from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np
from intervals import MachineKind
from script import as_script, count

from hpl.params import Scalar
from results.record import Kind, TrialRecord, TrialState
from results.stats.noise import noise_of
from tuner.study.order import Order
from tuner.study.sized_study import FINALISTS

MOST_ROUNDS = 12
GAPS = {"equal": (0.0, 0.0), "1 % apart": (0.01, 0.0), "three equal": (0.0, 0.0, 0.0), "1 % each": (0.02, 0.01, 0.0)}
"""Logarithms of the libraries' rates, fastest first."""


MACHINES = (
    MachineKind("normal 0.3 %", 0.003),
    MachineKind("normal 1 %", 0.01),
    MachineKind("normal 3 %", 0.03),
    MachineKind("normal 7 %", 0.07),
    MachineKind("1 %, one run in 10 slower by 10 %", 0.01, disturbed=0.1, loss=0.1),
    MachineKind("1 %, slows by 5 %", 0.01, drift=0.05),
)


def played(gaps: Sequence[float], machine: MachineKind, draw: np.random.Generator) -> tuple[str, int]:
    """Play one game.

    Returns:
        "right", "wrong" or "tie", and the number of rounds.
    """
    names, runs = [f"blas{number}" for number in range(len(gaps))], list[TrialRecord]()
    repeated = [draw.normal(0.0, machine.noise, 2) for _ in range(FINALISTS * len(gaps))]
    shown = noise_of(repeated).usual
    for turn in range(1, MOST_ROUNDS + 1):
        for name, gap in zip(names, gaps, strict=True):
            lost = draw.exponential(machine.loss) if draw.random() < machine.disturbed else 0.0
            log = gap - machine.drift * turn / MOST_ROUNDS + draw.normal(0.0, machine.noise) - lost
            runs.append(_run(name, float(100 * np.exp(log))))
        order = Order.of(runs, names, shown)
        if order.known:
            true = len(set(gaps)) == len(gaps) and [place.blas for place in order.places] == names
            return ("right" if true else "wrong"), turn
    return "tie", MOST_ROUNDS


def _run(blas: str, gflops: float) -> TrialRecord:
    params: dict[str, Scalar] = {"blas": blas}
    return TrialRecord(
        "game",
        0,
        Kind.CONFIRMATION,
        TrialState.COMPLETE,
        params=params,
        key=blas,
        started_at=datetime.now(UTC),
        gflops=gflops,
        residual=1e-3,
        passed=True,
        # Quiet, by what is measured: what disturbs them is not seen, and claims have to stand that.
        measurements={"solve_s": 12.0, "cores": 1.0, "cpu_s": 12.0, "waited_s": 0.0, "foreign_cpu_s": 0.0},
    )


def main(arguments: Sequence[str]) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--games", type=count, default=200)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args(arguments)
    print("| libraries | runs | right % | wrong % | tie % | rounds |\n|---|---|---|---|---|---|")
    for name, gaps in GAPS.items():
        for machine in MACHINES:
            draw = np.random.default_rng(asked.seed)
            games = [played(gaps, machine, draw) for _ in range(asked.games)]
            shares = [
                100 * sum(end == wanted for end, _ in games) / asked.games for wanted in ("right", "wrong", "tie")
            ]
            told = " | ".join(f"{share:.0f}" for share in shares)
            print(f"| {name} | {machine.name} | {told} | {np.mean([rounds for _, rounds in games]):.1f} |", flush=True)
    return 0


if __name__ == "__main__":
    as_script(main)
