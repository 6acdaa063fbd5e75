"""`hpltune calibrate`, from its options to its report."""

import json
import math
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import tomli_w
from rich.console import Console
from rich.table import Table

from hpl.build.simgrid import find_simgrid
from runners.virtual.cluster import VirtualCluster

from ..console.progress import display, output
from ..errors import TunerError
from ..events import Notice
from ..hold_folders import hold_folders
from ..machine.textbook import full_memory_n
from ..options import TuneOptions
from ..provision.setup import provision_if_needed
from ..signals import announce_stop, stop_on_signals
from ..simulation.calibration.agreement import Agreement, agreement
from ..simulation.calibration.calibrate import Check, check, check_points, cluster_of, grown, measure
from ..simulation.cluster import SimulatedCluster, cluster_dict
from ..simulation.session import cores_here
from ..trial.workbench import Workbench
from ..user_dirs import UserDirs
from ..user_files import write_text
from .tune import INTERRUPTED

LARGEST_CHECK_N = 8192


@dataclass(frozen=True)
class CalibrateRequest:
    """The options of `hpltune calibrate`."""

    out: Path | None
    options: TuneOptions
    checks: int
    rounds: int
    as_json: bool
    binding: str = "core"


def run_calibrate(request: CalibrateRequest) -> int:
    """Measure, write the cluster file, and say how well it predicts.

    Returns:
        0, or 130 when the user stopped it.

    Raises:
        HplError, TunerError: something is missing, or nothing could be measured.
    """
    console = output(stderr=request.as_json)
    places = UserDirs.of_user()
    if request.checks:
        find_simgrid()
    with display(console) as listener:
        provision_if_needed(places, listener, request.options.blas_files, program=False)
    with hold_folders(places), stop_on_signals(announce_stop) as stop, display(console) as listener:
        with stop.preparing():
            workshop = Workbench.open(request.options, places, listener)
        site = workshop.site
        names = request.options.blas_only or (site.ranked_blas()[0].name,)
        kernels = {name: site.kernels(name, slow=True)[0] for name in names}
        cores = site.host.physical_cores
        first, kernel = next(iter(kernels.items()))
        largest_n = min(grown(LARGEST_CHECK_N, site.node_count), full_memory_n(site, NB=64, P=1, Q=cores))
        points = check_points(
            cores, first, kernel, largest_n, request.checks, nodes=site.node_count, binding=request.binding
        )
        with closing(workshop):
            measured = measure(workshop, kernels, points, request.rounds, listener, stop, request.binding)
        if stop.requested:
            return INTERRUPTED
        cluster = cluster_of(workshop, measured, site.host.hostname or "this machine")
        checks: list[Check] = []
        if points:
            with stop.preparing():
                virtual = SimulatedCluster.open(cluster, places, request.options.hpl_source, None)
            listener(Notice(f"Simulating the {len(points)} checked configurations"))
            checks = check(virtual, points, measured, cores_here(), stop)
    try:
        _report(console, request, cluster, checks)
    finally:
        _keep(console, request, tomli_w.dumps(cluster_dict(cluster)))
    return INTERRUPTED if stop.requested else 0


def _keep(console: Console, request: CalibrateRequest, text: str) -> None:
    """Write the model, or show it where there is no file for it or none can be written: minutes went into it."""
    try:
        if request.out is not None:
            write_text(request.out, text)
            console.print(f"Wrote {request.out}. Simulate it with: hpltune tune --cluster {request.out}")
    except TunerError:
        console.print(text, soft_wrap=True, end="")
        raise
    if request.out is None and not request.as_json:
        print(text, end="")


def _report(console: Console, request: CalibrateRequest, cluster: VirtualCluster, checks: Sequence[Check]) -> None:
    if request.as_json:
        print(json.dumps(to_json(cluster, checks), indent=1))
    elif checks:
        console.print(table(checks))
        console.print(verdict(checks), soft_wrap=True)


def table(checks: Sequence[Check]) -> Table:
    """Real runs beside what the model says of them."""
    shown = Table(title="HPL runs that nothing was fitted to", title_justify="left")
    for head in ("N", "NB", "grid", "DEPTH", "SWAP", "NBMIN", "real GFLOPS", "runs", "predicted", "error"):
        shown.add_column(head, justify="left" if head in {"grid", "SWAP"} else "right")
    for row in checks:
        cells = [str(row.params[name]) for name in ("N", "NB", "grid", "DEPTH", "SWAP", "NBMIN")]
        real = f"{median(row.gflops):.2f}" if row.gflops else row.reason
        predicted = f"{row.simulated.gflops:.2f}" if row.simulated.gflops else row.simulated.reason
        error = "" if row.error is None else f"{row.error:+.1%}"
        shown.add_row(*cells, real, str(len(row.gflops)), predicted, error)
    return shown


def verdict(checks: Sequence[Check]) -> str:
    """How good the model is, in a sentence.

    Raises:
        TunerError: no check counted.
    """
    found = agreed(checks)
    if found is None:
        why = checks[0].reason or checks[0].simulated.reason
        raise TunerError(
            f"no HPL run gave a result both measured and simulated, so the model is unchecked; the first: {why}"
        )
    if len(found.errors) == 1:
        return f"The model's error is {100 * found.bias:+.1f} % on one configuration."
    said = (
        f"The model's error on {len(found.errors)} configurations is {100 * found.median_error:.1f} % (median), "
        f"{100 * found.largest_error:.1f} % at most, and {100 * found.bias:+.1f} % on average"
    )
    return f"{said}." if math.isnan(found.correlation) else f"{said}; rank correlation {found.correlation:.2f}."


def agreed(checks: Sequence[Check]) -> Agreement | None:
    """Medians of the real rates against the predicted ones; None where no check counted."""
    pairs = [(median(row.gflops), row.simulated.gflops) for row in checks if row.gflops and row.simulated.gflops]
    return agreement(*zip(*pairs, strict=True)) if pairs else None


def to_json(cluster: VirtualCluster, checks: Sequence[Check]) -> dict[str, Any]:
    """Everything for scripts."""
    found = agreed(checks)
    return {
        "cluster": cluster_dict(cluster),
        "median_error": found.median_error if found else None,
        "largest_error": found.largest_error if found else None,
        "checks": [
            {
                "params": dict(row.params),
                "gflops": list(row.gflops),
                "reason": row.reason,
                "predicted_gflops": row.simulated.gflops,
                "error": row.error,
            }
            for row in checks
        ],
    }
