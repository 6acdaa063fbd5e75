"""The report of `hpltune calibrate`: real HPL runs beside what the model predicts of them."""

import math
from collections.abc import Sequence
from statistics import median

from results.disturbance import Conditions
from results.report.model import FactColumn, Figure, Part, Sentence, Series, Table, facts_of, table_of
from runners.virtual.cluster import VirtualCluster

from ..simulation.calibration import Check, agreement_of
from ..simulation.cluster import cluster_dict

PARAMETERS = ("N", "NB", "grid", "DEPTH", "SWAP", "NBMIN")
FIELDS: tuple[FactColumn[Check], ...] = (
    FactColumn("", lambda check: dict(check.params), None, "params"),
    FactColumn("", lambda check: list(check.gflops), None, "gflops"),
    FactColumn("", lambda check: check.reason, None, "reason"),
    FactColumn("N", lambda check: check.params["N"]),
    FactColumn("NB", lambda check: check.params["NB"]),
    FactColumn("grid", lambda check: check.params["grid"], words=True),
    FactColumn("DEPTH", lambda check: check.params["DEPTH"]),
    FactColumn("SWAP", lambda check: check.params["SWAP"], words=True),
    FactColumn("NBMIN", lambda check: check.params["NBMIN"]),
    FactColumn(
        "real GFLOPS",
        lambda check: _at("least", check, f"{median(check.gflops):.2f}") if check.gflops else check.reason,
    ),
    FactColumn("runs", lambda check: len(check.gflops)),
    FactColumn("", lambda check: check.simulated.gflops, None, "predicted_gflops"),
    FactColumn(
        "predicted", lambda check: f"{check.simulated.gflops:.2f}" if check.simulated.gflops else check.simulated.reason
    ),
    FactColumn("error", lambda check: None if check.error is None else _at("most", check, f"{check.error:+.1%}")),
    FactColumn("", lambda check: check.error, None, "error"),
    FactColumn("", lambda check: check.conditions.value, None, "conditions"),
)
"""What is told of each check."""


def calibration_parts(checks: Sequence[Check]) -> tuple[Part, ...]:
    """The checks, how good the model is, and a figure of both."""
    if not checks:
        return ()
    said = verdict(checks)
    sentences = [] if said is None else [Sentence(said, unbroken=True)]
    return (check_table(checks), *sentences, *_figures(checks))


def check_table(checks: Sequence[Check]) -> Table:
    """Real runs beside what the model says of them."""
    return table_of("HPL runs that nothing was fitted to", FIELDS, checks)


def _at(bound: str, check: Check, figure: str) -> str:
    """Say that a figure of disturbed runs is a bound only."""
    return f"at {bound} {figure}" if check.conditions is Conditions.DISTURBED else figure


def verdict(checks: Sequence[Check]) -> str | None:
    """How good the model is, in a sentence; None where no check was both measured and simulated."""
    found = agreement_of(checks)
    if found is None:
        checked = any(check.error is not None for check in checks)
        return "The model's error cannot be told: every HPL run to check it against was disturbed." if checked else None
    if len(found.errors) == 1:
        return f"The model's error is {100 * found.bias:+.1f} % on one configuration."
    said = (
        f"The model's error on {len(found.errors)} configurations is {100 * found.median_error:.1f} % (median), "
        f"{100 * found.largest_error:.1f} % at most, and {100 * found.bias:+.1f} % on average"
    )
    return f"{said}." if math.isnan(found.correlation) else f"{said}; rank correlation {found.correlation:.2f}."


def _figures(checks: Sequence[Check]) -> list[Figure]:
    """Predicted against real GFLOPS, with the line where both are equal; none where nothing can be compared."""
    pairs = [
        (median(check.gflops), check.simulated.gflops, "  ".join(f"{name}={check.params[name]}" for name in PARAMETERS))
        for check in checks
        if check.gflops and check.simulated.gflops
    ]
    if not pairs:
        return []
    real, predicted, labels = zip(*pairs, strict=True)
    ends = (min(*real, *predicted), max(*real, *predicted))
    series = (Series("configurations", real, predicted, labels), Series("equal", ends, ends, line=True))
    return [Figure("Predicted against real GFLOPS", "real GFLOPS", "predicted GFLOPS", series)]


def calibration_facts(cluster: VirtualCluster, checks: Sequence[Check]) -> dict[str, object]:
    """The model and its checks for scripts."""
    found = agreement_of(checks)
    return {
        "cluster": cluster_dict(cluster),
        "median_error": found.median_error if found else None,
        "largest_error": found.largest_error if found else None,
        "checks": [facts_of(FIELDS, check) for check in checks],
    }
